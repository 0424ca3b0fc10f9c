"""The tables of a group that exchanges frames with others (``frames.py``), and how they grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.records import Records, column, dtype_of, new_records
from tidegauge.engine.exchange.exchange_state import (
    NEVER_US,
    RECEIVES,
    WRITES,
    Exchange,
    ExchangeState,
    OtherGroup,
    ProcessOwner,
)
from tidegauge.engine.exchange.lookahead import lookaheads_us
from tidegauge.engine.exchange.system_calls import WORD_BYTES, ClockReading, Word
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.kernel import HUB, Kernel, MetadataChange, OffsetCommit

#: Words that there is room for at first: in all outgoing frames, and in one that comes in.
_FIRST_WORDS = 1 << 14


class FrameExchange:
    """What one group keeps of its exchange with the hub, or the hub with all others."""

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
        """Where a frame comes in."""
        return np.asarray(self.tables.incoming).view(np.int64)

    def look_at(self, incoming: NDArray[np.int64]) -> None:
        """Take note of where a frame has come in."""
        if incoming.ctypes.data != np.asarray(self.tables.incoming).ctypes.data:
            self.tables.incoming = _as_words(incoming)
            self.view = self.tables.view

    def unsent(self) -> memoryview:
        """What is left of the frame that did not go as a whole."""
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
        """Enlarge the tables that are too small for what goes out, or for what comes in."""
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
