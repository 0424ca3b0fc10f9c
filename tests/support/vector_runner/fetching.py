"""Areas of a follower: truncation, reconciliation, its fetcher, restarting it."""

from __future__ import annotations

from tidegauge.replication import errors, fetcher
from tidegauge.replication.leader_epoch_cache import assign, end_offset_for
from tidegauge.replication.log import truncate_fully_and_start_at
from tidegauge.replication.partition import make_follower
from tidegauge.replication.reconciliation import Reconciliation, ReplicaLog, reconcile
from tidegauge.replication.records import UNDEFINED, LeaderAndIsr, Partition, PartitionFetchState
from tidegauge.replication.release_rules import (
    EPOCH_CACHE_NONE,
    TRUNCATE_KIP_101,
    TRUNCATE_KIP_279,
    TRUNCATE_KIP_320,
    TRUNCATE_ON_FETCH,
    TRUNCATE_TO_HIGH_WATERMARK,
)
from tidegauge.replication.replica_list import EMPTY
from tidegauge.replication.truncation import (
    PARTITION_FENCED,
    TAKE_ANSWER,
    asks_for_epoch_end,
    epoch_answer_action,
    fallback_offset,
    offset_truncation_state,
)
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
    none_if_absent,
    record,
    release_rules,
)
from vector_runner.epoch_cache import GENERATIONS

STATES = {"Truncating": fetcher.TRUNCATING, "Fetching": fetcher.FETCHING}
STATE_NAMES = {int(state): name for name, state in STATES.items()}

PROTOCOLS = {
    "hw": TRUNCATE_TO_HIGH_WATERMARK,
    "kip101": TRUNCATE_KIP_101,
    "kip279": TRUNCATE_KIP_279,
    "kip320": TRUNCATE_KIP_320,
    "truncate_on_fetch": TRUNCATE_ON_FETCH,
}


@area("truncation_decision")
class TruncationDecision(Area):
    """One answer of the leader to one partition."""

    def __init__(self, given: Fields, tag: str) -> None:
        protocol = choice(PROTOCOLS, given.take("protocol"), "protocol")
        self.rules = release_rules(tag, truncation_protocol=protocol)
        follower = Fields(given.take("follower"), "given.follower")
        high_watermark = follower.take("high_watermark", None)
        initial_fetch_offset = follower.take("initial_fetch_offset", high_watermark)
        if initial_fetch_offset is None:
            raise UnknownContentError("given.follower has no offset to fall back to")
        listed = follower.take("epoch_entries", [])
        generation = follower.take("cache_generation", None)
        if generation is not None:
            self.rules.epoch_cache_generation = choice(GENERATIONS, generation, "generation")
        self.entries = epoch_entries(listed)
        self.answers = follower.take("end_offset_for_epoch", None)
        self.partition = record(
            Partition,
            log_end_offset=follower.take("leo"),
            high_watermark=initial_fetch_offset if high_watermark is None else high_watermark,
            epoch_count=len(listed),
        )
        follower.all_taken()
        on_fetch = protocol == TRUNCATE_ON_FETCH
        self.requested_in_epoch = given.take("request_current_leader_epoch", 0)
        self.fetch = record(
            PartitionFetchState,
            state=fetcher.FETCHING if on_fetch else fetcher.TRUNCATING,
            fetch_offset=initial_fetch_offset,
            current_leader_epoch=given.take("fetch_state_leader_epoch", self.requested_in_epoch),
        )
        self.action: str | None = None
        self.offset: int | None = None
        self.completed: bool | None = None

    def op_leader_reply(self, step: Fields) -> None:
        reply = step.take("reply")
        if reply is None or reply == "not_sent":
            assert not asks_for_epoch_end(self.rules, self.partition)
            fallback = fallback_offset(self.rules, self.partition, self.fetch)
            self._truncate(fallback, completed=True)
            return
        answer = Fields(reply, "reply")
        epoch = answer.take("leader_epoch", UNDEFINED)
        end_offset = answer.take("end_offset")
        error = error_code(answer.take("error"))
        answer.all_taken()
        action = epoch_answer_action(
            self.rules, error, self.requested_in_epoch, self.fetch.current_leader_epoch
        )
        if action == TAKE_ANSWER:
            self._follow(epoch, end_offset)
        elif action == PARTITION_FENCED:
            self.action = "mark_failed"
            fetcher.mark_partition_failed(self.rules, self.fetch)
        else:
            self.action = "retry_after_backoff"
            fetcher.delay_partition(self.fetch)

    def _follow(self, epoch: int, end_offset: int) -> None:
        own_epoch, own_end_offset = self._own_answer(epoch)
        offset, completed = offset_truncation_state(
            epoch,
            end_offset,
            own_epoch,
            own_end_offset,
            self.partition.log_end_offset,
            fallback_offset(self.rules, self.partition, self.fetch),
        )
        self._truncate(offset, completed)

    def _own_answer(self, epoch: int) -> tuple[int, int]:
        if self.answers is not None:
            answer = self.answers.get(str(epoch))
            return (UNDEFINED, UNDEFINED) if answer is None else (answer[0], answer[1])
        return end_offset_for(
            self.rules,
            self.entries,
            self.partition.epoch_count,
            self.partition.log_end_offset,
            epoch,
        )

    def _truncate(self, offset: int, completed: bool) -> None:
        self.action, self.offset, self.completed = "truncate", offset, completed
        fetcher.complete_truncation(self.rules, self.fetch, offset, completed, UNDEFINED)

    def see_action(self) -> str | None:
        return self.action

    def see_truncate_to(self) -> int | None:
        return self.offset

    def see_completed(self) -> bool | None:
        return self.completed

    def see_next_state(self) -> str:
        if self.fetch.state == fetcher.NOT_FETCHED:
            return "Failed"
        return STATE_NAMES[int(self.fetch.state)]


