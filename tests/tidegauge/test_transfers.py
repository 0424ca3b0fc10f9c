"""Messages with records: how they flow, what they wait for, what overtakes them, what is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from catch_ups import MEGABYTE, RECORD_BYTES, caught_up_us, story, written
from process_groups import groups_of
from scenario_runs import rows_of, run_of
from small_clusters import (
    BROKER_1,
    BROKER_2,
    BROKER_3,
    FIRST_CLIENT,
    MS,
    SECOND,
    UNLIMITED,
    cluster_of,
    log_end_offset,
    network_of,
    producers_of,
    times_us,
)
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario, load_scenario, scenario_from_mapping
from tidegauge.simulation.kernel import RACK_LINK
from tidegauge.simulation.messages.client_requests import (
    FetchResponse,
    ProduceRequest,
    ProduceResponse,
)
from tidegauge.traces.run_folder import RunFolder

SCENARIOS = Path(__file__).parents[1] / "data" / "scenarios"
#: A fetch and its response have room for 10 MB, on connections with the buffers that they need.
WIDE = {
    "replica.fetch.max.bytes": 10 * MEGABYTE,
    "socket.send.buffer.bytes": -1,
    "socket.receive.buffer.bytes": -1,
    "replica.socket.receive.buffer.bytes": -1,
    "replica.fetch.wait.max.ms": 500,
}
TEN_MEGABYTES = {"records_per_batch": 100, "record_bytes": RECORD_BYTES}


def bulk(rate: float, start: str, stop: str, **settings: int | str) -> dict[str, Any]:
    """Batches of 10 MB."""
    own = {"send.buffer.bytes": -1, "batch.size": 100 * RECORD_BYTES} | settings
    return producers_of(rate, start, stop, **own) | TEN_MEGABYTES


def cluster(resources: dict[str, Any], *producers: dict[str, Any], **parts: Any) -> Scenario:
    return cluster_of(
        WIDE, resources=UNLIMITED | resources, workload={"producers": list(producers)}, **parts
    )


@pytest.mark.parametrize(
    "resources",
    [
        {"network_out": "125MB/s"},
        {"brokers": {2: {"network_in": "125MB/s"}, 3: {"network_in": "125MB/s"}}},
        # Both ends move the same bytes at the same time.
        {
            "network_out": "125MB/s",
            "brokers": {2: {"network_in": "125MB/s"}, 3: {"network_in": "125MB/s"}},
        },
    ],
)
def test_a_response_uses_both_cards_at_the_same_time(
    resources: dict[str, Any], tmp_path: Path
) -> None:
    """10 MB over 125 MB/s are 80 ms, however many cards of that speed are in the way."""
    topics = [{"name": "story", "assignment": {0: [1, 2]}}]
    run = run_of(cluster(resources, bulk(1, "3s", "4s"), topics=topics), tmp_path / "run")
    (sent,) = [
        row
        for row in rows_of(run, "fetch_answered", process=BROKER_1, to_process=BROKER_2)
        if row["end_offset"] > row["fetch_offset"]
    ]
    came = times_us(rows_of(run, "message", message_kind=FetchResponse.KIND, process=BROKER_2))
    # The request handler's 50 us, the latency, the flow.
    assert sent["time_us"] + 50 + 1 * MS + 80 * MS in came


def test_produce_requests_of_a_connection_do_not_overtake(tmp_path: Path) -> None:
    """Large and small ones of two producers share broker 1's network; each keeps its order."""
    topics = [{"name": "story", "assignment": {number: [1] for number in range(40)}}]
    small = producers_of(20, "3s", "5s", acks=0, **{"batch.size": 10 * RECORD_BYTES})
    large = small | {"name": "bulk", "records_per_batch": 10, "record_bytes": RECORD_BYTES}
    run = run_of(
        cluster({"network_in": "25MB/s"}, small, large, topics=topics, duration="8s"),
        tmp_path / "run",
    )
    for client in (FIRST_CLIENT, FIRST_CLIENT + 1):
        came = rows_of(run, "message", message_kind=ProduceRequest.KIND, from_process=client)
        assert [row["partition"] for row in came] == list(range(40))


