"""The state of ZooKeeper and of the controllers.

ZooKeeper is one process: znodes with versions, ephemeral owners and one-shot watches, and a
session per broker. Each broker has a controller context beside it; at most one of them is
controller, the others wait for /controller to go away.

Records that were in a partition's log before the run count as acknowledged with acks=all.
"""

from tidegauge.compiled.lists import LinkedList
from tidegauge.compiled.records import Record, Records, flag, i8, i32, i64
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.in_sync_replicas import ACKS_ALL
from tidegauge.replication.records import LeaderAndIsr
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.event import EventList
from tidegauge.simulation.topology import Cluster, zookeeper_process
from tidegauge.simulation.trace_rows.codes import REASON_EXISTED
from tidegauge.simulation.trace_rows.replica_rows import Acknowledged
from tidegauge.simulation.trace_rows.row import Row


class Znode(Record):
    """One znode: its content, its owner, its watchers."""

    exists: flag
    #: It is there as the run begins, with the data that is here already.
    was_there: flag
    #: Version of its data.
    version: i64
    #: The transaction that created it (czxid).
    created_zxid: i64
    #: The session whose end deletes it; -1 for a persistent one.
    session: i64 = -1
    #: ZooKeeper's row about its last creation or deletion; -1: it was there before the run.
    row_sequence: i64 = -1
    #: Watches on its data or existence, and on its children: lists.
    first_watch: i64 = -1
    first_child_watch: i64 = -1
    #: The next child of /isr_change_notification, or the next free znode for one.
    next: i64 = -1
    #: The number that ZooKeeper has put behind the name of a sequential child; of a parent,
    #: the next one.
    sequence_number: i64

    # Data. /controller and /brokers/ids/<id>: the broker.
    broker: i64
    # .../state: leader (a slot), epochs, ISR. /controller_epoch: the controller epoch.
    leader: i64 = -1
    leader_epoch: i64
    controller_epoch: i64
    isr: i64
    # isr_change_<n>: a chain of partition data.
    first_item: i64 = -1
    last_item: i64
    item_count: i64


class TopicConfig(Record):
    """/config/topics/<topic>, with the brokers' defaults for missing settings."""

    min_insync_replicas: i64
    unclean_leader_election: flag


class ReplicaThrottle(Record):
    """Whether a topic's settings throttle a replica as leader, or as follower."""

    leader: flag
    follower: flag


class ThrottledRates(Record):
    """/config/brokers/<id>: bytes a second of throttled replicas, UNLIMITED without a limit."""

    leader_rate: i64
    follower_rate: i64


class Assignment(Record):
    """The content of /brokers/topics/<topic> about one partition: replica lists."""

    replicas: i64
    #: ... of these, those that a reassignment adds, and those that it will remove.
    adding: i64
    removing: i64


class ZnodeWatch(Record):
    """A one-shot watch of one process on one znode."""

    process: i64
    #: The session that it belongs to; -1 the operator's.
    session: i64
    next: i64


class Session(Record):
    """A session of a broker: its number is its place, and no place is taken twice."""

    #: Index of the broker that has opened it.
    broker: i64
    open: flag
    opened_us: i64
    timeout_ms: i64
    #: The time of its last message, and the tick at which it expires without another one.
    heard_us: i64
    expires_us: i64
    #: The next open session.
    next: i64
    #: ZooKeeper's row about its end; -1: it is open.
    ended_row: i64 = -1


class Ensemble(Record):
    """ZooKeeper as a whole: one record."""

    tick_us: i64
    #: Transactions so far (zxid).
    zxid: i64
    #: The time of the last committed write.
    committed_us: i64
    #: Znodes that notifications can take, and watches: free ones.
    free_notification: i64 = -1
    free_watch: i64 = -1
    #: The number of sessions ever opened; the open ones are a list in the order of opening.
    sessions: i64
    first_session: i64 = -1
    last_session: i64 = -1
    #: Children of /isr_change_notification, in the order of their creation.
    first_notification: i64 = -1
    last_notification: i64 = -1


#: Open sessions in the order of opening, and children of /isr_change_notification.
SESSIONS = LinkedList("zookeeper_sessions", "next", "first_session", "last_session")
NOTIFICATIONS = LinkedList("znodes", "next", "first_notification", "last_notification")
FREE_NOTIFICATIONS = LinkedList("znodes", "next", "free_notification")
#: Watches of a znode, of its children, and free ones.
ZNODE_WATCHES = LinkedList("znode_watches", "next", "first_watch")
CHILD_WATCHES = LinkedList("znode_watches", "next", "first_child_watch")
FREE_ZNODE_WATCHES = LinkedList("znode_watches", "next", "free_watch")


class ControllerSettings(Record):
    """The settings of a controller, which are those of its broker."""

    auto_leader_rebalance_enable: flag
    leader_imbalance_check_interval_seconds: i64
    leader_imbalance_per_broker_percentage: i64
    controller_socket_timeout_ms: i64
    zookeeper_max_in_flight_requests: i64


