"""Rolling restarts: batch by batch, waiting as an operator does, whatever else goes wrong.

Brokers 1, 2 and 3 are the processes 0, 1 and 2; broker 3 is the first controller.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from isr_stories import process_named
from life_stories import of_broker, story
from process_groups import groups_of
from quorum_stories import quorum_story
from scenario_runs import rows_of, run_of
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import ScenarioError, scenario_from_mapping
from tidegauge.simulation.trace_rows.codes import (
    ALTER_PARTITION,
    ISR_CHANGE,
    ROLL_DONE,
    ROLL_GIVES_UP,
    ROLL_GOES_ON_ANYWAY,
    ROLL_IN_SYNC,
    ROLL_PREFERS,
    ROLL_STARTED,
    ROLL_STOPS,
    STOP_CLEAN,
)
from tidegauge.traces.run_folder import RunFolder, TraceRow
from zookeeper_stories import MS, SECOND

TOPICS = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]


def roll(**others: Any) -> dict[str, Any]:
    """A rolling restart from 5 s on; a broker is down for 2 s."""
    written = {"kind": "rolling_restart", "at": "5s", "stopped_for": "2s", "poll": "500ms"}
    return written | others


def rolled(folder: Path, *faults: dict[str, Any], **parts: Any) -> RunFolder:
    parts = {"duration": "40s"} | parts
    return run_of(story(TOPICS, [], faults=list(faults), **parts), folder)


def progress(run: RunFolder) -> list[tuple[int, int]]:
    """What the operator has done, and with which broker (its index)."""
    return [(row["progress"], row["broker"]) for row in run.rows("roll_progress")]


def when(run: RunFolder, state: int) -> list[int]:
    return [row["time_us"] for row in rows_of(run, "roll_progress", progress=state)]


def down_us(run: RunFolder, broker: int) -> list[tuple[int, int]]:
    """From when to when a broker has had no process."""
    ends = [row["time_us"] for row in of_broker(run, "broker_stopped", broker)]
    begins = [row["time_us"] for row in of_broker(run, "broker_loading", broker)]
    return list(zip(ends, begins, strict=True))


@pytest.fixture(scope="module", name="plain")
def _plain(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return rolled(tmp_path_factory.mktemp("plain"), roll(pause="1s"))


def test_brokers_are_restarted_one_after_the_other_and_isrs_are_full_before_the_next(
    plain: RunFolder,
) -> None:
    """By ZooKeeper's state, as kafka-topics --describe --under-replicated-partitions has it."""
    each = [ROLL_STOPS, ROLL_STARTED, ROLL_IN_SYNC]
    assert progress(plain) == [
        *((state, broker) for broker in range(3) for state in each),
        (ROLL_DONE, -1),
    ]
    expands = [row["time_us"] for row in plain.rows("isr_expanded")]
    for stopped_us, in_sync_us in zip(
        when(plain, ROLL_STOPS), when(plain, ROLL_IN_SYNC), strict=True
    ):
        # Its replicas of all three partitions have left and joined the ISRs again.
        assert len([time_us for time_us in expands if stopped_us < time_us < in_sync_us]) == 3
    pauses = zip(when(plain, ROLL_IN_SYNC)[:-1], when(plain, ROLL_STOPS)[1:], strict=True)
    assert [next_us - in_sync_us for in_sync_us, next_us in pauses] == 2 * [1 * SECOND]


def test_each_is_stopped_cleanly_and_down_for_as_long_as_it_should_be(plain: RunFolder) -> None:
    """From the end of its process on, however long that took."""
    for broker in (1, 2, 3):
        assert [row["stop"] for row in of_broker(plain, "broker_stopped", broker)] == [STOP_CLEAN]
        ((end_us, begin_us),) = down_us(plain, broker)
        assert begin_us - end_us == 2 * SECOND


def test_a_rolling_restart_is_a_fault_and_each_restart_in_it_another(plain: RunFolder) -> None:
    """So that whatever follows from one of them names it."""
    named = [(fault["kind"], fault["name"]) for fault in plain.manifest["faults"]]
    assert named == [
        ("rolling_restart", "rolling_restart-1"),
        *(("restart", f"rolling_restart-1 of broker {broker}") for broker in (1, 2, 3)),
    ]
    operator = process_named(plain, "operator")
    begun, ended = (rows_of(plain, kind, fault=0) for kind in ("fault_began", "fault_ended"))
    assert [row["process"] for row in (*begun, *ended)] == [operator, operator]
    assert ended[0]["time_us"] == when(plain, ROLL_DONE)[0]