#: Mode of reconciliation -> the protocols that it stands for, and a release that has one.
MODES = {
    "hw": ({TRUNCATE_TO_HIGH_WATERMARK}, "0.10.2"),
    "kip101": ({TRUNCATE_KIP_101}, "1.1"),
    "epoch_request": ({TRUNCATE_KIP_279, TRUNCATE_KIP_320}, "2.6"),
    "truncate_on_fetch": ({TRUNCATE_ON_FETCH}, "2.8"),
}


@area("log_reconciliation")
class LogReconciliation(Area):
    """A follower with one log, a leader with another, until the follower has caught up."""

    def __init__(self, given: Fields, tag: str) -> None:
        protocols, release = choice(MODES, given.take("mode"), "mode")
        self.rules = release_rules(tag)
        if self.rules.truncation_protocol not in protocols:
            self.rules = release_rules(release)
        self.leader = self._log(given.take("leader_log"), replica=0)
        self.follower = self._log(given.take("follower_log"), replica=1)
        self._enter_leader_epoch(given.take("leader_epoch"))
        self.follower.partition.high_watermark = given.take("follower_high_watermark", 0)
        self.told: Reconciliation | None = None

    def _enter_leader_epoch(self, epoch: int) -> None:
        """The conventions put it into the leader's cache in every release."""
        leader = self.leader
        leader.lead(epoch)
        if self.rules.epoch_cache_generation != EPOCH_CACHE_NONE:
            leader.partition.epoch_count = assign(
                self.rules,
                leader.entries,
                leader.partition.epoch_count,
                epoch,
                leader.partition.log_end_offset,
            )

    def _log(self, batches: list[list[int]], replica: int) -> ReplicaLog:
        log = ReplicaLog.empty(self.rules, replica)
        if batches:
            truncate_fully_and_start_at(self.rules, log.partition, batches[0][0])
        for base_offset, epoch, count in batches:
            if base_offset != log.partition.log_end_offset:
                raise UnknownContentError(
                    f"the batch at {base_offset} does not follow the one before"
                )
            log.append(epoch, count)
        return log

    def op_run_until_fetching(self) -> None:
        self.told = reconcile(self.leader, self.follower)

    def op_run_until_equal(self) -> None:
        self.op_run_until_fetching()
        assert self._told.first_difference == UNDEFINED, "the logs are not equal"

    @property
    def _told(self) -> Reconciliation:
        assert self.told is not None, "nothing has been run"
        return self.told

    def see_final_follower_log(self, expected: Json) -> Json:
        """The batches expected, if they hold exactly the follower's records.

        Logs here know the epoch of each record, not where one batch ended.
        """
        start = int(self.follower.partition.log_start_offset)
        records = [[start + place, epoch] for place, epoch in enumerate(self.follower.epochs())]
        if any(not isinstance(batch, list) or len(batch) != 3 for batch in expected):
            raise UnknownContentError("a batch is [base offset, leader epoch, number of records]")
        listed = [
            [base_offset + place, epoch]
            for base_offset, epoch, count in expected
            for place in range(count)
        ]
        return expected if records == listed else records

    def see_logs_equal(self) -> bool:
        return self._told.first_difference == UNDEFINED

    def see_truncations(self) -> list[int]:
        return self._told.truncations


#: Name of an implementation of makeFollower -> a release that has it.
MAKE_FOLLOWER = {"0.9-2.0.0": "2.0.0", "2.0.1": "2.0.1", "2.1.0-3.2": "3.2", "3.3+": "3.9"}


