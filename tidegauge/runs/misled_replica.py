"""KAFKA-14704 in a run: records that a replica took for committed, and those of its leader.

A row ``diverging_high_watermark`` breaks the check ``committed_agree`` with the permission of the
release (``traces/checks/misled_replicas.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tidegauge.runs.row_selection import selected
from tidegauge.runs.story import Names
from tidegauge.simulation.trace_rows.codes import REASON_LEADER, REASON_TRUNCATION
from tidegauge.traces.run_folder import RunFolder, TraceRow


class EpochRun(NamedTuple):
    """Records of one leader epoch in a log."""

    epoch: int
    start_offset: int
    end_offset: int


class MisledReplica(NamedTuple):
    """A replica that took records for committed, and truncated them."""

    time_us: int
    #: Indexes of its broker and of its leader's broker.
    broker: int
    leader: int
    #: The truncated records below the high watermark that it believed.
    believed: list[EpochRun]
    #: The leader's records at these offsets, as far as its log is known.
    led: list[EpochRun]


def misled_replica(run: RunFolder, row: TraceRow) -> MisledReplica | None:
    """The story that a row ``diverging_high_watermark`` begins; None if nothing was truncated."""
    rows = _rows(run, row)
    truncated = next(
        (
            each
            for each in rows
            if each.kind == "truncated"
            and each["process"] == row["process"]
            and each["sequence"] > row["sequence"]
        ),
        None,
    )
    if truncated is None:
        return None
    begin = max(truncated["end_offset"], row["old_high_watermark"])
    end = row["high_watermark"]
    own = [
        each
        for each in rows
        if each.kind == "log_end"
        and each["reason"] == REASON_TRUNCATION
        and each["process"] == row["process"]
        and row["sequence"] < each["sequence"] < truncated["sequence"]
    ]
    return MisledReplica(
        row["time_us"],
        row["process"],
        row["leader"],
        list(_within(own, begin, end)),
        list(_within(_led(rows, row), begin, end)),
    )


def misled_words(misled: MisledReplica, names: Names, partition: int) -> str:
    """A misled replica in words."""
    replica, leader = names.broker_id(misled.broker), names.broker_id(misled.leader)
    led = _runs_words(misled.led) if misled.led else "others"
    return (
        f"broker {replica} took {_runs_words(misled.believed)} of {names.partition(partition)} for "
        f"committed, where its leader, broker {leader}, has {led}; then it truncated its own "
        "records"
    )


def _rows(run: RunFolder, row: TraceRow) -> list[TraceRow]:
    """The rows of the partition about logs and terms, in their order."""
    kinds = {"truncated", "log_end", "became_leader"}
    return selected(
        run,
        lambda kind, table: table["partition"] == row["partition"] if kind.name in kinds else None,
    )


def _led(rows: Sequence[TraceRow], row: TraceRow) -> list[TraceRow | dict[str, int]]:
    """The runs of the log on which the leader has begun its term, and those of the term."""
    began = [
        each
        for each in rows
        if each.kind == "became_leader"
        and each["process"] == row["leader"]
        and each["leader_epoch"] == row["leader_epoch"]
        and each.place <= row.place
    ]
    if not began:
        return []
    term = began[-1]
    runs: list[TraceRow | dict[str, int]] = [
        each
        for each in rows
        if each.kind == "log_end"
        and each["reason"] == REASON_LEADER
        and (each["process"], each["time_us"]) == (term["process"], term["time_us"])
        and each["sequence"] < term["sequence"]
    ]
    own = {
        "epoch": term["leader_epoch"],
        "start_offset": term["log_end_offset"],
        "end_offset": row["high_watermark"],
    }
    return [*runs, own]


def _within(runs: Sequence[TraceRow | dict[str, int]], begin: int, end: int) -> Iterator[EpochRun]:
    """The parts of runs from one offset to before another."""
    for run in runs:
        first, last = max(run["start_offset"], begin), min(run["end_offset"], end)
        if first < last:
            yield EpochRun(run["epoch"], first, last)


def _runs_words(runs: Sequence[EpochRun]) -> str:
    """Offsets with their epochs: ``offset 20 of epoch 2``."""
    return " and ".join(
        f"offset {run.start_offset} of epoch {run.epoch}"
        if run.end_offset - run.start_offset == 1
        else f"offsets {run.start_offset} to {run.end_offset - 1} of epoch {run.epoch}"
        for run in runs
    )
