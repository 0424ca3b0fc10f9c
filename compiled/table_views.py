"""How compiled code sees tables: a list of addresses and lengths.

Numba's own struct counts references to every array that is taken out of it, atomically, and
that was a third of the kernel's time. A view here is a plain array of numbers: for each
table where its array begins and how many records it has. Compiled code makes an array of
them that nobody counts. What keeps the memory alive is the Python object behind the view.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # it comes without types
from numba import types
from numba.core import cgutils
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_cast,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.arrayobj import populate_array

#: The most tables that one class declares.
PART_ROOM = 64


class Place(NamedTuple):
    """One table within a view."""

    part: int
    #: Its place within the part.
    number: int
    #: Numba's type of the array.
    array: Any

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
        #: Where addresses and lengths lie.
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
        return None if place is None else place.array


@lower_cast(TablesType, TablesType)  # type: ignore[untyped-decorator]
def _as_base(_context: Any, _builder: Any, _struct: Any, _base: Any, view: Any) -> Any:
    """The same numbers: a table has one place in a class and in all that derive from it."""
    return view


@lower_getattr_generic(TablesType)  # type: ignore[untyped-decorator]
def _array_of(context: Any, builder: Any, struct: TablesType, view: Any, name: str) -> Any:
    """The array under a name, made of its address and its length."""
    array_type, place = struct.places[name].array, struct.places[name].address
    numbers = builder.bitcast(view, ir.IntType(64).as_pointer())
    array = context.make_array(array_type)(context, builder)
    itemsize = context.get_constant(types.intp, array_type.dtype.size)
    populate_array(
        array,
        data=builder.inttoptr(_number(builder, numbers, place), array.data.type),
        shape=cgutils.pack_array(builder, [_number(builder, numbers, place + 1)]),
        strides=cgutils.pack_array(builder, [itemsize]),
        itemsize=itemsize,
        meminfo=None,
        parent=None,
    )
    return array._getvalue()  # noqa: SLF001 - how Numba's own arrays are made


def _number(builder: Any, numbers: Any, place: int) -> Any:
    """One of the numbers; it never changes during a call, so it is read once."""
    loaded = builder.load(builder.gep(numbers, [ir.Constant(ir.IntType(64), place)]))
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded
