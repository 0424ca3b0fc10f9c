"""The state of clients: producers, consumers, and the operator of the steps."""

from tidegauge.clients.latency_counts import LatencyCount
from tidegauge.compiled.lists import LinkedList, Pool, Slots
from tidegauge.compiled.records import Record, Records, flag, i32, i64
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.messages.client_requests import PartitionAppend
from tidegauge.simulation.metadata_log import MetadataPosition
from tidegauge.simulation.topology import Cluster

# Client.kind
PRODUCER = code(0)
CONSUMER = code(1)
OPERATOR = code(2)


#: Target.listed: in the list of partitions without a leader.
LEADERLESS = code(-2)

#: Records of a pool that the sends of one event may take: it is enlarged where fewer are free.
FEW_SENDS = code(8)


class TargetList(Record):
    """Partitions of a producer whose first batches may be sent: places in ``client_targets``."""

    first: i64 = -1
    last: i64 = -1


class ClientSettings(Record):
    """Settings of producers and of consumers."""

    request_timeout_ms: i64
    retry_backoff_ms: i64
    metadata_max_age_ms: i64


class ProducerSettings(Record):
    """Settings of producers."""

    acks: i64
    retries: i64
    delivery_timeout_ms: i64
    max_in_flight: i64
    linger_us: i64
    max_request_bytes: i64
    #: batch.size and buffer.memory.
    batch_bytes: i64
    buffer_bytes: i64
    max_block_us: i64
    is_idempotent: flag


class ConsumerSettings(Record):
    """Settings of consumers."""

    fetch_max_wait_ms: i64
    fetch_min_bytes: i64
    fetch_max_bytes: i64
    max_partition_fetch_bytes: i64
    auto_commit_interval_ms: i64
    heartbeat_interval_ms: i64
    session_timeout_ms: i64


class ConnectionSettings(Record):
    """Settings of a client's connections to brokers (``client_metadata.py``)."""

    reconnect_backoff_ms: i64
    reconnect_backoff_max_ms: i64
    #: Timeout of connection setup; 0: that of its first request.
    connection_setup_timeout_ms: i64
    connection_setup_timeout_max_ms: i64
    #: The time without metadata after which it bootstraps again although brokers are left to be
    #: asked; 0: never.
    rebootstrap_trigger_ms: i64


