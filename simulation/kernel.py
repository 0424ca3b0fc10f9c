"""The kernel: events, processes and their order in virtual time.

A *process* is the unit of order: a broker, a client; in ZooKeeper mode a broker's controller and
ZooKeeper, in KRaft mode a controller of the quorum. All that happens to it is an *event*: a message
of another process, a timer of its own, a fault. Its events are handled in the order (time, source,
source's sequence), which does not depend on which other processes run beside it, so the cluster can
be cut into *groups* that run apart (``engine/exchange/rings.py``) and come to the same end.

All state lies in tables (``compiled/rules.py``), of which :class:`Kernel` is the one
that every handler takes first. An event is a slot of ``Kernel.events`` and is used again
once it was handled. Its partitions hang on it as a chain of
:class:`PartitionData`, as the requests of Kafka's protocol have it.

Tables never grow while a handler runs: ``reserve`` slots are kept free, and the loop
returns to the driver to have them enlarged when fewer are left. Slots that were never used take
no memory (``compiled/lists.py``).
"""

from tidegauge.compiled.lists import Slots
from tidegauge.compiled.records import Record, Records, flag, i32, i64
from tidegauge.compiled.rules import Tables, code, inner_rule
from tidegauge.simulation.bandwidth import Bandwidth, IncomingBandwidth
from tidegauge.simulation.messages.event import EventList, EventSlot, ItemSlot
from tidegauge.simulation.random_streams import Quantile
from tidegauge.simulation.trace_rows.row import RowSlot

#: No event, no row, no entry.
NONE = code(-1)

# Process.role
BROKER = code(0)
CONTROLLER = code(1)
ZOOKEEPER = code(2)
CLIENT = code(3)
QUORUM_CONTROLLER = code(4)
#: Not a process of Kafka: the link from one rack to another (``links.py``).
RACK_LINK = code(5)

#: Marks of rows that one event may add: one for each process that it writes rows of.
MARKS_OF_EVENT = code(64)

#: Source of the scenario's own events: faults. It comes before all others at the same time.
SCENARIO = code(-1)


class HeapEntry(Record):
    """An event that waits for its time; of two that are due at one time the events are compared.

    Four entries are a line of the nearest cache, which has room for all that are due soon.
    """

    time_us: i64
    index: i64


class Process(Record):
    """A process, whichever group hosts it."""

    #: BROKER, CONTROLLER, ZOOKEEPER, CLIENT, QUORUM_CONTROLLER or RACK_LINK.
    role: i64
    #: Its number in its role: index of the broker, number of the client.
    number: i64
    #: The machine it runs on; -1 for one of its own.
    host: i64
    #: Number of its rack; -1 outside of all.
    rack: i64
    #: This group hosts it.
    hosted: flag
    #: If not: the least time from an arrival there to an effect in this group.
    answer_us: i64
    #: The number of messages and timers that it has sent.
    sent: i64
    #: The number of its canonical rows, and the rolling hash over them.
    rows: i64
    hash: i64
    #: The last time at which it set a timer.
    timer_set_us: i64
    #: The number of costs that were drawn.
    draws: i64
    #: The number of other rows since the last canonical one.
    minor: i64
    #: It runs: not crashed, not stopped.
    alive: flag
    #: The number of faults that keep it from running.
    held_down: i64
    #: ... and how many of them have taken its machine's power.
    without_power: i64
    #: The times of its last start and of its last death.
    up_since_us: i64
    died_us: i64
    #: The number of faults that pause it now, and the end of the last pause.
    paused: i64
    resumed_us: i64
    #: The number of faults that make its disks slow, and of delays of appends that were drawn for
    #: them.
    slow_disks: i64
    disk_draws: i64
    #: Messages that came in while it was stopped, and have still to be read.
    held: EventList
    #: A broker's network threads (``transfers.py``), and when the last of them is free that
    #: is blocked.
    first_network_thread: i64
    network_threads: i64
    network_blocked_us: i64
    #: The newest of its marks in ``Kernel.row_marks``; -1 none.
    last_mark: i64 = -1


class RowMark(Record):
    """The event with which a process wrote canonical rows, for messages that are computed later."""

    process: i64
    #: Its place in the order of the process's events.
    time_us: i64
    source: i64
    sequence: i64
    #: The number of rows before it; and, for other groups, behind it.
    rows: i64
    rows_after: i64
    #: The mark of the process before it.
    previous: i64


