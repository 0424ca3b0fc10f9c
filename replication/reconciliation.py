"""One follower meets one leader: truncation and catching up, played through to its end.

Here the rules are put together outside of any simulation: a log as a Python object, and
:func:`reconcile`, a follower's fetcher after a LeaderAndIsr, in any of the five generations of
truncation (``truncation.py``), with each of its steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from tidegauge.compiled.records import Records, new_record, new_records
from tidegauge.replication import errors, fetcher, records, replica_list, truncation
from tidegauge.replication.leader_epoch_cache import end_offset_for, latest_epoch
from tidegauge.replication.leader_read import (
    check_current_leader_epoch,
    diverging_epoch,
    last_offset_for_leader_epoch,
    offset_error,
)
from tidegauge.replication.log import (
    append,
    first_difference,
    open_log,
    truncate_fully_and_start_at,
    truncate_to,
)
from tidegauge.replication.partition import initialize_partition, maybe_assign_epoch_start_offset
from tidegauge.replication.release_rules import TRUNCATE_KIP_101, TRUNCATE_ON_FETCH, ReleaseRules


@dataclass(slots=True)
class ReplicaLog:
    """One replica's log with its leader-epoch cache, for use outside of a simulation."""

    rules: ReleaseRules
    partition: records.Partition
    runs: Records[records.EpochEntry]
    entries: Records[records.EpochEntry]

    @classmethod
    def empty(cls, rules: ReleaseRules, replica: int = 0) -> ReplicaLog:
        """A replica without records; two replicas, slots 0 and 1, are assigned."""
        partition = new_record(records.Partition)
        initialize_partition(partition, replica, replica_list.pack([0, 1]), 0, 1)
        return cls(
            rules, partition, new_records(records.EpochEntry, 4), new_records(records.EpochEntry, 4)
        )

    @classmethod
    def of(
        cls, rules: ReleaseRules, runs: Iterable[tuple[int, int]], replica: int = 0
    ) -> ReplicaLog:
        """A replica with these runs of records: (leader epoch, number of records)."""
        log = cls.empty(rules, replica)
        for epoch, count in runs:
            log.append(epoch, count)
        return log

    def append(self, epoch: int, count: int) -> None:
        """Append ``count`` records of one epoch."""
        self.make_room()
        append(self.rules, self.partition, self.runs, self.entries, epoch, count)

    def lead(self, epoch: int) -> None:
        """Lead in this epoch; from 2.0.1 on it enters the cache at once, at the log end."""
        self.make_room()
        self.partition.leader_epoch = epoch
        maybe_assign_epoch_start_offset(self.rules, self.partition, self.entries, epoch)

    def restart(self) -> None:
        """Stop cleanly and open the log again from disk."""
        partition = self.partition
        open_log(
            self.rules,
            partition,
            _copied(self.entries, len(self.entries)),
            partition.epoch_count,
            self.entries,
            partition.high_watermark,
        )

    def truncate_to(self, offset: int) -> int:
        """Cut the log at ``offset``; the number of removed records."""
        return truncate_to(self.rules, self.partition, self.runs, self.entries, offset)

    def latest_epoch(self) -> int:
        """The last epoch in the cache, -1 if there is none."""
        return latest_epoch(self.entries, self.partition.epoch_count)

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        """The cache's answer about where an epoch ended."""
        return end_offset_for(
            self.rules,
            self.entries,
            self.partition.epoch_count,
            self.partition.log_end_offset,
            epoch,
        )

    def epoch_runs(self) -> list[tuple[int, int, int]]:
        """The log's records: (leader epoch, first offset, offset after the last)."""
        partition = self.partition
        runs = [self.runs[index] for index in range(partition.run_count)]
        starts = [*(int(run.start_offset) for run in runs), int(partition.log_end_offset)]
        bounds = zip(runs, pairwise(starts), strict=False)
        return [(int(run.epoch), start, end) for run, (start, end) in bounds if start < end]

    def epochs(self) -> list[int]:
        """The leader epoch of each record, from the log start on."""
        return [epoch for epoch, start, end in self.epoch_runs() for _ in range(start, end)]

    def cache(self) -> list[tuple[int, int]]:
        """The leader-epoch cache: (epoch, start offset)."""
        return [
            (int(self.entries[index].epoch), int(self.entries[index].start_offset))
            for index in range(self.partition.epoch_count)
        ]

    def log_end_and_cache(self) -> tuple[int, list[tuple[int, int]]]:
        """The state that decides on the next request of a follower that truncates."""
        return int(self.partition.log_end_offset), self.cache()

    def first_difference(self, other: ReplicaLog) -> int:
        """First offset at which the two logs differ, -1 if they are equal."""
        return first_difference(self.partition, self.runs, other.partition, other.runs)

    def make_room(self) -> None:
        """Have room for one more run and one more entry, as the rules expect it."""
        if self.partition.run_count == len(self.runs):
            self.runs = _copied(self.runs, 2 * len(self.runs))
        if self.partition.epoch_count == len(self.entries):
            self.entries = _copied(self.entries, 2 * len(self.entries))


