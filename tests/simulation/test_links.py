"""Links and what faults do to them, in whole runs: which message arrives when, in which order.

A producer with acks=0 sends one batch to each partition of a topic in turn, so a batch is
known by its partition and leaves at a known time, whatever becomes of those before it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scenario_runs import rows_of, run_of
from small_clusters import (
    BROKER_1,
    BROKER_2,
    BROKER_3,
    CONTROLLER_1,
    FIRST_CLIENT,
    MS,
    SECOND,
    cluster_of,
    network_of,
    producers_of,
    times_us,
)
from tidegauge.simulation.messages.client_requests import (
    FetchResponse,
    ProduceRequest,
    ProduceResponse,
)
from tidegauge.traces.run_folder import RunFolder, TraceRow

BATCHES = 40
#: The first batch leaves at 3 s, the others every 50 ms: the last at 4.95 s.
FIRST_US = 3 * SECOND
PERIOD_US = 50 * MS
SENT_US = [FIRST_US + number * PERIOD_US for number in range(BATCHES)]


def batches_of(acks: int = 0, **settings: int) -> dict[str, Any]:
    """A producer that sends 20 batches a second from 3 s to 5 s."""
    return {"producers": [producers_of(20, "3s", "5s", acks=acks, **settings)]}


def numbered_topic() -> list[dict[str, Any]]:
    """A topic whose partitions all lie on broker 1: as many as there are batches."""
    return [{"name": "story", "assignment": {number: [1] for number in range(BATCHES)}}]


def sent_to_broker_1(folder: Path, acks: int = 0, **parts: Any) -> RunFolder:
    """The run of a producer that sends each of its batches to another partition."""
    workload = batches_of(acks, **({"max.in.flight.requests.per.connection": BATCHES}))
    parts = {"topics": numbered_topic(), "workload": workload, "duration": "8s"} | parts
    return run_of(cluster_of(**parts), folder / "run")


def requests(run: RunFolder, client: int = FIRST_CLIENT) -> list[TraceRow]:
    """The produce requests of a client, in the order in which broker 1 took them."""
    return rows_of(
        run, "message", message_kind=ProduceRequest.KIND, from_process=client, process=BROKER_1
    )


def answers(run: RunFolder, client: int = FIRST_CLIENT) -> list[TraceRow]:
    """The answers to them, in the order in which the client took them."""
    return rows_of(run, "message", message_kind=ProduceResponse.KIND, process=client)


def partitions_of(rows: list[TraceRow]) -> list[int]:
    return [row["partition"] for row in rows]


def hit_by_faults(run: RunFolder) -> dict[str, list[tuple[int, int]]]:
    """Of the beginnings and the ends of faults: time and process."""
    return {
        kind: [(row["time_us"], row["process"]) for row in run.rows(kind)]
        for kind in ("fault_began", "fault_ended")
    }


# Latencies.

SPREAD = {"min": "1ms", "p50": "200ms", "max": "400ms"}


def test_no_message_overtakes_another_on_its_link(tmp_path: Path) -> None:
    """A link is FIFO, as TCP is, although latencies here differ by eight times the period."""
    run = sent_to_broker_1(tmp_path, acks=1, network=network_of("1ms", clients=SPREAD))
    assert partitions_of(requests(run)) == list(range(BATCHES))
    assert partitions_of(answers(run)) == list(range(BATCHES))
    took_us = [row["time_us"] - sent for row, sent in zip(requests(run), SENT_US, strict=True)]
    assert max(took_us) - min(took_us) > 4 * PERIOD_US


def test_no_message_arrives_before_the_shortest_latency_of_its_path(tmp_path: Path) -> None:
    latency = {"min": "10ms", "p50": "11ms", "max": "40ms"}
    run = sent_to_broker_1(tmp_path, network=network_of("1ms", clients=latency))
    took_us = [row["time_us"] - sent for row, sent in zip(requests(run), SENT_US, strict=True)]
    assert all(10 * MS <= took <= 40 * MS for took in took_us)
    assert min(took_us) < 11 * MS < max(took_us)


def test_brokers_of_one_rack_are_nearer_than_those_of_another(tmp_path: Path) -> None:
    racks = {"near": [1, 2], "far": [3]}
    network = network_of("1ms", within_rack="2ms", between_racks="30ms")
    scenario = cluster_of(network=network, workload=batches_of(), duration="6s")
    resolved = scenario.resolved()
    cluster = resolved["cluster"] | {"racks": racks}
    run = run_of(cluster_of(**(resolved | {"cluster": cluster})), tmp_path / "run")
    for follower, latency_us in ((BROKER_2, 2 * MS), (BROKER_3, 30 * MS)):
        sent = rows_of(run, "fetch_answered", process=BROKER_1, to_process=follower, waited=1)
        came = rows_of(run, "message", message_kind=FetchResponse.KIND, process=follower)
        took_us = {
            min(time - answer["time_us"] for time in times_us(came) if time > answer["time_us"])
            for answer in sent[:10]
        }
        # And the request handler's 50 us.
        assert took_us == {latency_us + 50}


# Cuts.


def between_shop_and_1(kind: str, begins: str, lasts: str, **more: Any) -> list[dict[str, Any]]:
    fault = {"name": "fault", "kind": kind, "at": begins, "for": lasts}
    return [fault | {"between": [["client:shop"], ["broker:1"]]} | more]


def test_what_a_cut_has_held_back_arrives_in_its_order_when_tcp_sends_again(
    tmp_path: Path,
) -> None:
    """Nothing is lost: all of it comes once the retransmission after the heal is due."""
    run = sent_to_broker_1(
        tmp_path,
        network=network_of("1ms", retransmission_after_cut="700ms"),
        faults=between_shop_and_1("cut_link", "3525ms", "300ms"),
    )
    came = requests(run)
    assert partitions_of(came) == list(range(BATCHES))
    again_us = 3525 * MS + 300 * MS + 700 * MS
    expected_us = [again_us if 3525 * MS <= sent + MS < again_us else sent + MS for sent in SENT_US]
    assert expected_us.count(again_us) == 20
    assert times_us(came) == expected_us
    assert hit_by_faults(run) == {
        "fault_began": [(3525 * MS, BROKER_1), (3525 * MS, FIRST_CLIENT)],
        "fault_ended": [(3825 * MS, BROKER_1), (3825 * MS, FIRST_CLIENT)],
    }


def test_the_retransmission_after_a_cut_is_drawn_for_each_direction(tmp_path: Path) -> None:
    """Real brokers heard from each other 2 to 5 s after a long cut: TCP's back-off."""
    run = sent_to_broker_1(
        tmp_path,
        acks=1,
        duration="12s",
        faults=between_shop_and_1("cut_link", "3525ms", "2s"),
    )
    healed_us = 5525 * MS
    first_us = [
        min(time for time in times_us(rows) if time > 3530 * MS)
        for rows in (requests(run), answers(run))
    ]
    assert all(healed_us + 2 * SECOND <= time <= healed_us + 5 * SECOND for time in first_us)
    assert len(set(first_us)) == 2