@area("become_follower")
class BecomeFollower(Area):
    """A LeaderAndIsr that tells a replica whom to follow."""

    def __init__(self, given: Fields, tag: str) -> None:
        del tag
        implementation = given.take("implementation")
        self.rules = release_rules(choice(MAKE_FOLLOWER, implementation, "implementation"))
        self.brokers = Brokers()
        self.partition = record(
            Partition,
            local_replica=-2,
            leader=self.brokers.slot(given.take("leader_id")),
            leader_epoch=given.take("leader_epoch"),
        )
        self.restarts: bool | None = None

    def op_make_follower(self, step: Fields) -> None:
        state = record(
            LeaderAndIsr,
            leader=self.brokers.slot(step.take("leader_id")),
            leader_epoch=step.take("leader_epoch"),
            isr=EMPTY,
        )
        self.restarts = make_follower(self.rules, self.partition, state, 1)

    def see_restart_fetcher(self) -> bool | None:
        return None if self.restarts is None else bool(self.restarts)


#: What can go wrong when fetched records are appended -> the error that stands for it.
APPEND_FAILURES = {
    "unexpected": errors.UNKNOWN_SERVER_ERROR,
    "storage": errors.KAFKA_STORAGE_ERROR,
    "corrupt": errors.CORRUPT_MESSAGE,
    **{name: code for name, code in errors.CODES.items() if code != errors.NONE},
}

LOCAL_ACTIONS = {
    int(fetcher.KEEP_LOG): None,
    int(fetcher.TRUNCATE_TO): "truncate_to",
    int(fetcher.TRUNCATE_FULLY_AND_START_AT): "truncate_fully_and_start_at",
    int(fetcher.STOP_BROKER): "stop_broker",
}


@area("fetcher_state")
class FetcherState(Area):
    """A follower's fetcher about one partition."""

    def __init__(self, given: Fields, tag: str) -> None:
        on_fetch = given.take("truncate_on_fetch", False)
        # A protocol before truncation on fetch also on the releases that have it.
        self.rules = release_rules(tag)
        if on_fetch:
            self.rules.truncation_protocol = TRUNCATE_ON_FETCH
        elif self.rules.truncation_protocol == TRUNCATE_ON_FETCH:
            self.rules.truncation_protocol = TRUNCATE_KIP_320
        state = given.take("state")
        fetch_offset = given.take("fetch_offset", None)
        latest_epoch = given.take("local_latest_epoch", None)
        leader_epoch = given.take("current_leader_epoch", None)
        self.latest_epoch = UNDEFINED if latest_epoch is None else latest_epoch
        self.log_end_offset = given.take("local_leo", fetch_offset)
        self.fetch = record(
            PartitionFetchState,
            state=fetcher.NOT_FETCHED if state is None else choice(STATES, state, "state"),
            fetch_offset=UNDEFINED if fetch_offset is None else fetch_offset,
            current_leader_epoch=UNDEFINED if leader_epoch is None else leader_epoch,
            last_fetched_epoch=self.latest_epoch if on_fetch else UNDEFINED,
        )
        self.local_action: str | None = None
        self.local_offset: int | None = None

    def op_fetch_response(self, step: Fields) -> None:
        error = error_code(step.take("error"))
        fetcher.handle_fetch_error(self.rules, self.fetch, error, step.take("request_epoch"))

    def op_add_partition(self, step: Fields) -> None:
        offset, leader_epoch = step.take("offset"), step.take("leader_epoch")
        fetcher.add_partition(self.rules, self.fetch, offset, leader_epoch, self.latest_epoch)

    def op_append_throws(self, step: Fields) -> None:
        error = choice(APPEND_FAILURES, step.take("error"), "failure to append")
        fetcher.handle_append_failure(self.rules, self.fetch, error)

    def op_out_of_range(self, step: Fields) -> None:
        leader_start, leader_end = step.take("leader_start"), step.take("leader_end")
        action, offset = fetcher.fetch_offset_and_truncate(
            self.rules, self.log_end_offset, leader_start, leader_end, True
        )
        self.local_action = LOCAL_ACTIONS[int(action)]
        if self.local_action is not None:
            self.log_end_offset = self.local_offset = offset
        if action == fetcher.TRUNCATE_FULLY_AND_START_AT or self.log_end_offset == 0:
            self.latest_epoch = UNDEFINED  # the cache goes with the log
        fetcher.restart_at(self.fetch, offset, self.latest_epoch)

    def see_state(self) -> str | None:
        return STATE_NAMES.get(int(self.fetch.state))

    def see_fetch_offset(self) -> int | None:
        return None if self.fetch.state == fetcher.NOT_FETCHED else int(self.fetch.fetch_offset)

    def see_current_leader_epoch(self) -> int | None:
        if self.fetch.state == fetcher.NOT_FETCHED:
            return None
        return int(self.fetch.current_leader_epoch)

    def see_failed(self) -> bool:
        return bool(self.fetch.failed)

    def see_delayed(self) -> bool:
        return bool(self.fetch.delayed)

    def see_last_fetched_epoch(self) -> int | None:
        return none_if_absent(self.fetch.last_fetched_epoch)

    def see_local_action(self) -> str | None:
        return self.local_action

    def see_local_offset(self) -> int | None:
        return self.local_offset
