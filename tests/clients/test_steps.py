"""What the operator does: topics that are created late, looks, waits, and whom it asks.

Brokers 1, 2 and 3 are the processes 0, 1 and 2; broker 3 is the first controller.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from life_stories import at, batches, begins, ends, fault, once, once_in_sync, story
from partition_fates import NO_LEADER, Answer, Records, answers, log_of, state_writes
from scenario_runs import rows_of, run_of
from tidegauge.replication import errors
from tidegauge.replication.errors import NONE
from tidegauge.runs.trace_events import Names, event_of
from tidegauge.simulation.trace_rows.codes import (
    NOT_HOSTED,
    NOT_UP,
    REASON_OBSERVED,
    WAITS_FOR_LOCK,
)
from tidegauge.traces.run_folder import RunFolder, TraceRow
from zookeeper_stories import MS, SECOND, writes_by_path

LEADER_NOT_AVAILABLE = errors.CODES["LEADER_NOT_AVAILABLE"]

AT_ONCE: dict[str, Any] = {"after": "0s"}
#: When a pause has begun everywhere.
SOON: dict[str, Any] = {"after": "200ms"}


def taken_us(run: RunFolder) -> list[int]:
    """When each step was taken."""
    return [row["time_us"] for row in run.rows("step_taken")]


# Topics that a step creates.


def test_a_topic_is_not_there_before_its_step_creates_it(tmp_path: Path) -> None:
    """Its partitions get leaders then; the others got theirs when all brokers were registered."""
    steps = [
        [{"at": "5s", "do": "create_topic", "topic": "t1"}],
        batches([1], 5, once_in_sync(1, 3, 2)),
    ]
    run = run_of(story([[1, 2], [3, 2]], steps, duration="10s"), tmp_path / "run")
    written = writes_by_path(run)
    assert written["/brokers/topics/t0"][0]["time_us"] < 2 * SECOND
    (created,) = written["/brokers/topics/t1"]
    assert 0 < created["time_us"] - 5 * SECOND < 30 * MS
    assert state_writes(run, 1) == [(3, 3, [3, 2], 0, 0)]
    assert answers(run) == [Answer(3, NONE, 0, 5)]
    assert log_of(run, 3, 1) == log_of(run, 2, 1) == [Records(0, 0, 5)]


# Looks.


def observed(run: RunFolder, broker: int) -> list[tuple[int, int, int]]:
    """What the looks at the first partition have shown of a replica: its ends, by the step."""
    rows = rows_of(run, "observed", process=broker - 1, partition=0)
    return [(row["step"], row["log_end_offset"], row["high_watermark"]) for row in rows]


def test_a_look_shows_logs_files_and_what_a_broker_would_answer(tmp_path: Path) -> None:
    """The files of a dead broker are there; its high watermark nobody can tell."""
    steps = [batches([0], 5), begins("crash", {"after": "6s"}), [SOON | {"do": "observe"}]]
    run = run_of(story([[1, 2]], steps, faults=[fault("crash", 2)]), tmp_path / "run")
    assert observed(run, 1) == [(2, 5, 5)]
    assert observed(run, 2) == [(2, 5, NOT_UP)]
    assert observed(run, 3) == []
    assert {row["checkpointed"] for row in run.rows("observed")} == {5}
    epochs = [
        (row["process"], row["epoch"], row["start_offset"]) for row in run.rows("epoch_observed")
    ]
    assert epochs == [(0, 0, 0), (1, 0, 0)]
    assert log_of(run, 2, reason=REASON_OBSERVED) == [Records(0, 0, 5)]
    up, down = (event_of(row, Names(run.manifest)).words for row in run.rows("observed"))
    assert "high watermark 5" in up
    assert "high watermark unknown (the broker is not up)" in down


def test_a_look_shows_a_partition_that_is_blocked_or_not_hosted_yet(tmp_path: Path) -> None:
    """Leader 1 waits for ZooKeeper inside the lock; the controller cannot tell 2 its role."""
    cut = {"kind": "cut_link", "name": "cut", "between": [["controller:3"], ["broker:2"]]}
    outage = {"kind": "zookeeper_outage", "name": "outage"}
    steps = [
        batches([0], 5),
        begins("crash"),
        begins("cut", once_in_sync(0, 1)),
        ends("crash", AT_ONCE),
        [{"after": "3s", "do": "observe"}],
        ends("cut", AT_ONCE),
        begins("pause", once_in_sync(0, 1, 2)),
        begins("outage", AT_ONCE),
        [SOON | {"do": "produce", "acks": 1, "to": 1} | at(0)],
        [{"after": "8s", "do": "observe"}],
        ends("outage", AT_ONCE),
    ]
    long_sessions = {"zookeeper.session.timeout.ms": 20_000}
    run = run_of(
        story(
            [[1, 2]], steps,
            faults=[fault("crash", 2), cut, fault("pause", 2), outage],
            settings=long_sessions, duration="80s",
        ),
        tmp_path / "run",
    )  # fmt: skip
    assert observed(run, 1) == [(4, 5, 5), (9, 6, WAITS_FOR_LOCK)]
    assert observed(run, 2)[0] == (4, 5, NOT_HOSTED)
    # As soon as ZooKeeper has answered, the one that was locked says it.
    (unlocked,) = run.rows("high_watermark_told")
    (shrunk,) = rows_of(run, "isr_shrunk", process=0)
    assert (unlocked["process"], unlocked["step"], unlocked["partition"]) == (0, 9, 0)
    assert unlocked["time_us"] == shrunk["time_us"] > taken_us(run)[-1]
    assert unlocked["high_watermark"] == 6


# Waits.


def test_a_step_that_waits_only_lets_time_pass_for_the_next(tmp_path: Path) -> None:
    """Half a second after broker 2 leads, not after the step that came before."""
    steps = [
        batches([0], 5),
        begins("crash"),
        [once(leader=at(0) | {"is": 2}) | {"do": "wait"}],
        batches([0], 3, {"after": "500ms"}),
    ]
    run = run_of(story([[1, 2]], steps, faults=[fault("crash", 1)]), tmp_path / "run")
    *_, waited_us, produced_us = taken_us(run)
    elected = rows_of(run, "leader_elected", leader=1)[-1]
    assert 0 < waited_us - elected["time_us"] < 30 * MS
    assert produced_us - waited_us == 500 * MS
    assert answers(run)[-1] == Answer(2, NONE, 5, 8)


def test_a_produce_that_is_not_waited_for_is_written_down_when_its_answer_comes(
    tmp_path: Path,
) -> None:
    """What lies in a paused leader's socket, while the operator goes on."""
    steps = [
        batches([0], 5),
        begins("pause"),
        [SOON | {"do": "produce", "records": 3, "acks": 1, "wait": False} | at(0)],
        [AT_ONCE | {"do": "produce", "records": 4, "acks": 1, "wait": False} | at(0)],
        batches([1], 1, AT_ONCE),
        ends("pause", {"after": "1s"}),
    ]
    run = run_of(story([[1, 2], [2, 3]], steps, faults=[fault("pause", 1)]), tmp_path / "run")
    answered: list[TraceRow] = list(run.rows("step_answered"))
    assert [(row["step"], row["offset"], row["end_offset"]) for row in answered] == [
        (0, 0, 5), (4, 0, 1), (2, 5, 8), (3, 8, 12),
    ]  # fmt: skip
    steps_us = taken_us(run)
    assert steps_us[4] - steps_us[2] < 30 * MS
    assert answered[1]["time_us"] < steps_us[5] < answered[2]["time_us"]
    assert not list(run.rows("step_unanswered"))