class Role(Record):
    """The rules of processes of one role: addresses (``compiled/rule_calls.py``)."""

    #: With an event that reaches one.
    handle: i64
    #: With a fault that begins or ends at one.
    take_fault: i64
    #: With the next event, if that reaches one (``compiled/prefetching.py``); -1: it does not.
    expect: i64 = -1


class Link(Record):
    """One direction between two processes: what each message on it reads.

    A link is FIFO, as the TCP connection is that it stands for. Messages with records are FIFO
    among themselves, and the others do not wait for them: they are on other connections.
    """

    # The sender's.
    #: The delivery time of the last message sent: no message overtakes it.
    last_delivery_us: i64
    #: ... and of those with records, which the others overtake.
    last_records_us: i64
    # The receiver's: the last canonical row of the sender that it knows of.
    source_rows: i64
    # The sender's: the number of latencies that were drawn.
    draws: i32
    #: Its place in ``Kernel.impairments``; UNIMPAIRED: what is there holds for it.
    impairment: i32


class Impairment(Record):
    """The effects of faults and of full networks on a link: most links never have one."""

    # The sender's.
    #: Added to each latency by faults.
    delay_us: i64
    # The receiver's.
    #: Messages that wait for the end of a cut.
    held: EventList
    #: The receive time of the last message with records that had to wait for the receiver's
    #: network.
    received_us: i64
    #: The last loss of power of the sender's machine, and the number of its next message then:
    #: messages sent before that still flowed are lost.
    lost_from_us: i64
    lost_below: i64
    # The link's between the racks of both.
    #: The time at which the last message was passed on, if it had to wait.
    relayed_us: i64
    # The receiver's.
    #: The number of retransmissions.
    retransmissions: i32
    #: The number of faults that drop the packets of this direction.
    cut: i32
    #: Messages that TCP still has to send again: they wait for a retransmission.
    stalled: flag


class SocketBuffers(Record):
    """The buffers of a process's connections; 0: as the operating system has them."""

    #: Buffer for what it sends (brokers: socket.send.buffer.bytes; producers: send.buffer.bytes).
    send_bytes: i64
    #: Buffer for what clients send to it (brokers: socket.receive.buffer.bytes).
    receive_bytes: i64
    #: Buffer for what it fetches (brokers: replica.socket.receive.buffer.bytes; consumers:
    #: receive.buffer.bytes).
    fetch_bytes: i64


class NetworkThread(Record):
    """A network thread of a broker (Kafka: ``SocketServer.Processor``)."""

    #: Until then something blocks it.
    free_us: i64


class Context(Record):
    """The kernel's state of the moment: one record."""

    seed: i64
    #: Virtual time.
    time_us: i64
    #: Events are handled that are due before this time: no message that other groups have not sent
    #: yet can arrive here earlier.
    horizon_us: i64
    #: The canonical row that all that happens now is caused by.
    cause_process: i64 = -1
    cause_sequence: i64 = -1
    #: Events in the heap of those that are due soon, before this time, and in that of the others.
    heap_size: i64
    soon_us: i64
    later_heap_size: i64
    #: Which slots of events and of partition data are free.
    event_slots: Slots
    item_slots: Slots
    #: Events held back on a link or by a pause that are handled next, before the heap.
    ready: EventList
    #: Messages to processes that other groups host.
    outbox: EventList
    #: Rows written and not yet drained.
    row_count: i64
    #: TRACE_TRANSITIONS or TRACE_ALL (``rows.py``).
    trace_level: i64
    #: The period in which the ends of all logs are recorded.
    sample_period_us: i64
    #: A sample looks at every replica, not only at those that have changed.
    samples_all: flag
    #: The number of processes, and the number of this group of them.
    process_count: i64
    #: The number of racks, and the first link between two of them; -1: they have no limit.
    racks: i64
    first_rack_link: i64 = -1
    group: i64
    #: Changes of the cluster for brokers (``metadata_log.py``): their number, and the first one
    #: that the other groups of processes have not been sent.
    metadata_changes: i64
    first_unsent_change: i64
    #: The same of the commits of groups of consumers (``offset_commits.py``).
    offset_commits: i64
    first_unsent_commit: i64
    #: Entries of it that are kept free while a handler runs; 0: no group commits anything.
    commit_reserve: i64
    #: A broker has checkpoints to be written to files, or read from them.
    files_due: flag
    #: ... and that is to be done.
    has_files: flag
    #: Slots that are kept free while a handler runs: of partition data, of rows of the
    #: trace, of all other tables.
    item_reserve: i64
    row_reserve: i64
    reserve: i64
    #: There are pins, so that messages are compared with them (``pins.py``).
    has_pins: flag
    #: The liveness phase is on: no fault begins.
    healing: flag
    #: A handler found a table of its room too small: enlarge it before the next event.
    needs_room: flag
    #: Events handled, and the process that handles the last one.
    handled: i64
    handling: i64
    #: The event's place among those of its time; -1 for an act from outside, before them all.
    event_process: i64
    event_source: i64
    event_sequence: i64
    #: The time of the last timer, and the number of those set at that time.
    timer_set_us: i64
    timers_set: i64
    #: Fetches that bring nothing may be computed (the room ``actors/idle_fetches``), and those
    #: between this group and another one, whose rows have to be known for that; the pairs of
    #: brokers of which they are; the events that they stand for, among those handled; the time up
    #: to which their arrivals are known.
    computes_idle: flag
    idles_across: flag
    idle_pairs: i64
    computed: i64
    look_ahead_us: i64
    #: Entries of ``Kernel.impairments``, and how many are kept free while a handler runs: for the
    #: links from a process to all others, and to it.
    impairments: i64
    impairment_reserve: i64
    #: The processor loads what the next event looks at (``compiled/prefetching.py``).
    loads_ahead: flag
    #: Entries of ``Kernel.row_marks``, and the first that the other groups have not been sent.
    row_marks: i64
    first_unsent_mark: i64