class Client(ClientSettings, ProducerSettings, ConsumerSettings, ConnectionSettings):
    """One client process."""

    kind: i64
    #: Its release heeds the leader epochs in metadata (KIP-320).
    knows_leader_epochs: flag
    #: Number of its rack, which it names in fetches; -1: none, or its release does not.
    rack: i64 = -1
    #: auto.offset.reset is latest.
    resets_to_latest: flag

    # Producers.
    start_us: i64
    stop_us: i64
    #: Between two sends of this client.
    period_ns: i64
    #: Sends made so far, and those that were not made, as the client was stopped when they were
    #: due.
    sent: i64
    skipped: i64
    records_per_send: i64
    #: Batches that were opened for them.
    batches: i64
    #: The next of its known partitions to be written to, and the step to the one after.
    next_target: i64
    stride: i64
    #: Bytes of buffer.memory that batches without an outcome take.
    buffered_bytes: i64
    #: The application waits in send() for memory, since when, and which of its waits it is.
    blocked: flag
    blocked_since_us: i64
    blocks: i64
    #: Produce requests sent.
    requests: i64
    #: Partitions without a known leader that have batches to send.
    leaderless: TargetList
    #: The total time of the application's past waits for memory.
    blocked_us: i64
    #: Batches without an outcome (``stalls.py``): the first and the last that was made, and the
    #: first that is not known as overdue; -1 none.
    oldest: i64 = -1
    youngest: i64 = -1
    oldest_timely: i64 = -1
    #: The longest that a send has taken, or waited for, as far as it is counted.
    longest_us: i64
    #: The same since the last sample, which was due at this time: their number, and their time in
    #: all.
    sample_due_us: i64
    sampled_sends: i64
    sampled_taken_us: i64
    sampled_longest_us: i64

    #: A timer for stalls is set; another one for the delivery timeout of its oldest batch.
    stall_timer: flag
    expiry_timer: flag

    # Idempotent producers (``sequences.py``).
    #: Its release bumps its epoch where it finds a gap; older ones ask for another id (KIP-360).
    bumps_epoch: flag
    #: Its id and epoch, -1 none; how many ids it has had.
    producer_id: i64 = -1
    producer_epoch: i64 = -1
    producer_ids: i64
    #: The request for an id in flight (0: none), its receiver and its time; the number of such
    #: requests.
    id_request: i64
    id_requests: i64
    id_broker: i64
    id_sent_us: i64
    #: A partition has a gap: its epoch is to be bumped.
    needs_bump: flag
    #: Partitions whose last append is unknown.
    unresolved: i64

    # Consumers.
    #: Time to process one record, in nanoseconds.
    record_ns: i64
    #: The end of its processing or back-off; and its total time of both so far.
    busy_until_us: i64
    busy_us: i64

    # Consumers whose group commits (``consumer_group.py``).
    #: The partition of __consumer_offsets that is their group's; -1: it does not commit.
    group_partition: i64 = -1
    #: The keys of its membership records, and of the offset of its first partition
    #: (``CommitKey``).
    member_key: i64
    first_key: i64
    #: It reads on while it looks for the coordinator.
    reads_without_coordinator: flag
    #: Number of its restarts.
    restarts: i64
    #: The broker that it takes for the coordinator, -1 none; whether that one has answered as such;
    #: when it lost the last one that had.
    coordinator: i64 = -1
    coordinator_answers: flag
    #: The broker that was written down as found last; it was written down as lost since.
    coordinator_told: i64 = -1
    loss_told: flag
    coordinator_lost_us: i64
    #: It is a member, and has its first offset.
    joined: flag
    #: Its last request about the group, whether a response is pending, its receiver and its time.
    group_request: i64
    group_waits: flag
    group_asked: i64
    group_sent_us: i64
    #: Grows when something else is next: timers that were set before mean nothing.
    group_turn: i64
    #: The same of the commit in flight; and the number of failed commits in a row, and their start.
    commit_request: i64
    commit_waits: flag
    commit_asked: i64
    commit_sent_us: i64
    commit_turn: i64
    commit_failures: i64
    commits_fail_since_us: i64

    #: The partitions in its metadata: where they lie in ``Clients.known_partitions``.
    first_known: i64
    known_count: i64
    #: ... of which it writes to, or reads, every so-manyth: ``Clients.client_targets``.
    target_every: i64 = 1
    first_target: i64
    target_count: i64
    #: Number of those in its metadata that have a leader, as far as it knows.
    led_partitions: i64
    #: The metadata request in flight (0: none), its time and its receiver, and the number of such
    #: requests.
    metadata_request: i64
    metadata_sent_us: i64
    metadata_broker: i64
    metadata_requests: i64
    #: Another refresh is due already.
    refresh_timer: flag

    # Its way to brokers (``client_metadata.py``). metadata.recovery.strategy is rebootstrap.
    rebootstraps: flag
    #: The time since which its metadata requests fail; -1: they do not.
    metadata_wanted_us: i64 = -1
    #: ... and since when it was written down that it reaches no broker that it knows; -1: it does.
    stranded_since_us: i64 = -1

    # The operator.
    #: The step that is being taken.
    step: i64
    #: It waits for a condition (a watch) or an answer; -1 neither.
    waiting: i64 = -1
    #: The controller of a quorum that is asked, and since when it has not answered; -1: it has.
    controller: i64
    unanswered_since_us: i64 = -1
    #: The creation of the topics that exist from the beginning: requests without a response, and
    #: their round.
    topics_awaited: i64
    topic_rounds: i64
    #: Grows with each question, so that late answers are recognised.
    question: i64
    topics_created: flag
    #: The receiver of a step's request, and its time.
    asked: i64
    asked_us: i64
    #: The timeout of its requests to the active controller of a quorum.
    api_timeout_at_us: i64
    #: The throttle of the moves that its step requests is set, or the step has none.
    has_throttled: flag
    #: Number of steps taken, and whether the condition of one timed out.
    steps_taken: i64
    steps_timed_out: i64

    # Counted.
    records_sent: i64
    records_acknowledged: i64
    records_failed: i64
    #: In batches without an outcome; those sent with acks=0 never have one.
    records_in_flight: i64
    #: Records of sends that were due while the application waited; counted at the end of the run.
    records_unsent: i64
    records_duplicated: i64
    records_consumed: i64


class KnownPartition(Record):
    """One partition in the metadata of one client, which may never write to it."""

    partition: i32
    #: Leader's broker by the client's metadata, -1 unknown.
    leader: i32 = -1
    #: ... and the newest leader epoch that it knows.
    leader_epoch: i32 = -1


