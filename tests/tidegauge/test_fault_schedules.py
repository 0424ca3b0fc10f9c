"""Generated fault schedules: nothing hangs, everything heals, and no promise breaks unexplained.

The schedules of ``fault_schedules.py`` under release 2.6: whatever overlaps, in the end every
ISR is full, all logs of a partition are equal (but for what leaders have written twice in one
epoch), and of what was acknowledged only that is lost which the producer or a setting had given
up, or a loss of power has taken. The same with AlterPartition, under later releases.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

import pytest

from fault_schedules import FAULT_KINDS, clean_but_far_apart, schedule
from gates import COMMITS, ELECTIONS, ISR_CHANGES, TRUNCATIONS, Reached, assert_reached, reached_by
from scenario_runs import run_of
from tidegauge.replication.in_sync_replicas import ACKS_ALL
from tidegauge.replication.replica_list import size
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.simulation.trace_rows.codes import REASON_END, STATE_DELETED
from tidegauge.traces.checks.histories import BY_DIVERGING_RESPONSE, PERMITS
from tidegauge.traces.run_folder import RunFolder, TraceRow

#: In pytest's parameters ten schedules are one test, so that a failure names few.
TENS = [ten if ten < 5 else pytest.param(ten, marks=pytest.mark.long) for ten in range(30)]

#: A schedule has as many of these, on an average, or its faults met nothing.
LEAST = {COMMITS: 100, ELECTIONS: 10, ISR_CHANGES: 5, TRUNCATIONS: 0.5}

Run = tuple[int, int, int]


class Fate(NamedTuple):
    """What the rows of a run say of one partition."""

    #: Broker's index -> its log at the end: (epoch, first offset, end offset), in order.
    logs: dict[int, list[Run]]
    #: (acks, epoch, first offset, end offset) of what was acknowledged.
    acknowledged: list[tuple[int, int, int, int]]
    #: Why acknowledged records may be lost.
    excuses: set[str]
    #: Epochs in which a leader led on that had lost its log's end with the power. If it is back
    #: before it is missed, Kafka elects nobody, and gives the same offsets to other records.
    rewritten: set[int]
    #: The last write of its state.
    state: list[TraceRow]


def fates_of(run: RunFolder) -> list[Fate]:
    """What became of each partition."""
    led: dict[tuple[int, int], int] = {}
    shortened: dict[tuple[int, int], int] = {}
    fates = [Fate(defaultdict(list), [], set(), set(), []) for _ in run.manifest["partitions"]]
    for row in run.all_rows():
        if row.kind == "partition_state" and row["change"] != STATE_DELETED:
            fates[row["partition"]].state[:] = [row]
        elif row.kind == "log_end" and row["reason"] == REASON_END:
            runs = fates[row["partition"]].logs[row["process"]]
            runs.append((row["epoch"], row["start_offset"], row["end_offset"]))
        elif row.kind == "acknowledged":
            promised = (row["acks"], row["leader_epoch"], row["first_offset"], row["end_offset"])
            fates[row["partition"]].acknowledged.append(promised)
        elif row.kind == "leader_elected" and row["unclean"]:
            fates[row["partition"]].excuses.add("unclean election")
        elif row.kind == "log_lost":
            fates[row["partition"]].excuses.add("loss of power")
            replica = (row["partition"], row["process"])
            shortened[replica] = led.get(replica, -1)
        elif row.kind == "became_leader":
            replica = (row["partition"], row["process"])
            led[replica] = row["leader_epoch"]
            if shortened.get(replica) == row["leader_epoch"]:
                fates[row["partition"]].rewritten.add(row["leader_epoch"])
    return fates


def lost_in(log: list[Run], epoch: int, first_offset: int, end_offset: int) -> int:
    """How many of these records are not in a log."""
    held = sum(
        max(0, min(end_offset, end) - max(first_offset, start))
        for run_epoch, start, end in log
        if run_epoch == epoch
    )
    return end_offset - first_offset - held


def losses(run: RunFolder) -> dict[str, int]:
    """Acknowledged records that the last leaders do not have, by the reason that permits it."""
    found: defaultdict[str, int] = defaultdict(int)
    for fate in fates_of(run):
        log = fate.logs[fate.state[0]["leader"]]
        for acks, epoch, first_offset, end_offset in fate.acknowledged:
            count = lost_in(log, epoch, first_offset, end_offset)
            excuses = fate.excuses | ({"acks=1"} if acks != ACKS_ALL else set())
            if count:
                found[" or ".join(sorted(excuses)) or "nothing permits it"] += count
    return dict(found)


@cache
def played(seed: int) -> RunFolder:
    """The run of a schedule under release 2.6: it is played once."""
    return run_of(schedule(seed), Path(mkdtemp()) / f"schedule-{seed}")


def assert_all_is_well(run: RunFolder) -> None:
    """Every partition is led, written to, in sync and equal on all its replicas."""
    assert not list(run.rows("step_timed_out"))
    assert not list(run.rows("step_unanswered"))
    answers = list(run.rows("step_answered"))
    assert [row["error"] for row in answers] == [0] * len(run.manifest["partitions"])
    for partition, fate in enumerate(fates_of(run)):
        replicas = run.manifest["partitions"][partition]["replicas"]
        assert fate.state[0]["leader"] >= 0
        assert size(fate.state[0]["isr"]) == len(replicas)
        first, *others = (fate.logs[run.manifest["brokers"].index(broker)] for broker in replicas)
        assert first
        if not fate.rewritten:
            assert all(log == first for log in others), f"partition {partition}"


def assert_no_check_is_broken(run: RunFolder) -> None:
    """A check that is broken says which setting or release has given up its promise.

    Unclean elections are possible only where a topic allows them, power is lost only where
    the schedule says so, and releases with KAFKA-14704 give up one check only.
    """
    assert run.summary is not None
    scenario = run.manifest["scenario"]
    is_unclean = any(
        topic["settings"].get("unclean.leader.election.enable") for topic in scenario["topics"]
    )
    kinds = {fault["kind"] for fault in scenario["faults"]}
    for name, found in run.summary["checks"].items():
        assert found["broken"] == 0, (name, found, run.summary["liveness"])
        assert found["verdict"] is not False or found["permitted"] > 0
        if found["permitted_by"] == PERMITS[int(BY_DIVERGING_RESPONSE)]:
            assert (name, run.manifest["scenario"]["release"][:3]) == ("committed_agree", "3.1")
        elif found["permitted"]:
            assert is_unclean or "power_loss" in kinds


@pytest.mark.parametrize("ten", TENS)
def test_after_any_schedule_of_faults_all_is_well(ten: int) -> None:
    """300 schedules of 3 to 9 faults on 3 to 5 brokers and up to 12 partitions, release 2.6."""
    for seed in range(10 * ten, 10 * ten + 10):
        run = played(seed)
        try:
            assert_no_check_is_broken(run)
            assert_all_is_well(run)
            assert "nothing permits it" not in losses(run)
        except AssertionError as error:
            raise AssertionError(f"fault_schedules.schedule({seed})") from error


def test_the_schedules_reach_what_they_are_to_test() -> None:
    """The gate of the tests above: those of the short ones, which are played already."""
    assert_reached((reached_by(played(seed)) for seed in range(50)), LEAST, FAULT_KINDS)


def test_runs_that_reach_nothing_do_not_pass_and_the_failure_names_it() -> None:
    reached = [Reached({ELECTIONS: 3}), Reached({ELECTIONS: 2, "fault crash": 1})]
    with pytest.raises(AssertionError) as failure:
        assert_reached(reached, {ELECTIONS: 2, TRUNCATIONS: 0.4}, ["crash", "pause"])
    assert str(failure.value) == (
        "2 runs have not reached enough: truncations: 0, at least 1; fault pause: 0, at least 1"
    )
    assert_reached(reached, {ELECTIONS: 2}, ["crash"])


RELEASES = ("3.9", "3.1", "2.7")


@pytest.mark.parametrize("every", [len(RELEASES), pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("release", RELEASES)
def test_with_alter_partition_all_is_well_too_and_nobody_is_notified(
    release: str, every: int, tmp_path: Path
) -> None:
    """KIP-497: what leaders propose is written in the end, or given up with their terms.

    Forty schedules in one of the releases, or each of them in all.
    """
    sent = 0
    reached = []
    for seed in range(RELEASES.index(release) % every, 40, every):
        story = schedule(seed).resolved() | {"release": release, "protocol": None}
        run = run_of(scenario_from_mapping(story, f"schedule-{seed}"), tmp_path / str(seed))
        assert_all_is_well(run)
        assert_no_check_is_broken(run)
        assert "nothing permits it" not in losses(run)
        assert not list(run.rows("notification_sent"))
        sent += len(list(run.rows("alter_partition_sent")))
        reached.append(reached_by(run))
    assert sent > 100 / every
    assert_reached(reached, LEAST, FAULT_KINDS if every == 1 else ())


def test_losses_are_found_and_the_reason_is_named() -> None:
    """Of the same schedules some lose records: by acks=1, unclean election, loss of power."""
    found: defaultdict[str, int] = defaultdict(int)
    for seed in range(40):
        for reason, count in losses(played(seed)).items():
            found[reason] += count
    named = {part for reason in found for part in reason.split(" or ")}
    assert named == {"acks=1", "unclean election", "loss of power"}
    assert all(count > 0 for count in found.values())


@pytest.mark.parametrize(("protocol", "loses"), [("0.10.2", True), ("2.6", False)])
def test_without_leader_epochs_schedules_lose_what_nothing_permits(
    protocol: str, loses: bool, tmp_path: Path
) -> None:
    """KIP-101: protocol 0.10.2 truncates to the high watermark, and clean elections lose."""
    runs = [run_of(clean_but_far_apart(seed, protocol), tmp_path / str(seed)) for seed in range(25)]
    assert any("nothing permits it" in losses(run) for run in runs) == loses
    assert_reached(map(reached_by, runs), LEAST, {"crash", "cut_link", "slow_link"})
