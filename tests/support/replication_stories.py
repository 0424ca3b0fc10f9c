"""One partition on the broker that leads it: the rules, called in the order of a broker.

The tests of the single rules tell their stories with it. Slot 0 leads, slots 1, 2, ...
follow, and a broker's id is its slot. A change of the ISR is stored at once where the leader
writes ZooKeeper itself; with AlterPartition it is pending until the test lets the controller
answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tidegauge.compiled.records import Record, new_record, new_records
from tidegauge.replication import errors
from tidegauge.replication.high_watermark import (
    may_move_after_fetch,
    maybe_increment_leader_high_watermark,
)
from tidegauge.replication.in_sync_replicas import get_out_of_sync_replicas, needs_expand_isr
from tidegauge.replication.isr_update import (
    COMMITTED,
    PROPOSED,
    commit_isr,
    expanded_isr,
    handle_isr_update,
    handle_isr_update_error,
    high_watermark_may_move,
    isr_is_pending_first,
    propose_isr,
    shrunk_isr,
)
from tidegauge.replication.log import append
from tidegauge.replication.partition import initialize_partition, make_leader
from tidegauge.replication.records import EpochEntry, LeaderAndIsr, Partition, RemoteReplica
from tidegauge.replication.release_rules import ISR_UPDATE_ALTER_PARTITION
from tidegauge.replication.releases import rules_of
from tidegauge.replication.remote_replica import initialize_follower, update_fetch_state
from tidegauge.replication.replica_list import EMPTY, pack, unpack

#: replica.lag.time.max.ms of all stories.
LAG_MS = 10_000

R = TypeVar("R", bound=Record)


def leader_and_isr(
    leader: int, isr: Sequence[int], leader_epoch: int = 0, partition_epoch: int = 0
) -> LeaderAndIsr:
    """The state of a partition as a LeaderAndIsr or an answer of the controller brings it."""
    return with_fields(
        new_record(LeaderAndIsr),
        leader=leader,
        isr=pack(isr),
        leader_epoch=leader_epoch,
        partition_epoch=partition_epoch,
    )


def with_fields(record: R, **fields: int) -> R:
    """The record, with these fields set."""
    for name, value in fields.items():
        setattr(record, name, value)
    return record


class Leader:
    """A leader with ``records`` records of epoch 0, all of them below its high watermark."""

    def __init__(
        self,
        release: str,
        protocol: str | None = None,
        *,
        replicas: int = 3,
        isr: Sequence[int] | None = None,
        records: int = 0,
        min_insync_replicas: int = 1,
    ) -> None:
        self.rules = rules_of(release, protocol)
        self.now_ms = 1_000_000
        self.partition = new_record(Partition)
        self.followers = new_records(RemoteReplica, replicas)
        self.runs, self.entries = new_records(EpochEntry, 32), new_records(EpochEntry, 32)
        self.ineligible = EMPTY
        for replica in range(replicas):
            initialize_follower(self.followers[replica], replica)
        initialize_partition(self.partition, 0, pack(range(replicas)), 0, min_insync_replicas)
        if records > 0:
            append(self.rules, self.partition, self.runs, self.entries, 0, records)
        self.partition.high_watermark = records
        self.is_elected(range(replicas) if isr is None else isr)

    def is_elected(self, isr: Sequence[int], *, epochs_on: int = 1) -> bool:
        """A LeaderAndIsr says to lead; whether it did not before."""
        partition = self.partition
        state = leader_and_isr(
            0, isr, partition.leader_epoch + epochs_on, partition.partition_epoch + 1
        )
        became_leader = make_leader(
            self.rules, partition, self.followers, self.entries, state, 1, self.now_ms
        )
        self.attempt_high_watermark()
        return bool(became_leader)

    def appends(self, count: int = 1) -> None:
        """Producers write with acks=1."""
        epoch = self.partition.leader_epoch
        append(self.rules, self.partition, self.runs, self.entries, epoch, count)
        self.attempt_high_watermark()

    def is_fetched_by(self, replica: int, offset: int, log_start_offset: int = 0) -> None:
        """A follower fetches at this offset: it has all that is below."""
        follower = self.followers[replica]
        before = follower.log_end_offset
        end = self.partition.log_end_offset
        update_fetch_state(self.rules, follower, offset, log_start_offset, self.now_ms, end)
        if needs_expand_isr(self.rules, self.partition, replica, offset, self.ineligible):
            self._change_isr(expanded_isr(self.partition, replica))
        if may_move_after_fetch(self.rules, before, follower):
            self.attempt_high_watermark()

    def waits(self, duration_ms: int) -> None:
        """Nothing happens for so long."""
        self.now_ms += duration_ms

    def checks_its_isr(self) -> list[int]:
        """The isr-expiration task looks once; who leaves."""
        leaving = get_out_of_sync_replicas(
            self.rules, self.partition, self.followers, self.now_ms, LAG_MS
        )
        if leaving != EMPTY:
            outcome = self._change_isr(shrunk_isr(self.partition, leaving))
            if high_watermark_may_move(self.rules, outcome):
                self.attempt_high_watermark()
        return unpack(leaving)

    def _change_isr(self, isr: int) -> int:
        if not isr_is_pending_first(self.rules):
            commit_isr(self.partition, isr, self.partition.partition_epoch + 1)
            return COMMITTED
        propose_isr(self.partition, isr)
        if self.rules.isr_update_path != ISR_UPDATE_ALTER_PARTITION:
            return self.is_answered()
        return PROPOSED

    def is_answered(self, error: int = errors.NONE) -> int:
        """The controller (or ZooKeeper) answers the pending change; the outcome."""
        partition = self.partition
        proposed = partition.proposed_isr
        if error == errors.NONE:
            answer = leader_and_isr(0, unpack(proposed), partition.leader_epoch)
            answer.partition_epoch = partition.partition_epoch + 1
            outcome = handle_isr_update(self.rules, partition, proposed, answer)
        else:
            outcome = handle_isr_update_error(self.rules, partition, proposed, error)
        if high_watermark_may_move(self.rules, outcome):
            self.attempt_high_watermark()
        return outcome

    def attempt_high_watermark(self) -> bool:
        """Whether the high watermark moves now."""
        return bool(
            maybe_increment_leader_high_watermark(
                self.rules, self.partition, self.followers, self.now_ms, LAG_MS, self.ineligible
            )
        )

    @property
    def high_watermark(self) -> int:
        return self.partition.high_watermark

    @property
    def epoch_cache(self) -> list[tuple[int, int]]:
        """Its leader-epoch cache: (epoch, start offset)."""
        entries = [self.entries[index] for index in range(self.partition.epoch_count)]
        return [(int(entry.epoch), int(entry.start_offset)) for entry in entries]

    @property
    def isr(self) -> list[int]:
        """The committed ISR."""
        return unpack(self.partition.isr)

    @property
    def maximal_isr(self) -> list[int]:
        """The ISR and who may be about to join it."""
        return unpack(self.partition.maximal_isr)
