"""A group's state of its exchange with others: tables for rules, and the way to set them up."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from tidegauge.compiled.records import Record, Records, column, flag, i64, new_records
from tidegauge.compiled.rules import Tables, code
from tidegauge.engine.exchange.lookahead import lookaheads_us
from tidegauge.engine.exchange.shared_memory import NEVER_US, SharedMemory
from tidegauge.engine.exchange.system_calls import ClockReading, CpuMask
from tidegauge.scenario.cluster_plan import ClusterPlan

# Results of a step of the exchange, and reasons to return to the driver.
READY = code(0)  #: there are events before the horizon
ENDED = code(1)  #: no group has one before the end
STOPPED = code(2)  #: a stop was requested
NO_ROOM = code(3)  #: a message has not been taken: tables have to be enlarged first
STRANGE = code(4)  #: a group has sent something that is no row
BROKEN = code(5)  #: the socket to a group has ended
AWAITS = code(6)  #: others have to go on first, and that takes long
PACED = code(7)  #: the next event has to wait for real time
REPORTS = code(8)  #: a report was requested


#: Room for the CPUs of any machine.
_CPU_WORDS = 16

# The time of the first sleep, and of the last one before it goes back to the driver.
FIRST_SLEEP_NS = code(1_000_000)
LONGEST_SLEEP_NS = code(4_000_000)


class ProcessOwner(Record):
    """The group that hosts a process."""

    group: i64


class Way(Record):
    """The way from one group to another, as a third one knows it."""

    #: The least time that a message takes.
    time_us: i64
    #: The messages that the one has sent, and those that the other one has taken, as each has told.
    sent: i64
    taken: i64


class OtherGroup(Record):
    """One group, as another one sees it."""

    #: The least that it takes from it to here.
    nearest_us: i64 = int(NEVER_US)
    #: The address of its promise; 0: it is on another machine, or this group itself.
    promise: i64
    #: Its promise when it was last seen: its number, and the time before which nothing happens in
    #: the group. From another machine it comes as a row.
    version: i64
    next_us: i64
    #: Addresses of the rings from it and to it; 0: it is this group itself.
    inbox: i64
    outbox: i64
    ring_words: i64
    #: Words read and written so far, and the number up to which there is room to write.
    read: i64
    written: i64
    room_until: i64
    #: Messages sent to it and taken from it so far.
    sent_messages: i64
    taken_messages: i64
    #: Its tally: its next event when it last waited. ``Way`` has the rest.
    tallied_us: i64
    #: The message that is coming in: its slot, and the number of its entries that are missing.
    receiving: i64 = -1
    missing_items: i64
    #: The message that is going out: its slot, and the entry that comes next.
    sending: i64 = -1
    cursor: i64
    #: The first change of metadata, and the first commit, that it may have still to be sent; that
    #: is not possible now, as there is no room.
    next_change: i64
    next_commit: i64
    next_mark: i64
    lacks_news: flag
    #: The socket to it, if it is on another machine, else -1; and what was promised to it. Bytes of
    #: a word that are sent or received already; its end has been seen.
    descriptor: i64 = -1
    promised_us: i64
    sent_bytes: i64
    received_bytes: i64
    has_ended: flag


class ExchangeState(Record):
    """The progress of a group: one record."""

    #: Its own number, and the address of its promise.
    group: i64
    promise: i64
    #: A stop, or a report, was requested from outside.
    asked_to_stop: flag
    report_wanted: flag
    #: It has links to others.
    linked: flag
    #: It handles events up to the horizon; else it waits for a later one.
    runs: flag
    #: The time up to which all groups run now.
    end_us: i64
    #: The groups run one after the other: none goes on while this one waits.
    in_turn: flag
    #: The virtual time that real time has reached, if there is a speed limit.
    real_time_us: i64 = int(NEVER_US)
    #: Each group has a CPU of its own, so that one that waits may keep it for a while.
    has_cpu: flag
    #: The time of its next sleep.
    sleep_ns: i64 = int(FIRST_SLEEP_NS)
    #: There was no room for all that it has to send.
    is_blocked: flag
    #: The number of groups on other machines.
    distant: i64
    #: The last tally: the next event, and the number of messages sent and taken.
    tallied_us: i64
    tallied_messages: i64
    #: The time before which nothing happens in any other group.
    others_us: i64
    #: The group that is the reason to return to the driver.
    peer: i64
    #: The number of times that it has begun to run.
    windows: i64
    #: CPU time of this thread in all, and while it waited in turn with others; ticks of the clock
    #: of the processor in the exchange, and in polling; and the same time in ticks and ns.
    cpu_ns: i64
    yielding_ns: i64
    exchange_ticks: i64
    polling_ticks: i64
    ticks: i64
    clock_ns: i64
    #: The kernel handles events now.
    in_kernel: flag


class Exchange(Tables):
    """The exchanged tables."""

    state: Records[ExchangeState]
    groups: Records[OtherGroup]
    owners: Records[ProcessOwner]
    #: From one group to another: at ``from * groups + to``.
    ways: Records[Way]
    clock: Records[ClockReading]
    #: The CPUs of this thread, if each group has one of its own.
    cpus: Records[CpuMask]


class GroupExchange:
    """The state of one group's exchange with all others."""

    def __init__(self, plan: ClusterPlan, grouping: Sequence[Sequence[int]], number: int) -> None:
        """Lay out the tables of group ``number`` of those in ``grouping``; it has no links yet."""
        self.tables = Exchange(
            state=new_records(ExchangeState, 1),
            groups=new_records(OtherGroup, len(grouping)),
            owners=new_records(ProcessOwner, len(plan.processes)),
            ways=new_records(Way, len(grouping) ** 2),
            clock=new_records(ClockReading, 1),
            cpus=new_records(CpuMask, _CPU_WORDS),
        )
        self.view = self.tables.view
        self.state = self.tables.state[0]
        self.state.group = number
        for group, hosted in enumerate(grouping):
            column(self.tables.owners, "group")[list(hosted)] = group
        if len(grouping) > 1:
            ways_us = lookaheads_us(plan, grouping)
            column(self.tables.groups, "nearest_us")[:] = ways_us[:, number]
            column(self.tables.ways, "time_us")[:] = ways_us.reshape(-1)
        #: The memory whose addresses are in the tables.
        self._memory: list[SharedMemory] = []

    @property
    def is_alone(self) -> bool:
        """Whether there are no other groups."""
        return len(self.tables.groups) == 1

    def link(self, shared: SharedMemory, sockets: Mapping[int, int] | None = None) -> None:
        """Exchange messages from now on.

        Args:
            shared: the memory that this group shares with those on its machine.
            sockets: for each group elsewhere, the descriptor of the socket to it.
        """
        own = int(self.state.group)
        self._memory = [shared]
        for group in shared.members:
            if group != own:
                self.tables.groups[group].promise = shared.promise_of(group)
                self._use_rings(group, shared)
        for group, descriptor in (sockets or {}).items():
            between = SharedMemory([own, group])
            self._memory.append(between)
            self._use_rings(group, between)
            self.tables.groups[group].descriptor = descriptor
        self.state.promise = shared.promise_of(own)
        self.state.distant = len(sockets or {})
        self.state.linked = True

    def use_cpus(self, cpus: Collection[int]) -> None:
        """Keep this thread on one of these CPUs of its own while it waits, if there are enough."""
        self.tables.state[0].has_cpu = True
        for cpu in cpus:
            self.tables.cpus[cpu // 64].bits |= int(np.int64(1) << np.int64(cpu % 64))

    def _use_rings(self, group: int, memory: SharedMemory) -> None:
        own = int(self.state.group)
        other = self.tables.groups[group]
        other.inbox, other.outbox = memory.ring(group, own), memory.ring(own, group)
        other.ring_words = memory.ring_words
        other.room_until = memory.ring_words

    @property
    def kernel_cpu_seconds(self) -> float:
        """CPU time of the kernel so far, without the exchange."""
        return max(
            0.0, self.state.cpu_ns / 1e9 - self.exchange_cpu_seconds - self.waiting_cpu_seconds
        )

    @property
    def exchange_cpu_seconds(self) -> float:
        """CPU time of sending, taking and promising."""
        return float(self.state.exchange_ticks) * self._tick_seconds

    @property
    def waiting_cpu_seconds(self) -> float:
        """CPU time of polling for others to go on."""
        return float(self.state.polling_ticks) * self._tick_seconds + self.state.yielding_ns / 1e9

    @property
    def _tick_seconds(self) -> float:
        return float(self.state.clock_ns) / 1e9 / max(1, int(self.state.ticks))
