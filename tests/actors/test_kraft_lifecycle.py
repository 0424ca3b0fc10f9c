"""Brokers of a KRaft cluster register, are fenced and unfenced, and ask for leave to stop.

Rules as L1 to L12 of the recorded runs of Kafka 4.1.0 have them.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sampled_replicas import samples_of
from scenario_runs import rows_of, run_of
from tidegauge.replication import errors
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.simulation.trace_rows.codes import (
    BROKER_ACTIVE,
    BROKER_FENCED,
    BROKER_REGISTERS,
    BROKER_SESSION_EXPIRED,
    BROKER_SHUTTING_DOWN,
    STOP_CLEAN,
    STOP_KILLED,
    STOP_NOT_REGISTERED,
)
from tidegauge.traces.run_folder import RunFolder, TraceRow

SECOND = 1_000_000
#: Brokers 1, 2, 3 are the first processes.
BROKER_2, BROKER_3 = 1, 2
INTERVAL_US = 500_000
SESSION_US = 4 * SECOND


def cluster(*faults: dict[str, Any], **parts: Any) -> Scenario:
    """Three brokers, each leads one partition; session and heartbeats as in the recordings."""
    story: dict[str, Any] = {
        "release": "4.1",
        "duration": "40s",
        "liveness": True,
        "cluster": {"brokers": 3, "settings": {"broker.heartbeat.interval.ms": 500}},
        "controllers": {"count": 1, "settings": {"broker.session.timeout.ms": 4000}},
        "topics": [
            {"name": "story", "assignment": {0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]}},
        ],
        "workload": {
            "producers": [
                {"name": "shop", "topics": ["story"], "batches_per_second": 20, "start": "2s"}
            ]
        },
        "faults": list(faults),
    }
    return scenario_from_mapping(story | parts, "story")


def states(run: RunFolder, broker: int) -> list[tuple[int, int]]:
    """The states that the metadata log has of a broker, with their reasons."""
    return [
        (row["state"], row["state_reason"]) for row in rows_of(run, "broker_state", broker=broker)
    ]


def first_after(rows: list[TraceRow], time_us: int) -> TraceRow:
    """The first row later than a time."""
    return next(row for row in rows if row["time_us"] > time_us)


def times_us(rows: list[TraceRow]) -> list[int]:
    """When rows were written."""
    return [row["time_us"] for row in rows]


def test_a_broker_that_returns_is_fenced_until_its_logs_are_loaded(tmp_path: Path) -> None:
    """L1: it registers, its first publication loads the logs, then it is unfenced."""
    crash = {"name": "crash", "kind": "crash", "at": "10s", "for": "10s", "brokers": [2]}
    run = run_of(cluster(crash), tmp_path / "run")
    known = rows_of(run, "broker_state", broker=BROKER_2)
    fenced, registered, unfenced = known[2:5]
    assert fenced["state_reason"] == BROKER_SESSION_EXPIRED
    assert (registered["state"], registered["state_reason"]) == (BROKER_FENCED, BROKER_REGISTERS)
    assert unfenced["state"] == BROKER_ACTIVE
    (_, started_us) = times_us(rows_of(run, "broker_started", broker=BROKER_2))
    assert registered["time_us"] - 20 * SECOND > 700_000
    assert started_us < unfenced["time_us"]
    # Its leadership is for others from the fencing on, and no leader adds it while it is fenced.
    (loaded,) = rows_of(run, "broker_loading", broker=BROKER_2)
    assert (loaded["clean"], loaded["logs"]) == (0, 3)
    added = [row for row in run.rows("isr_expanded") if row["time_us"] > 20 * SECOND]
    assert len(added) == 3
    assert all(row["time_us"] > unfenced["time_us"] for row in added)
    # Expiry by the session, less a heartbeat's age, and up to an eighth more until it is found.
    kill_to_fence_us = fenced["time_us"] - 10 * SECOND
    assert SESSION_US - INTERVAL_US - 100_000 < kill_to_fence_us < SESSION_US + SESSION_US // 8


def test_another_isr_is_taken_over_in_the_same_term(tmp_path: Path) -> None:
    """M2: who leads and who follows in the same leader epoch continues as before."""
    crash = {"name": "crash", "kind": "crash", "at": "10s", "for": "20s", "brokers": [2]}
    run = run_of(cluster(crash), tmp_path / "run")
    # Partition 0 loses and regains a follower; partition 1 loses its leader.
    assert len(rows_of(run, "became_leader", partition=0)) == 1
    assert len(rows_of(run, "became_follower", partition=0, process=BROKER_3)) == 1
    assert len(rows_of(run, "became_leader", partition=1)) == 2
    (removed,) = rows_of(run, "removed_from_isr", partition=0)
    samples = samples_of(run, partition=0, leads=1)
    dead = [row for row in samples if 10_600_000 < row["time_us"] < removed["time_us"]]
    alive = [row for row in samples if removed["time_us"] + SECOND < row["time_us"] < 30 * SECOND]
    # The dead follower holds the high watermark back until the leader has the controller's ISR.
    assert len({row["high_watermark"] for row in dead}) == 1
    assert all(a["high_watermark"] < b["high_watermark"] for a, b in pairwise(alive))


@pytest.mark.parametrize(("kind", "stop"), [("crash", STOP_KILLED), ("restart", STOP_CLEAN)])
def test_a_quick_restart_is_refused_until_the_session_is_over(
    tmp_path: Path, kind: str, stop: int
) -> None:
    """L8: also after a clean stop; the process stays, and registers again each interval."""
    fault = {"name": "quick", "kind": kind, "at": "10s", "for": "500ms", "brokers": [2]}
    run = run_of(cluster(fault), tmp_path / "run")
    (stopped,) = rows_of(run, "broker_stopped", broker=BROKER_2)
    assert stopped["stop"] == stop
    refused = rows_of(run, "request_refused", error=int(errors.DUPLICATE_BROKER_REGISTRATION))
    assert len(refused) >= 2
    assert {row["from_process"] for row in refused} == {BROKER_2}
    for earlier_us, later_us in pairwise(times_us(refused)):
        assert 0 <= later_us - earlier_us - INTERVAL_US < 10_000
    known = rows_of(run, "broker_state", broker=BROKER_2)
    again = [row for row in known if row["state_reason"] == BROKER_REGISTERS][1]
    assert again["time_us"] > refused[-1]["time_us"]
    assert again["time_us"] - stopped["time_us"] > SESSION_US - 3 * SECOND
    assert again["broker_epoch"] > known[0]["broker_epoch"]


def test_a_leader_takes_the_broker_epoch_of_each_fetch(tmp_path: Path) -> None:
    """KIP-903: the new process of 1 fetches before it registers, and goes on in that session.

    A fetch of its former process is handled in between. The leader would take 1 for a broker of
    another epoch for ever, and never ask for an ISR with it.
    """
    late = {"hold": "FETCH", "from": "broker:1", "to": "broker:3", "until": "4200ms"}
    scenario = cluster(
        {"kind": "crash", "brokers": [1], "at": "3400ms", "for": "60ms"},
        release="4.4",
        duration="12s",
        topics=[{"name": "story", "assignment": {0: [3, 1]}}],
        workload={},
        cluster={
            "brokers": 3,
            "settings": {"broker.heartbeat.interval.ms": 500, "replica.fetch.wait.max.ms": 50},
        },
        network=dict.fromkeys(("within_rack", "between_racks"), "100ms"),
        costs={"broker_start": "20ms"},
        pins=[late],
    )
    run = run_of(scenario, tmp_path / "run")
    (released,) = run.rows("message_released")
    registered = next(
        row["time_us"]
        for row in rows_of(run, "broker_state", broker=0)
        if row["time_us"] > 3400_000
    )
    assert released["time_us"] < registered
    assert run.summary is not None
    assert run.summary["liveness"]["reached"], run.summary["liveness"]["reasons"]


def test_a_broker_that_hears_no_controller_goes_on_and_needs_no_restart(tmp_path: Path) -> None:
    """L7, M3: it is fenced, others lead, it fetches on; its next heartbeat has it unfenced."""
    cut = {
        "name": "cut",
        "kind": "cut_link",
        "at": "10s",
        "for": "10s",
        "between": [["broker:3"], ["controllers"]],
    }
    run = run_of(cluster(cut), tmp_path / "run")
    assert not rows_of(run, "broker_stopped")
    known = rows_of(run, "broker_state", broker=BROKER_3)
    assert [row["state"] for row in known] == [
        BROKER_FENCED,
        BROKER_ACTIVE,
        BROKER_FENCED,
        BROKER_ACTIVE,
    ]
    assert len({row["broker_epoch"] for row in known}) == 1
    fenced_us, unfenced_us = (row["time_us"] for row in known[2:])
    # It follows in partition 0, and has what is written there while it is fenced.
    ends = [
        row["log_end_offset"]
        for row in samples_of(run, process=BROKER_3, partition=0)
        if fenced_us < row["time_us"] < unfenced_us
    ]
    assert len(ends) > 3
    assert all(earlier < later for earlier, later in pairwise(ends))
    moved = first_after(rows_of(run, "leader_elected", partition=2), 10 * SECOND)
    assert moved["time_us"] == fenced_us
    expanded = [row["partition"] for row in run.rows("isr_expanded")]
    assert sorted(expanded) == [0, 1, 2]


def test_a_live_broker_that_asks_a_controller_without_power_three_times_is_fenced(
    tmp_path: Path,
) -> None:
    """L13, Q9: a heartbeat goes to the leader known when the one before was given up.

    The quorum has its next leader within 2 s. Of three brokers one chooses the dead voter again and
    again, each time for 2 s, to hear of it. So its heartbeats of 0, 4 and 8 s after the loss go
    there, too, and that of 12 s finds its session over (9 s from the election on). The two others
    are heard in time.
    """
    power = {"name": "power", "kind": "power_loss", "at": "10s", "brokers": ["controller:0"]}
    parts = {"duration": "25s", "workload": {}, "seed": 4, "liveness": False}
    quorum = {"cluster": {"brokers": 3}, "controllers": {"count": 3}}
    run = run_of(cluster(power, **parts, **quorum), tmp_path / "run")
    elected_us = first_after(rows_of(run, "controller_active"), 10_000_001)["time_us"]
    assert elected_us < 12 * SECOND
    later = [row for row in run.rows("broker_state") if row["time_us"] > 10 * SECOND]
    fenced, unfenced = later
    assert {fenced["broker"], unfenced["broker"]} == {BROKER_2}
    assert fenced["state_reason"] == BROKER_SESSION_EXPIRED
    assert 9 * SECOND < fenced["time_us"] - elected_us < 9 * SECOND * 9 // 8
    assert unfenced["state"] == BROKER_ACTIVE
    assert 12 * SECOND < unfenced["time_us"] - 10 * SECOND < 14 * SECOND


def test_a_broker_that_stops_waits_for_the_controllers_leave(tmp_path: Path) -> None:
    """L2, L11: its leaderships move in one batch; it goes when all others have heard of that."""
    stop = {"name": "stop", "kind": "restart", "at": "10s", "for": "10s", "brokers": [3]}
    run = run_of(cluster(stop), tmp_path / "run")
    (sent,) = rows_of(run, "controlled_shutdown_sent", broker=BROKER_3)
    (answered,) = rows_of(run, "controlled_shutdown_answered", broker=BROKER_3)
    (stopped,) = rows_of(run, "broker_stopped", broker=BROKER_3)
    known = rows_of(run, "broker_state", broker=BROKER_3)
    leaves = first_after(known, 10 * SECOND)
    assert leaves["state"] == BROKER_SHUTTING_DOWN
    assert 5_000 <= leaves["time_us"] - 10 * SECOND <= 100_000
    (moved,) = run.rows("leader_elected")
    assert moved["time_us"] == leaves["time_us"]
    assert sent["time_us"] < leaves["time_us"] < answered["time_us"] < stopped["time_us"]
    assert stopped["stop"] == STOP_CLEAN
    # No leader proposes anything: the controller has taken it out of all ISRs at once.
    removed = rows_of(run, "removed_from_isr", replica=BROKER_3)
    assert times_us(removed) == 3 * [leaves["time_us"]]
    (loading,) = rows_of(run, "broker_loading", broker=BROKER_3)
    assert loading["clean"] == 1


def test_a_broker_that_no_controller_registers_exits(tmp_path: Path) -> None:
    """initial.broker.registration.timeout.ms after its start, and again after each start."""
    settings = {
        "broker.heartbeat.interval.ms": 500,
        "initial.broker.registration.timeout.ms": 5000,
    }
    cut = {
        "name": "cut",
        "kind": "cut_link",
        "at": "10s",
        "for": "25s",
        "between": [["broker:2"], ["controllers"]],
    }
    crash = {"name": "crash", "kind": "crash", "at": "11s", "for": "1s", "brokers": [2]}
    scenario = cluster(
        cut, crash, cluster={"brokers": 3, "settings": settings, "restart_after_exit": "5s"}
    )
    run = run_of(scenario, tmp_path / "run")
    killed, *exited = rows_of(run, "broker_stopped", broker=BROKER_2)
    assert killed["stop"] == STOP_KILLED
    assert {row["stop"] for row in exited} == {STOP_NOT_REGISTERED}
    # A start takes its time, then it waits for 5 s, and its supervisor for 5 s more.
    starts_us = [12 * SECOND, *(row["time_us"] + 5 * SECOND for row in exited[:-1])]
    for start_us, row in zip(starts_us, exited, strict=True):
        assert 5_700_000 < row["time_us"] - start_us < 6_500_000
    assert states(run, BROKER_2)[-1][0] == BROKER_ACTIVE
