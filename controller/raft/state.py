"""The handlers of events of Raft: ``@RAFT.handles(...)``.

The state of the controllers of a KRaft quorum: one record each. It is called a voter here; one that
is none by its own log is an observer (``voters.py``).

On disk are the epoch, the leader and the vote of a voter (Kafka: the file quorum-state), and its
log. A crash takes all the rest, a power failure also the part of the log that was not flushed.

The voter that handles an event.
"""

from tidegauge.compiled.handlers import Handlers
from tidegauge.compiled.records import Record, Records, flag, i64
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.kraft_releases import KRaftRules
from tidegauge.simulation import sampled_stats
from tidegauge.simulation.kernel import QUORUM_CONTROLLER
from tidegauge.simulation.messages.event import EventList
from tidegauge.simulation.topology import Cluster, Topology, controller_node, place_of_versions

#: The handlers return whether they keep the event.
RAFT = Handlers()


class VoterSettings(Record):
    """The settings of Raft, and of the log of metadata."""

    append_linger_us: i64
    election_timeout_us: i64
    election_backoff_max_us: i64
    fetch_timeout_us: i64
    request_timeout_us: i64
    retry_backoff_us: i64
    #: An observer asks to become a voter by itself.
    auto_join_enable: flag
    #: The largest size of a fetch of the log, and of a piece of a snapshot.
    metadata_fetch_max_bytes: i64
    snapshot_fetch_max_bytes: i64
    #: A snapshot is written after so many bytes of records, and after this time (0: no limit of
    #: time).
    snapshot_max_bytes: i64
    snapshot_interval_us: i64
    #: The log is cleaned once all that there is of it is larger, or the oldest snapshot older.
    retention_bytes: i64
    retention_us: i64