def test_a_small_request_gets_its_share_beside_large_ones(tmp_path: Path) -> None:
    """A card that is busy for a second: 100 bytes do not wait for all that came before them."""
    large = bulk(20, "3s", "4s", acks=0) | {"name": "bulk", "clients": 10}
    small = producers_of(50, "3100ms", "4s", acks=1) | {"name": "small", "topics": ["small"]}
    topics = [{"name": name, "assignment": {0: [1]}} for name in ("story", "small")]
    run = run_of(
        cluster({"network_in": "100MB/s"}, large, small, topics=topics, duration="8s"),
        tmp_path / "run",
    )
    mine = FIRST_CLIENT + 10
    came = times_us(rows_of(run, "message", message_kind=ProduceRequest.KIND, from_process=mine))
    assert len(came) == 45
    late = [time - 3_100_000 - 20 * MS * number for number, time in enumerate(came)]
    assert max(late) < 2 * MS
    theirs = [
        row["time_us"]
        for row in rows_of(run, "message", message_kind=ProduceRequest.KIND)
        if row["from_process"] != mine
    ]
    # 200 MB at 100 MB/s.
    assert max(theirs) - 3 * SECOND == pytest.approx(2 * SECOND, rel=0.06)


def test_messages_without_records_do_not_wait_for_records(tmp_path: Path) -> None:
    """Broker 1 sends 10 MB to broker 2 again and again; its fetches to broker 2 are not late."""
    topics = [
        {"name": "story", "assignment": {0: [1, 2]}},
        {"name": "small", "assignment": {0: [2, 1]}},
    ]
    small = producers_of(20, "3s", "6s", acks="all") | {"name": "small", "topics": ["small"]}
    run = run_of(
        cluster(
            {"brokers": {1: {"network_out": "50MB/s"}}},
            bulk(2, "3s", "6s", acks=1),
            small,
            topics=topics,
            duration="8s",
        ),
        tmp_path / "run",
    )
    mine = FIRST_CLIENT + 1
    asked = times_us(rows_of(run, "message", message_kind=ProduceRequest.KIND, from_process=mine))
    told = times_us(rows_of(run, "message", message_kind=ProduceResponse.KIND, process=mine))
    assert len(asked) == len(told) == 60
    assert max(end - begin for begin, end in zip(asked, told, strict=True)) < 10 * MS


@pytest.mark.parametrize(
    ("fault", "at", "arrives"),
    [
        ("power_loss", "5s", False),
        # Its process's end closes the connection: nobody waits for the response.
        ("crash", "5s", False),
        ("power_loss", "14s", True),
        ("crash", "14s", True),
    ],
)
def test_a_response_that_still_flows_when_its_sender_dies_is_lost(
    fault: str, at: str, arrives: bool, tmp_path: Path
) -> None:
    """10 MB at 1 MB/s, from 3 s to 13 s."""
    run = run_of(
        cluster(
            {"brokers": {1: {"network_out": "1MB/s"}}},
            bulk(1, "3s", "4s", acks=1),
            topics=[{"name": "story", "assignment": {0: [1, 2]}}],
            faults=[{"kind": fault, "at": at, "for": "16s", "brokers": [1]}],
            duration="18s",
        ),
        tmp_path / "run",
    )
    assert log_end_offset(run, BROKER_2) == (100 if arrives else 0)


@pytest.mark.parametrize("release", ["2.6", "0.10.2"])
def test_no_partition_starves_when_the_limit_of_a_response_cuts(
    release: str, tmp_path: Path
) -> None:
    """KIP-74, KIP-227: partitions that brought records move to the end, with sessions and without.

    Eight partitions have 100 MB each; a response brings 1 MB, which is what one of them may bring.
    """
    settings = {
        "replica.fetch.max.bytes": MEGABYTE,
        "replica.fetch.response.max.bytes": MEGABYTE,
    }
    told = story([[1, 3]] * 8, [3], [written(800)], settings, release=release, duration="20700ms")
    run = run_of(told, tmp_path / "run")
    ends = [log_end_offset(run, BROKER_3, partition) for partition in range(8)]
    assert min(ends) > 50
    assert max(ends) - min(ends) <= 10


