"""Records in compiled code: one seen as another over the same memory, and its class as a constant.

A class is a constant, and so is its ``KIND``, the number of its kind. A view costs nothing: a
pointer stays a pointer.
"""

import inspect
import warnings
from collections.abc import Collection
from typing import Any

import numba
from numba import types
from numba.core import cgutils
from numba.core.errors import NumbaExperimentalFeatureWarning
from numba.core.imputils import lower_constant
from numba.core.typing import arraydecl
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
from numba.np import arrayobj

from tidegauge.compiled.records import (
    Record,
    RecordClass,
    RecordMethod,
    blank,
    body_of,
    dtype_of,
    nested_in,
    view_as,
)


def member_of(context: Any, builder: Any, pointer: Any, record: Any, name: str) -> tuple[Any, Any]:
    """The address and the Numba type of a field."""
    field = record.typeof(name)
    data = context.get_data_type(field)
    return cgutils.get_record_member(builder, pointer, record.offset(name), data), field


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

    def generic_resolve(self, record_class: RecordClassType, name: str) -> Any:
        if name == "KIND":
            return types.int64
        method = inspect.getattr_static(record_class.record_class, name, None)
        is_method = isinstance(method, RecordMethod)
        return types.BoundFunction(method.template, record_class) if is_method else None


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
    return set_body(context, builder, arguments[0], signature.args[1].record_class)


def _widened(_template: Any, record: types.Record, name: str) -> Any:
    """A number of fewer bits is read as one of 64: rules know no others."""
    declared = record.typeof(name)
    return types.int64 if _is_narrow(declared) else declared


def _is_narrow(declared: Any) -> bool:
    return (
        isinstance(declared, types.Integer)
        and declared.signed
        and declared.bitwidth < types.int64.bitwidth
    )


# Numba's own template for all records: another one beside it would not be asked.
arraydecl.RecordAttribute.generic_resolve = _widened


@lower_getattr_generic(types.Record)  # type: ignore[untyped-decorator]
def _read_field(context: Any, builder: Any, record: Any, value: Any, name: str) -> Any:
    read = arrayobj.record_getattr(context, builder, record, value, name)
    declared = record.typeof(name)
    return context.cast(builder, read, declared, types.int64) if _is_narrow(declared) else read


@lower_cast(types.Record, types.Record)  # type: ignore[untyped-decorator]
def _as_base(context: Any, builder: Any, _record: Any, base: Any, pointer: Any) -> Any:
    """The record as one of a class with its first fields, for a rule that takes the head alone."""
    return builder.bitcast(pointer, context.get_value_type(base))


# Numba converts records so already, but warns that it might do it in another way one day.
warnings.filterwarnings("ignore", ".*considered a subtype", NumbaExperimentalFeatureWarning)


def set_body(
    context: Any,
    builder: Any,
    pointer: Any,
    record_class: type[Record],
    given: Collection[str] = (),
) -> Any:
    """The pointer as one to a class's record, and the code that sets its body but for ``given``."""
    record_type = numba.from_dtype(dtype_of(record_class))
    seen = builder.bitcast(pointer, context.get_value_type(record_type))
    for name, default in body_of(record_class).items():
        if name in given:
            continue
        place, field = member_of(context, builder, seen, record_type, name)
        nested = nested_in(record_class, name)
        if nested is not None:
            set_body(context, builder, place, nested)
            continue
        context.pack_value(builder, field, context.get_constant(field, default), place, align=1)
    return seen