class Voter(VoterSettings):
    """A controller of the quorum: its part in Raft, its log, its thread, pending responses."""

    #: Events that wait for the thread.
    queue: EventList
    #: Responses that wait for a commit, in the order of the offsets that they wait for.
    deferred: EventList
    #: Fetches of observers that wait for more of the log, and those of voters.
    fetches: EventList
    voter_fetches: EventList
    #: Requests for votes, and responses to its own, that have not come to its thread.
    votes: EventList

    # Switches by release.
    #: Fetches are answered at once when more is committed, and not only when more is appended.
    fetch_carries_high_watermark: flag
    #: It asks for votes before it begins an epoch (KIP-996; from 4.0).
    has_pre_vote: flag
    #: How it waits after an election that it has lost, and which voters it notifies of its epoch:
    #: ``ELECTION_LOSS_*`` and ``BEGIN_EPOCH_*`` of ``replication/kraft_releases.py``.
    election_loss_rule: i64
    begin_quorum_epoch_rule: i64
    #: Controllers that it asks for the leader, as bits; 0: none (KAFKA-17030; from 3.9.1).
    bootstrap_servers: i64
    #: ... and those of controller.quorum.bootstrap.servers.
    configured_servers: i64
    #: Those that it asks while it is an observer, and whether it returns to the leader that it
    #: knows although its fetch timeout is over (KAFKA-19354; from 4.2).
    servers_of_observer: i64
    returns_to_leader: flag
    #: It resigns if a majority does not fetch (KAFKA-15489; from 3.7).
    checks_quorum: flag
    #: The largest kraft.version that it supports (KIP-853; 1 from 3.9); as an observer it may ask
    #: to become a voter by itself (KIP-1186; from 4.2).
    newest_kraft_version: i64
    can_join: flag
    #: A static voter tells its leader its directory, and the leader takes note of those of all
    #: (KAFKA-16538; from 4.1).
    kraft_version_upgradable: flag

    # The voters (``voters.py``, ``replication/voter_set.py``).
    #: They may change in this run: kraft.version is 1, or a step makes it 1.
    voters_may_change: flag
    #: The number of its own directory: a replaced disk has the next one.
    directory: i64 = 1
    #: The voters and the kraft.version in force: the newest of its log.
    voter_set: i64
    kraft_version: i64
    #: The number of sets in ``Raft.voter_sets``: the first is that of its formatted directory.
    voter_set_count: i64

    # Its state (Kafka: QuorumState): one of ``simulation/trace_rows/codes.py``. The epoch, the
    # leader and the vote are on its disk.
    state: i64
    epoch: i64
    leader: i64 = -1
    voted_for: i64 = -1
    voted_directory: i64
    #: Voters that have answered a candidate, and how: bits.
    votes_granted: i64
    votes_rejected: i64
    #: The number of elections in a row that it has lost, and whether it waits before the next one.
    retries: i64
    backs_off: flag
    #: The end of its time in this state (-1: never), the time of the timer for that (-1: there is
    #: none), and that timer's number.
    deadline_us: i64 = -1
    deadline_timer_us: i64 = -1
    deadline_number: i64
    #: The number of random times that it has drawn.
    raft_draws: i64
    #: Its one Raft thread writes to its disk until then: no answer leaves before.
    writes_until_us: i64
    #: It is being stopped, and hands over.
    stops: flag

    # As a leader.
    #: The first offset of its epoch: its record that the leader has changed.
    epoch_start_offset: i64
    #: Its controller may act.
    claimed: flag
    #: Voters that have fetched since the quorum was checked last: bits.
    fetched_voters: i64
    #: A timer for waiting fetches of voters is set.
    voter_fetch_timer: flag
    #: The change of the voters that it makes: one of ``simulation/trace_rows/codes.py``; 0: none.
    change: i64
    changed_voter: i64
    changed_directory: i64
    #: The offset of its record; -1: it is not appended yet. The number of its timer.
    change_offset: i64 = -1
    change_number: i64
    #: It is answered when its record is appended, and not when that is committed.
    acks_at_append: flag
    #: The response to it, which waits.
    change_responses: EventList
    #: At kraft.version 0: the voters whose directories it knows (LeaderState.volatileVoters).
    told_voters: i64

    # As a follower.
    #: It has fetched from the leader of its epoch.
    has_fetched: flag
    #: The time at which the fetch in flight was sent (-1: none is), and its number.
    fetch_sent_us: i64 = -1
    fetch_number: i64
    #: The voter that it asks.
    fetch_to: i64
    #: The last fetch, to the leader, has timed out, or until when none goes there as the connection
    #: was lost: another voter is asked. How often one was drawn.
    leader_timed_out: flag
    leader_backs_off_until_us: i64
    servers_drawn: i64
    #: A timer is set for the next fetch, and one looks whether the last was answered.
    fetch_due: flag
    fetch_watch: flag
    #: From then on it may tell its leader its directory, or ask to become a voter; it has told it.
    voter_update_us: i64
    has_told_leader: flag

    # The log. Offsets count records from the beginning of the cluster.
    #: Its first record; earlier ones are in a snapshot only.
    log_start_offset: i64
    #: The next record gets this one.
    log_end_offset: i64
    #: Up to here records are in the log, and not in the leader's memory only.
    drained_offset: i64
    #: Up to here it is on the disk.
    flushed_offset: i64
    #: Up to here it is committed, as far as the voter knows; -1: it does not.
    high_watermark: i64 = -1
    #: The number of epochs of its log in ``Raft.epoch_starts``, and of its truncations.
    epoch_count: i64
    truncations: i64
    #: A timer waits until the linger time of the oldest record that is not drained is over.
    drains: flag

    # Snapshots.
    #: The number of its snapshots in ``Raft.snapshots``.
    snapshot_count: i64
    #: From there on bytes and time count for the next one (-1: nothing was committed yet); both
    #: begin at 0 with its process.
    snapshot_from_offset: i64 = -1
    snapshot_from_us: i64
    #: The last time at which the log was checked for cleaning.
    cleaned_us: i64

    #: Its process runs. It is a new one, which runs for the first time after the run's beginning:
    #: until then its directory is empty.
    runs: flag
    is_new: flag

    # Its controller.
    #: The epoch in which it is the active one, as far as it knows; -1: it is not.
    claimed_epoch: i64 = -1
    #: The thread is busy; a timer is set for when it is free.
    works: flag
    #: A timer for waiting fetches of observers is set.
    fetch_timer: flag

    # The event that is being handled.
    #: Its type, its times of arrival and start, and the number of events behind it.
    event_kind: i64
    event_came_us: i64
    event_taken_us: i64
    queue_length: i64
    #: It is a row of the trace.
    event_written: flag
    #: The reason of the changes by the records that it appends, and the row behind it.
    reason: i64
    because_process: i64 = -1
    because_sequence: i64 = -1


class EpochStart(Record):
    """The first offset of an epoch in a voter's log."""

    epoch: i64
    start_offset: i64


class Snapshot(Record):
    """All that the records before an offset have led to (Kafka: a checkpoint file)."""

    end_offset: i64
    #: The epoch of the last record in it.
    epoch: i64
    bytes: i64
    written_us: i64