class Controller(ControllerSettings):
    """A broker's controller context."""

    #: The event queue.
    queue: EventList
    #: The broker's session; -1 without one.
    session: i64 = -1
    #: Its broker's process runs, and has registered.
    running: flag
    #: It is controller, in this epoch.
    active: flag
    controller_epoch: i64
    #: Its context while it is controller; -1: none.
    context: i64 = -1
    #: Version of /controller_epoch that all its writes check.
    epoch_version: i64
    #: The number of changes that it has sent to all brokers (``simulation/metadata_log.py``).
    told: i64
    #: Its next message to them is about every partition.
    tells_all: flag

    #: The event being processed: ELECT, ... of ``simulation/trace_rows/codes.py``; -1 nothing.
    event: i64 = -1
    #: Its phase, and the time at which it was taken from the queue.
    phase: i64
    taken_us: i64
    #: ... and its kind, which is kept once it is done.
    done: i64
    #: Answers of ZooKeeper that it waits for.
    pending: i64
    #: Answers that this phase has brought, and work beside them that it makes.
    answers: i64
    work_us: i64
    #: Grows when the session is lost: responses to older requests are not for it.
    generation: i64
    #: Requests that are sent one after the other.
    unsent: EventList
    #: The list of children that the event is about: an answer of ZooKeeper.
    listing: i64 = -1
    #: ... and that of failed log directories.
    log_dir_listing: i64 = -1
    #: The last answer.
    answer_error: i64
    answer_version: i64
    answer_broker: i64
    answer_epoch: i64
    #: The partition whose replicas are being moved (``events/reassignments.py``); -1 none.
    moving: i64 = -1
    #: ... and those that are to go.
    leaving: i64
    #: ... and have still to be taken offline.
    offline: i64
    #: Partitions that have still to be moved: a list.
    first_move: i64 = -1
    last_move: i64 = -1
    #: A request cannot be met for some partitions.
    moves_refused: flag
    #: The topic that is being deleted, and the number of brokers that are done; -1: none.
    deleting: i64 = -1
    deleting_broker: i64
    #: The strategy of the election, of ``partitions/leader_and_isr.py``.
    strategy: i64
    #: The broker that states are being written without; -1: leaders are elected.
    removing: i64 = -1
    #: In the event being processed partitions have lost their leaders.
    leaders_lost: flag
    #: ... and so many replicas stand on brokers that are gone that their set is a HashSet.
    dead_hashed: flag
    #: A preferred election that was requested before it took over is still pending.
    election_pending: flag
    #: Another controller has taken over: a write was refused for its epoch.
    moved: flag
    #: The topic whose settings allow unclean election now: the event being processed is about it.
    topic: i64
    #: The ControlledShutdown or AlterPartition being processed: an event; -1 none.
    request: i64 = -1
    #: Partitions whose state has to be sent to brokers: a list.
    first_touched: i64 = -1
    last_touched: i64 = -1

    #: The number of times that it became controller.
    failovers: i64
    # Counts of its process for JMX: leaders that it gave partitions, and uncleanly so.
    leader_elections: i64
    unclean_elections: i64


class ControllerBroker(Record):
    """A controller's state of one broker."""

    #: It is among the live brokers, as last read.
    alive: flag
    #: It has asked for a controlled shutdown.
    shutting_down: flag
    #: The last news to all brokers: 1 that it is alive, 0 that it is not, -1 none.
    told_alive: i64
    #: czxid of its registration, as last read.
    broker_epoch: i64 = -1
    #: The event being processed is about a log directory of it.
    log_dir_failed: flag
    #: Its part in the broker change being processed: APPEARED, BOUNCED or GONE.
    change: i64
    #: czxid in the list of brokers just read; -1 if it is not in it.
    listed_epoch: i64 = -1
    #: ZooKeeper's row with which its registration came or went, as of that list; -1: none.
    listed_row: i64 = -1
    #: The LeaderAndIsr and the StopReplica to it that are being put together; -1 none.
    building: i64 = -1
    stopping: i64 = -1
    # Requests to it: the first of the list is in flight, the others wait.
    #: The number under which it was sent; -1: it has still to be sent (again).
    in_flight: i64 = -1
    requests: i64
    queue: EventList
    #: There is a thread that sends them: requests to other brokers are dropped.
    has_channel: flag
    #: The time at which it was sent, and whether a timer waits for its response.
    sent_us: i64
    deadline_timer: flag


class ControllerPartition(Record):
    """A controller's state of one partition beside its leader and ISR."""

    #: It has been created: its topic is known.
    known: flag
    #: Its assignment, as last read or written; replica lists.
    replicas: i64
    adding: i64
    removing: i64
    #: Its replicas are being moved, and to which; the event being processed goes on with that.
    reassigned: flag
    target: i64
    moves: flag
    next_move: i32
    #: It cannot be moved: its step stops asking.
    move_refused: flag
    #: Its state znode exists; it was made just now, and its replicas have no request yet.
    has_state: flag
    is_new: flag
    #: *_PARTITION of ``partitions/partition_changes.py``.
    state: i32
    controller_epoch: i32
    #: The row about the last write of its state, which has still to be sent to replicas; -1: none.
    row_sequence: i64 = -1
    #: Its state has to be sent to brokers: for their metadata, and (``led_anew``) as replicas.
    touched: flag
    led_anew: flag
    next_touched: i32
    #: The event being processed is about it.
    selected: flag
    #: The broker that shuts down follows in it.
    is_followed: flag
    #: unclean.leader.election.enable of its topic, as last read.
    unclean_enabled: flag
    #: The written state that is not confirmed yet, and the leader before it.
    written_leader: i32
    written_epoch: i32
    written_isr: i64
    unclean: flag


