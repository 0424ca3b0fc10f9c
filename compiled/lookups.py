"""Tuples of numbers or flags that rules look places up in: an array of constants in compiled code.

Numba takes a tuple apart wherever it is used, and asks for each place that the index may be: a
table of 90 errors made 3,000 lines of LLVM's code of one line of a rule.
"""

import operator
from typing import Any

import numpy as np
from llvmlite import ir as llvm  # type: ignore[import-untyped]  # it comes without types
from numba import types
from numba.core import cgutils, ir, typing
from numba.core.imputils import lower_constant
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin, models, register_model, typeof_impl

from tidegauge.compiled.codes import BOUNDS_CHECKED

#: A shorter tuple is as good.
_WORTH_LOOKUP = 2

_NUMBER = llvm.IntType(64)


class Lookup:
    """A tuple in the code of a rule that only looks places up in it."""

    def __init__(self, values: tuple[int, ...]) -> None:
        #: Whether it holds flags.
        self.of_flags = _are_flags(values)
        self.values = tuple(int(each) for each in values)


class FindLookups:
    """A pass of Numba's: rules see global tuples that they index as :class:`Lookup`."""

    _name = "tidegauge_lookups"

    def run_pass(self, state: Any) -> bool:
        """Exchange the tuples; where bounds are to be checked, they stay what Numba checks."""
        if BOUNDS_CHECKED:
            return False
        blocks = state.func_ir.blocks.values()
        assigned = [each for block in blocks for each in block.find_insts(ir.Assign)]
        indexed = {
            each.value.value.name
            for each in assigned
            if isinstance(each.value, ir.Expr) and each.value.op in {"getitem", "static_getitem"}
        }
        for each in assigned:
            named = each.value
            is_global = isinstance(named, ir.Global | ir.FreeVar)
            if is_global and each.target.name in indexed and _is_lookup(named.value):
                named.value = Lookup(named.value)
        return True


def _is_lookup(value: Any) -> bool:
    if not isinstance(value, tuple) or len(value) < _WORTH_LOOKUP:
        return False
    return _are_flags(value) or all(
        isinstance(each, int | np.integer) and not isinstance(each, bool) for each in value
    )


def _are_flags(values: tuple[Any, ...]) -> bool:
    return all(isinstance(each, bool | np.bool_) for each in values)


class LookupType(types.Dummy):  # type: ignore[misc]  # Numba has no types
    """The Numba type of a lookup: its values."""

    def __init__(self, lookup: Lookup) -> None:
        self.values = lookup.values
        self.found = types.boolean if lookup.of_flags else types.int64
        super().__init__(name=f"lookup of {self.found} in {self.values}")


@register_model(LookupType)
class _LookupModel(models.OpaqueModel):  # type: ignore[misc]
    """Nothing: all is known when code is compiled."""


@typeof_impl.register(Lookup)  # type: ignore[untyped-decorator]
def _typeof(lookup: Lookup, _context: Any) -> LookupType:
    return LookupType(lookup)


@lower_constant(LookupType)  # type: ignore[untyped-decorator]
def _constant(context: Any, _builder: Any, _type: Any, _value: Any) -> Any:
    return context.get_dummy_value()


@infer_global(operator.getitem)
class _Looking(AbstractTemplate):  # type: ignore[misc]
    def generic(self, arguments: Any, _keywords: Any) -> Any:
        lookup, place = arguments
        if isinstance(lookup, LookupType) and isinstance(place, types.Integer):
            return typing.signature(lookup.found, lookup, types.int64)
        return None


@lower_builtin(operator.getitem, LookupType, types.int64)  # type: ignore[untyped-decorator]
def _looked_up(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The value at a place; a place below 0 counts from the end, as in a tuple."""
    lookup, place = signature.args[0], arguments[1]
    value = context.get_value_type(lookup.found)
    values = llvm.ArrayType(value, len(lookup.values))(lookup.values)
    table = cgutils.global_constant(builder, "lookup", values)
    is_negative = builder.icmp_signed("<", place, _NUMBER(0))
    from_end = builder.add(place, _NUMBER(len(lookup.values)))
    at = builder.select(is_negative, from_end, place)
    return builder.load(builder.gep(table, [_NUMBER(0), at]))
