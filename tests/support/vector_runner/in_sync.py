"""Areas of a leader: ``isr``, ``high_watermark`` and ``isr_change_propagation``."""

from __future__ import annotations

from tidegauge.compiled.records import new_records
from tidegauge.replication import in_sync_replicas, isr_update
from tidegauge.replication import release_rules as switches
from tidegauge.replication.high_watermark import (
    high_watermark_of_response,
    may_move_after_fetch,
    maybe_increment_leader_high_watermark,
)
from tidegauge.replication.isr_update import should_propagate_isr_changes
from tidegauge.replication.log import append
from tidegauge.replication.partition import make_follower, make_leader
from tidegauge.replication.records import SLOTS, UNDEFINED, LeaderAndIsr, Partition, RemoteReplica
from tidegauge.replication.release_rules import ReleaseRules
from tidegauge.replication.remote_replica import update_after_failed_read, update_fetch_state
from tidegauge.replication.replica_list import EMPTY, contains
from tidegauge.replication.replica_list import append as append_replica
from vector_runner.area import (
    Area,
    Brokers,
    Fields,
    Json,
    UnknownContentError,
    area,
    choice,
    epoch_entries,
    error_code,
    record,
    release_rules,
)

OUT_OF_SYNC_RULES = {
    "time_only": switches.OUT_OF_SYNC_BY_TIME,
    "leo_ne_and_time": switches.OUT_OF_SYNC_BY_OFFSET_AND_TIME,
}
HIGH_WATERMARK_RULES = {
    "isr_only": switches.HIGH_WATERMARK_BY_ISR,
    "isr_or_time": switches.HIGH_WATERMARK_BY_ISR_OR_LAG_TIME,
    "isr_or_caught_up": switches.HIGH_WATERMARK_BY_ISR_OR_CAUGHT_UP,
    "isr_or_caught_up_and_eligible": switches.HIGH_WATERMARK_BY_ISR_OR_ELIGIBLE,
}

#: Field of a follower in a vector -> field of the record.
FOLLOWER_FIELDS = {
    "leo": "log_end_offset",
    "last_fetch_leader_leo": "last_fetch_leader_log_end_offset",
    "last_fetch_time_ms": "last_fetch_time_ms",
    "last_caught_up_ms": "last_caught_up_time_ms",
}

CONTROLLER_EPOCH = 1


def switches_of(given: Fields, tag: str) -> ReleaseRules:
    """The release's rules with the flags that the vector sets; absent flags are false."""
    flags = Fields(given.take("rules"), "given.rules")
    pending = flags.take("pending_isr", False)
    path = switches.ISR_UPDATE_ALTER_PARTITION if pending else switches.ISR_UPDATE_ZOOKEEPER
    rules = release_rules(
        tag,
        out_of_sync_rule=choice(OUT_OF_SYNC_RULES, flags.take("out_of_sync_rule"), "rule"),
        high_watermark_rule=choice(HIGH_WATERMARK_RULES, flags.take("hw_rule"), "rule"),
        isr_update_path=path,
        expand_requires_epoch_start=flags.take("expand_requires_epoch_start", False),
        expand_requires_eligible=flags.take("expand_requires_eligible", False),
        high_watermark_only_if_follower_moved=flags.take("hw_only_if_follower_leo_changed", False),
        high_watermark_waits_for_min_isr=flags.take("hw_blocked_under_min_isr", False),
        min_isr_capped_by_replicas=flags.take("effective_min_isr", False),
        failed_read_updates_follower=flags.take("failed_read_updates_state", False),
        last_fetch_leader_log_end_offset_monotone=flags.take(
            "monotone_last_fetch_leader_leo", False
        ),
        unknown_last_fetch_time_ms=flags.take("reset_last_fetch_time", 0),
        followers_reset_on_new_epoch_only=flags.take("reset_lft_zero_if_not_in_isr", False),
        high_watermark_on_isr_update=flags.take("hw_check_on_alter_isr_ok", True),
    )
    flags.all_taken()
    return rules