@pytest.mark.parametrize(
    "settings",
    [{"max.partition.fetch.bytes": MEGABYTE}, {"fetch.max.bytes": MEGABYTE}],
)
def test_consumers_have_limits_of_their_fetches(settings: dict[str, int], tmp_path: Path) -> None:
    """A hundred fetches of 1 MB, each a round trip of 2 ms; none of the partitions starves."""
    own = {"max.partition.fetch.bytes": 10 * MEGABYTE, "receive.buffer.bytes": -1} | settings
    consumer = {"name": "billing", "topics": ["story"], "start": "8s", "settings": own}
    workload = {"producers": [bulk(10, "3s", "4s", acks=0)], "consumers": [consumer]}
    topics = [{"name": "story", "assignment": {0: [1], 1: [1]}}]
    told = cluster_of(WIDE, resources=UNLIMITED, workload=workload, topics=topics, duration="10s")
    rows = [
        row
        for row in run_of(told, tmp_path / "run").rows("consumed")
        if row["end_offset"] > row["fetch_offset"]
    ]
    fetches = 50 if "fetch.max.bytes" not in settings else 100
    took_us = rows[-1]["time_us"] - rows[0]["time_us"]
    assert took_us == pytest.approx((fetches - 1) * 2_050, rel=0.05)
    assert len({row["partition"] for row in rows[:2]}) == 2


@pytest.mark.parametrize(("buffer_bytes", "fetches"), [(-1, 0), (65536, 1)])
def test_a_consumer_has_a_socket_buffer(buffer_bytes: int, fetches: int, tmp_path: Path) -> None:
    """receive.buffer.bytes: 10 MB over 2 ms there and back."""
    own = {"max.partition.fetch.bytes": 10 * MEGABYTE, "receive.buffer.bytes": buffer_bytes}
    consumer = {"name": "billing", "topics": ["story"], "start": "2s", "settings": own}
    workload = {"producers": [bulk(1, "3s", "4s", acks=0)], "consumers": [consumer]}
    told = cluster_of(WIDE, resources=UNLIMITED, workload=workload)
    run = run_of(told, tmp_path / "run")
    (appended,) = rows_of(run, "message", message_kind=ProduceRequest.KIND)
    (consumed,) = [row for row in run.rows("consumed") if row["end_offset"] > row["fetch_offset"]]
    flow_us = fetches * (10 * MEGABYTE - 65536) * 2 * MS // 65536
    took_us = consumed["time_us"] - appended["time_us"]
    assert took_us == pytest.approx(flow_us, abs=6 * MS)


# Groups of processes.


SCARCE = {"network_in": "400kB/s", "network_out": "300kB/s", "between_racks": "200kB/s"}


@pytest.mark.parametrize(
    "name",
    [
        "small-cluster",
        pytest.param("kraft-cluster", marks=pytest.mark.long),
        pytest.param("failing-machines", marks=pytest.mark.long),
    ],
)
def test_scarce_networks_give_one_hash_in_groups_too(name: str, tmp_path: Path) -> None:
    """Links between racks are processes that pass on what processes of other groups have sent."""
    file = load_scenario(SCENARIOS / f"{name}.yaml").resolved()
    brokers = file["cluster"]["brokers"]
    count = len(brokers) if isinstance(brokers, list) else brokers
    racks = file["cluster"].get("racks") or {
        "a": [*range(1, count)],
        "b": [count],
    }
    scarce = file | {"resources": SCARCE, "cluster": file["cluster"] | {"racks": racks}}
    scenario = scenario_from_mapping(scarce, "scarce")
    plan = ClusterPlan(scenario)
    assert len(plan.process_ranges[RACK_LINK]) == len(plan.racks) * (len(plan.racks) - 1)
    one = hash_of(simulate(scenario, tmp_path / "one"))
    for groups in (2, 3, len(plan.processes)):
        run = simulate(
            scenario, tmp_path / str(groups), make_engine=inline(groups_of(scenario, groups))
        )
        assert hash_of(run) == one
    free = scenario_from_mapping(
        scarce | {"resources": SCARCE | {"between_racks": "unlimited"}}, "free"
    )
    assert hash_of(simulate(free, tmp_path / "free")) != one


def hash_of(run: RunFolder) -> str:
    assert run.summary is not None
    return str(run.summary["trace_sha256"])


def test_a_link_between_racks_is_half_way(tmp_path: Path) -> None:
    """Its message takes the latency once, and its flow once."""
    racks = {"a": [1, 2], "b": [3]}
    took = []
    for rate in ("unlimited", "100MB/s"):
        told = story(
            [[1, 3]],
            [3],
            [written(1000)],
            resources={"between_racks": rate},
            cluster={"racks": racks},
            network=network_of("10ms"),
        )
        took.append(caught_up_us(run_of(told, tmp_path / rate.replace("/", " "))))
    free_us, limited_us = took
    assert limited_us - free_us == pytest.approx(10 * SECOND, rel=0.01)
