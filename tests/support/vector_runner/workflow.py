"""Area ``epoch_workflow``: two brokers, records, restarts, and both leader-epoch caches."""

from __future__ import annotations

from tidegauge.compiled.records import new_records
from tidegauge.controller.partitions.leader_and_isr import (
    controlled_shutdown_partition_leader_election,
    initialize_leader_and_isr,
    offline_partition_leader_election,
    remove_replica_from_isr,
)
from tidegauge.replication.in_sync_replicas import ACKS_ALL
from tidegauge.replication.log import epoch_at
from tidegauge.replication.partition import make_leader
from tidegauge.replication.reconciliation import ReplicaLog, reconcile
from tidegauge.replication.records import UNDEFINED, LeaderAndIsr, RemoteReplica
from tidegauge.replication.replica_list import append, pack, single
from vector_runner.area import (
    Area,
    Fields,
    UnknownContentError,
    area,
    none_if_absent,
    record,
    release_rules,
)

BOTH = pack([0, 1])


@area("epoch_workflow")
class EpochWorkflow(Area):
    """A partition on two brokers; who is bounced is back in the ISR before the next step."""

    def __init__(self, given: Fields, tag: str) -> None:
        self.rules = release_rules(tag)
        if given.take("brokers") != given.take("assignment"):
            raise UnknownContentError("only a partition with a replica on each broker")
        if given.take("auto_rebalance"):
            raise UnknownContentError("leaders are not moved back")
        self.controlled = given.take("controlled_shutdown")
        self.logs = [ReplicaLog.empty(self.rules, 0), ReplicaLog.empty(self.rules, 1)]
        self.state = record(LeaderAndIsr)
        initialize_leader_and_isr(self.state, BOTH, BOTH)
        self._tell_leader()

    @property
    def leader(self) -> ReplicaLog:
        """The log of the broker that leads."""
        return self.logs[self.state.leader]

    @property
    def follower(self) -> ReplicaLog:
        """The log of the other one."""
        return self.logs[1 - self.state.leader]

    def _tell_leader(self) -> None:
        leader = self.leader
        leader.make_room()
        followers = new_records(RemoteReplica, 2)
        make_leader(
            self.rules, leader.partition, followers, leader.entries, self.state, 1, now_ms=0
        )

    def op_produce(self, step: Fields) -> None:
        if step.take("acks") != ACKS_ALL:
            raise UnknownContentError("only acks=-1: the follower has the records too")
        self.leader.append(self.state.leader_epoch, step.take("count"))
        reconcile(self.leader, self.follower)

    def op_bounce(self, step: Fields) -> None:
        who = step.take("who")
        if who not in ("leader", "follower"):
            raise UnknownContentError(f"unknown broker {who!r}")
        replica = self.state.leader if who == "leader" else 1 - self.state.leader
        self._leave(replica)
        self.logs[replica].restart()
        self.logs[replica].partition.leader = UNDEFINED
        reconcile(self.leader, self.follower)
        self.state.isr = append(self.state.isr, replica)

    def _leave(self, replica: int) -> None:
        leaving, staying = single(replica), single(1 - replica)
        if self.state.leader == replica and self.controlled:
            controlled_shutdown_partition_leader_election(self.state, BOTH, BOTH, leaving)
        elif self.state.leader == replica:
            offline_partition_leader_election(self.state, BOTH, staying, False)
        remove_replica_from_isr(self.rules, self.state, replica, False)
        self._tell_leader()

    def see_leader_cache(self) -> list[list[int]]:
        return [list(entry) for entry in self.leader.cache()]

    def see_follower_cache(self) -> list[list[int]]:
        return [list(entry) for entry in self.follower.cache()]

    def see_last_record_epoch(self) -> int | None:
        partition = self.leader.partition
        last = partition.log_end_offset - 1
        return none_if_absent(epoch_at(self.leader.runs, partition.run_count, last))
