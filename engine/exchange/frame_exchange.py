"""A group's state of its exchange of frames with others (``frames.py``, ``windows.py``).

It has the tables of frames, which grow, and the least latencies between processes. A group may run
ahead of the others up to the earliest arrival of a message that it does not have yet. That depends
on the places of the processes: a broker and the controller on its machine are near, two racks are
not. The shortest way counts, over any processes in between. Between two machines it is a way over
racks; a hop within a machine only adds to it. A link between racks that has a limit lies half-way
between them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.records import Record, Records, column, dtype_of, flag, i64, new_records
from tidegauge.compiled.rules import Tables, code
from tidegauge.engine.exchange.system_calls import WORD_BYTES, ClockReading, Word
from tidegauge.scenario.cluster_plan import ClusterPlan, PlannedProcess
from tidegauge.simulation.kernel import CLIENT, HUB, RACK_LINK, Kernel, MetadataChange, OffsetCommit

#: Later than anything that happens.
NEVER_US = code(2**62)

# Results of a step of the exchange, and reasons to return to the driver.
READY = code(0)  #: there are events before the horizon
ENDED = code(1)  #: there are none before the end
STOPPED = code(2)  #: a stop was requested
NO_ROOM = code(3)  #: nothing was done: tables have to be enlarged first
STRANGE = code(4)  #: nothing was done: the frame is of another generation or window
DAMAGED = code(5)  #: nothing was done: the frame's checksum does not match
AWAITS = code(6)  #: a frame has to be waited for
UNSENT = code(7)  #: a frame did not go as a whole
PACED = code(8)  #: a window begins that the driver may hold back
REPORTS = code(9)  #: a report was requested

# The next action of a group (ExchangeState.phase).
RUNS = code(0)  #: handle events up to the horizon
RECEIVES = code(1)  #: take over the frames that it waits for
PLANS = code(2)  #: the hub: choose the groups that go on
WRITES = code(3)  #: write frames for the groups that are to have one
SENDS = code(4)  #: send them


class ProcessOwner(Record):
    """The group that hosts a process."""

    group: i64


class OtherGroup(Record):
    """A group's state of each group, itself among them."""

    #: It runs in this window; and its next event's time in its last frame.
    goes: flag
    next_us: i64
    #: The time of its earliest event, messages to it included; NEVER_US: there is none.
    earliest_us: i64
    #: The time up to which it may run.
    horizon_us: i64
    #: The numbers of frames that were sent to it, and received from it.
    sent: i64
    received: i64
    #: The frame to it: its first word among those that go out, and their number.
    first_word: i64
    words: i64
    #: The number of events and items for it, and the places at which the next of them is written.
    events: i64
    items: i64
    next_event_word: i64
    next_item_word: i64
    #: The socket to it; only the hub and the leaves have one, each to the other.
    descriptor: i64
    #: The frame to it has not gone yet; its own has not been read yet.
    unsent: flag
    awaited: flag
    #: The number of changes and commits that it has to be sent.
    changes: i64
    commits: i64


class ExchangeState(Record):
    """The progress of a group in exchanging frames: one record."""

    #: Its own number.
    group: i64
    generation: i64
    #: A stop, or a report, was requested from outside.
    asked_to_stop: flag
    report_wanted: flag
    #: It has links: after a window it goes on without the driver (``windows.py``).
    linked: flag
    #: Its next action there, and the time up to which all groups run now.
    phase: i64
    end_us: i64
    #: The driver delays each window.
    paced: flag
    #: The peer whose frame the driver has to send or receive, and the bytes that are done.
    peer: i64
    received_bytes: i64
    sent_bytes: i64
    #: The number of windows in which it took part, or at the hub of all windows.
    windows: i64
    #: CPU time of the kernel, and of polling for frames.
    kernel_cpu_ns: i64
    waiting_cpu_ns: i64
    #: The kernel handles events now.
    in_kernel: flag
    #: The hub's news for the leaves of this window.
    order: i64
    #: The time of the earliest event of all groups.
    earliest_us: i64
    #: The words that all outgoing frames need.
    outgoing_words: i64


