"""The changes of all partitions over time, each to one of a few distinct states.

Result tables have an interval for each state of a partition. Here they become changes in the order
of time. A partition knows its brokers by slot, so partitions in the same condition share one
state, and the states of a run are few: a change needs its time, its partition and a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # the same
from numpy.typing import NDArray

from tidegauge.traces.directory import Directory

Numbers = NDArray[np.int64]

#: The conditions of a state, as bits.
EXISTS, OFFLINE, ACCEPTING, UNDER_MIN_ISR, AT_MIN_ISR, UNDER_REPLICATED = (
    1 << bit for bit in range(6)
)
#: The conditions that ``partition_states`` has as columns.
_COLUMNS = {
    OFFLINE: "offline",
    ACCEPTING: "accepting",
    UNDER_MIN_ISR: "under_min_isr",
    AT_MIN_ISR: "at_min_isr",
}
#: Bits of a slot in a list of slots that is packed into one integer, and the slots that fit.
_SLOT_BITS, _SLOTS = 4, 15


class SharedState(NamedTuple):
    """A state that partitions share; replicas are slots."""

    #: -1: there is none.
    leader: int
    #: The growth of the leader epoch by the change.
    epochs: int
    min_insync_replicas: int
    conditions: int
    #: In its order.
    isr: tuple[int, ...]
    replicas: tuple[int, ...]


class PartitionChanges(NamedTuple):
    """Changes in the order of time."""

    time_us: Numbers
    partition: Numbers
    #: Each the place of a state in ``states``.
    state: Numbers
    #: The first one is that of a partition that does not exist.
    states: Sequence[SharedState]


class _Events(NamedTuple):
    """Columns of the same length: a row is a state of a partition from its time on."""

    partition: Numbers
    time_us: Numbers
    leader: Numbers
    epoch: Numbers
    min_insync_replicas: Numbers
    #: All but UNDER_REPLICATED.
    conditions: Numbers
    isr: Numbers
    replicas: Numbers
    #: The number of these that are being added.
    adding: Numbers

    def picked(self, rows: NDArray[np.intp]) -> _Events:
        """Some of the rows, in this order."""
        return _Events(*(column[rows] for column in self))

    def then(self, others: _Events) -> _Events:
        """These and others."""
        return _Events(*map(np.concatenate, zip(self, others, strict=True)))


#: The states of partitions, with their assignments.
STATES = """
    select s.partition, greatest(s.begin_us, d.begin_us) as begin_us,
        least(s.end_us, coalesce(d.end_us, s.end_us)) as end_us, s.leader, s.leader_epoch,
        s.min_insync_replicas, s.offline, s.accepting, s.under_min_isr, s.at_min_isr, s.isr,
        d.replicas, d.adding
    from partition_states as s
    join described_states as d on d.run = s.run and d.partition = s.partition
        and d.begin_us < s.end_us and coalesce(s.begin_us < d.end_us, true)
    order by all
