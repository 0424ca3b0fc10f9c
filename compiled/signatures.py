"""The parameters of a rule as Numba types: read off their annotations.

A rule takes integers, flags, records, arrays of records and :class:`Tables`. Each rule is
compiled for the one form that its annotations name.

The form of tables for compiled code: a list of addresses and lengths.

Numba's own struct counts references to every array that is taken out of it, atomically, and that
was a third of the kernel's time. A view here is a plain array of numbers: for each table the
address of its array and the number of its records. Compiled code makes an array of them without a
reference count. The Python object behind the view keeps the memory alive.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import (
    Any,
    ClassVar,
    NamedTuple,
    Self,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # it comes without types
from numba import types
from numba.core import cgutils, typing
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer, infer_global
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_builtin,
    lower_cast,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.arrayobj import populate_array

from tidegauge.compiled.codes import BOUNDS_CHECKED, COMPILED
from tidegauge.compiled.records import Record, Records, dtype_of

T = TypeVar("T", bound="Tables")


class Tables:
    """Arrays of records that rules take as one argument, under names.

    A class derived from this declares ``name: Records[SomeRecord]`` for each. Plain rules use the
    instance itself, compiled ones its :attr:`view` (``signatures.py``), which shares the arrays'
    memory: each sees the other's writes. An array can be exchanged for a larger one between two
    calls, never inside one, so that a record that a rule holds stays where it is.

    A class can derive from others, and inherits their tables. Rules of a room take the class with
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
        """Share the tables of another instance."""
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
    return _signature_of(getattr(function, "py_func", function))


@cache
def _signature_of(function: Callable[..., Any]) -> tuple[Any, ...]:
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
            name: Place(each.part, index, TableType(_numba_type(hints[name])))
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


_NUMBER = ir.IntType(64)

#: The most tables that one class declares.
PART_ROOM = 64


class Place(NamedTuple):
    """One table within a view."""

    part: int
    #: Its place within the part.
    number: int
    #: Numba's type of the table.
    table: TableType

    @property
    def address(self) -> int:
        """The place of its address among the numbers of a view; its length stands behind it."""
        return 2 * (self.part * PART_ROOM + self.number)


class TablesType(types.Type):  # type: ignore[misc]  # Numba has no types
    """The Numba type of a class of tables: each table's name with its place."""

    def __init__(self, name: str, places: Mapping[str, Place], bases: Sequence[TablesType]) -> None:
        self.places = dict(places)
        self.bases = tuple(bases)
        # Numba writes a type's name into each symbol, so all the places are a hash in it.
        layout = hashlib.sha256(repr(sorted(places.items())).encode()).hexdigest()[:12]
        super().__init__(name=f"{name}_{layout}")

    def can_convert_to(self, typingctx: Any, other: Any) -> Any:
        """Whether a rule that takes the other can have this: one of its bases."""
        if other in self.bases or any(base.can_convert_to(typingctx, other) for base in self.bases):
            return Conversion.safe
        return None


class TablesView:
    """Tables as they are handed to compiled code."""

    def __init__(self, struct: TablesType, arrays: Mapping[str, Any]) -> None:
        self.struct = struct
        # Kept: their memory must live as long as the view.
        self._arrays = {name: np.asarray(arrays[name]) for name in struct.places}
        parts = 1 + max(place.part for place in struct.places.values())
        self._numbers = np.zeros(2 * PART_ROOM * parts, np.int64)
        for name, place in struct.places.items():
            array = self._arrays[name]
            self._numbers[place.address : place.address + 2] = array.ctypes.data, len(array)
        #: The address of the addresses and lengths.
        self.address = int(self._numbers.ctypes.data)

    def as_base(self, struct: TablesType) -> TablesView:
        """The same view for rules that take a base: the numbers are shared, not looked up again.

        Quickstart makes one with every window that ran out of room: 3 % of its time.
        """
        seen = copy.copy(self)
        seen.struct = struct
        return seen


@register_model(TablesType)
class _TablesModel(models.OpaqueModel):  # type: ignore[misc]
    """A pointer to the numbers."""


@typeof_impl.register(TablesView)  # type: ignore[untyped-decorator]
def _typeof(view: TablesView, _context: Any) -> TablesType:
    return view.struct


@unbox(TablesType)  # type: ignore[untyped-decorator]
def _unbox(_struct: TablesType, view: Any, context: Any) -> NativeValue:
    address = context.pyapi.object_getattr_string(view, "address")
    pointer = context.pyapi.long_as_voidptr(address)
    context.pyapi.decref(address)
    return NativeValue(pointer)


@infer_getattr
class _TablesAttribute(AttributeTemplate):  # type: ignore[misc]
    key = TablesType

    def generic_resolve(self, struct: TablesType, name: str) -> Any:
        place = struct.places.get(name)
        return None if place is None else place.table


@lower_cast(TablesType, TablesType)  # type: ignore[untyped-decorator]
def _as_base(_context: Any, _builder: Any, _struct: Any, _base: Any, view: Any) -> Any:
    """The same numbers: a table has one place in a class and in all that derive from it."""
    return view


