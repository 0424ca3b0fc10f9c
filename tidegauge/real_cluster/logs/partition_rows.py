"""What lines of logs tell, as rows of integers.

A log may have millions of lines about partitions, and tells most states several times. So what a
line tells of a partition is one row of integers; names and lists of brokers are numbers of a
table. What is told of brokers and controllers is rare, and each is an :class:`Event`.
"""

from __future__ import annotations

from array import array
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: A value that the line does not tell.
UNTOLD = -9


class Told(IntEnum):
    """The kinds of lines about a partition."""

    #: The controller has written a state, after it has created or elected.
    CREATED = 1
    ELECTED = 2
    #: The controller has taken a replica out of the ISR, or found it out of it.
    REMOVED = 3
    #: The controller has raised the epoch for another assignment.
    REASSIGNED = 4
    #: The controller has accepted the ISR of a leader.
    ALTERED = 5
    #: A leader has another ISR.
    ISR_UPDATED = 6
    #: A broker leads, or follows, from here.
    LEADS = 7
    FOLLOWS = 8
    #: A broker, or the controller, states a whole state.
    STATE = 9
    #: A leader is about to change the ISR.
    SHRINKING = 10
    EXPANDING = 11
    #: The assignment of a partition is another.
    ASSIGNED = 12
    #: KRaft's controller has elected a leader that was not in sync.
    UNCLEAN = 13
    #: A state that was there before a change.
    BEFORE = 14
    TRUNCATED = 15
    DELETED = 16


#: Kinds that a controller tells after it has written; their teller is the writer.
BY_CONTROLLER = frozenset(
    {Told.CREATED, Told.ELECTED, Told.REMOVED, Told.REASSIGNED, Told.ALTERED, Told.UNCLEAN}
)


#: Kinds of which each line counts.
_EACH_TIME = (Told.SHRINKING, Told.EXPANDING, Told.TRUNCATED, Told.LEADS, Told.FOLLOWS)


class Column(IntEnum):
    """The places of a row."""

    KIND = 0
    TIME_MS = 1
    #: The id of the node whose line it is.
    TELLER = 2
    PARTITION = 3
    LEADER = 4
    LEADER_EPOCH = 5
    #: zkVersion, or the partition epoch.
    VERSION = 6
    #: A number of the table of broker lists.
    ISR = 7
    #: A number of the table of assignments.
    ASSIGNMENT = 8
    CONTROLLER_EPOCH = 9
    #: An offset, or a time in ms.
    VALUE = 10


WIDTH = len(Column)


class Assignment(NamedTuple):
    """What a line tells of a partition beside leader and ISR; None: it does not."""

    replicas: tuple[int, ...] | None = None
    adding: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    eligible_leaders: tuple[int, ...] | None = None
    last_known: tuple[int, ...] | None = None
    recovering: bool | None = None


class Event(NamedTuple):
    """Something that a line tells of a broker, a controller, a topic."""

    kind: str
    time_ms: int
    #: The id of the node whose line it is.
    teller: int
    #: Numbers and names, in the order that the kind of line says.
    values: tuple[int | str | tuple[int, ...], ...]


class Names:
    """Numbers for partitions, lists of brokers and assignments, given as they come."""

    def __init__(self) -> None:
        self.partitions: dict[bytes, int] = {}
        self._isr_of_text: dict[bytes, int] = {}
        self.isrs: dict[tuple[int, ...], int] = {}
        self._assignment_of_text: dict[object, int] = {}
        self.assignments: dict[Assignment, int] = {}

    def partition(self, name: bytes) -> int:
        """The number of a partition."""
        return self.partitions.setdefault(name, len(self.partitions))

    def isr(self, text: bytes) -> int:
        """The number of a list of brokers as lines write it: ``1,2``, ``1, 2``."""
        number = self._isr_of_text.get(text)
        if number is None:
            number = self.isr_of(brokers_in(text))
            self._isr_of_text[text] = number
        return number

    def isr_of(self, brokers: tuple[int, ...]) -> int:
        """The number of a list of brokers."""
        return self.isrs.setdefault(brokers, len(self.isrs))

    def assignment(self, assignment: Assignment) -> int:
        """The number of an assignment."""
        return self.assignments.setdefault(assignment, len(self.assignments))

    def assignment_in(self, replicas: bytes | None, adding: bytes, removing: bytes) -> int:
        """The number of an assignment as lines write its lists."""
        key = (replicas, adding, removing)
        number = self._assignment_of_text.get(key)
        if number is None:
            known = None if replicas is None else brokers_in(replicas)
            number = self.assignment(Assignment(known, brokers_in(adding), brokers_in(removing)))
            self._assignment_of_text[key] = number
        return number


def brokers_in(text: bytes) -> tuple[int, ...]:
    """The ids in a list, in their order."""
    return tuple(int(each) for each in text.replace(b" ", b"").split(b",") if each)


class FileTold(NamedTuple):
    """All that a file, or a part of it, tells."""

    rows: NDArray[np.int64]
    partitions: list[bytes]
    isrs: list[tuple[int, ...]]
    assignments: list[Assignment]
    events: list[Event]
    #: The first and last time of a line that was looked at; -1: there was none.
    first_ms: int
    last_ms: int
    bytes_read: int


#: Rows that wait until they are made fewer: the same state told by the same node counts once.
_MANY_ROWS = 1 << 20


class ToldRows:
    """Rows as they are told; a state that a node tells again is kept once."""

    def __init__(self) -> None:
        self._times_ms = array("q")
        #: The rows without their times.
        self._waiting = array("q")
        self._kept: list[NDArray[np.int64]] = []

    def add(self, rows: tuple[tuple[int, ...], ...], time_ms: int) -> None:
        """Add rows without their time, and their time."""
        for row in rows:
            self._times_ms.append(time_ms)
            self._waiting.extend(row)

    def compact(self, least: int = _MANY_ROWS) -> None:
        """Make rows fewer, if there are many."""
        if len(self._times_ms) < least:
            return
        waiting = np.array(self._waiting, np.int64).reshape(-1, WIDTH - 1)
        times_ms = np.array(self._times_ms, np.int64)
        self._kept.append(first_told(np.insert(waiting, Column.TIME_MS, times_ms, axis=1)))
        del self._waiting[:], self._times_ms[:]

    def all(self) -> NDArray[np.int64]:
        """All rows."""
        self.compact(1)
        if not self._kept:
            return np.empty((0, WIDTH), np.int64)
        if len(self._kept) > 1:
            self._kept = [first_told(np.concatenate(self._kept))]
        return self._kept[0]


def first_told(
    rows: NDArray[np.int64], each_time: tuple[Told, ...] = _EACH_TIME
) -> NDArray[np.int64]:
    """Of rows that are equal but for their time, the earliest; in the order of time.

    What is about to be done, or was done once, is kept each time.
    """
    times = rows[:, Column.TIME_MS]
    others = [column for column in Column if column != Column.TIME_MS]
    moments = np.where(np.isin(rows[:, Column.KIND], each_time), times, 0)
    keys = np.column_stack((rows[:, others], moments))
    order = np.lexsort((times, *keys.T[::-1]))
    ordered = keys[order]
    is_first = np.ones(len(rows), bool)
    is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    kept = rows[order[is_first]]
    return kept[np.argsort(kept[:, Column.TIME_MS], kind="stable")]