class VoterSetAt(Record):
    """Voters in a log, and the kraft.version (Kafka: VoterSetHistory)."""

    #: The offset of the VotersRecord; -1: those with which the directory was formatted.
    offset: i64 = -1
    voters: i64
    kraft_version: i64


class FollowerProgress(Record):
    """The progress of a controller's fetches, as its leader knows it (Kafka: ReplicaState)."""

    #: The end of its log; -1: it has not fetched in this epoch.
    end_offset: i64 = -1
    fetched_us: i64 = -1
    #: The directory with which it fetches.
    directory: i64
    #: The end of the leader's log at its last fetch, and the last time at which it had all of a
    #: leader's log, as far as that was at the fetch before; -1: never.
    leader_end_offset: i64 = -1
    caught_up_us: i64 = -1
    #: It has responded to the leader's BeginQuorumEpoch, or has fetched.
    has_acknowledged: flag


class ControllerRequestStats(sampled_stats.Measured):
    """Requests of one type that a controller has responded to (Kafka: ``RequestMetrics``)."""

    requests: i64
    #: The total time of their waits.
    remote_us: i64


class VoterStats(Record):
    """Measures of a voter's process for JMX (Kafka: ``KafkaRaftMetrics``)."""

    channel: sampled_stats.ChannelStats
    #: Records that it has fetched as a follower, and appended as a leader.
    fetched_records: sampled_stats.SampledStat
    appended_records: sampled_stats.SampledStat
    #: The time of a record from its append to its commit, and of a candidate from its candidacy
    #: until there was a leader: microseconds.
    commit_us: sampled_stats.SampledStat
    election_us: sampled_stats.SampledStat
    #: The start of its wait for a leader as a candidate; -1: it does not wait.
    candidate_since_us: i64 = -1
    #: The time that its thread has spent writing to the disk.
    written_us: i64
    #: The number of leaders that it has known, itself included.
    leaders: i64
    #: Batches that wait for their commit, in ``appended_batches``, and the end of the newest.
    first_batch: i64
    batch_count: i64
    batched_offset: i64


class AppendedBatch(Record):
    """Records that a leader has drained together, and that are not committed."""

    end_offset: i64
    records: i64
    appended_us: i64


class Raft(Cluster, part=7):
    """The voters of a quorum; in ZooKeeper mode all tables are empty."""

    voters: Records[Voter]
    #: The epochs of each voter's log, oldest first: ``len(epoch_starts) // len(voters)`` places
    #: each.
    epoch_starts: Records[EpochStart]
    #: The snapshots of each voter, oldest first: ``len(snapshots) // len(voters)`` places each.
    snapshots: Records[Snapshot]
    #: The voters in each log, oldest first: ``len(voter_sets) // len(voters)`` places each.
    voter_sets: Records[VoterSetAt]
    #: A record of each voter for its leader: at ``leader * len(voters) + follower``; and of each
    #: controller that observes. With another directory than the voter has, it is both.
    follower_progress: Records[FollowerProgress]
    observer_progress: Records[FollowerProgress]
    voter_stats: Records[VoterStats]
    #: A ring for each voter: ``len(appended_batches) // len(voters)`` places.
    appended_batches: Records[AppendedBatch]
    #: At ``controller * CONTROLLER_TYPE_COUNT + type`` (``simulation/messages/kinds.py``),
    #: with the errors and the histogram of each.
    controller_requests: Records[ControllerRequestStats]
    controller_request_errors: Records[sampled_stats.ErrorCount]
    controller_request_times: Records[sampled_stats.Bucket]


@inner_rule
def this_voter(world: Raft) -> Voter:
    """The controller that handles the event."""
    return world.voters[voter_of(world, world.context[0].handling)]


@inner_rule
def these_rules(world: Raft) -> KRaftRules:
    """The rules of the controller that handles the event."""
    node = controller_node(world, voter_of(world, world.context[0].handling))
    return world.kraft_rules[place_of_versions(world, node)]


@inner_rule
def voter_of(world: Topology, process: int) -> int:
    """The number of a process among the quorum's voters."""
    return process - world.process_ranges[QUORUM_CONTROLLER].first


@inner_rule
def name_of_voter(world: Topology, process: int) -> int:
    """A controller as rows name it: the number of brokers + its own."""
    return world.sizes[0].brokers + voter_of(world, process)
