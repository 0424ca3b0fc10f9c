"""The number of partitions that were offline, under-replicated or under min ISR, over time.

The state in ZooKeeper counts, as in the figures of ``summary.json`` of the same name; these are
the areas under these lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.history.story import Names
from tidegauge.history.znode_paths import ZnodeSort
from tidegauge.replication import replica_list
from tidegauge.replication.releases import rules_of
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.traces.run_folder import RunFolder, TraceRow

#: The rows that change a count.
_ROWS = frozenset(
    {"znode_created", "znode_set", "znode_deleted", "partition_replicas", "topic_configured"}
)


class ClusterHistory(NamedTuple):
    """Counts of partitions, each from its time until the next one."""

    #: Ascending, and none of them twice.
    times_us: NDArray[np.int64]
    #: ZooKeeper names no leader, or one that is not registered.
    offline: NDArray[np.int64]
    #: There is a leader, and the ISR is smaller than the effective min.insync.replicas.
    under_min_isr: NDArray[np.int64]
    #: ... exactly as large: the next replica to go has writes refused.
    at_min_isr: NDArray[np.int64]
    #: The ISR lacks replicas of the assignment.
    under_replicated: NDArray[np.int64]


@dataclass(slots=True)
class _Partition:
    """A partition as ZooKeeper has it, with its wanted replicas and min.insync.replicas."""

    topic: int
    #: Indexes of its brokers by slot.
    brokers: tuple[int, ...]
    replicas: int
    #: The largest need; None if it can grow.
    most_insync_replicas: int | None
    #: As effective.
    min_insync_replicas: int = 1
    exists: bool = False
    #: Index of the leader's broker; -1 for none.
    leader: int = -1
    in_sync: int = 0

    def need(self, min_insync_replicas: int) -> None:
        """Set min.insync.replicas."""
        most = self.most_insync_replicas
        self.min_insync_replicas = (
            min_insync_replicas if most is None else min(min_insync_replicas, most)
        )


def cluster_history(run: RunFolder) -> ClusterHistory:
    """The counts of partitions over the whole run, its liveness phase included.

    Raises:
        TraceError: a trace file is damaged.
        ScenarioError: this Tidegauge cannot read the scenario in the run's manifest.
    """
    cluster = _Cluster(run)
    told: dict[int, list[int]] = {}
    for row in run.all_rows(wanted=lambda kind: kind.name in _ROWS):
        cluster.take(row)
        told[row["time_us"]] = list(cluster.counts)
    counts = np.array(list(told.values()), np.int64).reshape(-1, len(cluster.counts))
    return ClusterHistory(np.array(list(told), np.int64), *counts.T)


class _Cluster:
    """The state in ZooKeeper, row by row."""

    def __init__(self, run: RunFolder) -> None:
        self._znodes = Names(run.manifest).znodes
        plan = ClusterPlan(scenario_from_mapping(run.manifest["scenario"], str(run.path)))
        self._registered = list(plan.registered_before)
        self._partitions = _planned(plan)
        #: Partitions that are offline, under min ISR, at min ISR, under-replicated.
        self.counts = [0, 0, 0, 0]

    def take(self, row: TraceRow) -> None:
        """Apply one row to the counts; rows come in their total order."""
        if row.kind == "topic_configured":
            for partition in self._partitions:
                if partition.topic == row["topic"]:
                    self._count(partition, -1)
                    partition.need(row["min_insync_replicas"])
                    self._count(partition, +1)
            return
        if row.kind == "partition_replicas":
            partition = self._partitions[row["partition"]]
            self._count(partition, -1)
            # As in Kafka, a replica that is being added does not count as missing.
            partition.replicas = _size(row["replicas"]) - _size(row["adding"])
            self._count(partition, +1)
            return
        sort, number = self._znodes.known(row["znode"])
        if sort is ZnodeSort.BROKER:
            self._register(number, row.kind != "znode_deleted")
        elif sort is ZnodeSort.STATE:
            self._change_state(self._partitions[number], row)

    def _register(self, broker: int, exists: bool) -> None:
        led = [partition for partition in self._partitions if partition.leader == broker]
        for partition in led:
            self._count(partition, -1)
        self._registered[broker] = exists
        for partition in led:
            self._count(partition, +1)

    def _change_state(self, partition: _Partition, row: TraceRow) -> None:
        self._count(partition, -1)
        partition.exists = row.kind != "znode_deleted"
        if partition.exists:
            slot = row["leader"]
            partition.leader = partition.brokers[slot] if slot >= 0 else -1
            partition.in_sync = _size(row["isr"])
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


def _planned(plan: ClusterPlan) -> list[_Partition]:
    """The partitions of a run before its first event."""
    # Looked up once for each broker: it takes longer than all else here.
    capped = [
        rules_of(*plan.scenario.release_of(broker)).min_isr_capped_by_replicas
        for broker in plan.brokers
    ]
    partitions = []
    for planned in plan.partitions:
        partition = _Partition(
            planned.topic_number,
            planned.slots,
            len(planned.replicas),
            most_insync_replicas=len(planned.replicas) if capped[planned.replicas[0]] else None,
        )
        partition.need(planned.min_insync_replicas)
        partitions.append(partition)
    return partitions


def _size(replicas: int) -> int:
    return int(replica_list.size(replicas))
