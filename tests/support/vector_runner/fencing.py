"""Areas of answers and refusals: fences, divergence, read limits, min.insync.replicas."""

from __future__ import annotations

from tidegauge.replication import errors, leader_read, partition
from tidegauge.replication.in_sync_replicas import append_error, check_enough_replicas_reach_offset
from tidegauge.replication.records import UNDEFINED, Partition
from tidegauge.replication.replica_list import pack
from vector_runner.area import (
    Area,
    Fields,
    Json,
    UnknownContentError,
    area,
    choice,
    epoch_entries,
    error_name,
    none_if_absent,
    record,
    release_rules,
)

READERS = {
    "read_uncommitted": leader_read.READ_UNCOMMITTED,
    "read_committed": leader_read.READ_COMMITTED,
}


def reader(isolation: str | None) -> int:
    """Who reads with this isolation level; null is a follower."""
    if isolation is None:
        return leader_read.FOLLOWER
    return int(choice(READERS, isolation, "isolation level"))


class Refusal(Area):
    """What is common to areas in which something is refused with an error, or is not."""

    error: int = int(errors.NONE)

    def see_error(self, expected: Json) -> str:
        return error_name(self.error, expected)


@area("leader_fetch_validation")
class LeaderFetchValidation(Refusal):
    """A fetch that tells the follower's last epoch."""

    def __init__(self, given: Fields, tag: str) -> None:
        self.rules = release_rules(tag)
        listed = given.take("epoch_entries")
        self.entries = epoch_entries(listed)
        self.partition = record(
            Partition,
            log_end_offset=given.take("leo"),
            log_start_offset=given.take("log_start_offset"),
            leader_epoch=given.take("current_leader_epoch"),
            epoch_count=len(listed),
        )
        self.rules.log_start_checked_before_divergence = given.take(
            "check_log_start_first", self.rules.log_start_checked_before_divergence
        )
        self.divergence: dict[str, int] | None = None
        self.empty = True

    def op_fetch(self, step: Fields) -> None:
        offset = step.take("fetch_offset")
        last_fetched_epoch = step.take("last_fetched_epoch")
        self.error = leader_read.check_current_leader_epoch(
            self.partition.leader_epoch, step.take("current_leader_epoch", UNDEFINED)
        )
        if self.error != errors.NONE:
            return
        self.error, epoch, end_offset = leader_read.diverging_epoch(
            self.rules, self.partition, self.entries, offset, last_fetched_epoch
        )
        if self.error != errors.NONE:
            return
        if end_offset != UNDEFINED:
            self.divergence = {"epoch": epoch, "end_offset": end_offset}
            return
        self.error = leader_read.offset_error(self.partition, offset)
        self.empty = self.error != errors.NONE or offset >= self.partition.log_end_offset

    def see_diverging_epoch(self) -> dict[str, int] | None:
        return self.divergence

    def see_records(self) -> str:
        return "empty" if self.empty else "some"


@area("epoch_fencing")
class EpochFencing(Refusal):
    """A request that is made in a leader epoch."""

    def __init__(self, given: Fields, tag: str) -> None:
        self.rules = release_rules(tag)
        self.leader_epoch = given.take("local_leader_epoch")
        self.leads = given.take("local_is_leader")
        self.has_log = given.take("log_present")
        self.requires_leader = given.take("request_requires_leader")

    def op_request(self, step: Fields) -> None:
        epoch = step.take("current_leader_epoch")
        self.error = leader_read.local_log_error(
            self.rules,
            self.leader_epoch,
            UNDEFINED if epoch is None else epoch,
            self.leads,
            self.requires_leader,
            self.has_log,
        )


@area("offsets_for_leader_epoch")
class OffsetsForLeaderEpoch(Refusal):
    """A whole OffsetsForLeaderEpoch answer for one partition."""

    def __init__(self, given: Fields, tag: str) -> None:
        self.rules = release_rules(tag)
        self.hosted = given.take("partition_hosted")
        if self.hosted not in ("online", "offline", "none"):
            raise UnknownContentError(f"unknown partition_hosted {self.hosted!r}")
        self.in_metadata_cache = given.take("in_metadata_cache", True)
        listed = given.take("epoch_entries", [])
        self.entries = epoch_entries(listed)
        self.has_log = given.take("has_log", True)
        self.partition = record(
            Partition,
            leader=0 if given.take("is_leader", False) else 1,
            leader_epoch=given.take("leader_epoch", 0),
            log_end_offset=given.take("log_end_offset", 0),
            epoch_count=len(listed),
        )
        self.answer = (int(UNDEFINED), int(UNDEFINED))

    def op_offsets_for_leader_epoch(self, step: Fields) -> None:
        current, requested = step.take("current_leader_epoch"), step.take("leader_epoch")
        if self.hosted != "online":
            self.error = leader_read.missing_partition_error(
                self.rules, self.hosted == "offline", self.in_metadata_cache, True
            )
            return
        self.error, *answer = leader_read.last_offset_for_leader_epoch(
            self.rules, self.partition, self.entries, current, requested, self.has_log
        )
        self.answer = (answer[0], answer[1])

    def see_leader_epoch(self) -> int:
        return self.answer[0]

    def see_end_offset(self) -> int:
        return self.answer[1]


