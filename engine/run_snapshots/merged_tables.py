"""Tables of a run that continues with another scenario: three tables make one.

What a scenario plans stands in the same records as what a run has made of it. Laid out at time 0,
the tables of two scenarios differ exactly in what the other scenario plans differently. So a field
that differs there takes the other scenario's value, and every other field keeps the value that the
run has reached. A field that differs there and has changed in the run is state that a scenario only
begins with: no run can take another value for it half-way.
"""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.compiled.signatures import Tables

Rows = NDArray[np.void]
Columns = tuple[NDArray[np.int64], ...]


class MergeError(TidegaugeError):
    """Something differs that cannot change while a run goes on; the message names the field."""


def merge(
    reached: Tables,
    planned: Tables,
    other: Tables,
    *,
    growing: Collection[str] = (),
    kept: Collection[str] = (),
    kept_fields: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> None:
    """Give the tables of a run what another scenario plans differently.

    Args:
        reached: the tables of the run; they are changed.
        planned: those of its scenario, as it began.
        other: those of the other scenario, as it would begin.
        growing: tables that can have more rows, or fewer, in the other scenario.
        kept: tables that hold nothing that a scenario plans.
        kept_fields: such fields of other tables, by the table's name.

    Raises:
        MergeError: they differ in a table's size, or in a field that the run has changed.
    """
    for name in vars(reached):
        if name in kept:
            continue
        three = (reached, planned, other)
        rows, before, after = (cast("Rows", getattr(tables, name)) for tables in three)
        if len(before) != len(after):
            if name not in growing:
                raise MergeError(f"{name}: there are {len(before)} of them, not {len(after)}")
            rows = _resized(name, rows, before, after)
            setattr(reached, name, rows)
            before = _resized(name, before, before, after)
        _merge_rows(name, rows, before, after, kept_fields.get(name, ()))


def _resized(name: str, rows: Rows, before: Rows, after: Rows) -> Rows:
    """Rows with those that only the other scenario has, or without those that it does not have."""
    count = min(len(before), len(after))
    if (rows[count:] != before[count : len(rows)]).any():
        raise MergeError(f"{name}: number {count} has begun already")
    return np.concatenate([rows[:count], after[count:]])


def _merge_rows(
    name: str, rows: Rows, before: Rows, after: Rows, kept_fields: Collection[str]
) -> None:
    # Tables that a run has enlarged begin with the rows that its scenario has planned.
    here = rows[: len(before)]
    if before.tobytes() == after.tobytes():
        return
    for path, (reached, was, becomes) in _fields(here, before, after):
        if path in kept_fields:
            continue
        differs = was != becomes
        if not differs.any():
            continue
        changed = differs & (reached != was)
        if changed.any():
            number = int(np.flatnonzero(changed)[0])
            raise MergeError(
                f"{name}[{number}].{path} is {reached[number]} by now: the run has changed it"
            )
        reached[differs] = becomes[differs]


def _fields(*tables: Rows, path: str = "") -> Iterator[tuple[str, Columns]]:
    """Each field of tables of one layout by its path, as columns that share their memory."""
    for field in tables[0].dtype.names or ():
        columns = tuple(cast("Rows", table[field]) for table in tables)
        if columns[0].dtype.names is not None:
            yield from _fields(*columns, path=f"{path}{field}.")
        else:
            yield f"{path}{field}", cast("Columns", columns)
