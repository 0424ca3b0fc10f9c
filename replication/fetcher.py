"""A follower's fetcher about one partition: truncating, fetching, delayed, failed.

============  =========================================  ===============================
state         on                                         next state
============  =========================================  ===============================
any           LeaderAndIsr, same leader epoch as before  as it is
any           LeaderAndIsr, other leader epoch           TRUNCATING; with truncation on
                                                         fetch and a known epoch FETCHING
TRUNCATING    truncation that settles it                 FETCHING
TRUNCATING    truncation that does not                   TRUNCATING, ask again
FETCHING      records, diverging epoch, out of range     FETCHING at another offset
either        an error that passes                       as it is, after a back-off
either        FENCED_LEADER_EPOCH, a failure on disk     NOT_FETCHED, failed
============  =========================================  ===============================

A failed partition waits for the next LeaderAndIsr; the fetcher goes on with the others.
Source: ``AbstractFetcherThread`` @0.11.0.0 to @3.8.0.
"""

from tidegauge.compiled.rules import code, rule
from tidegauge.replication import errors
from tidegauge.replication.records import UNDEFINED, PartitionFetchState
from tidegauge.replication.release_rules import TRUNCATE_ON_FETCH, ReleaseRules
from tidegauge.replication.truncation import is_fenced

# PartitionFetchState.state
NOT_FETCHED = code(0)
TRUNCATING = code(1)
FETCHING = code(2)

# A follower's change of its log when its fetch offset is out of range.
KEEP_LOG = code(0)
TRUNCATE_TO = code(1)
TRUNCATE_FULLY_AND_START_AT = code(2)
STOP_BROKER = code(3)


@rule
def add_partition(
    rules: ReleaseRules,
    fetch: PartitionFetchState,
    offset: int,
    leader_epoch: int,
    latest_epoch: int,
) -> None:
    """Hand the partition to the fetcher (again); ``latest_epoch`` is the own cache's.

    Source: AbstractFetcherThread.addPartitions@2.4.0, partitionFetchState@2.8.0.
    """
    fetch.failed = False
    if fetch.state != NOT_FETCHED and (
        fetch.current_leader_epoch == leader_epoch or not rules.fetcher_knows_leader_epoch
    ):
        return
    fetch.state = TRUNCATING
    fetch.fetch_offset = offset
    fetch.current_leader_epoch = leader_epoch
    fetch.last_fetched_epoch = UNDEFINED
    fetch.answered = False
    fetch.in_sync = False
    fetch.delayed = False
    if rules.truncation_protocol == TRUNCATE_ON_FETCH and latest_epoch != UNDEFINED:
        fetch.state = FETCHING
        fetch.last_fetched_epoch = latest_epoch


@rule
def mark_partition_failed(rules: ReleaseRules, fetch: PartitionFetchState) -> None:
    """Drop the partition from the fetcher until the next LeaderAndIsr.

    Source: AbstractFetcherThread.markPartitionFailed@2.3.0 (KIP-461); before, a fenced
    partition just left the fetcher.
    """
    fetch.state = NOT_FETCHED
    fetch.delayed = False
    fetch.failed = rules.failed_partition_leaves_fetcher


@rule
def delay_partition(fetch: PartitionFetchState) -> None:
    """Leave the partition out of requests for ``replica.fetch.backoff.ms``.

    Source: AbstractFetcherThread.delayPartitions@2.4.0.
    """
    fetch.delayed = True


@rule
def leader_epoch_of_fetch(rules: ReleaseRules, fetch: PartitionFetchState) -> int:
    """The leader epoch in which a fetch is made; -1 if it carries none.

    A follower goes from version 8 of Fetch straight to 10, so with protocol 2.1-IV1 it
    asks for epochs in its own but fetches in none.

    Source: ReplicaFetcherThread.fetchRequestVersion@2.1.0 (KIP-320).
    """
    return fetch.current_leader_epoch if rules.fetch_fenced else UNDEFINED


@rule
def takes_response(
    rules: ReleaseRules, fetch: PartitionFetchState, requested_offset: int, requested_in_epoch: int
) -> bool:
    """Whether a fetch response still fits: the partition may have moved on meanwhile.

    A response that does not fit is ignored, and the next fetch departs at once.
    ``requested_in_epoch`` is -1 if the fetch carried no leader epoch.

    Source: AbstractFetcherThread.processFetchRequest@2.4.0, @3.9.1 (KAFKA-18723).
    """
    is_of_other_epoch = requested_in_epoch not in (UNDEFINED, fetch.current_leader_epoch)
    if rules.fetch_of_other_epoch_ignored and is_of_other_epoch:
        return False
    return fetch.state == FETCHING and not fetch.delayed and fetch.fetch_offset == requested_offset


