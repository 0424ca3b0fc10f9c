"""The history of a partition.

A partition's history is every row about it, and the events around it: faults, steps, expired
sessions, controllers, and the notifications of its current leader. What ZooKeeper holds of it is
left out, since leaders and controller have rows of their own for it. With KRaft it is in
the story, and so is what the quorum takes the brokers with a replica for.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge

from tidegauge.runs.zookeeper_rows import CREATED, is_notification
from tidegauge.traces.run_folder import RunFolder, TraceRow

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
    has_quorum = bool(run.directory.controllers)
    told_by_others = frozenset() if has_quorum else frozenset({"partition_state"})
    about = run.all_rows(
        partition,
        wanted=lambda kind: (details or kind.canonical) and kind.name not in told_by_others,
    )
    kinds = AROUND | NOTIFICATIONS | (frozenset({"broker_state"}) if has_quorum else frozenset())
    around = run.all_rows(wanted=lambda kind: kind.name in kinds)
    hosts = run.directory.all_partitions[partition].hosts
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
        elif (row.kind == "broker_state" and row["broker"] not in hosts) or (
            row.kind == "notification_read" and row["notification"] not in written
        ):
            continue
        yield row
