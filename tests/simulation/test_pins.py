"""Pins: a scenario holds, drops or duplicates single messages, and links keep no order for them.

Brokers 1, 2 and 3 are the processes 0, 1 and 2. Broker 1 leads the one partition, broker 3 is the
controller, and each message takes 1 ms.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from process_groups import groups_of
from scenario_runs import rows_of, run_of
from small_clusters import (
    BROKER_1,
    BROKER_2,
    BROKER_3,
    CONTROLLER_1,
    SECOND,
    cluster_of,
    log_end_offset,
    network_of,
    producers_of,
    times_us,
)
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.layout import cluster_tables
from tidegauge.engine.simulate import simulate
from tidegauge.replication.errors import NONE, STALE_BROKER_EPOCH
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.text.errors import ScenarioError
from tidegauge.simulation.messages.client_requests import FetchResponse, ProduceRequest
from tidegauge.simulation.messages.controller_requests import ControlResponse
from tidegauge.traces.run_folder import RunFolder

CONTROLLER_3 = CONTROLLER_1 + 2

#: The broker that leads is gone, and its session 6 s later.
_CRASH = {"kind": "crash", "brokers": [1], "at": "2s"}


def pinned(*pins: dict[str, Any], **parts: Any) -> Scenario:
    """The cluster with a producer of twenty records a second, and pins."""
    shop = producers_of(20, "1s", "4s", acks="all")
    settings = {"zookeeper.session.timeout.ms": 6000}
    return cluster_of(settings, pins=list(pins), workload={"producers": [shop]}, **parts)


def taken(run: RunFolder, kind: str, process: int) -> list[int]:
    """When a process had rows of a kind about pins."""
    return times_us(rows_of(run, kind, process=process))


def test_a_held_leader_and_isr_makes_its_broker_follow_later(tmp_path: Path) -> None:
    """Broker 2 hears 1.5 s later whom to follow, and until then fetches nothing."""
    late = {"name": "late", "hold": "LEADER_AND_ISR", "to": "broker:2", "for": "1500ms"}
    run = run_of(pinned(late), tmp_path / "run")
    ((held,), (released,)) = (run.rows(f"message_{what}") for what in ("held", "released"))
    assert held["process"] == released["process"] == BROKER_2
    assert released["time_us"] - held["time_us"] == released["held_us"] == 1_500_000
    (follows,) = rows_of(run, "became_follower", process=BROKER_2)
    assert follows["time_us"] >= released["time_us"]
    assert run.summary is not None
    assert run.summary["messages_taken_by_pins"] == {"late": 1}


def test_what_a_held_message_does_is_caused_by_its_release(tmp_path: Path) -> None:
    """Its chain has the pin, and behind it the row that made the controller send it."""
    run = run_of(
        pinned({"hold": "LEADER_AND_ISR", "to": "broker:2", "for": "1s"}), tmp_path / "run"
    )
    (follows,) = rows_of(run, "became_follower", process=BROKER_2)
    (released,) = run.rows("message_released")
    (held,) = run.rows("message_held")
    assert (follows["cause_process"], follows["cause_sequence"]) == (BROKER_2, released["sequence"])
    assert (released["cause_process"], released["cause_sequence"]) == (BROKER_2, held["sequence"])
    assert held["cause_process"] == CONTROLLER_3


def test_others_on_the_link_pass_a_held_message(tmp_path: Path) -> None:
    """The metadata request of a producer is answered while its produce request is held."""
    hold = {"hold": "PRODUCE", "to": "broker:1", "nth": 10, "after": "1s", "for": "2s"}
    plain = run_of(pinned(), tmp_path / "plain")
    run = run_of(pinned(hold), tmp_path / "run")
    (held,) = taken(run, "message_held", BROKER_1)
    (released,) = taken(run, "message_released", BROKER_1)
    arrived = [row for row in run.rows("message") if held < row["time_us"] < released]
    shop = {row["from_process"] for row in run.rows("message_held")}
    assert any(row["from_process"] in shop and row["process"] == BROKER_1 for row in arrived)
    assert log_end_offset(run, BROKER_1) == log_end_offset(plain, BROKER_1)


def test_messages_count_from_a_time_on_and_some_are_taken(tmp_path: Path) -> None:
    """Of the fetch responses from 2 s on the third and the fourth are held, to broker 3 alone."""
    hold = {"hold": "FETCH_RESPONSE", "to": "broker:3", "nth": 3, "count": 2, "after": "2s"}
    run = run_of(pinned(hold | {"for": "100ms"}), tmp_path / "run")
    responses = [
        row["time_us"]
        for row in [*rows_of(run, "message", process=BROKER_3), *run.rows("message_held")]
        if row["message_kind"] == FetchResponse.KIND and row["time_us"] >= 2 * SECOND
    ]
    first = sorted(responses)[2]
    assert taken(run, "message_held", BROKER_3)[0] == first
    assert len(taken(run, "message_released", BROKER_3)) == 2


def test_until_releases_all_that_is_held(tmp_path: Path) -> None:
    """With `count: all` each produce request from 2 s on waits until 3 s, and none after that."""
    hold = {"hold": "PRODUCE", "count": "all", "after": "2s", "until": "3s"}
    run = run_of(pinned(hold), tmp_path / "run")
    held = taken(run, "message_held", BROKER_1)
    assert len(held) >= 5, "a producer has five requests in flight"
    assert all(2 * SECOND <= time_us < 3 * SECOND for time_us in held)
    assert set(taken(run, "message_released", BROKER_1)) == {3 * SECOND}
    sent = rows_of(run, "message", message_kind=ProduceRequest.KIND)
    assert [row["offset"] for row in sent] == sorted(row["offset"] for row in sent)


def test_a_step_releases_once_its_condition_holds(tmp_path: Path) -> None:
    """Broker 3 takes over, as broker 2 has not got its LeaderAndIsr until then."""
    hold = {"name": "second", "hold": "LEADER_AND_ISR", "to": "broker:2", "after": "2s"}
    story: dict[str, Any] = {"topic": "story", "partition": 0, "is_not": 1}
    release = {"do": "release", "pin": "second", "when": {"leader": story}, "within": "12s"}
    run = run_of(pinned(hold, faults=[_CRASH], steps=[release], duration="15s"), tmp_path / "run")
    (step,) = run.rows("step_taken")
    (released,) = taken(run, "message_released", BROKER_2)
    assert step["time_us"] < released <= step["time_us"] + 2_000
    assert rows_of(run, "became_leader", process=BROKER_2)[-1]["time_us"] >= released


def test_a_release_ends_a_pin_that_has_held_nothing_yet(tmp_path: Path) -> None:
    """The step is taken before the message comes, which then passes."""
    hold = {"name": "never", "hold": "LEADER_AND_ISR", "to": "broker:2", "after": "2s"}
    steps = [{"do": "release", "pin": "never", "at": "1s"}]
    run = run_of(pinned(hold, faults=[_CRASH], steps=steps, duration="20s"), tmp_path / "run")
    assert not list(run.rows("message_held"))
    assert run.summary is not None
    assert run.summary["messages_taken_by_pins"] == {"never": 0}


def test_a_dropped_message_is_missed_by_its_sender(tmp_path: Path) -> None:
    """No connection is closed: the producer repeats the batch after its request.timeout.ms."""
    shop = producers_of(1, "1s", "2s", **{"request.timeout.ms": 2000, "retries": 3})
    drop = {"drop": "PRODUCE_RESPONSE", "from": "broker:1"}
    scenario = cluster_of(
        pins=[drop], workload={"producers": [shop]}, release="0.10.2", duration="8s"
    )
    run = run_of(scenario, tmp_path / "run")
    (dropped,) = run.rows("message_dropped")
    assert dropped["from_process"] == BROKER_1
    appended = [row["time_us"] for row in rows_of(run, "message", message_kind=ProduceRequest.KIND)]
    assert len(appended) >= 2
    assert appended[1] - appended[0] >= 2 * SECOND
    assert log_end_offset(run, BROKER_1) == len(appended)


def test_a_duplicate_arrives_twice(tmp_path: Path) -> None:
    """A produce request that arrives a second time is appended twice without idempotence."""
    shop = producers_of(1, "1s", "2s", acks="all")
    twice = {"duplicate": "PRODUCE", "to": "broker:1", "for": "500ms"}
    scenario = cluster_of(pins=[twice], workload={"producers": [shop]})
    plain = run_of(cluster_of(workload={"producers": [shop]}), tmp_path / "plain")
    run = run_of(scenario, tmp_path / "run")
    (kept,) = taken(run, "message_duplicated", BROKER_1)
    assert taken(run, "message_released", BROKER_1) == [kept + 500_000]
    assert log_end_offset(run, BROKER_1) == log_end_offset(plain, BROKER_1) + 1


@pytest.mark.parametrize(("release", "error"), [("2.1", NONE), ("2.2", STALE_BROKER_EPOCH)])
def test_a_request_from_before_a_restart_reaches_the_new_process(
    release: str, error: int, tmp_path: Path
) -> None:
    """Only from 2.2 on its broker epoch gives it away (KIP-380, KafkaApis.isBrokerEpochStale)."""
    restart = {"kind": "restart", "brokers": [2], "at": "2s", "for": "4s"}
    hold = {"hold": "LEADER_AND_ISR", "to": "broker:2", "for": "10s"}
    run = run_of(pinned(hold, faults=[restart], duration="14s", release=release), tmp_path / "run")
    (released,) = run.rows("message_released")
    started = times_us(rows_of(run, "broker_started", process=BROKER_2))
    assert 2 * SECOND < started[-1] < released["time_us"]
    (answer,) = [
        row
        for row in rows_of(run, "message", from_process=BROKER_2, message_kind=ControlResponse.KIND)
        if released["time_us"] < row["time_us"] < released["time_us"] + 10_000
    ]
    assert answer["error"] == error


def test_a_response_from_before_a_restart_is_not_for_the_new_process(tmp_path: Path) -> None:
    """The new process of broker 2 has asked for nothing that the old fetch response brings."""
    crash = {"kind": "crash", "brokers": [2], "at": "2100ms", "for": "200ms"}
    hold = {"hold": "FETCH_RESPONSE", "to": "broker:2", "after": "2s", "for": "1500ms"}
    run = run_of(pinned(hold, faults=[crash]), tmp_path / "run")
    (released,) = run.rows("message_released")
    assert not rows_of(run, "message", process=BROKER_2, time_us=released["time_us"])


def test_the_liveness_phase_releases_all(tmp_path: Path) -> None:
    """A LeaderAndIsr that nothing releases is delivered as the run ends, and ISRs become full."""
    hold = {"hold": "LEADER_AND_ISR", "to": "broker:2", "after": "2s"}
    run = run_of(pinned(hold, faults=[_CRASH], duration="20s", liveness=True), tmp_path / "run")
    assert taken(run, "message_released", BROKER_2) == [20 * SECOND]
    assert run.summary is not None
    assert run.summary["liveness"]["reached"]


#: Pins of all actions, at several receivers.
_MANY = (
    {"hold": "LEADER_AND_ISR", "for": "300ms"},
    {"hold": "FETCH_RESPONSE", "nth": 4, "count": 2, "for": "120ms"},
    {"drop": "FETCH", "from": "broker:3", "nth": 7},
    {"duplicate": "UPDATE_METADATA", "to": "broker:1", "for": "1s"},
    {"hold": "ZK_RESPONSE", "from": "zookeeper", "nth": 3, "for": "200ms"},
)


@pytest.mark.parametrize("groups", [2, 5])
def test_pins_do_not_depend_on_the_groups_of_processes(groups: int, tmp_path: Path) -> None:
    """Each receiver counts for itself, so a run in several groups has the same hash."""
    scenario = pinned(*_MANY, faults=[_CRASH], duration="12s", network=network_of("1ms"))
    alone = simulate(scenario, tmp_path / "alone").summary
    several = simulate(
        scenario, tmp_path / "several", make_engine=inline(groups_of(scenario, groups))
    ).summary
    assert alone is not None
    assert several is not None
    assert min(alone["messages_taken_by_pins"].values()) > 0
    assert several["trace_sha256"] == alone["trace_sha256"]
    assert several["messages_taken_by_pins"] == alone["messages_taken_by_pins"]


def test_pinned_fetches_are_not_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle fetches are counted one by one, as if each of them were handled."""
    hold = {"hold": "FETCH", "from": "broker:2", "nth": 5, "after": "2s", "for": "1s"}
    scenario = cluster_of({"replica.fetch.wait.max.ms": 500}, pins=[hold], trace="transitions")
    hashes = []
    for eager in (False, True):
        monkeypatch.setattr(cluster_tables, "EAGER", eager)
        summary = simulate(scenario, tmp_path / str(eager)).summary
        assert summary is not None
        hashes.append((summary["trace_sha256"], summary["messages_taken_by_pins"]))
    assert hashes[0] == hashes[1]
    assert hashes[0][1] == {"pin-1": 1}


