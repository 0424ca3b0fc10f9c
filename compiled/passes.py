"""The way of a rule from its source to LLVM's code: those of Numba's passes that rules need.

Numba computes again after each pass where variables live, and opens the way for closures,
generators, literals, array expressions and parallel loops. Rules have none of them, and lives are
needed once. That was a fifth of the time of a compilation from nothing.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from numba.core import ir, typed_passes, types, untyped_passes
from numba.core.compiler import Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.ir_utils import build_definitions
from numba.core.registry import cpu_target
from numba.core.ssa import reconstruct_ssa
from numba.core.types.misc import unliteral

from tidegauge.compiled.lookups import FindLookups, LookupType
from tidegauge.compiled.signatures import TableType


class _RewriteRaises(untyped_passes.GenericRewrites):  # type: ignore[misc]  # Numba has no types
    """What an ``assert`` raises is a constant."""

    def run_pass(self, state: Any) -> bool:
        blocks = state.func_ir.blocks.values()
        return any(any(block.find_insts(ir.Raise)) for block in blocks) and super().run_pass(state)


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


#: Up to the types of all variables, and where each is used last.
_PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    FindLookups,
    _RewriteRaises,
    untyped_passes.InlineInlinables,
    _AssignOnce,
    typed_passes.NopythonTypeInference,
    _StripPhis,
    typed_passes.InlineOverloads,
    typed_passes.IRLegalization,
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

    def __eq__(self, other: object) -> bool:
        if isinstance(other, HashedFlags):
            return bool(self._values == other._values)
        return bool(super().__eq__(other))


def _remember_types_of_operations() -> None:
    """Have Numba type an operation on numbers once, not wherever it stands."""
    context = cpu_target.typing_context
    resolve = context.resolve_function_type
    known: dict[tuple[Any, tuple[Any, ...]], Any] = {}
    simple = (types.Number, types.Boolean, TableType, LookupType)

    def resolved(function: Any, arguments: Sequence[Any], keywords: Any) -> Any:
        if keywords or not _is_operation(function):
            return resolve(function, arguments, keywords)
        if not all(isinstance(each, simple) for each in arguments):
            return resolve(function, arguments, keywords)
        given = tuple(unliteral(each) for each in arguments)
        found = known.get((function, given))
        if found is None:
            found = known[function, given] = resolve(function, arguments, keywords)
        return found

    context.resolve_function_type = resolved


@cache
def _is_operation(function: Any) -> bool:
    return getattr(function, "__module__", None) == "_operator"


_remember_types_of_operations()
