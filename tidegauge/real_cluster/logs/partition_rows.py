"""Lines about partitions as rows of integers.

A log may have millions of lines about partitions, and most states stand in several of them. So a
line about a partition is one row of integers; names and lists of brokers are numbers of a table.
"""

import re
from array import array
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: A value that the line does not have.
MISSING = -9


class LineKind(IntEnum):
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


#: Kinds of lines of a controller that has written; the node of the line is the writer.
BY_CONTROLLER = frozenset(
    {
        *(LineKind.CREATED, LineKind.ELECTED, LineKind.REMOVED, LineKind.REASSIGNED),
        *(LineKind.ALTERED, LineKind.UNCLEAN),
    }
)
#: Kinds of lines of a leader about its own partition.
BY_LEADER = frozenset(
    {LineKind.ISR_UPDATED, LineKind.LEADS, LineKind.SHRINKING, LineKind.EXPANDING}
)
#: Kinds of which a line before a change, or about a change that happens once, counts each time.
INTENTS = (LineKind.SHRINKING, LineKind.EXPANDING, LineKind.TRUNCATED)
_EACH_TIME = (*INTENTS, LineKind.LEADS, LineKind.FOLLOWS)


class PartitionRow(NamedTuple):
    """A line about a partition."""

    kind: int
    time_ms: int
    #: The id of the node whose line it is.
    node: int = MISSING
    partition: int = MISSING
    leader: int = MISSING
    leader_epoch: int = MISSING
    #: zkVersion, or the partition epoch.
    version: int = MISSING
    #: A number of the table of broker lists.
    isr: int = MISSING
    #: A number of the table of assignments.
    assignment: int = MISSING
    controller_epoch: int = MISSING
    offset: int = MISSING


#: A row in an array.
ROW = np.dtype([(name, np.int64) for name in PartitionRow._fields])
Rows = NDArray[np.void]


class Assignment(NamedTuple):
    """The replicas of a partition, and more that stands beside leader and ISR; None: unknown."""

    replicas: tuple[int, ...] | None = None
    adding: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    eligible_leaders: tuple[int, ...] | None = None
    last_known: tuple[int, ...] | None = None
    recovering: bool | None = None


_MEMBER = re.compile(rb"brokerId=(\d+)")


class Names:
    """Numbers for partitions, lists of brokers and assignments, in the order of their first use."""

    def __init__(self) -> None:
        self.partitions: dict[bytes, int] = {}
        self._isr_of_text: dict[bytes, int] = {}
        self.isrs: dict[tuple[int, ...], int] = {}
        self._assignment_of_texts: dict[tuple[bytes | None, ...], int] = {}
        self.assignments: dict[Assignment, int] = {}

    def partition(self, name: bytes) -> int:
        """The number of a partition."""
        return self.partitions.setdefault(name, len(self.partitions))

    def isr(self, text: bytes | None, members: bytes | None = None) -> int:
        """The number of an ISR as lines write it: ``1,2``, ``1, 2``, or with brokers' epochs."""
        if members is not None:
            text = b",".join(_MEMBER.findall(members))
        if text is None:
            return MISSING
        number = self._isr_of_text.get(text)
        if number is None:
            number = self._isr_of_text[text] = self.isr_of(brokers_in(text))
        return number

    def isr_of(self, brokers: tuple[int, ...]) -> int:
        """The number of a list of brokers."""
        return self.isrs.setdefault(brokers, len(self.isrs))

    def assignment_of(self, assignment: Assignment) -> int:
        """The number of an assignment."""
        return self.assignments.setdefault(assignment, len(self.assignments))

    def assignment(
        self, replicas: bytes | None, adding: bytes | None, removing: bytes | None
    ) -> int:
        """The number of an assignment as lines write its lists."""
        lists = (replicas, adding, removing)
        number = self._assignment_of_texts.get(lists)
        if number is None:
            brokers = [None if text is None else brokers_in(text) for text in lists]
            new = Assignment(replicas=brokers[0], adding=brokers[1], removing=brokers[2])
            number = self._assignment_of_texts[lists] = self.assignment_of(new)
        return number


def brokers_in(text: bytes) -> tuple[int, ...]:
    """The ids in a list, in their order."""
    return tuple(int(each) for each in text.strip(b"[]").replace(b" ", b"").split(b",") if each)


#: Rows that wait until duplicates are dropped: the same state of the same node counts once.
_MANY_ROWS = 1 << 20


class RowBuffer:
    """The rows of a part of a file; of a state that a node repeats the first row."""

    def __init__(self) -> None:
        self._waiting = array("q")
        self._kept: list[Rows] = []

    def add(self, row: Sequence[int]) -> None:
        """Add a row."""
        self._waiting.extend(row)

    def compact(self, least: int = _MANY_ROWS) -> None:
        """Drop duplicates, if so many rows wait."""
        if len(self._waiting) >= least * len(PartitionRow._fields):
            self._kept.append(earliest(np.array(self._waiting).view(ROW)))
            del self._waiting[:]

    def all(self) -> Rows:
        """All rows."""
        self.compact(1)
        if len(self._kept) == 1:
            return self._kept[0]
        return earliest(np.concatenate([np.empty(0, ROW), *self._kept]))


def earliest(rows: Rows, each_time: Sequence[LineKind] = _EACH_TIME) -> Rows:
    """The earliest of rows that are equal but for their time; in the order of time.

    Rows of kinds that count each time are all kept.
    """
    keys = rows.copy()
    keys["time_ms"][~np.isin(rows["kind"], each_time)] = 0
    order = np.lexsort((rows["time_ms"], *(keys[name] for name in PartitionRow._fields[::-1])))
    ordered = keys[order]
    is_first = np.ones(len(rows), bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    kept = rows[order[is_first]]
    return kept[np.argsort(kept["time_ms"], kind="stable")]