def _copied(entries: Records[records.EpochEntry], length: int) -> Records[records.EpochEntry]:
    copy = new_records(records.EpochEntry, length)
    for index in range(len(entries)):
        copy[index].epoch = entries[index].epoch
        copy[index].start_offset = entries[index].start_offset
    return copy


@dataclass(slots=True)
class Reconciliation:
    """The course of a meeting, until the follower had fetched all that the leader has."""

    #: Offsets passed to truncation, in order; at the log end or above nothing is removed.
    truncations: list[int] = field(default_factory=list)
    #: Records that truncation removed.
    removed: int = 0
    #: Records fetched from the leader.
    fetched: int = 0
    #: First offset at which the logs differ afterwards, -1 if they are equal.
    first_difference: int = records.UNDEFINED
    #: The follower's broker exited instead (up to 2.0.0, unclean election disabled).
    broker_stopped: bool = False
    #: It repeats the same request without end (up to 2.6.0, KAFKA-10706).
    stuck: bool = False
    #: Each step in a sentence.
    story: list[str] = field(default_factory=list)


def reconcile(
    leader: ReplicaLog, follower: ReplicaLog, *, unclean_election_enabled: bool = True
) -> Reconciliation:
    """Let ``follower`` follow ``leader`` until it has all records; both of one release.

    The follower's log is changed. ``unclean_election_enabled`` only matters up to 2.0.0,
    where a follower that is ahead of its leader otherwise stops its broker.

    Source: ReplicaManager.makeFollowers@0.10.2.0, AbstractFetcherThread.doWork@2.4.0.
    """
    told = Reconciliation()
    rules = follower.rules
    fetch = new_record(records.PartitionFetchState)
    offset = truncation.initial_fetch_offset(rules, follower.partition)
    leader_epoch = leader.partition.leader_epoch
    leader.partition.leader = leader.partition.local_replica
    fetcher.add_partition(rules, fetch, offset, leader_epoch, follower.latest_epoch())

    while fetch.state == fetcher.TRUNCATING and not told.stuck:
        _truncate_once(leader, follower, fetch, told)
    in_epoch = fetcher.leader_epoch_of_fetch(rules, fetch)
    assert check_current_leader_epoch(leader_epoch, in_epoch) == errors.NONE
    while fetch.state == fetcher.FETCHING and not (told.broker_stopped or told.stuck):
        if _diverges(leader, follower, fetch, told, unclean_election_enabled):
            continue
        if offset_error(leader.partition, fetch.fetch_offset) != errors.NONE:
            _leave_range(leader, follower, fetch, told, unclean_election_enabled)
            continue
        _catch_up(leader, follower, fetch, told)
        break
    told.first_difference = int(follower.first_difference(leader))
    return told


def _truncate_once(
    leader: ReplicaLog,
    follower: ReplicaLog,
    fetch: records.PartitionFetchState,
    told: Reconciliation,
) -> None:
    rules = follower.rules
    fallback = truncation.fallback_offset(rules, follower.partition, fetch)
    if not truncation.asks_for_epoch_end(rules, follower.partition):
        told.story.append("asks no broker")
        _truncate(follower, fetch, told, fallback, completed=True)
        return
    asked = follower.latest_epoch()
    in_epoch = truncation.leader_epoch_of_epoch_request(rules, fetch)
    error, epoch, end_offset = last_offset_for_leader_epoch(
        leader.rules, leader.partition, leader.entries, in_epoch, asked, True
    )
    assert error == errors.NONE
    if rules.truncation_protocol == TRUNCATE_KIP_101:
        epoch = records.UNDEFINED  # version 0 of the answer has no such field
    told.story.append(f"asks where epoch {asked} ended: {_answer(epoch, end_offset)}")
    before = follower.log_end_and_cache()
    _follow_answer(follower, fetch, told, epoch, end_offset, fallback)
    if fetch.state == fetcher.TRUNCATING and follower.log_end_and_cache() == before:
        told.story.append("repeats the same request forever (KAFKA-10706)")
        told.stuck = True


