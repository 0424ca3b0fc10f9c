"""The names of the numbers in rows of a run, a column at a time.

Numbers are looked up in tables of the run: names by number, ids of brokers by their index, and ids
of brokers by partition and slot. A number that a table does not have becomes null.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
from numpy.typing import NDArray

from tidegauge.analysis.rows.row_schema import NameColumn
from tidegauge.replication.records import SLOTS
from tidegauge.simulation.trace_rows.columns import Type
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.trace_file import Table

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: A replica list has four bits for each slot; 0 ends it, and a slot is one less than its digit.
_BITS = 4
_DIGIT = (1 << _BITS) - 1


class RowNames:
    """The names of one run."""

    def __init__(self, run: RunFolder) -> None:
        """Take the run; its manifest is read when the first name is asked for."""
        self._run = run
        self._by_number: dict[str, tuple[Numbers, Any]] = {}

    def column(self, wanted: NameColumn, rows: Table) -> Any:
        """The names of a column's numbers as an Arrow array, in the order of the rows.

        Raises:
            RunError: the manifest cannot be read.
        """
        numbers = rows[wanted.of]
        match wanted.type:
            case Type.SLOT:
                return self._ids_in_slots(rows["partition"], numbers)
            case Type.REPLICAS:
                return self._ids_in_lists(rows["partition"], numbers)
            case Type.VOTERS:
                return self._keys_in_sets(numbers)
            case Type.BROKER | Type.WRITER:
                return _masked(*_taken(self._members, numbers))
            case _:
                return self._texts(wanted, numbers)

    def _texts(self, wanted: NameColumn, numbers: Numbers) -> Any:
        if wanted.of not in self._by_number:
            names = dict(sorted(self._names(wanted).items()))
            known = np.array([int(number) for number in names], np.int64)
            self._by_number[wanted.of] = known, pa.array(names.values(), pa.string())
        known, texts = self._by_number[wanted.of]
        places = np.searchsorted(known, numbers)
        found, is_known = _taken(known, places)
        is_known &= found == numbers
        codes = pa.array(places.astype(np.int32), mask=~is_known)
        return pa.DictionaryArray.from_arrays(codes, texts)

    def _names(self, wanted: NameColumn) -> Mapping[int, str]:
        """The names of all numbers that a column can have."""
        directory = self._run.directory
        match wanted.type:
            case Type.PROCESS:
                return {number: each.name for number, each in directory.processes.items()}
            case Type.TOPIC:
                return dict(enumerate(directory.topics))
            case Type.PARTITION:
                return {number: name for name, number in directory.partitions.items()}
            case Type.PIN:
                return dict(enumerate(directory.pins))
            case Type.FAULT:
                return {number: each.name for number, each in enumerate(directory.faults)}
            case _:
                return self._run.enumerations[wanted.of]

    @cached_property
    def _members(self) -> Numbers:
        """Ids of the brokers by their indexes, and behind them of the controllers of a quorum."""
        directory = self._run.directory
        return np.array([*directory.brokers, *directory.controllers], np.int64)

    @cached_property
    def _slots(self) -> Numbers:
        """Ids of the brokers by partition and slot; -1: there is none."""
        partitions = self._run.directory.all_partitions
        ids = np.full((len(partitions), SLOTS + 1), -1, np.int64)
        for number, partition in enumerate(partitions):
            ids[number, : len(partition.slots)] = partition.slots
        return ids

    def _ids_in_slots(self, partitions: Numbers, slots: Numbers) -> Any:
        is_known = (slots >= 0) & (slots < SLOTS) & self._is_partition(partitions)
        ids = np.full(len(slots), -1, np.int64)
        ids[is_known] = self._slots[partitions[is_known], slots[is_known]]
        return _masked(ids, ids >= 0)

    def _ids_in_lists(self, partitions: Numbers, lists: Numbers) -> Any:
        is_known = (lists >= 0) & self._is_partition(partitions)
        left = np.where(is_known, lists, 0)
        owners = np.where(is_known, partitions, 0)
        found = []
        while left.any():
            # The last place of a partition is that of no slot: -1 leads to it.
            found.append(self._slots[owners, (left & _DIGIT) - 1])
            left >>= _BITS
        ids = np.stack(found, axis=1) if found else np.empty((len(lists), 0), np.int64)
        ends = np.zeros(len(lists) + 1, np.int32)
        np.cumsum((ids >= 0).sum(axis=1), out=ends[1:])
        return pa.ListArray.from_arrays(
            pa.array(ends), pa.array(ids[ids >= 0]), mask=pa.array(~is_known)
        )

    def _keys_in_sets(self, voter_sets: Numbers) -> Any:
        known, places = np.unique(voter_sets, return_inverse=True)
        keys = [self._run.directory.voter_keys(int(each)) for each in known]
        return pa.array(keys, pa.list_(pa.string())).take(pa.array(places))

    def _is_partition(self, partitions: Numbers) -> Flags:
        return (partitions >= 0) & (partitions < len(self._slots))


def _taken(values: Numbers, places: Numbers) -> tuple[Numbers, Flags]:
    """The values at some places, and whether there are such places."""
    is_there = (places >= 0) & (places < len(values))
    taken = np.full(len(places), -1, np.int64)
    taken[is_there] = values[places[is_there]]
    return taken, is_there


def _masked(values: Numbers, is_known: Flags) -> Any:
    return pa.array(values, mask=~is_known)