@area("isr")
@area("high_watermark")
class Leader(Area):
    """A partition on the broker that leads it, with its clock."""

    def __init__(self, given: Fields, tag: str) -> None:
        self.rules = switches_of(given, tag)
        self.now_ms = given.take("now_ms")
        self.lag_ms = given.take("replica_lag_time_max_ms")
        leader = Fields(given.take("leader"), "given.leader")
        self.brokers = Brokers(given.take("replicas"))
        local = self.brokers.slot(leader.take("id"))
        isr = self.brokers.pack(given.take("isr"))
        self.ineligible = self.brokers.pack(given.take("ineligible", []))
        self.partition = record(
            Partition,
            local_replica=local,
            leader=local,
            replicas=self.brokers.pack(self.brokers.known()),
            isr=isr,
            maximal_isr=isr,
            min_insync_replicas=given.take("min_insync_replicas", 1),
            log_end_offset=leader.take("leo"),
            high_watermark=leader.take("hw"),
            leader_epoch_start_offset=leader.take("epoch_start_offset", 0),
        )
        leader.all_taken()
        self.followers = new_records(RemoteReplica, SLOTS)
        known = dict(given.take("followers", {}))
        for broker in self.brokers.known():
            self._set_follower(broker, known.pop(str(broker), {}))
        if known:
            raise UnknownContentError(
                f"given.followers has brokers without a replica: {sorted(known)}"
            )
        self.runs = epoch_entries([], 64)
        self.entries = epoch_entries([], 64)
        self.response_high_watermark: int | None = None
        self.resent = False

    def _set_follower(self, broker: int, content: dict[str, Json]) -> None:
        fields = Fields(content, f"given.followers.{broker}")
        follower = self.followers[self.brokers.slot(broker)]
        for key, name in FOLLOWER_FIELDS.items():
            setattr(follower, name, fields.take(key, UNDEFINED if key == "leo" else 0))
        fields.all_taken()

    def _attempt_high_watermark(self, now_ms: int | None = None) -> None:
        maybe_increment_leader_high_watermark(
            self.rules,
            self.partition,
            self.followers,
            self.now_ms if now_ms is None else now_ms,
            self.lag_ms,
            self.ineligible,
        )

    def _out_of_sync(self) -> int:
        return in_sync_replicas.get_out_of_sync_replicas(
            self.rules, self.partition, self.followers, self.now_ms, self.lag_ms
        )

    def op_advance(self, step: Fields) -> None:
        self.now_ms += step.take("ms")

    def op_append(self, step: Fields) -> None:
        self.op_append_without_hw_check(step)
        self._attempt_high_watermark()

    def op_append_without_hw_check(self, step: Fields) -> None:
        append(
            self.rules,
            self.partition,
            self.runs,
            self.entries,
            self.partition.leader_epoch,
            step.take("count"),
        )

    def op_fetch(self, step: Fields) -> None:
        replica = self.brokers.slot(step.take("replica"))
        offset = step.take("offset")
        leader_log_end_offset = step.take("leader_leo", self.partition.log_end_offset)
        state_only = step.take("state_only", False)
        follower = self.followers[replica]
        before = follower.log_end_offset
        before_fetch = self.partition.high_watermark
        if step.take("read_error", None) is not None:
            self._fail_to_read(follower)
            return
        update_fetch_state(self.rules, follower, offset, 0, self.now_ms, leader_log_end_offset)
        if not state_only:
            self._count_fetch(replica, before)
        self.response_high_watermark = int(
            high_watermark_of_response(self.rules, before_fetch, self.partition.high_watermark)
        )

    def _fail_to_read(self, follower: RemoteReplica) -> None:
        """KAFKA-8400: up to 2.3 "unknown", -1, stood for everything, the time included."""
        self.response_high_watermark = UNDEFINED
        if self.rules.failed_read_updates_follower:
            update_after_failed_read(self.rules, follower)
            self._attempt_high_watermark(UNDEFINED)

    def _count_fetch(self, replica: int, log_end_offset_before: int) -> None:
        if in_sync_replicas.needs_expand_isr(
            self.rules,
            self.partition,
            replica,
            self.followers[replica].log_end_offset,
            self.ineligible,
        ):
            self._change_isr(isr_update.expanded_isr(self.partition, replica))
        if may_move_after_fetch(self.rules, log_end_offset_before, self.followers[replica]):
            self._attempt_high_watermark()

    def _change_isr(self, isr: int) -> int:
        if isr_update.isr_is_pending_first(self.rules):
            isr_update.propose_isr(self.partition, isr)
            return isr_update.PROPOSED
        isr_update.commit_isr(self.partition, isr, self.partition.partition_epoch + 1)
        return isr_update.COMMITTED

    def op_shrink_check(self, step: Fields) -> None:
        result = step.take("write_result", "ok")
        if result not in ("ok", "bad_version"):
            raise UnknownContentError(f"unknown write_result {result!r}")
        out_of_sync = self._out_of_sync()
        if out_of_sync == EMPTY or result == "bad_version":
            return
        outcome = self._change_isr(isr_update.shrunk_isr(self.partition, out_of_sync))
        if isr_update.high_watermark_may_move(self.rules, outcome):
            self._attempt_high_watermark()

    def op_alter_isr_ok(self) -> None:
        proposed = self.partition.proposed_isr
        answer = record(
            LeaderAndIsr,
            isr=proposed,
            leader=self.partition.local_replica,
            leader_epoch=self.partition.leader_epoch,
            partition_epoch=self.partition.partition_epoch + 1,
        )
        outcome = isr_update.handle_isr_update(self.rules, self.partition, proposed, answer)
        if isr_update.high_watermark_may_move(self.rules, outcome):
            self._attempt_high_watermark()

    def op_alter_isr_error(self, step: Fields) -> None:
        outcome = isr_update.handle_isr_update_error(
            self.rules,
            self.partition,
            self.partition.proposed_isr,
            error_code(step.take("error")),
        )
        self.resent = bool(outcome == isr_update.RESENT)

    def op_make_leader(self, step: Fields) -> None:
        partition = self.partition
        partition.leader = UNDEFINED if step.take("new_leader") else partition.local_replica
        grows = 1 if step.take("new_leader_epoch", True) else 0
        state = record(
            LeaderAndIsr,
            isr=self.brokers.pack(step.take("isr")),
            leader=partition.local_replica,
            leader_epoch=partition.leader_epoch + grows,
            partition_epoch=partition.partition_epoch + 1,
        )
        make_leader(
            self.rules,
            partition,
            self.followers,
            self.entries,
            state,
            CONTROLLER_EPOCH,
            self.now_ms,
        )
        self._attempt_high_watermark()

    def op_make_follower(self) -> None:
        state = record(
            LeaderAndIsr,
            isr=EMPTY,
            leader=(self.partition.local_replica + 1) % SLOTS,
            leader_epoch=self.partition.leader_epoch + 1,
            partition_epoch=self.partition.partition_epoch + 1,
        )
        make_follower(self.rules, self.partition, state, CONTROLLER_EPOCH)

    def op_mark_ineligible(self, step: Fields) -> None:
        replica = self.brokers.slot(step.take("replica"))
        if not contains(self.ineligible, replica):
            self.ineligible = append_replica(self.ineligible, replica)

    def _sorted(self, replicas: int) -> list[int]:
        return sorted(self.brokers.unpack(replicas))

    def see_hw(self) -> int:
        return self.partition.high_watermark

    def see_isr(self) -> list[int]:
        return self._sorted(self.partition.isr)

    def see_maximal_isr(self) -> list[int]:
        return self._sorted(self.partition.maximal_isr)

    def see_in_flight(self) -> bool:
        return bool(self.partition.proposed_isr != EMPTY)

    def see_proposed_isr(self) -> list[int] | None:
        return self._sorted(self.partition.proposed_isr) or None

    def see_out_of_sync(self) -> list[int]:
        return self._sorted(self._out_of_sync())

    def see_response_hw(self) -> int | None:
        return self.response_high_watermark

    def see_resent(self) -> bool:
        return self.resent

    def see_followers(self, expected: Json) -> Json:
        """The fields that are expected of the followers that are named."""
        return {
            broker: {
                key: getattr(
                    self.followers[self.brokers.slot(int(broker))],
                    choice(FOLLOWER_FIELDS, key, "field of a follower"),
                )
                for key in fields
            }
            for broker, fields in expected.items()
        }

    def see_at_min_isr(self) -> bool:
        return bool(in_sync_replicas.is_at_min_isr(self.rules, self.partition))

    def see_under_min_isr(self) -> bool:
        return bool(in_sync_replicas.is_under_min_isr(self.rules, self.partition))

    def see_under_replicated(self) -> bool:
        return bool(in_sync_replicas.is_under_replicated(self.rules, self.partition))


