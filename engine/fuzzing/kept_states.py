"""The tables of a cluster at a moment, kept so that many runs begin there.

A run changes a few hundred kilobytes of tables. Laid out anew they take 1.5 ms, copied back 5 us.
So all tables that a run may change lie one behind the other, and a kept state is a copy of them. Of
a pool, whose rows are taken one by one, only the used rows are copied: what lies behind them is
written before it is read.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.records import Record, Records, column, i64, new_records
from tidegauge.compiled.rules import Tables, inner_rule, rule
from tidegauge.engine.exchange.atomic_words import copy_words, load_word

_WORD_BYTES = 8
#: Tables begin at a line of the processor's cache.
_LINE_BYTES = 64


class Extent(Record):
    """Rows that a run may change, and the place of their copies."""

    #: The address of the rows, and of their copy in the first kept state.
    live: i64
    kept: i64
    #: Words of a copy that is full: the distance of two copies.
    room_words: i64
    #: Words of a row of a pool, and the address of the number of its used rows; 0: all rows count.
    row_words: i64
    used: i64


class CopyLength(Record):
    """The words that an extent has in a kept state."""

    words: i64


class KeptStates(Tables):
    """The kept states of some tables."""

    extents: Records[Extent]
    #: At ``state * extents + extent``.
    lengths: Records[CopyLength]


@rule
def keep_state(kept: KeptStates, state: int) -> None:
    """Keep the present content of all tables as the state of this number."""
    for number in range(len(kept.extents)):
        extent = kept.extents[number]
        words = extent.room_words
        if extent.used != 0:
            words = load_word(extent.used) * extent.row_words
        copy_words(extent.kept + 8 * state * extent.room_words, extent.live, words)
        kept.lengths[state * len(kept.extents) + number].words = words


@inner_rule
def restore_state(kept: KeptStates, state: int) -> None:
    """Give all tables the content of a kept state."""
    for number in range(len(kept.extents)):
        extent = kept.extents[number]
        words = kept.lengths[state * len(kept.extents) + number].words
        copy_words(extent.live, extent.kept + 8 * state * extent.room_words, words)


class Used(NamedTuple):
    """The field that has the number of used rows of a pool: of the one record of a table."""

    table: str
    field: str


#: The pools among the tables of a group, and of checks and figures.
POOLS: Mapping[str, Used] = {
    "events": Used("context", "event_slots.used"),
    "items": Used("context", "item_slots.used"),
    "heap": Used("context", "heap_size"),
    "later_heap": Used("context", "later_heap_size"),
    "rows": Used("context", "row_count"),
    "row_marks": Used("context", "row_marks"),
    "metadata_changes": Used("context", "metadata_changes"),
    "watches": Used("pools", "watch_slots.used"),
    "runs": Used("facts", "runs"),
    "terms": Used("facts", "terms"),
    "acknowledged": Used("facts", "acknowledged"),
    "queued": Used("count", "controller_events"),
}


class KeptMemory:
    """The memory of tables that lie one behind the other, and of their kept states."""

    def __init__(self, tables: Iterable[Tables], states: int) -> None:
        """Move the tables into one memory; views of them have to be made again.

        Args:
            tables: the tables; those of one name in :data:`POOLS` are pools.
            states: the number of states that there is room for.
        """
        self._arrays: list[NDArray[Any]] = []
        extents: list[tuple[NDArray[np.uint8], int, Used | None, Tables]] = []
        for each in tables:
            whole = [name for name in vars(each) if name not in POOLS]
            extents.append((self._moved(each, whole), 0, None, each))
            for name in POOLS.keys() & vars(each).keys():
                rows = np.asarray(getattr(each, name))
                content = rows.view(np.uint8).reshape(-1)
                extents.append((content, rows.dtype.itemsize, POOLS[name], each))
        records = new_records(Extent, len(extents))
        for record, (content, row_bytes, used, owner) in zip(records, extents, strict=True):
            assert len(content) % _WORD_BYTES == 0, "rows of a pool are whole words"
            copies = np.zeros(states * len(content), np.uint8)
            self._arrays += [content, copies]
            record.live = content.ctypes.data
            record.kept = copies.ctypes.data
            record.room_words = len(content) // _WORD_BYTES
            record.row_words = row_bytes // _WORD_BYTES
            record.used = 0 if used is None else _address_of(owner, used)
        self.states = KeptStates(
            extents=records, lengths=new_records(CopyLength, states * len(extents))
        )

    def _moved(self, tables: Tables, names: list[str]) -> NDArray[np.uint8]:
        """One memory with the content of these tables, which take it over."""
        places: dict[str, int] = {}
        end = 0
        for name in names:
            places[name] = end
            size = np.asarray(getattr(tables, name)).nbytes
            end = -(-(end + size) // _LINE_BYTES) * _LINE_BYTES
        memory = np.zeros(end, np.uint8)
        for name, begin in places.items():
            rows = np.asarray(getattr(tables, name))
            moved = memory[begin : begin + rows.nbytes].view(rows.dtype)
            moved.view(np.uint8)[:] = rows.view(np.uint8).reshape(-1)
            setattr(tables, name, moved)
        return memory


def _address_of(tables: Tables, used: Used) -> int:
    """The address of a count, which is a word."""
    field, *inner = used.field.split(".")
    values: NDArray[Any] = column(getattr(tables, used.table), field)
    for name in inner:
        values = values[name]
    return int(values.ctypes.data)
