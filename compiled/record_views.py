"""One record seen as another over the same memory: how an event or a row gets the type of its kind.

A table holds records of one layout: a head that all kinds share, and room behind it. Each kind has
a class that derives from the head and declares what the room holds for it. :func:`view_as` gives
the record that type. It costs nothing when compiled: a pointer stays a pointer.

:func:`blank` sets the fields behind the head to their defaults (``records.py``), and
:func:`made_by` makes a function of a rule that takes a free record: it returns the record as one of
the class that its last argument names, blank.

In compiled code a class is a constant, and so is its ``KIND``, the number of its kind.
"""

from __future__ import annotations

import ctypes
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.errors import NumbaExperimentalFeatureWarning
from numba.core.imputils import lower_constant
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    lower_builtin,
    lower_cast,
    lower_getattr_generic,
    models,
    register_model,
    type_callable,
    typeof_impl,
)

from tidegauge.compiled.records import R, Record, RecordClass, body_of, dtype_of, nested_in

Function = TypeVar("Function", bound=Callable[..., Any])


def view_as(record: Record, record_class: type[R]) -> R:
    """The record as one of another class, over the same memory.

    The caller sees to it that the memory is large enough, and holds what the class says.
    """
    address = cast("Any", record).__array_interface__["data"][0]
    layout = dtype_of(record_class)
    memory = (ctypes.c_char * layout.itemsize).from_address(address)
    return cast("R", np.ndarray((), layout, buffer=cast("Any", memory))[()])


def blank(record: Record, record_class: type[R]) -> R:
    """The record as one of another class, with the fields behind the head set to their defaults."""
    seen = view_as(record, record_class)
    for name, default in body_of(record_class).items():
        nested = nested_in(record_class, name)
        if nested is None:
            setattr(seen, name, default)
        else:
            blank(getattr(seen, name), nested)
    return seen


def made_by(maker: Callable[..., Any]) -> Callable[[Function], Function]:
    """Have compiled code call ``maker``, a rule, with the ``KIND`` of the class that is asked for.

    The plain function does the same in Python.
    """

    def decorate(function: Function) -> Function:
        @type_callable(function)  # type: ignore[untyped-decorator]
        def _typed(context: Any) -> Any:
            def typer(*arguments: Any) -> Any:
                *others, record_class = arguments
                _call_of(context, maker, others)
                return record_class.record

            cast("Any", typer).__signature__ = inspect.signature(function)
            return typer

        @lower_builtin(function, types.VarArg(types.Any))  # type: ignore[untyped-decorator]
        def _lowered(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            record_class = signature.args[-1].record_class
            callee, call = _call_of(context.typing_context, maker, signature.args[:-1])
            implementation = context.get_function(callee, call)
            values = [
                context.cast(builder, value, given, taken)
                for value, given, taken in zip(
                    arguments[:-1], signature.args[:-1], call.args[:-1], strict=True
                )
            ]
            kind = context.get_constant(types.int64, int(record_class.KIND))
            pointer = implementation(builder, (*values, kind))
            context.add_linking_libs(getattr(implementation, "libs", ()))
            return _blank(context, builder, pointer, record_class)

        return function

    return decorate


def _call_of(typing_context: Any, maker: Any, others: Any) -> tuple[Any, Any]:
    callee = typing_context.resolve_value_type(maker)
    return callee, callee.get_call_type(typing_context, (*others, types.int64), {})


class RecordClassType(types.Dummy):  # type: ignore[misc]  # Numba has no types
    """The Numba type of a class of records, where it stands as an argument."""

    def __init__(self, record_class: type[Record]) -> None:
        self.record_class = record_class
        self.record = numba.from_dtype(dtype_of(record_class))
        super().__init__(name=f"class {record_class.__name__} of {self.record}")


@register_model(RecordClassType)
class _RecordClassModel(models.OpaqueModel):  # type: ignore[misc]
    """Nothing: all is known when code is compiled."""


@typeof_impl.register(RecordClass)  # type: ignore[untyped-decorator]
def _typeof(record_class: Any, _context: Any) -> RecordClassType:
    return RecordClassType(record_class)


@lower_constant(RecordClassType)  # type: ignore[untyped-decorator]
def _constant(context: Any, _builder: Any, _type: Any, _value: Any) -> Any:
    return context.get_dummy_value()


@infer_getattr
class _RecordClassAttribute(AttributeTemplate):  # type: ignore[misc]
    key = RecordClassType

    def generic_resolve(self, _record_class: RecordClassType, name: str) -> Any:
        return types.int64 if name == "KIND" else None


@lower_getattr_generic(RecordClassType)  # type: ignore[untyped-decorator]
def _attribute_of(context: Any, _builder: Any, record_class: Any, _value: Any, name: str) -> Any:
    return context.get_constant(types.int64, int(getattr(record_class.record_class, name)))


for _function in (view_as, blank):

    @type_callable(_function)  # type: ignore[untyped-decorator]
    def _type_of_view(_context: Any) -> Any:
        return lambda _record, record_class: record_class.record


@lower_builtin(view_as, types.Record, RecordClassType)  # type: ignore[untyped-decorator]
def _lower_view_as(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))


@lower_builtin(blank, types.Record, RecordClassType)  # type: ignore[untyped-decorator]
def _lower_blank(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _blank(context, builder, arguments[0], signature.args[1].record_class)


@lower_cast(types.Record, types.Record)  # type: ignore[untyped-decorator]
def _as_base(context: Any, builder: Any, _record: Any, base: Any, pointer: Any) -> Any:
    """The record as one of a class with its first fields, for a rule that takes the head alone."""
    return builder.bitcast(pointer, context.get_value_type(base))


# Numba converts records so already, but warns that it might do it in another way one day.
warnings.filterwarnings("ignore", ".*considered a subtype", NumbaExperimentalFeatureWarning)


def _blank(context: Any, builder: Any, pointer: Any, record_class: type[Record]) -> Any:
    """The pointer as one to the class's record, and the code that sets its body."""
    record_type = numba.from_dtype(dtype_of(record_class))
    seen = builder.bitcast(pointer, context.get_value_type(record_type))
    for name, default in body_of(record_class).items():
        field = record_type.typeof(name)
        place = cgutils.get_record_member(
            builder, seen, record_type.offset(name), context.get_data_type(field)
        )
        nested = nested_in(record_class, name)
        if nested is not None:
            _blank(context, builder, place, nested)
            continue
        context.pack_value(builder, field, context.get_constant(field, default), place, align=1)
    return seen