class Fault(Record):
    """A fault as the scenario plans it."""

    #: One of ``FAULT_CODES`` (``faults.py``).
    kind: i64
    #: The processes that it hits are suspended and resume, or they stop and start again.
    suspends: flag
    stops: flag
    #: It hits the links between the processes of its two sides.
    is_between: flag
    is_over_at_once: flag
    #: The delay added to each message.
    delay_us: i64
    #: The table in ``Kernel.quantiles`` from which the delay of each append is drawn.
    delay_table: i64
    #: Only packets from the first side to the second are hit.
    one_way: flag
    #: The log directory that fails, from 0 on; it is full, so that it can be read.
    directory: i64
    is_full: flag
    #: ZooKeeper gives all sessions a fresh time-out when it is back.
    refreshes_sessions: flag
    #: Its duration when a step begins it; -1: its end is planned, or a step ends it.
    lasts_us: i64
    #: ... or, if it is part of a rolling restart, from the end of the broker's process on.
    stopped_us: i64
    #: The release that this restart is an upgrade to, in ``Topology.software``; -1: none.
    upgrade: i64 = -1


class FaultRole(Record):
    """One process's part in one fault, and its state."""

    #: 0: nothing, else bit 0: it is on the first side (or hit), bit 1: on the second.
    side: i64
    #: The fault acts now, as far as the process knows.
    active: flag
    #: It stops this process now: a pause of one that ran when it began, and has not died since.
    stops: flag
    #: The canonical row with which the fault began.
    row_process: i64
    row_sequence: i64
    #: Its last start, and its last start or end, as far as the process knows; -1: never.
    began_us: i64
    acted_us: i64


class Pin(Record):
    """Messages that are held, dropped or delivered twice, as the scenario plans it."""

    #: One of ``PIN_CODES`` (``pins.py``).
    action: i64
    #: Kind, and partition (-1: any), of the messages that count.
    kind: i64
    partition: i64 = -1
    #: The processes that send and receive them, from the first to the last.
    first_source: i64
    last_source: i64
    first_destination: i64
    last_destination: i64
    #: They count from this time until before that one, at which those that are held are released.
    from_us: i64
    until_us: i64
    #: The first that is taken among those that count, from 1 on, and how many.
    nth: i64
    count: i64
    #: The time that each one is held at most.
    for_us: i64


class PinState(Record):
    """A pin at one process: its state at a receiver, and what a sender knows of it."""

    #: The number of messages that have counted, and of those that were taken.
    seen: i64
    taken: i64
    #: Those that are held, in the order of their arrival.
    held: EventList
    #: A step has released them: the pin takes no others.
    is_over: flag
    #: Of a receiver, or of a sender that has learned of it: it has taken a message; the last time,
    #: the process at the other end, and the row about it.
    has_acted: flag
    acted_us: i64
    peer: i64
    row_process: i64
    row_sequence: i64