def test_a_batch_is_restarted_at_once_and_the_order_can_be_given(tmp_path: Path) -> None:
    run = rolled(tmp_path / "run", roll(brokers=[3, 1, 2], batch=2))
    assert [broker for state, broker in progress(run) if state == ROLL_STOPS] == [2, 1]
    (one, _), (other, _) = down_us(run, 3)[0], down_us(run, 1)[0]
    assert abs(one - other) < 500 * MS
    assert down_us(run, 2)[0][0] > when(run, ROLL_IN_SYNC)[0]


def test_without_waiting_the_next_are_stopped_when_these_have_been_started(tmp_path: Path) -> None:
    """They may still load their logs: then partitions are under-replicated, or without a leader."""
    run = rolled(tmp_path / "run", roll(wait_for_full_isr=False))
    assert ROLL_IN_SYNC not in [state for state, _ in progress(run)]
    for (_, started_us), (stopped_us, _) in pairwise(
        down_us(run, broker)[0] for broker in (1, 2, 3)
    ):
        assert started_us < stopped_us


@pytest.mark.parametrize(("back", "asks"), [("none", 0), ("after_each_batch", 3), ("at_end", 1)])
def test_leadership_can_be_given_back(back: str, asks: int, tmp_path: Path) -> None:
    """By a preferred election: of the partitions on the batch, or of all at the end."""
    run = rolled(tmp_path / "run", roll(leadership_back=back))
    assert len(when(run, ROLL_PREFERS)) == asks
    leaders = {}
    for row in run.rows("leader_elected"):
        leaders[row["partition"]] = row["leader"]
    preferred = {0: 0, 1: 1, 2: 2}
    assert (leaders == preferred) == (asks > 0)


@pytest.mark.parametrize(
    ("on_timeout", "state", "restarted"),
    [("stop", ROLL_GIVES_UP, [1]), ("go_on", ROLL_GOES_ON_ANYWAY, [1, 2, 3])],
)
def test_when_isrs_do_not_become_full_it_stops_or_goes_on(
    on_timeout: str, state: int, restarted: list[int], tmp_path: Path
) -> None:
    """A rack loses power in the middle: its replicas are missing for longer than the time-out."""
    power = {"kind": "power_loss", "at": "6s", "for": "25s", "brokers": ["rack:b"]}
    run = rolled(
        tmp_path / "run",
        roll(brokers=[1, 2, 3], timeout="8s", on_timeout=on_timeout),
        power,
        cluster={"racks": {"a": [1, 2], "b": [3]}},
        duration="45s",
    )
    (waited,) = rows_of(run, "roll_progress", progress=state, broker=0)
    assert waited["time_us"] == 13 * SECOND
    assert (waited["unregistered"], waited["under_replicated"]) == (0, 3)
    assert [b for b in (1, 2, 3) if STOP_CLEAN in _stops(run, b)] == [
        broker for broker in restarted if broker != 3
    ] or STOP_CLEAN in _stops(run, 3)
    assert (ROLL_DONE in [each for each, _ in progress(run)]) == (on_timeout == "go_on")


def _stops(run: RunFolder, broker: int) -> list[int]:
    return [row["stop"] for row in of_broker(run, "broker_stopped", broker)]


def test_a_broker_that_is_dead_anyway_is_down_for_its_time_and_started_when_it_can_be(
    tmp_path: Path,
) -> None:
    """The crash outlasts the restart: the operator's start changes nothing, and he waits.

    When the restart begins the dead broker's session has expired, and ISRs are without it.
    """
    crash = {"kind": "crash", "at": "4s", "for": "20s", "brokers": [1]}
    run = rolled(tmp_path / "run", roll(at="16s", brokers=[1, 2]), crash)
    (stopped, started, in_sync, following, *_) = run.rows("roll_progress")
    assert [row["progress"] for row in (stopped, started, in_sync)] == [
        *(ROLL_STOPS, ROLL_STARTED, ROLL_IN_SYNC),
    ]
    assert started["time_us"] < 24 * SECOND < in_sync["time_us"] <= following["time_us"]
    assert _began_us(of_broker(run, "broker_loading", 1)) == [24 * SECOND]


def _began_us(rows: list[TraceRow]) -> list[int]:
    return [row["time_us"] for row in rows]


def test_a_rolling_restart_that_is_ended_restarts_no_more(tmp_path: Path) -> None:
    """By its `for`, or a step; who is down then comes back all the same."""
    run = rolled(tmp_path / "run", roll(**{"for": "2s"}))
    assert [state for state, _ in progress(run)] == [ROLL_STOPS]
    assert [len(down_us(run, broker)) for broker in (1, 2, 3)] == [1, 0, 0]


