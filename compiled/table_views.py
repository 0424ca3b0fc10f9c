"""How compiled code sees tables: a list of addresses and lengths.

Numba's own struct counts references to every array that is taken out of it, atomically, and
that was a third of the kernel's time. A view here is a plain array of numbers: for each
field where its array begins and how many records it has. Compiled code makes an array of
them that nobody counts. What keeps the memory alive is the Python object behind the view.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # it comes without types
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.arrayobj import populate_array


class TablesType(types.Type):  # type: ignore[misc]  # Numba has no types
    """The Numba type of a class of tables: names, and the type of the array under each."""

    def __init__(self, name: str, fields: Sequence[tuple[str, Any]]) -> None:
        self.fields = dict(fields)
        # Numba writes a type's name into each symbol, so all the fields are a hash in it.
        layout = hashlib.sha256(repr(fields).encode()).hexdigest()[:12]
        super().__init__(name=f"{name}_{layout}")


class TablesView:
    """Tables as they are handed to compiled code."""

    def __init__(self, struct: TablesType, arrays: Sequence[Any]) -> None:
        self.struct = struct
        # Kept: their memory must live as long as the view.
        self._arrays = [np.asarray(array) for array in arrays]
        numbers = [(array.ctypes.data, len(array)) for array in self._arrays]
        self._numbers = np.array(numbers, dtype=np.int64)
        #: Where addresses and lengths lie.
        self.address = int(self._numbers.ctypes.data)


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
        return struct.fields.get(name)


@lower_getattr_generic(TablesType)  # type: ignore[untyped-decorator]
def _array_of(context: Any, builder: Any, struct: TablesType, view: Any, name: str) -> Any:
    """The array under a name, made of its address and its length."""
    array_type = struct.fields[name]
    place = 2 * list(struct.fields).index(name)
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