@lower_getattr_generic(TablesType)  # type: ignore[untyped-decorator]
def _table_of(_context: Any, builder: Any, struct: TablesType, view: Any, name: str) -> Any:
    """The place of a table's address and length among the numbers."""
    numbers = builder.bitcast(view, _NUMBER.as_pointer())
    place = builder.gep(numbers, [_NUMBER(struct.places[name].address)])
    return builder.bitcast(place, cgutils.voidptr_t)


class TableType(types.Type):  # type: ignore[misc]  # Numba has no types
    """The Numba type of one table: a pointer to the address and the length of its array.

    A record of it is two instructions away, where Numba's array is a struct of seven numbers for
    LLVM to take apart again. What else is asked of a table is asked of the array made of it.
    """

    def __init__(self, array: Any) -> None:
        self.array, self.dtype = array, array.dtype
        super().__init__(name=f"table of {array.dtype}")

    def can_convert_to(self, typingctx: Any, other: Any) -> Any:
        """Whether a rule that takes the other can have this: an array of these records."""
        del typingctx
        return Conversion.safe if other == self.array else None


@register_model(TableType)
class _TableModel(models.OpaqueModel):  # type: ignore[misc]
    """A pointer to the address; the length stands behind it."""


class _OfTable(AbstractTemplate):  # type: ignore[misc]
    """An operation on a table is that on the array made of it."""

    def generic(self, arguments: Any, keywords: Any) -> Any:
        arrays = [each.array if isinstance(each, TableType) else each for each in arguments]
        if arrays == [*arguments]:
            return None
        return self.context.resolve_function_type(self.key, tuple(arrays), keywords)


@infer_global(operator.getitem)
class _RecordOfTable(_OfTable):
    def generic(self, arguments: Any, keywords: Any) -> Any:
        table, *others = arguments
        is_place = isinstance(table, TableType) and isinstance(others[0], types.Integer)
        # Numba checks the bounds of arrays.
        if is_place and not BOUNDS_CHECKED:
            return typing.signature(table.dtype, table, types.int64)
        return super().generic(arguments, keywords)


@infer_global(operator.setitem)
class _SettingOfTable(_OfTable):
    def generic(self, arguments: Any, keywords: Any) -> Any:
        found = super().generic(arguments, keywords)
        return None if found is None else found.replace(args=(arguments[0], *found.args[1:]))


@lower_builtin(operator.setitem, TableType, types.Any, types.Any)  # type: ignore[untyped-decorator]
def _set_record(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    table, *others = signature.args
    of_array = signature.replace(args=(table.array, *others))
    array = context.cast(builder, arguments[0], table, table.array)
    implementation = context.get_function(operator.setitem, of_array)
    return implementation(builder, (array, *arguments[1:]))


for _operation in (len, enumerate, zip):
    infer_global(_operation)(_OfTable)


@infer
class _LoopOfTable(_OfTable):
    key = "getiter"


@lower_builtin(operator.getitem, TableType, types.int64)  # type: ignore[untyped-decorator]
def _record_at(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The pointer to a record; a place below 0 counts from the end, as in an array."""
    table, place = arguments
    is_negative = builder.icmp_signed("<", place, _NUMBER(0))
    from_end = builder.add(place, _number(builder, table, 1))
    at = builder.select(is_negative, from_end, place)
    record = context.get_value_type(signature.return_type)
    return builder.gep(_address(builder, table, record), [at])


def address_of_table(builder: Any, table: Any) -> Any:
    """The code for the address of a table's first record."""
    return _address(builder, table, cgutils.voidptr_t)


def _address(builder: Any, table: Any, pointer: Any) -> Any:
    place = builder.bitcast(table, pointer.as_pointer())
    return _unchanging(builder, builder.load(place))


def _number(builder: Any, table: Any, number: int) -> Any:
    numbers = builder.bitcast(table, _NUMBER.as_pointer())
    return _unchanging(builder, builder.load(builder.gep(numbers, [_NUMBER(number)])))


def _unchanging(builder: Any, loaded: Any) -> Any:
    """A number of a view; it never changes during a call, so it is read once."""
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


@lower_cast(TableType, types.Array)  # type: ignore[untyped-decorator]
def _array_of(context: Any, builder: Any, table: TableType, array_type: Any, value: Any) -> Any:
    """The table as an array, made of its address and its length."""
    array = context.make_array(array_type)(context, builder)
    itemsize = context.get_constant(types.intp, table.dtype.size)
    populate_array(
        array,
        data=_address(builder, value, array.data.type),
        shape=cgutils.pack_array(builder, [_number(builder, value, 1)]),
        strides=cgutils.pack_array(builder, [itemsize]),
        itemsize=itemsize,
        meminfo=None,
        parent=None,
    )
    return array._getvalue()  # noqa: SLF001 - how Numba's own arrays are made