@rule
def take_records(
    rules: ReleaseRules, fetch: PartitionFetchState, next_offset: int, last_epoch: int
) -> None:
    """Go on after a response was appended; ``next_offset`` is the log end offset then.

    ``last_epoch`` is the epoch of the last record appended. Without records the state stays
    as it is, except that from 3.5.1 to 3.6 the first such response makes the next fetch
    carry no epoch, so that the leader does not look for divergence (KAFKA-15510).

    Source: AbstractFetcherThread.processFetchRequest@2.8.0, @3.5.1 and @3.7.0.
    """
    if next_offset > fetch.fetch_offset:
        fetch.fetch_offset = next_offset
        fetch.last_fetched_epoch = last_epoch
    elif rules.first_empty_response_forgets_epoch and not fetch.answered:
        fetch.last_fetched_epoch = UNDEFINED
    fetch.answered = True


@rule
def handle_fetch_error(
    rules: ReleaseRules, fetch: PartitionFetchState, error: int, requested_in_epoch: int
) -> None:
    """Handle an error of a fetch response, except OFFSET_OUT_OF_RANGE.

    Source: AbstractFetcherThread.processFetchRequest@2.1.0 to @3.8.0.
    """
    in_current_epoch = requested_in_epoch == fetch.current_leader_epoch
    if error == errors.FENCED_LEADER_EPOCH and is_fenced(rules, in_current_epoch):
        mark_partition_failed(rules, fetch)
    elif error != errors.NONE:
        delay_partition(fetch)


@rule
def handle_append_failure(rules: ReleaseRules, fetch: PartitionFetchState, error: int) -> None:
    """Handle a failure to append fetched records.

    Records that arrived damaged are fetched again; anything else drops the partition. Up to 2.2 a
    failure on disk was tried again (up to 0.11 the broker halted), and any other failure ended the
    fetcher's thread, so that none of its partitions was fetched any more.

    Source: AbstractFetcherThread.processFetchRequest@2.1.0 and @2.3.0 (KIP-461).
    """
    if error == errors.CORRUPT_MESSAGE or (
        error == errors.KAFKA_STORAGE_ERROR and not rules.failed_partition_leaves_fetcher
    ):
        delay_partition(fetch)
    else:
        mark_partition_failed(rules, fetch)


@rule
def complete_truncation(
    rules: ReleaseRules,
    fetch: PartitionFetchState,
    offset: int,
    completed: bool,
    latest_epoch: int,
) -> None:
    """Go on after the log was truncated to ``offset``.

    Source: AbstractFetcherThread.updateFetchOffsetAndMaybeMarkTruncationComplete@2.4.0
    and @2.8.0.
    """
    fetch.fetch_offset = offset
    if completed or rules.truncation_protocol == TRUNCATE_ON_FETCH:
        fetch.state = FETCHING
    fetch.last_fetched_epoch = latest_epoch


@rule
def fetch_offset_and_truncate(
    rules: ReleaseRules,
    log_end_offset: int,
    leader_start_offset: int,
    leader_end_offset: int,
    unclean_election_enabled: bool,
) -> tuple[int, int]:
    """After OFFSET_OUT_OF_RANGE: the change of the own log, and the next fetch offset.

    A log that is longer than the leader's is cut to the leader's end; up to 2.0.0 the
    broker exits instead where unclean election is disabled, since only an unclean election
    was thought to cause this. A log that ends below the leader's start is of no use.

    Source: ReplicaFetcherThread.handleOffsetOutOfRange@0.11.0.0,
    AbstractFetcherThread.fetchOffsetAndTruncate@2.4.0.
    """
    if leader_end_offset < log_end_offset:
        if rules.out_of_range_can_stop_broker and not unclean_election_enabled:
            return STOP_BROKER, log_end_offset
        return TRUNCATE_TO, leader_end_offset
    if leader_start_offset > log_end_offset:
        return TRUNCATE_FULLY_AND_START_AT, leader_start_offset
    return KEEP_LOG, log_end_offset


@rule
def restart_at(fetch: PartitionFetchState, offset: int, latest_epoch: int) -> None:
    """Fetch from ``offset`` on after OFFSET_OUT_OF_RANGE has been dealt with.

    Source: AbstractFetcherThread.handleOutOfRangeError@2.4.0 and @2.8.0.
    """
    fetch.state = FETCHING
    fetch.fetch_offset = offset
    fetch.last_fetched_epoch = latest_epoch
    fetch.answered = True
    fetch.delayed = False
