"""What a group keeps of its exchange of frames with others (``frames.py``, ``windows.py``)."""

from __future__ import annotations

from tidegauge.compiled.records import Record, Records, flag, i64
from tidegauge.compiled.rules import Tables, code
from tidegauge.engine.exchange.system_calls import ClockReading, Word
from tidegauge.simulation.kernel import MetadataChange, OffsetCommit

#: Later than anything that happens.
NEVER_US = code(2**62)

# What comes of a step of the exchange, or why the driver is wanted.
READY = code(0)  #: there are events before the horizon
ENDED = code(1)  #: there are none before the end
STOPPED = code(2)  #: somebody has asked for it
NO_ROOM = code(3)  #: nothing was done: tables have to be enlarged first
STRANGE = code(4)  #: nothing was done: the frame is of another generation or window
DAMAGED = code(5)  #: nothing was done: the frame's checksum does not match
AWAITS = code(6)  #: a frame has to be waited for
UNSENT = code(7)  #: a frame did not go as a whole
PACED = code(8)  #: a window begins that the driver may hold back
REPORTS = code(9)  #: somebody wants a report

# What a group is about to do (ExchangeState.phase).
RUNS = code(0)  #: handle events up to the horizon
RECEIVES = code(1)  #: take over the frames that it waits for
PLANS = code(2)  #: the hub: choose who goes on
WRITES = code(3)  #: write frames for those who are to have one
SENDS = code(4)  #: send them


class ProcessOwner(Record):
    """The group that hosts a process."""

    group: i64


class OtherGroup(Record):
    """What a group knows of each group, itself among them."""

    #: It is let go in this window, and when its next event was due when it was heard of last.
    goes: flag
    next_us: i64
    #: When its earliest event is due, what is on its way to it included; NEVER_US: there is none.
    earliest_us: i64
    #: How far it may go.
    horizon_us: i64
    #: How many frames have gone to it, and have come from it.
    sent: i64
    received: i64
    #: The frame to it: where it begins among the words that go out, and how many it has.
    first_word: i64
    words: i64
    #: How many events and items go to it, and the words at which the next of them is written.
    events: i64
    items: i64
    next_event_word: i64
    next_item_word: i64
    #: The socket to it; only the hub and the leaves have one, each to the other.
    descriptor: i64
    #: The frame to it has not gone yet; its own has not been read yet.
    unsent: flag
    awaited: flag
    #: How many changes and commits it has to be told.
    changes: i64
    commits: i64


class ExchangeState(Record):
    """How far a group has come in exchanging frames: one record."""

    #: Its own number.
    group: i64
    generation: i64
    #: It has been asked to stop, or to let somebody report, from outside.
    asked_to_stop: flag
    report_wanted: flag
    #: It has links: what comes after a window is done without the driver (``windows.py``).
    linked: flag
    #: What it is about to do there, and up to when all groups run now.
    phase: i64
    end_us: i64
    #: The driver wants to hold back each window for a while.
    paced: flag
    #: Whose frame the driver has to see to, and how many bytes of it came or went already.
    peer: i64
    received_bytes: i64
    sent_bytes: i64
    #: In how many windows it took part, or at the hub how many there were.
    windows: i64
    #: CPU time of the kernel, and of looking for frames that had not come yet.
    kernel_cpu_ns: i64
    waiting_cpu_ns: i64
    #: The kernel handles events now.
    in_kernel: flag
    #: What the hub has to tell the leaves of this window.
    order: i64
    #: When the earliest event of all groups is due.
    earliest_us: i64
    #: How many words all frames that go out need.
    outgoing_words: i64


class Exchange(Tables):
    """What is exchanged. Tables named ``..._words`` are others seen as words: one memory."""

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