class Exchange(Tables):
    """The exchanged tables. Tables named ``..._words`` are others seen as words: one memory."""

    state: Records[ExchangeState]
    groups: Records[OtherGroup]
    #: The least that it takes from one group to another: at ``from * groups + to``.
    lookaheads: Records[Word]
    owners: Records[ProcessOwner]
    outgoing: Records[Word]
    incoming: Records[Word]
    event_words: Records[Word]
    item_words: Records[Word]
    #: Changes and commits on their way from one table to another.
    changes: Records[MetadataChange]
    change_words: Records[Word]
    commits: Records[OffsetCommit]
    commit_words: Records[Word]
    clock: Records[ClockReading]


#: Words that there is room for at first: in all outgoing frames, and in one that comes in.
_FIRST_WORDS = 1 << 14


class FrameExchange:
    """The state of one group's exchange with the hub, or of the hub's with all others."""

    def __init__(
        self, plan: ClusterPlan, grouping: Sequence[Sequence[int]], number: int, generation: int
    ) -> None:
        """Lay out the tables of group ``number`` of those in ``grouping``."""
        nothing = new_records(Word, 0)
        self.tables = Exchange(
            state=new_records(ExchangeState, 1),
            groups=new_records(OtherGroup, len(grouping)),
            lookaheads=_as_words(lookaheads_us(plan, grouping).reshape(-1)),
            owners=new_records(ProcessOwner, len(plan.processes)),
            outgoing=nothing,
            incoming=new_records(Word, _FIRST_WORDS),
            event_words=nothing,
            item_words=nothing,
            changes=new_records(MetadataChange, 0),
            change_words=nothing,
            commits=new_records(OffsetCommit, 0),
            commit_words=nothing,
            clock=new_records(ClockReading, 1),
        )
        self.state = self.tables.state[0]
        column(self.tables.groups, "next_us")[:] = NEVER_US
        for group, hosted in enumerate(grouping):
            column(self.tables.owners, "group")[list(hosted)] = group
        self.state.group = number
        self.state.generation = generation
        self._enlarge_outgoing(_FIRST_WORDS)

    @property
    def is_alone(self) -> bool:
        """Whether there are no other groups."""
        return len(self.tables.groups) == 1

    def see(self, world: Kernel) -> None:
        """Take note that tables of the kernel were exchanged for larger ones."""
        self.tables.event_words = _as_words(world.events)
        self.tables.item_words = _as_words(world.items)
        self.view = self.tables.view

    def link(self, descriptors: Mapping[int, int]) -> None:
        """Exchange frames over these sockets from now on, a group's at each number."""
        self.state.linked = True
        self.state.phase = RECEIVES if self.state.group == HUB else WRITES
        for group, descriptor in descriptors.items():
            self.tables.groups[group].descriptor = descriptor
            # The leaves begin.
            self.tables.groups[group].awaited = self.state.group == HUB

    @property
    def incoming(self) -> NDArray[np.int64]:
        """The memory that a frame is received in."""
        return np.asarray(self.tables.incoming).view(np.int64)

    def look_at(self, incoming: NDArray[np.int64]) -> None:
        """Note the place of an incoming frame."""
        if incoming.ctypes.data != np.asarray(self.tables.incoming).ctypes.data:
            self.tables.incoming = _as_words(incoming)
            self.view = self.tables.view

    def unsent(self) -> memoryview:
        """The rest of the frame that did not go as a whole."""
        state = self.state
        return self._frame_to(state.peer)[int(state.sent_bytes) :]

    def frames(self) -> list[tuple[int, memoryview]]:
        """The frames that were written: the group that each is for, and its bytes."""
        groups = np.flatnonzero(column(self.tables.groups, "words"))
        return [(int(group), self._frame_to(int(group))) for group in groups]

    def _frame_to(self, group: int) -> memoryview:
        """The bytes of the frame for a group."""
        other = self.tables.groups[group]
        first, words = int(other.first_word), int(other.words)
        return self._bytes[first * WORD_BYTES :][: words * WORD_BYTES]

    def hub_goes(self) -> bool:
        """Whether the hub itself goes on in this window."""
        return bool(self.tables.groups[HUB].goes)

    def make_room(self, changes: int, commits: int) -> None:
        """Enlarge the tables that are too small for outgoing or incoming frames."""
        if self.state.outgoing_words > len(self.tables.outgoing):
            self._enlarge_outgoing(2 * int(self.state.outgoing_words))
        most = [int(column(self.tables.groups, name).max()) for name in ("changes", "commits")]
        if max(changes, most[0]) > len(self.tables.changes):
            self.tables.changes = new_records(MetadataChange, 2 * max(changes, most[0]))
            self.tables.change_words = _as_words(self.tables.changes)
        if max(commits, most[1]) > len(self.tables.commits):
            self.tables.commits = new_records(OffsetCommit, 2 * max(commits, most[1]))
            self.tables.commit_words = _as_words(self.tables.commits)
        self.view = self.tables.view

    def _enlarge_outgoing(self, words: int) -> None:
        self.tables.outgoing = new_records(Word, words)
        self._bytes = np.asarray(self.tables.outgoing).view(np.uint8).data