class Target(Record):
    """One partition that a client writes to, or reads."""

    partition: i32
    #: Its place in ``Clients.known_partitions``.
    known: i32

    # Producers: the partition's batches in the accumulator (``accumulator.py``).
    #: The number of its records that a batch has room for.
    batch_records: i32
    #: Those that wait to be sent, in this order.
    queue_first: i32 = -1
    queue_last: i32 = -1
    queue_length: i32
    #: Batches in flight.
    in_flight: i32
    #: In the list of which broker's connection it is, LEADERLESS, or -1 in none; before and behind
    #: which other.
    listed: i32 = -1
    previous_listed: i32 = -1
    next_listed: i32 = -1
    #: Batches that have had no outcome for too long.
    overdue: i32
    #: The end of a back-off or of linger.ms, at which it is checked again; 0: no timer is set.
    wake_us: i64

    # Idempotent producers (``sequences.py``).
    #: The id and the epoch with which its batches are numbered.
    producer_id: i64 = -1
    producer_epoch: i32 = -1
    #: Its batches that have a sequence number and are not done, in their order.
    first_numbered: i64 = -1
    last_numbered: i32 = -1
    #: Sequence number of the next batch; of the last record acknowledged, and its offset; -1 none.
    next_sequence: i32
    last_acked_sequence: i64 = -1
    last_acked_offset: i64 = -1

    #: The start of a stall of its writes, or of its reads (``stalls.py``).
    stalled_since_us: i64

    # Consumers.
    #: The last response about it that was no error, and when that was without the time in which its
    #: client was busy.
    answered_us: i64
    answered_idle_us: i64
    #: The broker that the leader has named as nearest (-1: none), and the end of its validity.
    read_replica: i64 = -1
    read_replica_until_us: i64
    #: The offset of its start if none is committed, and the next offset to read.
    begins: i64
    position: i64
    #: ... and of consumers whose group commits: the processed offset, and the time at which all
    #: fetched records are processed; the committed offset (-1: none); the last known high
    #: watermark.
    processed: i64
    processed_us: i64
    committed: i64
    high_watermark: i64

    #: Reads of it are stalled.
    reads_stall: flag
    # Producers again.
    #: The last append is not known: a batch that had been sent has expired.
    is_unresolved: flag
    #: Its numbers begin with 0 in the next epoch.
    needs_new_numbers: flag


class Connection(Record):
    """A client's connection to one broker: at ``client * broker_count + broker``."""

    #: It is set up: the broker has answered on it.
    is_connected: flag
    #: The last attempt to set it up has failed.
    is_unreachable: flag
    #: Failures since its last setup, and the time until which it is not tried again.
    failures: i64
    backoff_until_us: i64
    #: The broker is one of the client's bootstrap.servers.
    is_bootstrap: flag
    #: Producers: requests in flight, and their batches in the order of their sending.
    in_flight: i64
    flight_first: i64 = -1
    flight_last: i64 = -1
    #: ... partitions whose batches wait for room; batches given up that could still be answered.
    waiting: TargetList
    first_late: i64 = -1
    #: Consumers: the number of the fetch in flight; 0 none.
    fetch: i64
    fetches: i64
    #: The first of its client's partitions that the next one names.
    first_target: i64
    poll_timer: flag
    #: The time at which the fetch in flight was sent.
    fetch_sent_us: i64
    #: The timeout of the fetch in flight; whether a timer is set for the first that can time out.
    deadline_us: i64
    deadline_timer: flag


class Batch(Record):
    """A producer's batch of records."""

    #: Next of the free ones, of those in flight, or of those that wait.
    next: i64
    index: i64
    client: i64
    #: Its number among the batches of its client, in the order of their creation; -1: free.
    number: i64 = -1
    target: i64
    records: i64
    size_bytes: i64
    attempts: i64
    #: The client's request that the last attempt was part of.
    request: i64
    #: The end of its retry back-off.
    retry_us: i64
    #: The broker that the last attempt went to.
    broker: i64
    created_us: i64
    #: The timeout of the attempt in flight.
    deadline_us: i64
    #: Its outcome is known to the producer.
    done: flag
    #: Attempts that are not answered.
    unanswered: i64
    #: An attempt is on its way, in the eyes of the producer.
    in_flight: flag
    #: The connection on which an attempt was given up that could still be answered, -1 none;
    #: and the batches of that connection before and behind it.
    late: i64 = -1
    previous_late: i64
    next_late: i64
    #: The offset of its first append, as far as is known; -1: none.
    appended_offset: i64
    #: For an idempotent producer: id, epoch and number of its first record, -1 while it has none;
    #: and the next batch of its partition that has one.
    producer_id: i64
    producer_epoch: i64
    first_sequence: i64 = -1
    next_numbered: i64 = -1
    #: It was numbered again.
    is_renumbered: flag
    #: It has had no outcome for too long; those of its client without one, made before and after.
    is_overdue: flag
    older: i64
    younger: i64
    #: The send for which it was created has its last records here, and not in a later batch.
    ends_send: flag
    #: Later sends whose last records are here, in ``Clients.joined_sends``.
    first_joined: i64 = -1
    last_joined: i64 = -1
    joined: i64