def _diverges(
    leader: ReplicaLog,
    follower: ReplicaLog,
    fetch: records.PartitionFetchState,
    told: Reconciliation,
    unclean_election_enabled: bool,
) -> bool:
    if follower.rules.truncation_protocol != TRUNCATE_ON_FETCH:
        return False
    error, epoch, end_offset = diverging_epoch(
        leader.rules, leader.partition, leader.entries, fetch.fetch_offset, fetch.last_fetched_epoch
    )
    if error != errors.NONE:
        _leave_range(leader, follower, fetch, told, unclean_election_enabled)
        return True
    if end_offset == records.UNDEFINED:
        return False
    told.story.append(
        f"fetches at {fetch.fetch_offset} after epoch {fetch.last_fetched_epoch}: "
        f"diverges, {_answer(epoch, end_offset)}"
    )
    _follow_answer(follower, fetch, told, epoch, end_offset, fetch.fetch_offset)
    return True


def _follow_answer(
    follower: ReplicaLog,
    fetch: records.PartitionFetchState,
    told: Reconciliation,
    epoch: int,
    end_offset: int,
    fallback: int,
) -> None:
    own_epoch, own_end_offset = follower.end_offset_for(epoch)
    offset, completed = truncation.offset_truncation_state(
        epoch, end_offset, own_epoch, own_end_offset, follower.partition.log_end_offset, fallback
    )
    _truncate(follower, fetch, told, offset, completed)


def _truncate(
    follower: ReplicaLog,
    fetch: records.PartitionFetchState,
    told: Reconciliation,
    offset: int,
    completed: bool,
) -> None:
    _cut(follower, told, offset)
    fetcher.complete_truncation(follower.rules, fetch, offset, completed, follower.latest_epoch())


def _cut(follower: ReplicaLog, told: Reconciliation, offset: int) -> None:
    removed = int(follower.truncate_to(offset))
    told.truncations.append(int(offset))
    told.removed += removed
    told.story.append(f"truncates to {offset}, {_records(removed)} removed")


def _leave_range(
    leader: ReplicaLog,
    follower: ReplicaLog,
    fetch: records.PartitionFetchState,
    told: Reconciliation,
    unclean_election_enabled: bool,
) -> None:
    action, offset = fetcher.fetch_offset_and_truncate(
        follower.rules,
        follower.partition.log_end_offset,
        leader.partition.log_start_offset,
        leader.partition.log_end_offset,
        unclean_election_enabled,
    )
    told.story.append(f"fetches at {fetch.fetch_offset}: OFFSET_OUT_OF_RANGE")
    if action == fetcher.STOP_BROKER:
        told.story.append("its broker exits: unclean election is disabled")
        told.broker_stopped = True
        return
    if action == fetcher.TRUNCATE_TO:
        _cut(follower, told, offset)
    elif action == fetcher.TRUNCATE_FULLY_AND_START_AT:
        told.removed += int(follower.partition.log_end_offset - follower.partition.log_start_offset)
        truncate_fully_and_start_at(follower.rules, follower.partition, offset)
        told.story.append(f"deletes its whole log and starts at {offset}")
    elif fetch.fetch_offset == offset:
        # The leader knows nothing of the follower's epoch; no elected leader gets there.
        told.story.append("repeats the same fetch forever")
        told.stuck = True
    fetcher.restart_at(fetch, offset, follower.latest_epoch())


def _catch_up(
    leader: ReplicaLog,
    follower: ReplicaLog,
    fetch: records.PartitionFetchState,
    told: Reconciliation,
) -> None:
    start = int(follower.partition.log_end_offset)
    last_epoch = records.UNDEFINED
    for epoch, base_offset, end_offset in leader.epoch_runs():
        if end_offset > start:
            follower.append(epoch, end_offset - max(base_offset, start))
            last_epoch = epoch
    end = follower.partition.log_end_offset
    fetcher.take_records(follower.rules, fetch, end, last_epoch)
    told.fetched += int(end) - start
    told.story.append(f"fetches from {start}: {_records(int(end) - start)}")


def _answer(epoch: int, end_offset: int) -> str:
    if end_offset == records.UNDEFINED:
        return "undefined"
    return (
        f"offset {end_offset}"
        if epoch == records.UNDEFINED
        else f"epoch {epoch}, offset {end_offset}"
    )


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"
