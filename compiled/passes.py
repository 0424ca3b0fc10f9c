"""The way of a rule from its source to LLVM's code: those of Numba's passes that rules need.

Numba computes again after each pass where variables live, and opens the way for closures,
generators, literals, array expressions and parallel loops. Rules have none of them, and nothing
asks where variables live. That was a fifth of the time of a compilation from nothing.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from numba.core import interpreter, ir, typed_passes, types, untyped_passes
from numba.core.compiler import Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.ir_utils import build_definitions
from numba.core.registry import cpu_target
from numba.core.ssa import reconstruct_ssa
from numba.core.types.misc import unliteral

from tidegauge.compiled.lookups import FindLookups, LookupType
from tidegauge.compiled.signatures import TablesType, TableType


class _RewriteRaises(untyped_passes.GenericRewrites):  # type: ignore[misc]  # Numba has no types
    """What an ``assert`` raises is a constant."""

    def run_pass(self, state: Any) -> bool:
        blocks = state.func_ir.blocks.values()
        return any(any(block.find_insts(ir.Raise)) for block in blocks) and super().run_pass(state)


class _Interpreter(interpreter.Interpreter):  # type: ignore[misc]
    """Reads bytecode; looks for shapes that take a rare instruction only where there is one."""

    def post_process(self, peepholes: Any, func_ir: Any) -> Any:
        is_rare = any(each.opname in _RARE for each in self.bytecode)
        return super().post_process(peepholes if is_rare else [], func_ir)


_RARE = {
    *("BEFORE_WITH", "SETUP_WITH", "PUSH_EXC_INFO", "SETUP_FINALLY", "CALL_FUNCTION_EX"),
    *("LIST_EXTEND", "LIST_TO_TUPLE", "DICT_UPDATE", "DICT_MERGE", "MAP_ADD", "CALL_INTRINSIC_1"),
}


class _Translate(untyped_passes.TranslateByteCode):  # type: ignore[misc]
    def run_pass(self, state: Any) -> bool:
        state["func_ir"] = _Interpreter(state["func_id"]).interpret(state["bc"])
        return True


class _InlineOverloads(typed_passes.InlineOverloads):  # type: ignore[misc]
    """Looks at each call of a function that calls something to be inlined."""

    def run_pass(self, state: Any) -> bool:
        return any(map(_is_inlined, {*state.typemap.values()})) and super().run_pass(state)


@cache
def _is_inlined(function: Any) -> bool:
    templates = getattr(function, "templates", ()) if isinstance(function, types.Function) else ()
    inlined = [getattr(each, "_inline", None) for each in templates]
    return any(each is not None and not each.is_never_inline for each in inlined)


class _AssignOnce(untyped_passes.ReconstructSSA):  # type: ignore[misc]
    def run_pass(self, state: Any) -> bool:
        state.func_ir = reconstruct_ssa(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)  # noqa: SLF001 - as Numba does
        return True


class _StripPhis(typed_passes.PreLowerStripPhis):  # type: ignore[misc]
    def run_pass(self, state: Any) -> bool:
        state.func_ir = self._strip_phi_nodes(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)  # noqa: SLF001 - as Numba does
        return True


#: Up to the types of all variables.
_PASSES = (
    _Translate,
    untyped_passes.FixupArgs,
    FindLookups,
    _RewriteRaises,
    _AssignOnce,
    typed_passes.NopythonTypeInference,
    _StripPhis,
    _InlineOverloads,
)


class Passes:
    """Numba's manager of passes, without its checks of each."""

    pipeline_name = "rule"

    def __init__(self, lowering: Callable[[], Any]) -> None:
        self._passes = (*_PASSES, lowering, typed_passes.NoPythonBackend)
        self.exec_times: dict[str, Any] = {}

    def run(self, state: Any) -> None:
        """Run all passes."""
        with global_compiler_lock:
            for each in self._passes:
                each().run_pass(state)


class HashedFlags(Flags):  # type: ignore[misc]
    """Flags that no pass changes: Numba asks for their hash at every call that it types."""

    def __hash__(self) -> int:
        return hash(frozenset(self._values))

    def get_mangle_string(self) -> str:
        """Nothing: all rules have the same flags, and Numba would write them into each symbol."""
        return ""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, HashedFlags):
            return bool(self._values == other._values)
        return bool(super().__eq__(other))


# Numba tries all declarations of an operation, some of them by compiling, raises an error for each
# that does not fit, and does it again wherever the operation stands, as often as it goes through a
# function. The same types give the same, so Numba is asked once: a tenth of the time of a
# compilation from nothing.


def _remember_operations(function: Any) -> None:
    resolve = function.get_call_type
    known: dict[tuple[Any, ...], Any] = {}
    simple = (types.Number, types.Boolean, TableType, LookupType)

    def remembered(self: Any, context: Any, arguments: Any, keywords: Any) -> Any:
        is_simple = not keywords and all(isinstance(each, simple) for each in arguments)
        if not is_simple or not _is_operation(self.typing_key):
            return resolve(self, context, arguments, keywords)
        given = tuple(unliteral(each) for each in arguments)
        key = self, *(each._code for each in given)  # noqa: SLF001 - Numba's number of a type
        found = known.get(key)
        if found is None:
            found = known[key] = resolve(self, context, given, keywords)
        return found

    function.get_call_type = remembered


def _remember_calls_of_rules(context: Any) -> None:
    resolve = context.resolve_function_type
    known: dict[tuple[Any, ...], Any] = {}

    def remembered(function: Any, arguments: Any, keywords: Any) -> Any:
        if isinstance(function, types.Function) and _is_operation(function.typing_key):
            # Numba would first look whether the operation has an attribute `__call__`.
            return function.get_call_type(context, arguments, keywords)
        if not isinstance(function, types.Dispatcher) or not hasattr(function.dispatcher, "inner"):
            return resolve(function, arguments, keywords)
        named = ((name, each._code) for name, each in keywords.items())  # noqa: SLF001 - as above
        key = function, *(each._code for each in arguments), *named  # noqa: SLF001 - as above
        found = known.get(key)
        if found is None:
            found = known[key] = resolve(function, arguments, keywords)
        return found

    context.resolve_function_type = remembered


def _remember_fields(context: Any) -> None:
    resolve = context.resolve_getattr
    known: dict[tuple[int, str], Any] = {}

    def remembered(of: Any, name: str) -> Any:
        is_known: bool = isinstance(of, types.Record | TablesType)
        if not is_known:
            return resolve(of, name)
        key = of._code, name  # noqa: SLF001 - as above
        if key not in known:
            known[key] = resolve(of, name)
        return known[key]

    context.resolve_getattr = remembered


@cache
def _is_operation(function: Any) -> bool:
    return function in {bool, min, max} or getattr(function, "__module__", None) == "_operator"


_remember_operations(types.Function)
_remember_calls_of_rules(cpu_target.typing_context)
_remember_fields(cpu_target.typing_context)