@pytest.mark.parametrize("dies", [False, True])
def test_a_step_waits_until_all_answers_are_there_or_will_never_be(
    dies: bool, tmp_path: Path
) -> None:
    """``answered``: of two produces that lie in a paused leader's socket; it goes on, or dies."""
    produce = {"do": "produce", "records": 3, "acks": 1, "wait": False} | at(0)
    steps = [
        batches([0], 5),
        begins("pause"),
        [SOON | produce, AT_ONCE | produce],
        [once(answered=True) | {"do": "wait"}],
    ]
    length = {"for": "3s"}
    faults = [fault("pause", 1, **length)]
    if dies:
        steps[2].append({"after": "1s", "do": "begin_fault", "fault": "crash"})
        faults = [fault("pause", 1), fault("crash", 1)]
    run = run_of(story([[1, 2]], steps, faults=faults), tmp_path / "run")
    over = list(run.rows("step_unanswered" if dies else "step_answered"))[-2:]
    assert [row["step"] for row in over] == [2, 3]
    *_, waited_us = taken_us(run)
    assert 0 <= waited_us - over[-1]["time_us"] < 5 * MS
    assert not list(run.rows("step_timed_out"))


# Who leads.


def test_somebody_else_leads_or_nobody(tmp_path: Path) -> None:
    """``is_not`` does not hold as long as 1 leads, and holds for 2, and for -1."""
    steps = [
        batches([0, 1], 5),
        begins("crash"),
        [once(leader=at(0) | {"is_not": 1}) | {"do": "wait"}],
        [once(leader=at(1) | {"is_not": 1}) | {"do": "wait"}],
    ]
    run = run_of(story([[1, 2], [1]], steps, faults=[fault("crash", 1)]), tmp_path / "run")
    (expired,) = run.rows("session_expired")
    for partition, leader in ((0, 2), (1, NO_LEADER)):
        last = state_writes(run, partition)[-1]
        assert (last.leader, last.leader_epoch) == (leader, 1)
    for waited_us in taken_us(run)[-2:]:
        assert 0 < waited_us - expired["time_us"] < 80 * MS
    assert not list(run.rows("step_timed_out"))