class ControllerTopic(Record):
    """A controller's state of a topic that is to be deleted."""

    #: Somebody has asked for it.
    deleted: flag
    #: It cannot be done now: a broker is dead, or replicas are being moved.
    ineligible: flag
    #: Its partitions are gone for all brokers; their logs may not be.
    deletion_started: flag


class ControllerReplica(Record):
    """A controller's state of one replica."""

    #: *_REPLICA of ``partitions/replica_state_machine.py``; 0: it has none yet.
    state: i8
    #: Its log directory is offline (Kafka: replicasOnOfflineDirs); 0: not that it knew.
    directory_offline: i8


class ContextOwner(Record):
    """The owner of a context (Kafka: ``ControllerContext``).

    Only the controller has one, so that a thousand brokers do not need room for a thousand
    contexts. One is always free (``engine/layout/controller_tables.py``).
    """

    #: Index of the controller's broker; -1: it is free.
    controller: i64 = -1


class ControlPlane(Cluster, part=3):
    """ZooKeeper and all controllers of one group."""

    ensemble: Records[Ensemble]
    znodes: Records[Znode]
    znode_watches: Records[ZnodeWatch]
    topic_configs: Records[TopicConfig]
    #: By row of the replica.
    replica_throttles: Records[ReplicaThrottle]
    #: By broker.
    throttled_rates: Records[ThrottledRates]
    #: By number of the partition.
    assignments: Records[Assignment]
    zookeeper_sessions: Records[Session]
    controllers: Records[Controller]
    controller_contexts: Records[ContextOwner]
    #: At ``context * broker_count + broker``.
    controller_brokers: Records[ControllerBroker]
    #: At ``context * partition_count + partition``.
    controller_partitions: Records[ControllerPartition]
    controller_leader_and_isr: Records[LeaderAndIsr]
    #: At ``context * topic_count + topic``.
    controller_topics: Records[ControllerTopic]
    #: At ``context * replica_count + row``.
    controller_replicas: Records[ControllerReplica]
    #: The state that a rule decides on before it is written: one record.
    proposal: Records[LeaderAndIsr]


@inner_rule
def broker_at(world: ControlPlane, controller: int, broker: int) -> ControllerBroker:
    """A controller's state of a broker."""
    context = world.controllers[controller].context
    return world.controller_brokers[context * world.sizes[0].brokers + broker]


@inner_rule
def because_of_registration(world: ControlPlane, controller: int, row: Row, broker: int) -> None:
    """A broker has come, or is gone: set ZooKeeper's row about that as the cause."""
    listed_row = broker_at(world, controller, broker).listed_row
    if listed_row != NONE:
        row.because_process = zookeeper_process(world)
        row.because_sequence = listed_row


@inner_rule
def partition_at(world: ControlPlane, controller: int, partition: int) -> ControllerPartition:
    """A controller's state of a partition."""
    context = world.controllers[controller].context
    return world.controller_partitions[context * world.sizes[0].partitions + partition]


@inner_rule
def state_at(world: ControlPlane, controller: int, partition: int) -> LeaderAndIsr:
    """A partition's leader and ISR, as a controller has read or written them last."""
    context = world.controllers[controller].context
    return world.controller_leader_and_isr[context * world.sizes[0].partitions + partition]


@inner_rule
def topic_at(world: ControlPlane, controller: int, topic: int) -> ControllerTopic:
    """A controller's state of a topic."""
    context = world.controllers[controller].context
    return world.controller_topics[context * world.sizes[0].topics + topic]


@inner_rule
def is_deleted(world: ControlPlane, controller: int, partition: int) -> bool:
    """Whether a partition's topic is to be deleted (Kafka: isTopicQueuedUpForDeletion)."""
    return topic_at(world, controller, world.partitions[partition].topic).deleted


@inner_rule
def replica_at(world: ControlPlane, controller: int, row: int) -> ControllerReplica:
    """A controller's state of a replica."""
    context = world.controllers[controller].context
    return world.controller_replicas[context * len(world.slots) + row]


@inner_rule
def write_existing_records(world: Cluster, partition: int, epoch: int) -> None:
    """Write the records that a partition's replicas must not lose, if there are any."""
    facts = world.partitions[partition]
    if facts.existing_records == 0:
        return
    Acknowledged.write(
        world,
        partition=partition,
        leader_epoch=epoch,
        acks=ACKS_ALL,
        first_offset=0,
        end_offset=facts.existing_records,
        reason=REASON_EXISTED,
    )