def test_in_a_one_way_cut_the_other_direction_is_open(tmp_path: Path) -> None:
    """Requests are cut off: the answers to those before them still arrive."""
    run = sent_to_broker_1(
        tmp_path,
        acks=1,
        network=network_of("1ms", clients="200ms", retransmission_after_cut="1s"),
        faults=between_shop_and_1("cut_link", "3325ms", "3s", one_way=True),
    )
    # Those sent up to 3.1 s came at 3.3 s at the latest; their answers are there at 3.5 s.
    before = [row for row in requests(run) if row["time_us"] < 7325 * MS]
    assert partitions_of(before) == [0, 1, 2]
    while_cut = [row for row in answers(run) if row["time_us"] < 7325 * MS]
    assert partitions_of(while_cut) == [0, 1, 2]
    assert min(times_us(while_cut)) > 3325 * MS
    assert set(times_us(requests(run)[3:])) == {7325 * MS}
    assert partitions_of(answers(run)) == list(range(BATCHES))


def test_answers_that_a_one_way_cut_holds_back_come_in_their_order(tmp_path: Path) -> None:
    """Answers are cut off: requests are handled all the while."""
    faults = between_shop_and_1("cut_link", "3325ms", "3s", one_way=True)
    faults[0]["between"].reverse()
    run = sent_to_broker_1(
        tmp_path,
        acks=1,
        network=network_of("1ms", retransmission_after_cut="1s"),
        faults=faults,
    )
    assert times_us(requests(run)) == [sent + MS for sent in SENT_US]
    came = answers(run)
    assert partitions_of(came) == list(range(BATCHES))
    assert [time == 7325 * MS for time in times_us(came)] == [False] * 7 + [True] * 33


def test_a_cut_between_others_holds_nothing_back(tmp_path: Path) -> None:
    cut = {"kind": "cut_link", "at": "3s", "between": [["client:shop", 1], ["broker:2"]]}
    run = sent_to_broker_1(tmp_path, faults=[cut])
    assert times_us(requests(run)) == [sent + MS for sent in SENT_US]


# Slow links.