@pytest.mark.parametrize(
    "request_of", [{"do": "produce", "records": 3}, {"do": "fetch", "offset": 0}]
)
def test_where_nobody_leads_a_client_finds_no_leader(
    request_of: dict[str, Any], tmp_path: Path
) -> None:
    """LEADER_NOT_AVAILABLE in its metadata, at once: nobody is asked, and the operator goes on."""
    steps = [
        batches([0], 5),
        begins("crash"),
        [once(leader=at(0) | {"is": -1}) | request_of | at(0)],
        batches([1], 1, AT_ONCE),
    ]
    run = run_of(story([[1], [2]], steps, faults=[fault("crash", 1)]), tmp_path / "run")
    assert answers(run) == [
        Answer(1, NONE, 0, 5),
        Answer(NO_LEADER, LEADER_NOT_AVAILABLE, -1, -1),
        Answer(2, NONE, 0, 1),
    ]
    (nobody,) = rows_of(run, "step_answered", error=LEADER_NOT_AVAILABLE)
    assert (
        "ends with LEADER_NOT_AVAILABLE (no process)" in event_of(nobody, Names(run.manifest)).words
    )
    *_, asked_us, next_us = taken_us(run)
    assert 0 < next_us - asked_us < 30 * MS


# The latest offset.


def test_the_latest_offset_is_that_up_to_which_a_consumer_may_read(tmp_path: Path) -> None:
    """ListOffsets of a leader with two records of which its follower, 2, has one."""
    cut = {"kind": "cut_link", "at": "7s", "between": [["broker:1"], ["broker:2"]]}
    latest = AT_ONCE | {"do": "list_offsets"} | at(0)
    steps = [
        batches([0], 1),
        [{"at": "8s", "do": "produce", "acks": 1} | at(0)],
        [latest, latest | {"to": 2}],
    ]
    run = run_of(story([[1, 2]], steps, faults=[cut], duration="10s"), tmp_path / "run")
    assert answers(run) == [
        Answer(1, NONE, 0, 1),
        Answer(1, NONE, 1, 2),
        Answer(1, NONE, -1, 1),
        Answer(2, int(errors.NOT_LEADER_OR_FOLLOWER), -1, -1),
    ]
    (told,) = run.rows("end_offset_told")
    assert (told["process"], told["end_offset"], told["error"]) == (0, 1, NONE)


# Assignments.


def test_partitions_of_one_topic_have_as_many_replicas_as_their_assignment_says(
    tmp_path: Path,
) -> None:
    """Three, one and two: nobody else hosts them, and acks=all waits for these."""
    replicas = {0: [1, 2, 3], 1: [3], 2: [2, 1]}
    partition: dict[str, Any] = {"do": "produce", "topic": "t", "records": 4}
    steps = [[AT_ONCE | partition | {"partition": number} for number in replicas]]
    steps[0][0] = partition | {"at": "3s", "partition": 0}
    run = run_of(
        story([], steps, topics=[{"name": "t", "assignment": replicas}], duration="8s"),
        tmp_path / "run",
    )
    for number, brokers in replicas.items():
        assert state_writes(run, number) == [(3, brokers[0], brokers, 0, 0)]
        held = [broker for broker in (1, 2, 3) if log_of(run, broker, number)]
        assert held == sorted(brokers)
    assert answers(run) == [Answer(brokers[0], NONE, 0, 4) for brokers in replicas.values()]
