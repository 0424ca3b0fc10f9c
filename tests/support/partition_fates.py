"""What became of a partition, told as the runs of real brokers are.

The writes of its state, what its logs hold at the end, what was acknowledged and is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from isr_stories import process_named
from scenario_runs import rows_of
from tidegauge.replication.replica_list import unpack
from tidegauge.simulation.trace_rows.codes import REASON_END, STATE_DELETED
from tidegauge.traces.run_folder import RunFolder, TraceRow

NO_LEADER = -1


class StateWrite(NamedTuple):
    """One write of a partition's state: its leader and ISR by the ids of brokers."""

    #: The broker that wrote, as leader or as controller.
    writer: int
    leader: int
    isr: list[int]
    leader_epoch: int
    version: int


class State(NamedTuple):
    """A partition in the metadata log of KRaft; replicas by the ids of brokers."""

    leader: int
    isr: list[int]
    elr: list[int]
    last_known_leader: int
    leader_epoch: int
    partition_epoch: int
    recovering: int


class Records(NamedTuple):
    """Records of one leader epoch that follow one another."""

    leader_epoch: int
    start_offset: int
    #: Exclusive.
    end_offset: int


class Answer(NamedTuple):
    """What a step's produce or fetch was answered."""

    #: Id of the broker; -1: nobody led, so that nobody was asked.
    broker: int
    error: int
    offset: int
    #: Exclusive.
    end_offset: int


#: A step's request was not answered.
NO_ANSWER = None


def states(run: RunFolder, partition: int = 0) -> list[State]:
    """All states of a partition, in order."""
    slots = run.manifest["partitions"][partition]["slots"]
    brokers = run.manifest["brokers"]
    elr, last_known, recovering = [], NO_LEADER, 0
    found = []
    kinds = {"partition_state", "partition_replicas"}
    rows = [
        row
        for row in run.all_rows(wanted=lambda kind: kind.name in kinds)
        if row["partition"] == partition
    ]
    for place, row in enumerate(rows):
        if row.kind == "partition_replicas":
            continue
        # The row behind it is of the same record, if it has changed.
        if place + 1 < len(rows) and rows[place + 1].kind == "partition_replicas":
            changed = rows[place + 1]
            elr = [slots[slot] for slot in unpack(changed["eligible_leaders"])]
            index = changed["last_known_leader"]
            last_known = NO_LEADER if index < 0 else brokers[index]
            recovering = changed["recovering"]
        found.append(
            State(
                NO_LEADER if row["leader"] < 0 else brokers[row["leader"]],
                [slots[slot] for slot in unpack(row["isr"])],
                elr,
                last_known,
                row["leader_epoch"],
                row["partition_epoch"],
                recovering,
            )
        )
    return found


def answers(run: RunFolder) -> list[Answer | None]:
    """What the requests of the steps were answered, in order."""
    kinds = {"step_answered", "step_unanswered"}
    return [
        NO_ANSWER
        if row.kind == "step_unanswered"
        else Answer(
            NO_LEADER if row["from_process"] < 0 else run.manifest["brokers"][row["from_process"]],
            row["error"],
            row["offset"],
            row["end_offset"],
        )
        for row in run.all_rows(wanted=lambda kind: kind.name in kinds)
    ]


def state_writes(
    run: RunFolder, partition: int = 0, before_us: int | None = None
) -> list[StateWrite]:
    """All writes of a partition's state, in order, or those before a time."""
    return [
        _state_write(run, partition, row)
        for row in rows_of(run, "partition_state", partition=partition)
        if row["change"] != STATE_DELETED and (before_us is None or row["time_us"] < before_us)
    ]


def _state_write(run: RunFolder, partition: int, row: TraceRow) -> StateWrite:
    replicas = run.manifest["partitions"][partition]["slots"]
    return StateWrite(
        run.manifest["brokers"][row["writer"]],
        NO_LEADER if row["leader"] < 0 else run.manifest["brokers"][row["leader"]],
        [replicas[slot] for slot in unpack(row["isr"])],
        row["leader_epoch"],
        row["partition_epoch"],
    )


def log_of(
    run: RunFolder, broker: int, partition: int = 0, reason: int = REASON_END
) -> list[Records]:
    """What a broker's log holds at the end of the run, or whenever it was written down last."""
    rows = rows_of(
        run,
        "log_end",
        process=process_named(run, f"broker {broker}"),
        partition=partition,
        reason=reason,
    )
    return [
        Records(row["epoch"], row["start_offset"], row["end_offset"])
        for row in rows
        if row["time_us"] == rows[-1]["time_us"]
    ]


def acknowledged(run: RunFolder, acks: int, partition: int = 0) -> list[Records]:
    """What producers were told is safe, if this is what they asked for."""
    return [
        Records(row["leader_epoch"], row["first_offset"], row["end_offset"])
        for row in rows_of(run, "acknowledged", partition=partition, acks=acks)
    ]


def lost(run: RunFolder, acks: int, leader: int, partition: int = 0) -> list[int]:
    """Offsets at which something was acknowledged that is not in the last leader's log.

    It is lost if the log ends before it, or holds a record of a later epoch in its place.
    """
    held = {
        offset: runs.leader_epoch
        for runs in log_of(run, leader, partition)
        for offset in _offsets(runs)
    }
    return [
        offset
        for promised in acknowledged(run, acks, partition)
        for offset in _offsets(promised)
        if held.get(offset, promised.leader_epoch + 1) > promised.leader_epoch
    ]


def _offsets(records: Records) -> Iterable[int]:
    return range(records.start_offset, records.end_offset)