_PROBLEMS = [
    ({"hold": "FETCHES"}, "pins[0].hold: there is no message FETCHES; did you mean"),
    ({"hold": "STEP_DUE"}, "pins[0].hold: there is no message STEP_DUE"),
    ({"hold": "FETCH", "drop": "FETCH"}, "pins[0]: must have one of hold, drop and duplicate"),
    ({"nth": 2}, "pins[0]: must have one of hold, drop and duplicate"),
    ({"hold": "RAFT_FETCH"}, "pins[0].hold: RAFT_FETCH is of mode: kraft"),
    ({"hold": "FETCH", "to": "2"}, "pins[0].to: must be"),
    ({"hold": "FETCH", "to": 2}, "pins[0].to: must be broker:ID, controller:ID, zookeeper"),
    ({"hold": "FETCH", "to": "broker:9"}, "pins[0].to: there is no broker 9"),
    ({"hold": "FETCH", "from": "controllers"}, "pins[0].from: controllers are those of mode"),
    ({"hold": "FETCH", "topic": "story"}, "pins[0]: topic and partition name one partition"),
    (
        {"hold": "FETCH", "topic": "story", "partition": 3},
        "pins[0].partition: the last partition of story is 0",
    ),
    ({"drop": "ZK_SET"}, "pins[0]: ZK_SET can only be held: a session of ZooKeeper ends"),
    ({"drop": "FETCH", "for": "1s"}, "pins[0]: a dropped message is not held"),
    ({"hold": "FETCH", "after": "2s", "until": "2s"}, "pins[0]: until must be later than after"),
    ({"hold": "FETCH", "after": "9s"}, "pins[0].after: 9s is too late"),
    ({"hold": "FETCH", "nth": 0}, "pins[0].nth: "),
    ({"hold": "FETCH", "count": "some"}, "pins[0].count"),
]