def test_while_zookeeper_is_silent_nobody_goes_on(tmp_path: Path) -> None:
    outage = {"kind": "zookeeper_outage", "at": "7s", "for": "12s", "how": "restart"}
    run = rolled(tmp_path / "run", roll(brokers=[1, 2]), outage, duration="45s")
    assert when(run, ROLL_IN_SYNC)[0] > 19 * SECOND


def test_it_names_brokers_that_there_are() -> None:
    with pytest.raises(ScenarioError, match="there is no broker 7"):
        story(TOPICS, [], faults=[roll(brokers=[7])])


# Upgrades.


def changes_of_isrs(run: RunFolder, event: int) -> list[int]:
    """When controllers were told of ISRs by notifications, or were asked for them by leaders."""
    return [row["time_us"] for row in rows_of(run, "controller_event", event_kind=event)]


def test_brokers_of_a_new_release_keep_the_protocol_until_they_are_rolled_again(
    tmp_path: Path,
) -> None:
    """KIP-497: leaders ask the controller for their ISRs from inter.broker.protocol.version 2.7 on.

    In between, leaders of both protocols are side by side.
    """
    upgrade = roll(to_release="2.8")
    finish = roll(at="30s", to_protocol="2.8")
    run = rolled(tmp_path / "run", upgrade, finish, duration="60s")
    done = when(run, ROLL_DONE)
    assert len(done) == 2
    stops = when(run, ROLL_STOPS)
    notified, asked = changes_of_isrs(run, ISR_CHANGE), changes_of_isrs(run, ALTER_PARTITION)
    assert [time_us for time_us in notified if stops[0] < time_us < stops[3]]
    assert not [time_us for time_us in asked if time_us < stops[3]]
    assert [time_us for time_us in asked if stops[3] < time_us < done[1]]
    last_is_back = when(run, ROLL_STARTED)[-1]
    assert not [time_us for time_us in notified if time_us > last_is_back + 5 * SECOND]


def test_an_upgrade_is_the_same_in_groups_of_processes(tmp_path: Path) -> None:
    """A broker and its controller, in groups of their own, get the new rules each by itself."""
    upgrade = roll(to_release="2.8", to_protocol="2.8")
    scenario = story(TOPICS, [], faults=[upgrade], duration="25s")
    groups = [[process] for group in groups_of(scenario, 1) for process in group]
    one = simulate(scenario, tmp_path / "one")
    many = simulate(scenario, tmp_path / "many", make_engine=inline(groups))
    plain = simulate(story(TOPICS, [], faults=[roll()], duration="25s"), tmp_path / "plain")
    hashes = [(run.summary or {})["trace_sha256"] for run in (one, many, plain)]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize("is_upgraded", [False, True])
def test_an_upgraded_leader_commits_nothing_under_min_isr(
    is_upgraded: bool, tmp_path: Path
) -> None:
    """KAFKA-15583, a rule of the release, whatever the metadata.version: from 3.7 on."""
    upgrade = {"to_release": "3.9"} if is_upgraded else {}
    dies = {"kind": "crash", "brokers": [2], "at": "20s"}
    produces = {"do": "produce", "at": "40s", "topic": "t0", "partition": 0, "acks": 1}
    scenario = quorum_story(
        [[1, 2]],
        topic={"min.insync.replicas": 2},
        release="3.6",
        mode="kraft",
        faults=[roll(brokers=[1, 2], leadership_back="at_end", **upgrade), dies],
        steps=[{**produces, "records": 4}, {"after": "2s", "do": "observe"}],
    )
    run = run_of(scenario, tmp_path / "run")
    seen = of_broker(run, "observed", 1)[-1]
    assert seen["log_end_offset"] == 4
    assert seen["high_watermark"] == (0 if is_upgraded else 4)


@pytest.mark.parametrize(
    ("release", "upgrade", "message"),
    [
        ("2.8", {"to_release": "2.6"}, "2.6"),
        ("2.6", {"to_release": "4.1"}, "inter.broker.protocol.version"),
        ("4.1", {"to_protocol": "3.9"}, "has no meaning"),
    ],
)
def test_an_upgrade_that_brokers_cannot_make_is_one_clear_error(
    release: str, upgrade: dict[str, str], message: str
) -> None:
    parts = {
        "duration": "1m",
        "cluster": {"brokers": 3},
        "topics": [{"name": "t", "partitions": 1}],
    }
    with pytest.raises(ScenarioError, match=message):
        scenario_from_mapping(parts | {"release": release, "faults": [roll(**upgrade)]}, "upgrade")