class JoinedSend(Record):
    """A send whose last records are in a batch that was there before it."""

    #: Next of those in its batch, or of the free ones.
    next: i64
    sent_us: i64


class Step(Record):
    """A step of the scenario, with the arguments of its kind."""

    #: When: at a time, after a while, or on a condition (kinds in ``step_conditions.py``).
    start: i64
    time_us: i64
    within_us: i64
    #: The condition: partition and leader's broker, or brokers in ``Clients.members``.
    condition_partition: i64
    condition_leader: i64
    #: ... or a rolling restart, by its number among the faults.
    condition_fault: i64
    first_member: i64
    member_count: i64
    #: ... or a controller that observes, by its number; or the voters, or possible leaders: bits.
    condition_observer: i64
    condition_controllers: i64
    #: The action: one of ``STEP_CODES``.
    action: i64
    #: The receiver: a broker, or of a request to the quorum a controller; -1: the leader.
    to: i64
    #: The answer is not waited for.
    unattended: flag
    #: ... and has not come yet, from this broker, asked at this time.
    open: flag
    asked: i64
    asked_us: i64
    leader_epoch: i64
    partition: i64
    records: i64
    acks: i64
    offset: i64
    timeout_us: i64
    fault: i64
    pin: i64
    #: The log directory that a replica moves to; a flush of its log runs as the move ends.
    directory: i64
    flushed: flag
    #: Partitions to be moved: in ``Clients.moves``.
    first_move: i64
    move_count: i64
    #: The limits that are set for throttled replication, in bytes a second; -1: it stays.
    leader_rate: i64
    follower_rate: i64
    #: ... for these brokers, in ``Clients.members``.
    first_broker: i64
    broker_count: i64
    #: ... or the log directories that these brokers cordon: bits; -1: they stay as they are.
    cordoned_log_dirs: i64
    #: Throttled replicas: in ``Clients.throttled``.
    first_throttled: i64
    throttled_count: i64
    #: Features of the cluster: the place of metadata.version, the levels of
    #: eligible.leader.replicas.version and kraft.version, -1: this one stays; the type of the
    #: update.
    metadata_version: i64
    elr_version: i64
    kraft_version: i64
    upgrade_type: i64
    #: The voter that is added or removed: the number of a controller and of its directory (0: that
    #: which it has then); the response comes when that is committed, and not when it is appended.
    voter: i64
    voter_directory: i64
    acks_when_committed: flag
    #: The clients that are restarted: processes one after the other.
    first_process: i64
    process_count: i64
    #: The topic that is created, or whose settings change; of these, -1: this one stays.
    topic: i64
    min_insync_replicas: i64
    unclean: i64


class Member(Record):
    """A broker in a condition."""

    broker: i64


class RequestedMove(Record):
    """The replicas that a step asks for."""

    partition: i64
    replicas: i64


class Roll(Record):
    """A rolling restart: its settings in the scenario, and its progress."""

    #: Its number among the faults.
    fault: i64
    #: Its servers in ``Clients.rolled``, and the size of a batch.
    first_server: i64
    server_count: i64
    batch: i64
    #: The active controller is the last one of its controllers.
    has_active_last: flag
    waits_for_isr: flag
    poll_us: i64
    timeout_us: i64
    #: A batch that is not back before its timeout ends the rolling restart.
    stops_on_timeout: flag
    pause_us: i64
    #: The time at which preferred replicas are to lead again: a code of ``rolling_restarts.py``;
    #: and its delay after the start of a batch.
    leadership_back: i64
    leadership_back_us: i64
    #: It restarts none of its servers, which are a batch of the rolling restart of this number: it
    #: gives leadership back to them. -1: it is a rolling restart itself.
    gives_back_for: i64 = -1

    #: Its action, and the number of finished servers.
    phase: i64
    position: i64
    #: The request in flight, and the number of its pending responses.
    question: i64
    answers: i64
    #: The last findings: brokers that are not registered and controllers that do not follow;
    #: partitions that are under-replicated.
    unregistered: i64
    under_replicated: i64


