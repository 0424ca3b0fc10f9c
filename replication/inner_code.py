"""How inner rules become a part of the rules that call them: two compilers for Numba.

Numba compiles each function to machine code together with everything it calls, and links
that whole into each caller. :class:`InnerCompiler` stops after lowering: the code of an
inner rule stays as it is, and :class:`RuleCompiler` links the code of all inner rules that
a rule reaches, each once, before it optimises the whole and makes machine code of it.

This leans on what Numba does inside (``CPUCodeLibrary``, ``BaseNativeLowering``); versions
from 0.61 to 0.68 do it alike.
"""

# ruff: noqa: SLF001 - Numba has no public door to how it puts code together

from __future__ import annotations

import ctypes
from typing import Any

from numba import _dynfunc
from numba.core import typed_passes
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower


def _link_inner(library: Any) -> None:
    """Add to a library's links those of the inner rules among them, and so on."""
    found = list(library._linking_libraries)
    for linked in found:
        if getattr(linked, "is_inner", False):
            found.extend(each for each in linked._linking_libraries if each not in found)
    library._linking_libraries[:] = found


class _LowerRule(Lower):  # type: ignore[misc]  # Numba has no types
    def lower(self) -> None:
        super().lower()
        _link_inner(self.library)


@register_pass(mutates_CFG=True, analysis_only=False)
class _RuleLowering(typed_passes.NativeLowering):  # type: ignore[misc]
    _name = "tidegauge_rule_lowering"

    @property
    def lowering_class(self) -> Any:
        return _LowerRule


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(typed_passes.NativeLowering):  # type: ignore[misc]
    _name = "tidegauge_inner_lowering"

    def run_pass(self, state: Any) -> bool:
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        library = state.library
        library.is_inner = True
        library._finalize_dynamic_globals()
        # Nothing is linked here, and no machine code made: the callers do that.
        library._finalized = True
        stand_in = _not_callable(lowered.fndesc, lowered.env, library)
        state.targetctx.insert_user_function(stand_in, lowered.fndesc, [library])
        state["cr"] = lowered._replace(cfunc=stand_in)
        return True


def _not_callable(fndesc: Any, env: Any, library: Any) -> Any:
    """What Numba knows an inner rule by; to call it from Python is a TypeError."""
    address = ctypes.cast(ctypes.pythonapi.PyErr_BadArgument, ctypes.c_void_p).value
    return _dynfunc.make_function(
        fndesc.lookup_module(),
        fndesc.qualname.split(".")[-1],
        f"inner rule {fndesc.qualname}",
        address,
        env,
        (library,),
    )


class _Compiler(CompilerBase):  # type: ignore[misc]
    lowering: Any

    def define_pipelines(self) -> list[Any]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        for place, (each, _) in enumerate(manager.passes):
            if each is typed_passes.NativeLowering:
                manager.passes[place] = (self.lowering, "native lowering")
        manager._finalized = False
        manager.finalize()
        return [manager]


class RuleCompiler(_Compiler):
    """Compiles a rule, with all inner rules that it reaches."""

    lowering = _RuleLowering


class InnerCompiler(_Compiler):
    """Compiles an inner rule up to the code that its callers take in."""

    lowering = _InnerLowering
