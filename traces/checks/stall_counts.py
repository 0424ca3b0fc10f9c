"""Partitions that clients get nothing done with, counted from the rows of clients.

A partition is stalled while any client reports it (``clients/stalls.py``). Writes and reads are
counted apart, in the same way.
"""

from tidegauge.compiled.records import Record, flag, i64
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.trace_rows.client_rows import (
    ConsumeResumed,
    ConsumeStalled,
    ProduceResumed,
    ProduceStalled,
)
from tidegauge.simulation.trace_rows.row import Row


class StallCount(Record):
    """Counts of all partitions, of writes or of reads."""

    #: Stalled now, and the most at any time.
    stalled: i64
    most: i64
    #: The total time of their stalls, and the longest one without a break.
    stalled_us: i64
    longest_us: i64
    #: Stalled at any time.
    partitions: i64


class PartitionStalls(Record):
    """Counts of one partition, of writes or of reads."""

    #: The clients that are stalled now, and since when any is; when the last one was no more.
    clients: i64
    since_us: i64
    ended_us: i64 = -1
    #: It is among the partitions that were stalled at any time.
    counted: flag


@inner_rule
def is_about_stalls(kind: int) -> bool:
    """Whether rows of this kind are counted here."""
    return kind in (
        ProduceStalled.KIND,
        ProduceResumed.KIND,
        ConsumeStalled.KIND,
        ConsumeResumed.KIND,
    )


@inner_rule
def count_stall(
    row: Row,
    writes: StallCount,
    own_writes: PartitionStalls,
    reads: StallCount,
    own_reads: PartitionStalls,
) -> None:
    """Count a row about a partition: a client begins, or ends, to be stalled."""
    if row.kind == ProduceStalled.KIND:
        _begin_stall(writes, own_writes, row.time_us)
    elif row.kind == ProduceResumed.KIND:
        _end_stall(writes, own_writes, row.time_us)
    elif row.kind == ConsumeStalled.KIND:
        _begin_stall(reads, own_reads, row.time_us)
    else:
        _end_stall(reads, own_reads, row.time_us)


@inner_rule
def _begin_stall(count: StallCount, partition: PartitionStalls, time_us: int) -> None:
    partition.clients += 1
    if partition.clients > 1:
        return
    count.stalled += 1
    # As one client is stalled no more another one is: without a break.
    if partition.ended_us != time_us:
        partition.since_us = time_us
    if not partition.counted:
        partition.counted = True
        count.partitions += 1


@inner_rule
def _end_stall(count: StallCount, partition: PartitionStalls, time_us: int) -> None:
    partition.clients -= 1
    if partition.clients == 0:
        count.stalled -= 1
        partition.ended_us = time_us
        count.longest_us = max(count.longest_us, time_us - partition.since_us)


@inner_rule
def let_pass(count: StallCount, passed_us: int) -> None:
    """Advance the time: the present state lasts for it."""
    count.stalled_us += passed_us * count.stalled
    count.most = max(count.most, count.stalled)


@inner_rule
def begin_counting(count: StallCount) -> None:
    """Figures begin: drop all; partitions follow with :func:`begin_counting_of`."""
    count.most = count.stalled
    count.stalled_us = 0
    count.longest_us = 0
    count.partitions = 0


@inner_rule
def begin_counting_of(count: StallCount, partition: PartitionStalls, time_us: int) -> None:
    """Figures begin: a partition that is stalled counts from now on."""
    partition.counted = partition.clients > 0
    if partition.counted:
        partition.since_us = time_us
        count.partitions += 1


@inner_rule
def end_counting(count: StallCount, partition: PartitionStalls, time_us: int) -> None:
    """Figures end, and with them every stall."""
    if partition.clients > 0:
        count.longest_us = max(count.longest_us, time_us - partition.since_us)