@pytest.mark.parametrize("one_way", [False, True])
def test_a_slow_link_adds_its_delay(one_way: bool, tmp_path: Path) -> None:
    """To both directions, or, with one_way, from the first end to the second alone."""
    run = sent_to_broker_1(
        tmp_path,
        acks=1,
        faults=between_shop_and_1("slow_link", "2s", "6s", delay="300ms", one_way=one_way),
    )
    assert times_us(requests(run)) == [sent + 301 * MS for sent in SENT_US]
    back_us = MS if one_way else 301 * MS
    # An append takes 20 us, a request 50 us.
    assert times_us(answers(run)) == [sent + 301 * MS + 70 + back_us for sent in SENT_US]


def test_a_slow_link_that_ends_does_not_let_messages_overtake(tmp_path: Path) -> None:
    run = sent_to_broker_1(
        tmp_path, faults=between_shop_and_1("slow_link", "2s", "1525ms", delay="300ms")
    )
    # The last slow one left at 3.5 s.
    expected_us = [
        sent + 301 * MS if sent < 3525 * MS else max(sent + MS, 3801 * MS) for sent in SENT_US
    ]
    assert times_us(requests(run)) == expected_us
    assert partitions_of(requests(run)) == list(range(BATCHES))


# Pauses.


def two_producers() -> dict[str, Any]:
    shop, other = (producers_of(20, start, "5s", acks=0) for start in ("3s", "3010ms"))
    return {"producers": [shop, other | {"name": "other"}]}


@pytest.mark.parametrize(("length_ms", "held"), [(1000, 40), (976, 39)])
def test_a_paused_broker_handles_all_that_came_in_its_order_at_its_resume(
    length_ms: int, held: int, tmp_path: Path
) -> None:
    """SIGSTOP: sockets take what comes; SIGCONT: all of it is read, once its timers have run.

    In one of the two a message comes at the very moment of the resume: it is the last in line.
    """
    run = sent_to_broker_1(
        tmp_path,
        workload=two_producers(),
        faults=[{"kind": "pause", "at": "3525ms", "for": f"{length_ms}ms", "brokers": [1]}],
    )
    came = [row for row in run.rows("message") if row["message_kind"] == ProduceRequest.KIND]
    order = [(number, client) for number in range(BATCHES) for client in (0, 1)]
    assert [(row["partition"], row["from_process"] - FIRST_CLIENT) for row in came] == order
    arrives_us = [SENT_US[number] + client * 10 * MS + MS for number, client in order]
    read_us = (3525 + length_ms) * MS + 1
    expected_us = [read_us if 3525 * MS <= time < read_us else time for time in arrives_us]
    assert expected_us.count(read_us) == held
    assert times_us(came) == expected_us


def test_a_pause_stops_the_broker_and_its_controller(tmp_path: Path) -> None:
    """Both are one process of the operating system."""
    faults = [{"kind": "pause", "at": "2s", "for": "1s", "brokers": [1]}]
    run = run_of(cluster_of(faults=faults), tmp_path / "run")
    assert hit_by_faults(run) == {
        "fault_began": [(2 * SECOND, BROKER_1), (2 * SECOND, CONTROLLER_1)],
        "fault_ended": [(3 * SECOND, BROKER_1), (3 * SECOND, CONTROLLER_1)],
    }


@pytest.mark.parametrize("seed", range(4))
def test_a_step_that_pauses_reaches_all_that_it_hits(seed: int, tmp_path: Path) -> None:
    """Broker and controller learn of it at different times; neither takes the other's word."""
    run = run_of(
        cluster_of(
            seed=seed,
            network=network_of("1ms", within_host="20us", clients=SPREAD),
            faults=[{"name": "stop", "kind": "pause", "brokers": [1]}],
            steps=[
                {"at": "2s", "do": "begin_fault", "fault": "stop"},
                {"after": "1s", "do": "end_fault", "fault": "stop"},
            ],
        ),
        tmp_path / "run",
    )
    for rows in hit_by_faults(run).values():
        assert sorted(process for _, process in rows) == [BROKER_1, CONTROLLER_1]


def test_a_broker_that_two_faults_stop_goes_on_when_both_are_over(tmp_path: Path) -> None:
    faults = [
        {"kind": "pause", "at": "3025ms", "for": "500ms", "brokers": [1]},
        {"kind": "pause", "at": "3225ms", "for": "1s", "brokers": [1]},
    ]
    run = sent_to_broker_1(tmp_path, faults=faults)
    assert partitions_of(requests(run)) == list(range(BATCHES))
    assert times_us(requests(run)).count(4225 * MS + 1) == 24
    assert not any(3025 * MS < time <= 4225 * MS for time in times_us(requests(run)))
