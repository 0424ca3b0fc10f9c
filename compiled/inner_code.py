"""Inner rules become a part of the rules that call them: two compilers for Numba.

Numba compiles each function to machine code together with everything it calls, and links
that whole into each caller. :class:`InnerCompiler` stops after lowering: the code of an
inner rule stays as it is, and :class:`RuleCompiler` links the code of all inner rules that
a rule reaches, each once, before it optimises the whole and makes machine code of it.

Both keep their results (``kept_code.py``): machine code of a rule, LLVM's bitcode of an inner rule
with the names of its callees. So a change of a handler compiles that handler and links the kernel,
and several processes share the work of a first compilation. Kept machine code is loaded without
Numba's compiler, which takes longer to prepare than a small run.

This relies on Numba's internals (``CPUCodeLibrary``, ``BaseNativeLowering``), which are alike in
versions from 0.61 to 0.68.
"""

# ruff: noqa: SLF001 - Numba has no public door to how it puts code together

import ctypes
import hashlib
import itertools
import os
import pickle
import sys
import uuid
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from llvmlite import binding  # type: ignore[import-untyped]  # it comes without types
from numba import _dynfunc
from numba.core import typed_passes, typing
from numba.core.bytecode import FunctionIdentity
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, compile_result
from numba.core.compiler_machinery import register_pass
from numba.core.environment import Environment
from numba.core.funcdesc import FunctionDescriptor
from numba.core.runtime import _nrt_python, rtsys
from numba.core.serialize import dumps

from tidegauge.compiled.kept_code import claimed, kept_file, write_kept
from tidegauge.compiled.lowering import LowerRule, insert_inner_rule
from tidegauge.compiled.passes import HashedFlags, Passes
from tidegauge.compiled.signatures import signature_of


def _count_from_own_number() -> None:
    """Number functions from a number that no other process has.

    Numba names symbols by the number, and code of several processes is linked together.
    """
    FunctionIdentity._unique_ids = itertools.count(uuid.uuid4().int >> 72)


_count_from_own_number()
os.register_at_fork(after_in_child=_count_from_own_number)


#: The number of modules that are linked into one at each level of a tree.
_LINKED_AT_ONCE = 8


def _link_inner(library: Any) -> None:
    """Add to a library's links those of the inner rules among them, and so on."""
    found = list(dict.fromkeys(library._linking_libraries))
    seen = set(found)
    for linked in found:
        if _is_inner(linked):
            new = [each for each in linked._linking_libraries if each not in seen]
            found.extend(new)
            seen.update(new)
    inner = [each for each in found if _is_inner(each)]
    others = [each for each in found if not _is_inner(each)]
    library._linking_libraries[:] = [*_linked(library, inner), *others]


def _is_inner(library: Any) -> bool:
    return getattr(library, "inner_rule", None) is not None


def _linked(library: Any, inner: list[Any]) -> list[Any]:
    """The code of inner rules as one library, to be linked into another: none if there are none.

    To link a module takes as long as the module is large into which it is linked. So they are
    linked as a tree: 0.3 s instead of 2.2 s for the kernel of 1,100 inner rules.
    """
    # A rule that was compiled and loaded has two libraries, with one symbol.
    by_rule = {each.inner_rule: each for each in inner}
    modules = [each._final_module.clone() for each in by_rule.values()]
    while len(modules) > 1:
        for first in range(0, len(modules), _LINKED_AT_ONCE):
            for other in modules[first + 1 : first + _LINKED_AT_ONCE]:
                modules[first].link_in(other)
        modules = modules[::_LINKED_AT_ONCE]
    whole = []
    for module in modules:
        linked = library.codegen.create_library(f"inner rules of {library.name}")
        linked._final_module = module
        linked._finalized = True
        whole.append(linked)
    return whole


