"""Calls of a rule by its address: the callee is compiled, and optimised, apart from its caller.

All that a rule reaches becomes one piece of machine code. The loop reaches every handler of every
process; it calls the doors of the rooms by address, so that each room is one piece. Pieces are
compiled by several processors at once, a change of a room is no change of the others, and LLVM is
faster with five pieces than with one of their size: the whole compiles in 0.93 of the time.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from tidegauge.compiled.codes import COMPILED
from tidegauge.compiled.inner_code import InlinedCompiler
from tidegauge.compiled.signatures import signature_of

#: The requested rules, where they run as plain Python: their place is their address.
_PLAIN: list[Callable[..., Any]] = []


@cache
def address_of(rule: Callable[..., Any]) -> int:
    """The number by which :func:`call_rule` calls a rule; valid in this process.

    Args:
        rule: takes tables and a record, and returns nothing.
    """
    if not COMPILED:
        _PLAIN.append(rule)
        return len(_PLAIN) - 1
    dispatcher: Any = rule
    signature = signature_of(dispatcher)
    dispatcher.compile(signature)
    compiled = dispatcher.overloads[signature]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


def call_rule(address: int, tables: Any, record: Any) -> None:
    """Call the rule at an address, with its class of tables or one derived from it."""
    _PLAIN[address](tables, record)


@overload(call_rule, inline="always", jit_options={"pipeline_class": InlinedCompiler})
def _call_rule(address, tables, record):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202, ARG001 - Numba's wish
    return lambda address, tables, record: _call(address, tables, record)  # noqa: PLW0108 - Numba's wish, too


@intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
def _call(_context: Any, address: Any, tables: Any, record: Any) -> Any:
    """Tables and records are pointers, whatever their types, so the types of the caller will do."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, *taken = signature.args
        at, *given = arguments
        form = context.call_conv.get_function_type(types.none, taken)
        function = builder.inttoptr(at, form.as_pointer())
        status, _ = context.call_conv.call_function(builder, function, types.none, taken, given)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return types.none(address, tables, record), generate