@area("isr_change_propagation")
class IsrChangePropagation(Area):
    """A broker's isr-change-propagation task over a list of ISR changes."""

    def __init__(self, given: Fields, tag: str) -> None:
        del tag
        self.start_ms = given.take("start_ms")
        self.tick_ms = given.take("tick_ms")
        self.quiet_ms = given.take("linger_ms")
        self.max_delay_ms = given.take("max_delay_ms")
        self.changes = []
        for content in given.take("isr_changes"):
            change = Fields(content, "given.isr_changes")
            self.changes.append((change.take("at_ms"), change.take("partition")))
            change.all_taken()
        self.notifications: list[dict[str, Json]] = []

    def op_run_ticks(self, step: Fields) -> None:
        changed: set[str] = set()
        last_change_ms = last_propagation_ms = self.start_ms
        waiting = sorted(self.changes)
        # The conventions have it run at multiples of the tick, whenever the broker started.
        for now_ms in range(0, step.take("until_ms") + 1, self.tick_ms):
            while waiting and waiting[0][0] <= now_ms:
                last_change_ms, partition = waiting.pop(0)
                changed.add(partition)
            if should_propagate_isr_changes(
                now_ms,
                len(changed),
                last_change_ms,
                last_propagation_ms,
                self.quiet_ms,
                self.max_delay_ms,
            ):
                self.notifications.append({"at_ms": now_ms, "partitions": sorted(changed)})
                changed.clear()
                last_propagation_ms = now_ms

    def see_notifications(self) -> Json:
        return self.notifications
