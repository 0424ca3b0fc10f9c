"""What a rule takes, as Numba types: read off the annotations of its parameters.

A rule takes integers, flags, records, arrays of records and :class:`Tables`. Each rule is
compiled for the one form that its annotations name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, Self, TypeVar, cast, get_args, get_origin, get_type_hints

import numba

from tidegauge.compiled.build_switches import COMPILED
from tidegauge.compiled.records import Record, Records, dtype_of
from tidegauge.compiled.table_views import Place, TablesType, TablesView

T = TypeVar("T", bound="Tables")


class Tables:
    """Arrays of records that rules take as one argument, under names.

    A class derived from this declares ``name: Records[SomeRecord]`` for each. Plain rules use
    the instance itself, compiled ones its :attr:`view` (``table_views.py``), which shares the
    arrays' memory: what either writes the other sees. An array can be exchanged for a larger
    one between two calls, never inside one, so that a record that a rule holds stays where
    it is.

    A class can derive from others and has their tables, too. Rules of a room take the class with
    the tables that concern the room, and a call hands on the one argument: each class that declares
    tables has a ``part`` of its own, which is the same in all classes derived from it, so that a
    view of the whole is a view of each part.
    """

    part: ClassVar[int] = 0

    def __init_subclass__(cls, part: int = 0) -> None:
        """Declare the part of this class's own tables; bases have theirs."""
        super().__init_subclass__()
        cls.part = part

    def __init__(self, **arrays: Any) -> None:
        """Take over this class's own tables; those of its bases come with :meth:`take_over`.

        Raises:
            TypeError: a table is missing, or is none of this class.
        """
        names = table_names(type(self))
        if sorted(names) != sorted(arrays):
            raise TypeError(f"{type(self).__name__} has {names}, not {sorted(arrays)}")
        for name in names:
            setattr(self, name, arrays[name])

    def take_over(self, tables: Tables) -> None:
        """Have the tables of another instance as one's own."""
        vars(self).update(vars(tables))

    @property
    def view(self) -> Self:
        """The form that a rule takes; to be asked for again after an array was exchanged."""
        return self.view_as(type(self))

    def view_as(self, tables: type[T]) -> T:
        """The form that a rule takes which asks for a base of this class."""
        if not COMPILED:
            return cast("T", self)
        return cast("T", TablesView(_tables_type(cast("Any", tables)), vars(self)))


def as_base(view: Tables, base: type[T]) -> T:
    """A view of tables as a rule takes it that asks for a base of their class."""
    seen: Any = view
    return cast("T", seen.as_base(_tables_type(cast("Any", base))) if COMPILED else seen)


def table_names(tables: type[Tables]) -> list[str]:
    """The tables that a class declares itself, in their order."""
    return [name for name in vars(tables).get("__annotations__", {}) if name != "part"]


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
    declaring = [each for each in tables.__mro__ if issubclass(each, Tables) and table_names(each)]
    parts = [each.part for each in declaring]
    if len(set(parts)) < len(parts):
        raise TypeError(f"two classes of {tables.__name__} have the same part: {declaring}")
    return TablesType(
        tables.__name__,
        {
            name: Place(each.part, index, _numba_type(hints[name]))
            for each in declaring
            for index, name in enumerate(table_names(each))
        },
        bases=[_tables_type(base) for base in tables.__bases__ if base is not Tables],
    )


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