@pytest.mark.parametrize(("pin", "problem"), _PROBLEMS)
def test_problems_of_pins_name_their_place(pin: dict[str, Any], problem: str) -> None:
    """One error, with the path of the field."""
    with pytest.raises(ScenarioError) as error:
        pinned(pin)
    assert problem in str(error.value)


def test_a_release_names_a_pin_that_holds_messages() -> None:
    """A dropped message cannot be released, and an unknown pin has none."""
    for pins in ([], [{"name": "gone", "drop": "FETCH"}]):
        with pytest.raises(ScenarioError, match=r"steps\[0\].pin: there is no pin that holds"):
            pinned(*pins, steps=[{"do": "release", "pin": "gone", "at": "1s"}])


def quorum(*pins: dict[str, Any], **parts: Any) -> Scenario:
    """The cluster with a quorum of three controllers, and pins."""
    shop = producers_of(20, "1s", "4s", acks="all")
    story: dict[str, Any] = {"mode": "kraft", "release": "4.1", "duration": "10s"}
    return cluster_of(pins=list(pins), workload={"producers": [shop]}, **(story | parts))


def test_a_broker_learns_late_what_a_held_metadata_fetch_brings(tmp_path: Path) -> None:
    """Broker 2 goes on as follower of broker 1 until it has fetched the metadata log further."""
    crash = {"kind": "crash", "brokers": [1], "at": "2s"}
    hold = {
        "hold": "RAFT_FETCH_RESPONSE",
        "to": "broker:2",
        "count": "all",
        "after": "10s",
        "until": "14s",
    }
    late = run_of(quorum(hold, faults=[crash], duration="15s"), tmp_path / "late")
    plain = run_of(quorum(faults=[crash], duration="15s"), tmp_path / "plain")
    leads_us = [
        rows_of(run, "became_leader", process=BROKER_2)[-1]["time_us"] for run in (plain, late)
    ]
    assert leads_us[0] < 14 * SECOND < leads_us[1]


