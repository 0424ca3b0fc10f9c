"""What a rule takes, as Numba types: read off the annotations of its parameters.

A rule takes integers, flags, records, arrays of records and :class:`Tables`. Each rule is
compiled for the one form that its annotations name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, Self, cast, get_args, get_origin, get_type_hints

import numba

from tidegauge.compiled.build_switches import COMPILED
from tidegauge.compiled.records import Record, Records, dtype_of
from tidegauge.compiled.table_views import TablesType, TablesView


class Tables:
    """Arrays of records that rules take as one argument, under names.

    A class derived from this declares ``name: Records[SomeRecord]`` for each. Plain rules use
    the instance itself, compiled ones its :attr:`view` (``table_views.py``), which shares the
    arrays' memory: what either writes the other sees. An array can be exchanged for a larger
    one between two calls, never inside one, so that a record that a rule holds stays where
    it is.
    """

    def __init__(self, **arrays: Any) -> None:
        names = list(get_type_hints(type(self)))
        if sorted(names) != sorted(arrays):
            raise TypeError(f"{type(self).__name__} has {names}, not {sorted(arrays)}")
        for name in names:
            setattr(self, name, arrays[name])

    @property
    def view(self) -> Self:
        """The form that a rule takes; to be asked for again after an array was exchanged."""
        if not COMPILED:
            return self
        struct = _tables_type(cast("Any", type(self)))
        arrays = [getattr(self, name) for name in struct.fields]
        return cast("Self", TablesView(struct, arrays))


def signature_of(function: Callable[..., Any]) -> tuple[Any, ...]:
    """The Numba types of a rule's parameters.

    Args:
        function: the function, or the dispatcher that Numba made of it.

    Raises:
        TypeError: a parameter has a type that compiled code cannot take.
    """
    function = getattr(function, "py_func", function)
    hints = get_type_hints(function)
    return tuple(_numba_type(hints[name]) for name in inspect.signature(function).parameters)


@cache
def _tables_type(tables: Any) -> TablesType:
    hints = get_type_hints(tables)
    return TablesType(tables.__name__, [(name, _numba_type(hint)) for name, hint in hints.items()])


@cache
def _numba_type(annotation: Any) -> Any:
    if annotation is bool:
        return numba.boolean
    if annotation is int:
        return numba.int64
    if get_origin(annotation) is Records:
        (record,) = get_args(annotation)
        return numba.from_dtype(dtype_of(record))[::1]
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return numba.from_dtype(dtype_of(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Tables):
        return _tables_type(cast("Any", annotation))
    raise TypeError(f"a rule cannot take a parameter of type {annotation!r}")