class RolledServer(Record):
    """A server of a rolling restart."""

    #: A broker, or behind all brokers a controller of the quorum.
    node: i64
    #: Its own restart, among the faults.
    fault: i64


class Throttled(Record):
    """The replicas of a partition that a step throttles; -1: those that are stay so."""

    partition: i64
    #: Replica lists: those throttled as leaders, those throttled as followers.
    leaders: i64
    followers: i64


class Answer(Record):
    """The control plane's last answer to a question of the operator, in either mode."""

    #: The asker: STEPS, or the number of a rolling restart; and which of its questions it is.
    asker: i64
    question: i64
    #: It is about live brokers: ``Clients.live_brokers`` has them.
    names_live_brokers: flag
    #: It is about a controller, which does not follow the leader unless this holds.
    is_about_voter: flag
    #: All is at rest, no replicas are being moved, the partition has a state, the controller
    #: follows.
    holds: flag
    #: State of the partition that the question was about: the leader's slot, replica lists.
    partition: i64
    leader: i64
    isr: i64
    replicas: i64
    #: The broker that is the active controller; in KRaft mode number of brokers + that of the
    #: controller; -1: there is none.
    controller: i64
    #: Controllers that are voters: bits.
    voters: i64


class LiveBroker(Record):
    """Whether a broker is live, by the last answer: registered, in KRaft mode unfenced."""

    is_live: flag


class BatchPool(Record):
    """Free batches and joined sends: one record."""

    free_batch: i64 = -1
    free_batches: i64
    #: The number of batches that the sends of an event may open.
    few_batches: i64
    joined_slots: Slots
    #: Numbers of clients and of steps.
    clients: i64
    steps: i64
    #: Brokers that have to be registered before topics are created.
    brokers_awaited: i64


#: Batches of a partition that wait in the accumulator, and those with a sequence number.
QUEUED = LinkedList("batches", "next", "queue_first", "queue_last")
NUMBERED = LinkedList("batches", "next_numbered", "first_numbered", "last_numbered")
#: Batches in flight on a connection, and those given up that could still be answered.
IN_FLIGHT = LinkedList("batches", "next", "flight_first", "flight_last")
LATE = LinkedList("batches", "next_late", "first_late", None, "previous_late")
#: Batches of a producer without an outcome, oldest first, and free ones (``BatchPool``).
WITHOUT_OUTCOME = LinkedList("batches", "younger", "oldest", "youngest", "older")
FREE_BATCHES = LinkedList("batches", "next", "free_batch")
#: Sends that have joined a batch, and free ones.
JOINED = LinkedList("joined_sends", "next", "first_joined", "last_joined")
JOINED_SLOTS = Pool("joined_sends", "next")
#: Partitions of a ``TargetList``.
LISTED = LinkedList("client_targets", "next_listed", "first", "last", "previous_listed")


class Clients(Cluster, part=4):
    """All clients of one group."""

    pool: Records[BatchPool]
    clients: Records[Client]
    #: Each client's metadata of the cluster.
    client_metadata: Records[MetadataPosition]
    known_partitions: Records[KnownPartition]
    client_targets: Records[Target]
    connections: Records[Connection]
    batches: Records[Batch]
    joined_sends: Records[JoinedSend]
    #: The outcome of an attempt without a response: one record.
    lost_appends: Records[PartitionAppend]
    steps: Records[Step]
    awaited_brokers: Records[Member]
    requested_moves: Records[RequestedMove]
    rolls: Records[Roll]
    rolled: Records[RolledServer]
    throttled_by_steps: Records[Throttled]
    #: One record, and one for each broker.
    answers: Records[Answer]
    live_brokers: Records[LiveBroker]
    #: Counts of sends by the time until their outcome: at ``client * BUCKETS``
    #: (``latency_counts.py``).
    latencies: Records[LatencyCount]


@inner_rule
def leader_of_target(world: Clients, target: Target) -> int:
    """The leader of a partition by its client's metadata; -1: unknown."""
    return world.known_partitions[target.known].leader
