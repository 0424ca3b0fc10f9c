"""What ZooKeeper and the controllers remember.

ZooKeeper is one process: znodes with versions, ephemeral owners and one-shot watches, and a
session per broker. Each broker has a controller context beside it; at most one of them is
controller, the others wait for /controller to go away.
"""

from __future__ import annotations

from tidegauge.replication.compiled import Tables
from tidegauge.replication.records import LeaderAndIsr, Record, Records, flag, i64
from tidegauge.replication.release_rules import ReleaseRules
from tidegauge.simulation.kernel import EventList


class Znode(Record):
    """One znode: what its path holds, who owns it, who watches it."""

    exists: flag
    #: Version of its data.
    version: i64
    #: The transaction that created it (czxid).
    created_zxid: i64
    #: The session whose end deletes it; -1 for a persistent one.
    session: i64
    #: Watches on its data or existence, and on its children: lists.
    first_watch: i64
    first_child_watch: i64
    #: The next child of /isr_change_notification, or the next free znode for one.
    next: i64
    #: The number that ZooKeeper has put behind the name of a sequential child; of a parent,
    #: the next one.
    sequence_number: i64

    # Data. /controller and /brokers/ids/<id>: the broker.
    broker: i64
    # .../state: leader (a slot), epochs, ISR. /controller_epoch: the controller epoch.
    leader: i64
    leader_epoch: i64
    controller_epoch: i64
    isr: i64
    # isr_change_<n>: a chain of partition data.
    first_item: i64
    last_item: i64
    item_count: i64


class ZnodeWatch(Record):
    """A one-shot watch of one process on one znode."""

    process: i64
    next: i64


class Session(Record):
    """A broker's session."""

    #: Number of the session; grows with each that the broker opens.
    number: i64
    open: flag
    timeout_ms: i64
    #: When something last came from it, and the tick at which it expires if nothing more does.
    heard_us: i64
    expires_us: i64


class Ensemble(Record):
    """ZooKeeper as a whole: one record."""

    tick_us: i64
    #: Transactions so far (zxid).
    zxid: i64
    #: When the last write was committed.
    committed_us: i64
    #: Znodes that notifications can take, and watches: free ones.
    free_notification: i64
    free_watch: i64
    #: Children of /isr_change_notification, in the order of their creation.
    first_notification: i64
    last_notification: i64


class Controller(Record):
    """A broker's controller context."""

    #: The broker's session; -1 without one.
    session: i64
    #: It is controller, in this epoch.
    active: flag
    controller_epoch: i64

    #: The event queue.
    queue: EventList
    #: What is being processed: ELECT, ... of ``phases.py``; -1 nothing.
    event: i64
    #: How far it has come.
    phase: i64
    #: Answers of ZooKeeper that it waits for.
    pending: i64
    #: Answers that this phase has brought.
    answers: i64
    #: Grows when the session is lost: answers to what was asked before are not for it.
    generation: i64
    #: Requests that are sent one after the other.
    unsent: EventList
    #: The list of children that the event is about: an answer of ZooKeeper.
    listing: i64
    #: What the last answer said.
    answer_error: i64
    answer_version: i64
    answer_epoch: i64
    #: The broker that states are being written without; -1: leaders are elected.
    removing: i64
    #: In the event being processed partitions have lost their leaders.
    leaders_lost: flag


class ControllerBroker(Record):
    """What a controller knows of one broker."""

    #: It is among the live brokers, as last read.
    alive: flag
    #: czxid of its registration, as last read.
    broker_epoch: i64
    #: What the broker change being processed says of it: APPEARED, BOUNCED or GONE.
    change: i64
    #: czxid in the list of brokers just read; -1 if it is not in it.
    listed_epoch: i64
    #: The request to it that is being put together; -1 none.
    building: i64
    # Requests to it: one in flight, the others wait in a list of events.
    in_flight: i64
    requests: i64
    queue: EventList


class ControllerPartition(Record):
    """What a controller knows of one partition beside its leader and ISR."""

    #: It has been created: its topic is known.
    known: flag
    #: Its state znode exists.
    has_state: flag
    #: *_PARTITION of ``partition_state_machine.py``.
    state: i64
    controller_epoch: i64
    #: Brokers have to be told of it: for their metadata, and (``led_anew``) as replicas.
    touched: flag
    led_anew: flag
    #: What was written and is not confirmed yet, and the leader before it.
    written_leader: i64
    written_epoch: i64
    written_isr: i64
    unclean: flag


class ControlPlane(Tables):
    """ZooKeeper and all controllers of one group."""

    ensemble: Records[Ensemble]
    znodes: Records[Znode]
    znode_watches: Records[ZnodeWatch]
    sessions: Records[Session]
    controllers: Records[Controller]
    rules: Records[ReleaseRules]
    #: At ``controller * broker_count + broker``.
    brokers: Records[ControllerBroker]
    #: At ``controller * partition_count + partition``.
    partitions: Records[ControllerPartition]
    leader_and_isr: Records[LeaderAndIsr]
    #: What a rule has to decide on before it is written: one record.
    proposal: Records[LeaderAndIsr]
