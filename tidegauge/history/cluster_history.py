"""The number of partitions that were offline, under-replicated or under min ISR, over time.

The state that the control plane holds counts, as in the figures of ``summary.json`` of the same
name; these are the areas under these lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.replication import replica_list
from tidegauge.simulation.codes.occasions import BROKER_ABSENT, STATE_DELETED
from tidegauge.traces.directory import Directory, NamedPartition
from tidegauge.traces.run_folder import RunFolder, TraceRow

#: The rows that change a count.
_ROWS = frozenset({"partition_state", "partition_replicas", "broker_state", "topic_configured"})


class ClusterHistory(NamedTuple):
    """Counts of partitions, each from its time until the next one."""

    #: Ascending, and none of them twice.
    times_us: NDArray[np.int64]
    #: No leader is named, or one that is not registered.
    offline: NDArray[np.int64]
    #: There is a leader, and the ISR is smaller than the effective min.insync.replicas.
    under_min_isr: NDArray[np.int64]
    #: ... exactly as large: the next replica to go has writes refused.
    at_min_isr: NDArray[np.int64]
    #: The ISR lacks replicas of the assignment.
    under_replicated: NDArray[np.int64]


@dataclass(slots=True)
class _Partition:
    """A partition as the control plane has it, with its wanted replicas and effective min ISR."""

    named: NamedPartition
    replicas: int
    min_insync_replicas: int
    exists: bool = False
    #: Index of the leader's broker; -1 for none.
    leader: int = -1
    in_sync: int = 0


def cluster_history(run: RunFolder) -> ClusterHistory:
    """The counts of partitions over the whole run, its liveness phase included.

    Raises:
        TraceError: a trace file is damaged.
    """
    cluster = _Cluster(run.directory)
    told: dict[int, list[int]] = {}
    for row in run.all_rows(wanted=lambda kind: kind.name in _ROWS):
        cluster.take(row)
        told[row["time_us"]] = list(cluster.counts)
    counts = np.array(list(told.values()), np.int64).reshape(-1, len(cluster.counts))
    return ClusterHistory(np.array(list(told), np.int64), *counts.T)


class _Cluster:
    """What the control plane holds, row by row."""

    def __init__(self, directory: Directory) -> None:
        brokers = range(len(directory.brokers))
        self._registered = [broker in directory.registered_before for broker in brokers]
        self._partitions = [
            _Partition(
                named, len(named.replicas), named.effective_min_isr(named.min_insync_replicas)
            )
            for named in directory.all_partitions
        ]
        #: Partitions that are offline, under min ISR, at min ISR, under-replicated.
        self.counts = [0, 0, 0, 0]

    def take(self, row: TraceRow) -> None:
        """Apply one row to the counts; rows come in their total order."""
        if row.kind == "topic_configured":
            for partition in self._partitions:
                if partition.named.topic_number == row["topic"]:
                    self._count(partition, -1)
                    partition.min_insync_replicas = partition.named.effective_min_isr(
                        row["min_insync_replicas"]
                    )
                    self._count(partition, +1)
        elif row.kind == "broker_state":
            self._register(row["broker"], row["state"] != BROKER_ABSENT)
        else:
            partition = self._partitions[row["partition"]]
            self._count(partition, -1)
            if row.kind == "partition_replicas":
                # As in Kafka, a replica that is being added does not count as missing.
                partition.replicas = _size(row["replicas"]) - _size(row["adding"])
            else:
                partition.exists = row["change"] != STATE_DELETED
                partition.leader = row["leader"]
                partition.in_sync = _size(row["isr"])
            self._count(partition, +1)

    def _register(self, broker: int, exists: bool) -> None:
        led = [partition for partition in self._partitions if partition.leader == broker]
        for partition in led:
            self._count(partition, -1)
        self._registered[broker] = exists
        for partition in led:
            self._count(partition, +1)

    def _count(self, partition: _Partition, by: int) -> None:
        if not partition.exists:
            return
        has_leader = partition.leader >= 0
        if not has_leader or not self._registered[partition.leader]:
            self.counts[0] += by
        if has_leader and partition.in_sync < partition.min_insync_replicas:
            self.counts[1] += by
        if has_leader and partition.in_sync == partition.min_insync_replicas:
            self.counts[2] += by
        if partition.in_sync < partition.replicas:
            self.counts[3] += by


def _size(replicas: int) -> int:
    return int(replica_list.size(replicas))