def _as_words(rows: Any) -> Records[Word]:
    """The same memory as words."""
    words: NDArray[np.void] = np.asarray(rows).view(np.ndarray).view(np.int64).view(dtype_of(Word))
    return cast("Records[Word]", words)


#: The places of clients without a rack, and of processes in no rack; and the first link between
#: racks.
_AT_CLIENTS = -2
_IN_NO_RACK = -1
_FIRST_RACK_LINK = -3


def distances_us(plan: ClusterPlan, hosted: Sequence[int]) -> NDArray[np.int64]:
    """For each process the least that it takes from there to any of those in ``hosted``.

    For a hosted process it is the least distance to another hosted one.
    """
    places, ways = _ways_between(plan)
    place_of = np.array([places.index(_place_of(process)) for process in plan.processes])
    reached = np.unique(place_of[list(hosted)])
    distances = ways[:, reached].min(axis=1)[place_of]
    hosts = {plan.processes[process].host for process in hosted} - {-1}
    within_host_us = plan.scenario.network.within_host.quantiles_us()[0]
    on_same_host = np.array([process.host in hosts for process in plan.processes])
    distances[on_same_host] = np.minimum(distances[on_same_host], within_host_us)
    return np.asarray(distances, np.int64)


def lookaheads_us(plan: ClusterPlan, grouping: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """The least that it takes from one group to another, at ``[from, to]``; 0 to itself."""
    table = np.zeros((len(grouping), len(grouping)), np.int64)
    for number, hosted in enumerate(grouping):
        distances = distances_us(plan, hosted)
        for other, processes in enumerate(grouping):
            if other != number:
                table[other, number] = distances[list(processes)].min()
    return table


def _place_of(process: PlannedProcess) -> int:
    """The place of a process: a rack's number, or one of the constants above."""
    if process.role == RACK_LINK:
        return _FIRST_RACK_LINK - process.number
    # A client with a rack is in it.
    is_outside = process.role == CLIENT and process.rack == _IN_NO_RACK
    return _AT_CLIENTS if is_outside else process.rack


def _ways_between(plan: ClusterPlan) -> tuple[list[int], NDArray[np.int64]]:
    """All places, and the shortest ways from one machine at a place to another at a place."""
    network = plan.scenario.network
    places = sorted({_place_of(process) for process in plan.processes})
    ways = np.empty((len(places), len(places)), np.int64)
    for row, one in enumerate(places):
        for place, other in enumerate(places):
            latency = network.between_racks
            if _AT_CLIENTS in (one, other):
                latency = network.clients
            elif one == other != _IN_NO_RACK:
                latency = network.within_rack
            ways[row, place] = latency.quantiles_us()[0]
    on_links = np.array(places) <= _FIRST_RACK_LINK
    if on_links.any():
        # A message over a link takes its latency in two parts, whose ends are in any two racks.
        halves_us = max(1, network.between_racks.quantiles_us()[0] // 2)
        ways[on_links] = ways[:, on_links] = halves_us
    # Floyd and Warshall's algorithm.
    for over in range(len(places)):
        ways = np.minimum(ways, ways[:, [over]] + ways[[over], :])
    return places, ways