"""


def partition_changes(directory: Directory, states: pa.Table, end_us: int) -> PartitionChanges:
    """All changes of partitions.

    Args:
        directory: of the run.
        states: as :data:`STATES` finds them.
        end_us: the end of the run.
    """
    events = _events(states, _Slots(directory), end_us)
    is_first = np.append(True, np.diff(events.partition) != 0)
    missing = _lengths(events.isr) < _lengths(events.replicas) - events.adding
    exists = events.conditions & EXISTS > 0
    conditions = events.conditions | np.where(exists & missing, UNDER_REPLICATED, 0)
    before = np.where(is_first, 0, np.roll(events.epoch, 1))
    epochs = np.where(exists, events.epoch - before, 0)
    columns = [
        *(events.leader, epochs, events.min_insync_replicas),
        *(conditions, events.isr, events.replicas),
    ]
    held = _numbered([columns[0], *columns[2:]])[0]
    is_news = is_first | (np.diff(held, prepend=-1) != 0) | (epochs != 0)
    is_news &= exists | ~is_first
    # First of all the state of a partition that does not exist, so that it is number 0.
    nothing = [-1, 0, 0, 0, 0, 0]
    columns = [
        np.append(none, column[is_news]) for none, column in zip(nothing, columns, strict=True)
    ]
    numbers, samples = _numbered(columns)
    distinct = [
        SharedState(leader, by, needed, held, _unpacked(isr), _unpacked(wanted))
        for leader, by, needed, held, isr, wanted in zip(
            *(column[samples].tolist() for column in columns), strict=True
        )
    ]
    time_us, partition = events.time_us[is_news], events.partition[is_news]
    order = np.lexsort([partition, time_us])
    return PartitionChanges(time_us[order], partition[order], numbers[1:][order], distinct)


class _Slots:
    """The slots of brokers in each partition."""

    def __init__(self, directory: Directory) -> None:
        partitions = directory.all_partitions
        self._brokers = np.full((len(partitions), _SLOTS), -1, np.int64)
        for number, each in enumerate(partitions):
            self._brokers[number, : len(each.slots)] = each.slots

    def of(self, brokers: Numbers, partitions: Numbers) -> Numbers:
        """The slot of each broker in its partition."""
        places = self._brokers[partitions] == brokers[:, None]
        slots: Numbers = np.argmax(places, axis=1).astype(np.int64)
        return slots

    def packed(self, lists: pa.ListArray, partitions: Numbers) -> Numbers:
        """Lists of brokers as one integer each: the slot of the first + 1 in the lowest bits."""
        row = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
        place = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        slot = self.of(pc.list_flatten(lists).to_numpy(), partitions[row])
        packed = np.zeros(len(lists), np.int64)
        np.add.at(packed, row, (slot + 1) << (_SLOT_BITS * place))
        return packed


def _unpacked(packed: int) -> tuple[int, ...]:
    slots = []
    while packed:
        slots.append((packed & _SLOTS) - 1)
        packed >>= _SLOT_BITS
    return tuple(slots)


def _lengths(packed: Numbers) -> Numbers:
    lengths = np.zeros_like(packed)
    while packed.any():
        lengths += packed > 0
        packed = packed >> _SLOT_BITS
    return lengths


def _events(states: pa.Table, slots: _Slots, end_us: int) -> _Events:
    """States from their begin on, and that of none where a partition is deleted."""
    states = states.sort_by([("partition", "ascending"), ("begin_us", "ascending")])

    def column(name: str, default: int = -1) -> Numbers:
        values = pc.fill_null(states[name].cast(pa.int64()), default)
        return np.asarray(values.to_numpy(), np.int64)

    partition, begin_us, ends_us = column("partition"), column("begin_us"), column("end_us")
    leader = column("leader")
    conditions = np.full_like(partition, EXISTS)
    for bit, name in _COLUMNS.items():
        conditions += bit * column(name, 0)
    there = _Events(
        partition,
        begin_us,
        np.where(leader < 0, -1, slots.of(leader, partition)),
        column("leader_epoch", 0),
        column("min_insync_replicas", 0),
        conditions,
        slots.packed(states["isr"].combine_chunks(), partition),
        slots.packed(states["replicas"].combine_chunks(), partition),
        pc.list_value_length(states["adding"]).to_numpy().astype(np.int64),
    )
    goes_on = np.append((np.diff(partition) == 0) & (begin_us[1:] == ends_us[:-1]), False)
    is_deleted = np.flatnonzero(~goes_on & (ends_us < end_us))
    nothing = np.zeros(len(is_deleted), np.int64)
    gone = _Events(
        partition[is_deleted], ends_us[is_deleted], nothing - 1, *(nothing for _ in range(6))
    )
    both = there.then(gone)
    return both.picked(np.lexsort([both.time_us, both.partition]))


def _numbered(columns: Sequence[Numbers]) -> tuple[Numbers, NDArray[np.intp]]:
    """Equal rows get equal numbers from 0 on, in the order of first samples; and the samples."""
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        distinct, place = np.unique(column, return_inverse=True)
        number = np.unique(number * len(distinct) + place, return_inverse=True)[1]
    _, samples, numbers = np.unique(number, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(samples))
    return rank[numbers], np.sort(samples)
