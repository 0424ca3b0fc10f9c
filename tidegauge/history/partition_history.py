"""The history of a partition, and the partitions of a run that are worth a look.

A partition's history is every row about it, and the events around it: faults, steps, expired
sessions, controllers, and the notifications of its current leader. What the control plane holds of
it is left out, since leaders and controller have rows of their own for it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from heapq import merge
from typing import NamedTuple

import numpy as np

from tidegauge.history.story import Names
from tidegauge.history.zookeeper_rows import CREATED, is_notification
from tidegauge.replication import replica_list
from tidegauge.simulation.trace_rows.control_plane_rows import PartitionReplicas
from tidegauge.traces.run_folder import RunFolder, TraceRow
from tidegauge.traces.trace_file import Table

#: Rows without a partition that belong to the history of each.
AROUND = frozenset(
    {
        "fault_began",
        "fault_ended",
        "step_taken",
        "step_timed_out",
        "session_expired",
        "controller_elected",
        "controller_resigned",
    }
)
NOTIFICATIONS = frozenset({"notification_sent", CREATED, "notification_read"})

ISR_CHANGES = ("isr_shrunk", "isr_expanded", "removed_from_isr")

#: Rows with a partition's leader and ISR; without a column for the leader, the process leads.
STATES = ("became_leader", "leader_elected", *ISR_CHANGES)


class PartitionState(NamedTuple):
    """Leader and ISR of a partition."""

    #: Index of the leader's broker; -1 for none.
    leader: int
    leader_epoch: int
    #: A replica list.
    isr: int


class Overview(NamedTuple):
    """A partition in one line."""

    partition: int
    #: Changes of the ISR by leaders and by the controller.
    isr_changes: int
    #: Leader epochs in which a broker led it.
    terms: int
    #: The reasons why it is worth a look; empty if it is not.
    reasons: tuple[str, ...]


def history(run: RunFolder, partition: int, *, details: bool = False) -> Iterator[TraceRow]:
    """The rows of a partition's history, in their total order.

    Args:
        run: the run.
        partition: number of the partition within the cluster.
        details: include rows that are not canonical: samples, and each single request if the
            run recorded them.

    Raises:
        TraceError: a trace file is damaged.
    """
    about = run.all_rows(
        partition,
        wanted=lambda kind: (details or kind.canonical) and kind.name != "partition_state",
    )
    around = run.all_rows(wanted=lambda kind: kind.name in AROUND | NOTIFICATIONS)
    leaders: set[int] = set()
    # Notifications of its leaders: those on their way, by broker; written, by sequence number.
    sent: set[int] = set()
    written: set[int] = set()
    for row in merge(about, around, key=lambda row: row.place):
        if row.kind == "became_leader":
            leaders.add(row["process"])
        elif row.kind == "became_follower":
            leaders.discard(row["process"])
        elif row.kind == "notification_sent":
            if row["process"] not in leaders:
                continue
            sent.add(row["process"])
        elif row.kind == CREATED:
            if is_notification(row, run.directory) and row["writer"] in sent:
                sent.discard(row["writer"])
                written.add(row["sequence_number"])
            continue
        elif row.kind == "notification_read" and row["notification"] not in written:
            continue
        yield row


def last_states(
    run: RunFolder, names: Names, until_us: int | None = None
) -> dict[int, PartitionState]:
    """The newest state of each partition in any row, up to a time (by default the end).

    The newest state has the highest leader epoch and version: a former leader may still write rows
    of an older state.

    Raises:
        TraceError: a trace file is damaged.
    """
    newest: dict[int, tuple[int, ...]] = {}
    for kind in STATES:
        table = run.table(kind)
        if not table:
            continue
        leaders = table.get("leader")
        if leaders is None:
            led = [names.broker_of_process(process) for process in table["process"].tolist()]
            leaders = np.array(led, np.int64)
        told = ("partition", "leader_epoch", "version", "time_us", "process", "sequence", "isr")
        columns = [table[name].tolist() for name in told]
        for partition, *state in zip(*columns, leaders.tolist(), strict=True):
            if until_us is None or state[2] <= until_us:
                newest[partition] = max(newest.get(partition, ()), tuple(state))
    return {
        partition: PartitionState(leader=state[-1], leader_epoch=state[0], isr=state[-2])
        for partition, state in newest.items()
    }


def assignment(
    run: RunFolder, names: Names, partition: int, until_us: int | None = None
) -> list[int | None]:
    """Ids of the brokers that a partition has replicas on, at a time (by default the end).

    Raises:
        TraceError: a trace file is damaged.
    """
    replicas: list[int | None] = [*names.replicas(partition)]
    for row in run.typed_rows(PartitionReplicas):
        if row.partition == partition and (until_us is None or row.time_us <= until_us):
            replicas = names.brokers_in(row.replicas, partition)
    return replicas


def overview(run: RunFolder, names: Names) -> list[Overview]:
    """All partitions, those that are worth a look first.

    Raises:
        TraceError: a trace file is damaged.
    """
    reasons = _reasons(run, names)
    isr_changes = _count(run, *ISR_CHANGES)
    terms = _terms(run)
    partitions = [
        Overview(
            partition,
            isr_changes[partition],
            terms[partition],
            tuple(reasons.get(partition, [])),
        )
        for partition in names.partitions.values()
    ]
    return sorted(partitions, key=lambda one: (-len(one.reasons), -one.isr_changes, one.partition))


def _reasons(run: RunFolder, names: Names) -> dict[int, list[str]]:
    """The reasons why partitions are worth a look, by partition."""
    reasons: dict[int, list[str]] = defaultdict(list)
    for partition, state in last_states(run, names).items():
        if state.leader < 0:
            reasons[partition].append("no leader at the end")
        in_sync = replica_list.size(state.isr)
        assigned = len(assignment(run, names, partition))
        if in_sync < assigned:
            reasons[partition].append(f"{in_sync} of {assigned} in sync at the end")
    for reason, counts in (
        ("unclean elections", _sums(run.table("leader_elected"), "unclean")),
        ("records truncated", _removed(run.table("truncated"))),
        ("given up by followers", _count(run, "partition_failed")),
        ("batches given up", _count(run, "batch_failed")),
        ("batches appended twice", _count(run, "batch_duplicated")),
        ("consumers reset", _count(run, "consumer_reset")),
    ):
        for partition, count in counts.items():
            reasons[partition].append(f"{reason}: {count}")
    return reasons


def _count(run: RunFolder, *kinds: str) -> Counter[int]:
    """The number of rows of these kinds about each partition."""
    counts: Counter[int] = Counter()
    for table in filter(None, map(run.table, kinds)):
        counts.update(table["partition"].tolist())
    return counts


def _sums(table: Table, column: str) -> Counter[int]:
    """The sum of a column for each partition, where it is not 0."""
    sums: Counter[int] = Counter()
    if table:
        changed = table[column] != 0
        partitions, values = table["partition"][changed], table[column][changed]
        for partition, value in zip(partitions.tolist(), values.tolist(), strict=True):
            sums[partition] += value
    return sums


def _removed(truncated: Table) -> Counter[int]:
    """The number of records that followers truncated, by partition."""
    if not truncated:
        return Counter()
    removed = truncated["old_end_offset"] - truncated["end_offset"]
    return _sums({**truncated, "removed": removed}, "removed")


def _terms(run: RunFolder) -> Counter[int]:
    """The number of leader epochs with a leader, by partition."""
    table = run.table("became_leader")
    if not table:
        return Counter()
    epochs = zip(table["partition"].tolist(), table["leader_epoch"].tolist(), strict=True)
    return Counter(partition for partition, _ in set(epochs))