def test_held_heartbeats_fence_a_broker(tmp_path: Path) -> None:
    """Its session ends after broker.session.timeout.ms, and a later heartbeat unfences it."""
    hold = {"hold": "BROKER_HEARTBEAT", "from": "broker:2", "after": "4s", "until": "14500ms"}
    run = run_of(quorum(hold | {"count": "all"}, duration="20s"), tmp_path / "run")
    states = [row["state"] for row in rows_of(run, "broker_state", broker=BROKER_2)]
    assert len(states) >= 3, "active, fenced, active again"
    fenced_us = rows_of(run, "broker_state", broker=BROKER_2)[-2]["time_us"]
    assert 4 * SECOND + 9 * SECOND - 2 * SECOND < fenced_us < 14_500_000


def test_a_dropped_alter_partition_response_leaves_the_change_pending(tmp_path: Path) -> None:
    """The controller has committed the ISR, and the leader hears of it from the metadata log."""
    crash = {"kind": "crash", "brokers": [3], "at": "2s", "for": "2s"}
    drop = {"drop": "ALTER_PARTITION_RESPONSE", "to": "broker:1"}
    run = run_of(quorum(drop, faults=[crash], duration="25s"), tmp_path / "run")
    (dropped,) = run.rows("message_dropped")
    committed = [
        row["time_us"]
        for row in rows_of(run, "partition_state", partition=0)
        if row["time_us"] < dropped["time_us"]
    ]
    assert committed
    assert dropped["time_us"] - committed[-1] < 100_000


@pytest.mark.parametrize(
    ("hold", "holder"),
    [
        ({"hold": "FETCH", "from": "broker:3", "to": "broker:1"}, BROKER_1),
        ({"hold": "FETCH_RESPONSE", "from": "broker:1", "to": "broker:3"}, BROKER_3),
    ],
)
def test_an_isr_shrinks_because_of_a_held_fetch(
    hold: dict[str, Any], holder: int, tmp_path: Path
) -> None:
    """The leader names the row of the pin, at its own end or at that of the follower."""
    settings = {"replica.lag.time.max.ms": 3000, "replica.fetch.wait.max.ms": 500}
    shop = producers_of(20, "1s", "9s")
    pin = {"count": "all", "after": "2s", "until": "9s", **hold}
    scenario = cluster_of(settings, pins=[pin], workload={"producers": [shop]}, duration="10s")
    run = run_of(scenario, tmp_path / "run")
    shrunk, *_ = run.rows("isr_update_sent")
    held = run.change_row(shrunk["because_process"], shrunk["because_sequence"])
    assert held is not None
    assert (held.kind, held["process"]) == ("message_held", holder)