@area("stop_replica_acceptance")
class StopReplicaAcceptance(Refusal):
    """A StopReplica for one partition that this broker hosts."""

    def __init__(self, given: Fields, tag: str) -> None:
        self.rules = release_rules(tag)
        known = given.take("current_leader_epoch")
        self.leader_epoch = UNDEFINED if known is None else known
        self.controller_epoch = 2 if given.take("controller_epoch_ok") else 1

    def op_stop_replica(self, step: Fields) -> None:
        step.take("delete_partition")  # the fences are the same for both
        leader_epoch = step.take("leader_epoch")
        self.error = partition.controller_request_error(
            self.rules, 2, self.controller_epoch, UNDEFINED, UNDEFINED
        )
        if self.error == errors.NONE:
            self.error = partition.stop_replica_error(self.rules, self.leader_epoch, leader_epoch)


@area("leader_and_isr_acceptance")
class LeaderAndIsrAcceptance(Refusal):
    """A LeaderAndIsr with one partition."""

    def __init__(self, given: Fields, tag: str) -> None:
        self.rules = release_rules(tag)
        self.controller_epoch = given.take("broker_controller_epoch")
        self.leader_epoch = given.take("partition_leader_epoch")
        self.broker_epoch = given.take("broker_epoch", UNDEFINED)
        self.applied: bool | None = None

    def op_leader_and_isr(self, step: Fields) -> None:
        controller_epoch, leader_epoch = step.take("controller_epoch"), step.take("leader_epoch")
        is_replica = step.take("replicas_include_self")
        self.error = partition.controller_request_error(
            self.rules,
            self.controller_epoch,
            controller_epoch,
            self.broker_epoch,
            step.take("broker_epoch", UNDEFINED),
        )
        if self.error == errors.NONE:
            self.controller_epoch = controller_epoch
            self.error = partition.leader_and_isr_error(
                self.rules, self.leader_epoch, leader_epoch, is_replica, False
            )
        self.applied = bool(self.error == errors.NONE)
        if self.applied:
            self.leader_epoch = leader_epoch

    def see_applied(self) -> bool | None:
        return self.applied


@area("read_visibility")
class ReadVisibility(Refusal):
    """What a reader gets of a leader's log."""

    def __init__(self, given: Fields, tag: str) -> None:
        self.rules = release_rules(tag)
        high_watermark = given.take("hw")
        self.partition = record(
            Partition,
            log_start_offset=given.take("log_start_offset"),
            high_watermark=high_watermark,
            log_end_offset=given.take("leo"),
            leader_epoch_start_offset=given.take("epoch_start_offset", UNDEFINED),
        )
        self.last_stable_offset = given.take("last_stable_offset", high_watermark)
        self.limit: int | None = None
        self.empty: bool | None = None
        self.offset: int | None = None

    def op_fetch(self, step: Fields) -> None:
        who, offset = step.take("from"), step.take("offset")
        if who not in ("follower", "consumer", "client"):
            raise UnknownContentError(f"unknown reader {who!r}")
        isolation = step.take("isolation", None if who == "follower" else "read_uncommitted")
        self.error = leader_read.offset_error(self.partition, offset)
        if self.error != errors.NONE:
            return
        limit = leader_read.read_limit(self.partition, reader(isolation), self.last_stable_offset)
        self.limit = limit
        self.empty = bool(offset >= limit)

    def op_list_offsets(self, step: Fields) -> None:
        timestamp, who = step.take("timestamp"), reader(step.take("isolation", None))
        if timestamp == "earliest":
            self.offset = self.partition.log_start_offset
            return
        if timestamp != "latest":
            raise UnknownContentError(f"unknown timestamp {timestamp!r}")
        self.error, offset = leader_read.latest_offset(
            self.rules, self.partition, who, self.last_stable_offset
        )
        self.offset = none_if_absent(offset)

    def see_max_offset_exclusive(self) -> int | None:
        return self.limit

    def see_empty(self) -> bool | None:
        return self.empty

    def see_offset(self) -> int | None:
        return self.offset


@area("min_isr")
class MinIsr(Refusal):
    """acks=all and the number of replicas in sync."""

    def __init__(self, given: Fields, tag: str) -> None:
        self.rules = release_rules(tag)
        self.rules.min_isr_capped_by_replicas = given.take("effective_min_isr", False)
        self.partition = record(
            Partition,
            isr=pack(range(given.take("committed_isr_size"))),
            maximal_isr=pack(range(given.take("maximal_isr_size"))),
            replicas=pack(range(given.take("replicas"))),
            min_insync_replicas=given.take("min_insync_replicas"),
            high_watermark=given.take("hw"),
        )
        self.appended: bool | None = None
        self.done: bool | None = None

    def op_append(self, step: Fields) -> None:
        self.error = append_error(self.rules, self.partition, step.take("acks"))
        self.appended = bool(self.error == errors.NONE)

    def op_check_delayed_produce(self, step: Fields) -> None:
        done, self.error = check_enough_replicas_reach_offset(
            self.rules, self.partition, step.take("required_offset")
        )
        self.done = bool(done)

    def see_appended(self) -> bool | None:
        return self.appended

    def see_done(self) -> bool | None:
        return self.done