class MetadataChange(Record):
    """One partition's or broker's state, as sent to all brokers (``metadata_log.py``)."""

    #: Number of a partition, or broker ``b`` as ``-1 - b``.
    subject: i64
    #: Leader's broker and leader epoch of a partition; of a broker whether it is alive, and in
    #: KRaft mode its epoch.
    leader: i64
    leader_epoch: i64
    #: Its place: the controller's epoch, and which of this controller's changes.
    controller_epoch: i64
    position: i64
    #: The change of the same subject before it.
    previous: i64
    #: The group of processes whose controller made it, and sends it to the others.
    group: i64


class MetadataHead(Record):
    """The newest change of one subject: partitions, then brokers."""

    change: i64 = -1


class OffsetCommit(Record):
    """The content of one record of __consumer_offsets (``offset_commits.py``)."""

    #: Its key.
    key: i64
    #: The record: leader epoch and offset within its partition.
    leader_epoch: i64
    offset: i64
    #: The committed offset; of a consumer, whether it is a member.
    committed: i64
    #: The entry of the same key before it.
    previous: i64
    #: The group of processes whose coordinator made it, and sends it to the others.
    group: i64


class CommitKey(Record):
    """The keys of records of __consumer_offsets: partitions that groups read, then clients."""

    #: The partition of __consumer_offsets in which they are; -1: it is never committed.
    partition: i64
    #: The newest entry about it; -1 none.
    newest: i64 = -1
    #: For members: the member's client, and its session timeout.
    process: i64
    session_timeout_us: i64


class KindCount(Record):
    """The number of handled events of a kind."""

    handled: i64


class QuantileUse(Record):
    """The number of draws from the cost model for a cost, and their sum."""

    times: i64
    total_us: i64


class Kernel(Tables):
    """Virtual time of one group of processes."""

    context: Records[Context]
    events: Records[EventSlot]
    items: Records[ItemSlot]
    heap: Records[HeapEntry]
    later_heap: Records[HeapEntry]
    processes: Records[Process]
    #: By role.
    roles: Records[Role]
    #: From source to destination: at ``source * process_count + destination``.
    links: Records[Link]
    #: Those of links that something has hit, in the order in which it did, behind the one of all
    #: others.
    impairments: Records[Impairment]
    #: By process: its sent and its received bytes.
    networks_out: Records[Bandwidth]
    networks_in: Records[IncomingBandwidth]
    socket_buffers: Records[SocketBuffers]
    network_threads: Records[NetworkThread]
    #: Quantile tables of latencies: by LinkClass in ``links.py``, then the cost model's, then
    #: those of slow disks.
    quantiles: Records[Quantile]
    #: One for each of these tables.
    quantile_uses: Records[QuantileUse]
    rows: Records[RowSlot]
    row_marks: Records[RowMark]
    faults: Records[Fault]
    #: The parts of processes in faults: at ``fault * process_count + process``.
    fault_roles: Records[FaultRole]
    pins: Records[Pin]
    #: The states of pins at processes: at ``pin * process_count + process``.
    pin_states: Records[PinState]
    kind_counts: Records[KindCount]
    metadata_changes: Records[MetadataChange]
    metadata_heads: Records[MetadataHead]
    offset_commits: Records[OffsetCommit]
    #: By partition that a client commits, then by client.
    commit_keys: Records[CommitKey]


#: The place of the impairment that all links have that nothing has hit: it does not change.
UNIMPAIRED = code(0)


@inner_rule
def link_between(world: Kernel, source: int, destination: int) -> Link:
    """The link from one process to another."""
    return world.links[source * world.context[0].process_count + destination]


@inner_rule
def impairment_of(world: Kernel, link: Link) -> Impairment:
    """The impairment of a link, to be read only."""
    return world.impairments[link.impairment]


@inner_rule
def impairment_to_change(world: Kernel, link: Link) -> Impairment:
    """The impairment of a link, which has one of its own from now on.

    One event changes those of one process at most (``Context.impairment_reserve``).
    """
    if link.impairment == UNIMPAIRED:
        context = world.context[0]
        link.impairment = context.impairments
        context.impairments += 1
    return world.impairments[link.impairment]