class _Library(JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    """The code of a rule, optimised without Numba's passes for references, which rules have not."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        builder = self._codegen._pass_builder()
        passes = builder.getFunctionPassManager()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        # With less inlining doors are compiled in 0.8 of the time, and the loop takes 1.15 of it.
        options = binding.create_pipeline_tuning_options(speed_level=3)
        builder = binding.create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)


class _LowerWhole(LowerRule):
    def lower(self) -> None:
        super().lower()
        _link_inner(self.library)


@register_pass(mutates_CFG=True, analysis_only=False)
class _RuleLowering(typed_passes.NativeLowering):  # type: ignore[misc]
    _name = "tidegauge_rule_lowering"

    @property
    def lowering_class(self) -> Any:
        return _LowerWhole


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(typed_passes.NativeLowering):  # type: ignore[misc]
    _name = "tidegauge_inner_lowering"

    @property
    def lowering_class(self) -> Any:
        return LowerRule

    def run_pass(self, state: Any) -> bool:
        state.flags.no_compile = True
        # The number stands in the symbol by which callers know the function, whichever process
        # compiled them.
        identity = state.func_ir.func_id
        identity.unique_id = _number_of(identity)
        super().run_pass(state)
        lowered = state["cr"]
        library = state.library
        library._finalize_dynamic_globals()
        _stands_in_for(library, identity.func)
        stand_in = _not_callable(lowered.fndesc, lowered.env, library)
        insert_inner_rule(state.targetctx, stand_in, lowered.fndesc, library)
        state["cr"] = lowered._replace(cfunc=stand_in)
        return True


def _number_of(identity: Any) -> int:
    digest = hashlib.sha256(f"{identity.modname}.{identity.func_qualname}".encode()).digest()
    return int.from_bytes(digest[:7], "little")


def _stands_in_for(library: Any, function: Callable[..., Any]) -> None:
    """Mark a library as the code of an inner rule: callers link it, no machine code is made."""
    library.inner_rule = function
    library._finalized = True


def _not_callable(fndesc: Any, env: Any, library: Any) -> Any:
    """Numba's object for an inner rule; to call it from Python is a TypeError."""
    address = ctypes.cast(ctypes.pythonapi.PyErr_BadArgument, ctypes.c_void_p).value
    return _dynfunc.make_function(
        fndesc.lookup_module(),
        fndesc.qualname.split(".")[-1],
        f"inner rule {fndesc.qualname}",
        address,
        env,
        (library,),
    )


class Compiler(CompilerBase):  # type: ignore[misc]
    """Compiles a function unless its code is kept, and keeps it."""

    lowering: Any
    #: The end of the name of the file, since a rule has code in both forms.
    suffix: str

    def __init__(
        self,
        typing_context: Any,
        target: Any,
        library: Any,
        arguments: Sequence[Any],
        return_type: Any,
        flags: Any,
        names: Any,
    ) -> None:
        self.target, self.arguments = target, arguments
        # Not before something is compiled: Numba imports all that it has code for.
        prepare, given = super().__init__, (typing_context, target, library, arguments)
        self._prepare = partial(prepare, *given, return_type, HashedFlags(flags), names)

    def define_pipelines(self) -> list[Any]:
        """The one pipeline of a rule."""
        codegen = self.state.targetctx.codegen()
        self.state.library = _Library(codegen, self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        return [Passes(self.lowering)]

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """The code of a function: read, or made and kept."""
        file = kept_file(func, self.suffix)
        # A function has one file: for the form that its annotations name.
        if file is None or tuple(self.arguments) != signature_of(func):
            return self.compiled(func)
        if file.exists():
            return self.result_of(func, file.read_bytes())
        with claimed(file):
            if file.exists():
                return self.result_of(func, file.read_bytes())
            result = self.compiled(func)
            content = self.content_of(result)
            if content is not None:
                write_kept(file, content)
            return result

    def compiled(self, func: Callable[..., Any]) -> Any:
        """The code of a function, made by Numba."""
        self._prepare()
        return super().compile_extra(func)

    @abstractmethod
    def content_of(self, result: Any) -> bytes | None:
        """The kept form of a compiled function; None if it cannot be kept."""

    @abstractmethod
    def result_of(self, func: Callable[..., Any], content: bytes) -> Any:
        """The compiled function, from its kept form."""


class _Names(NamedTuple):
    """The description of a function's code: its symbols, and the type of its result."""

    return_type: Any
    mangled_name: str
    unique_name: str
    env_name: str

    def description(self, func: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Numba's description."""
        return FunctionDescriptor(
            native=True,
            modname=func.__module__,
            qualname=func.__qualname__,
            unique_name=self.unique_name,
            doc="",
            typemap=None,
            restype=self.return_type,
            calltypes=None,
            args=tuple(func.__code__.co_varnames[: func.__code__.co_argcount]),
            kws=(),
            mangler=lambda *_args, **_kws: self.mangled_name,
            argtypes=arguments,
            env_name=self.env_name,
        )


def _names_of(result: Any) -> _Names:
    described = result.fndesc
    return _Names(
        result.signature.return_type,
        described.mangled_name,
        described.unique_name,
        described.env_name,
    )


class _RuleCode(NamedTuple):
    """A rule as it is kept."""

    machine_code: bytes
    names: tuple[Any, ...]
    environment: Any
    #: The environments of code that is a part of it.
    environments: tuple[Any, ...]


class RuleCompiler(Compiler):
    """Compiles a rule, with all inner rules that it reaches."""

    lowering, suffix = _RuleLowering, ""

    def content_of(self, result: Any) -> bytes | None:
        """Machine code alone: rules that call this one take in its form as an inner rule."""
        library = result.library
        if library.has_dynamic_globals:
            return None
        _, _, (machine_code, _) = library.serialize_using_object_code()
        environments = tuple(result._find_referenced_environments())
        code = _RuleCode(machine_code, _names_of(result), result.environment, environments)
        content: bytes = dumps(tuple(code))
        return content

    def result_of(self, func: Callable[..., Any], content: bytes) -> Any:
        """The rule, ready to be called; nothing of it is there to be compiled into others."""
        _enter_runtime()
        code = _RuleCode(*pickle.loads(content))  # noqa: S301 - our own file
        described = _Names(*code.names).description(func, self.arguments)
        symbols = (described.llvm_func_name, described.llvm_cpython_wrapper_name)
        codegen = self.target.codegen()
        library = _loaded(codegen, func.__name__, code.machine_code, symbols)
        for each in code.environments:
            codegen.set_env(each.env_name, each)
        return compile_result(
            typing_context=self.target.typing_context,
            target_context=self.target,
            library=library,
            fndesc=described,
            entry_point=self.target.get_executable(library, described, code.environment),
            signature=typing.signature(described.restype, *self.arguments),
            objectmode=False,
            lifted=(),
            typing_error=None,
        )


@cache
def _enter_runtime() -> None:
    """Tell LLVM the addresses of Numba's functions that machine code calls."""
    for name, address in _nrt_python.c_helpers.items():
        binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def _loaded(codegen: Any, name: str, machine_code: bytes, symbols: Iterable[str]) -> Any:
    """A library of machine code that has these symbols, as Numba loads it, without its bitcode."""
    library = codegen.create_library(name)
    library.enable_object_caching()
    library._set_compiled_object(machine_code)
    library._finalize_final_module()
    codegen._engine._defined_symbols.update(symbols)
    return library


class _InnerCode(NamedTuple):
    """An inner rule as it is kept."""

    bitcode: bytes
    #: Inner rules that it calls: module and name.
    calls: tuple[tuple[str, str], ...]
    #: Other code that it calls, which Numba made for it: name and bitcode.
    links: tuple[tuple[str, bytes], ...]
    names: tuple[Any, ...]


class InnerCompiler(Compiler):
    """Compiles an inner rule up to the code that its callers take in."""

    lowering, suffix = _InnerLowering, ".inner"

    def content_of(self, result: Any) -> bytes | None:
        """Bitcode of this one alone, and of its links."""
        library = result.library
        linked = [each for each in library._linking_libraries if each is not rtsys.library]
        inner = [each for each in linked if _is_inner(each)]
        files = [kept_file(each.inner_rule, self.suffix) for each in inner]
        if library.has_dynamic_globals or not all(files):
            return None
        code = _InnerCode(
            library._final_module.as_bitcode(),
            tuple((each.inner_rule.__module__, each.inner_rule.__name__) for each in inner),
            tuple(
                (each.name, each._get_module_for_linking().as_bitcode())
                for each in linked
                if each not in inner
            ),
            _names_of(result),
        )
        content: bytes = dumps(tuple(code))
        return content

    def result_of(self, func: Callable[..., Any], content: bytes) -> Any:
        """The inner rule, ready to be linked; those that it calls have been made by then."""
        self._prepare()
        target = self.state.targetctx
        code = _InnerCode(*pickle.loads(content))  # noqa: S301 - our own file
        library = _library(target, func.__name__, code.bitcode)
        library.add_linking_library(rtsys.library)
        for module, name in code.calls:
            callee = getattr(sys.modules[module], name).inner.dispatcher
            signature = signature_of(callee)
            callee.compile(signature)
            library.add_linking_library(callee.overloads[signature].library)
        for name, bitcode in code.links:
            library.add_linking_library(_library(target, name, bitcode))
        _stands_in_for(library, func)
        described = _Names(*code.names).description(func, self.arguments)
        result = compile_result(
            typing_context=self.state.typingctx,
            target_context=target,
            library=library,
            fndesc=described,
            entry_point=_not_callable(described, Environment.from_fndesc(described), library),
            signature=typing.signature(described.restype, *self.arguments),
            objectmode=False,
            lifted=(),
            typing_error=None,
        )
        insert_inner_rule(target, result.entry_point, described, library)
        return result


class InlinedCompiler(InnerCompiler):
    """Compiles a function whose code goes into its callers, for its types: nothing is kept."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._prepare()

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """The code of a function, which no one calls."""
        return CompilerBase.compile_extra(self, func)


def _library(target: Any, name: str, bitcode: bytes) -> Any:
    """A library of functions that are linked into others."""
    library = target.codegen().create_library(name)
    library._final_module = binding.parse_bitcode(bitcode)
    library._finalized = True
    return library
