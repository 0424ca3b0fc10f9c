"""Compile every rule that is not kept yet, with as many processes as there are processors.

Numba compiles in Python, so one process uses one processor. The workers go through the same list of
functions, callees before callers; each takes the next that no other has claimed, and reads the code
that others have made. The kernel of a thousand functions takes 79 s in one process that collects
garbage, and 63 s of processor time in two that do not, half a minute on two idle cores.
"""

import gc
import importlib
import os
import pkgutil
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from signal import SIGKILL
from tempfile import TemporaryFile
from types import ModuleType
from typing import Any, NamedTuple, cast

from llvmlite.binding import ffi  # type: ignore[import-untyped]  # it comes without types

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.compiled.inner_code import InnerCompiler, RuleCompiler
from tidegauge.compiled.kept_code import (
    SHIPPED,
    cache_folder,
    claimed,
    forget_old_code,
    kept_file,
    ship,
    source_of,
    sources_of,
)
from tidegauge.compiled.rules import (
    COMPILED,
    INNER_RULES,
    KERNEL_ROOMS,
    LARGE_RULES,
    RULES,
    RUN,
    InnerRule,
)
from tidegauge.compiled.signatures import signature_of

#: More processes than these wait for one another: a third of the time is linking the kernel.
_MOST_WORKERS = 8
#: The most functions that one process compiles sooner than a worker starts.
_WORTH_WORKERS = 20
#: How often the parent looks which functions are kept, for its caller's sake.
_LOOK_S = 1.0

#: Processor time of a function, in that of an inner rule (26 ms where all 1,877 took 83 s): machine
#: code of the fifty outermost rules took 42 % of the time, five sixths of it in ``LARGE_RULES``.
_RULE_COST = 6
_LARGE_RULE_COST = 90


class Compiled(NamedTuple):
    """The progress of a compilation."""

    functions: int  #: how many are compiled by now
    of: int  #: how many were to be compiled
    share: float  #: of the work that is done, by the usual time of each function, up to 1


#: Gets the progress every second, whether a function has been compiled in it or not.
Progress = Callable[[Compiled], None]


class CompilationError(TidegaugeError):
    """A process that compiled has failed; the message is the end of its output."""


class Compilation(NamedTuple):
    """The result of :func:`compile_all`."""

    rules: int  #: how many rules there are
    compiled: int  #: how many of them were not kept yet
    seconds: float  #: wall time
    folder: Path  #: where the compiled code lies


def compile_all(progress: Progress | None = None) -> Compilation:
    """Compile every rule that is not kept yet.

    Safe to call from several processes at once: they share the work.

    Raises:
        CompilationError: a worker has failed.
    """
    started = time.perf_counter()
    if not COMPILED:
        return Compilation(len(RULES), 0, 0.0, cache_folder())
    rules = _outermost()
    missing = _not_kept(rules)
    if missing:
        _compile_in_workers(progress)
        # Rules of modules that workers do not know: those of a script, or of a test.
        for dispatcher in _not_kept(rules):
            dispatcher.compile(signature_of(dispatcher))
    forget_old_code({function.__module__ for function in (*INNER_RULES, *RULES)})
    return Compilation(len(rules), len(missing), time.perf_counter() - started, cache_folder())


def ship_all() -> None:
    """Compile every rule, and put the code beside the sources, for the package to bring along.

    Rules that others call are shipped, too: Python may call them.
    """
    import_kernel()
    compile_all()
    for dispatcher in _not_kept(RULES):
        dispatcher.compile(signature_of(dispatcher))
    ship([dispatcher.py_func for dispatcher in RULES], SHIPPED)  # type: ignore[attr-defined]


def is_compiled() -> bool:
    """Whether the code of every rule is kept that no other rule calls."""
    return not _not_kept(_outermost())


def _outermost() -> list[Any]:
    """The rules that no other rule calls: machine code of others is made when Python calls them."""
    if not COMPILED:
        return []
    # By their places in memory: this is asked before each run, of ten thousand names.
    rules = {id(dispatcher) for dispatcher in RULES}
    called: set[int] = set()
    for dispatcher in (*INNER_RULES, *RULES):
        function = cast(Any, dispatcher).py_func
        names = function.__code__.co_names
        found = [function.__globals__.get(name) for name in names]
        modules = [each for each in found if type(each) is ModuleType]
        found += [vars(module).get(name) for module in modules for name in names]
        called.update(rules.intersection(map(id, found)))
    return [dispatcher for dispatcher in RULES if id(dispatcher) not in called]


def _not_kept(dispatchers: Sequence[Any]) -> list[Any]:
    files = [(dispatcher, _file_of(dispatcher)) for dispatcher in dispatchers]
    return [dispatcher for dispatcher, file in files if file is not None and not file.exists()]


def _file_of(function: Any) -> Path | None:
    compiler = InnerCompiler if isinstance(function, InnerRule) else RuleCompiler
    return kept_file(function.py_func, compiler.suffix)


def _compile_in_workers(progress: Progress | None) -> None:
    functions = _in_order()
    missing = _not_kept(functions)
    if len(missing) < _WORTH_WORKERS:
        return
    modules = list(dict.fromkeys(function.__module__ for function in functions))
    ours = [module for module in modules if module.startswith("tidegauge.")]
    # A file: a pipe would hold up a worker that prints more than fits into it.
    with (
        TemporaryFile("w+") as errors,
        subprocess.Popen(  # noqa: S603 - this module
            [sys.executable, "-m", __spec__.name, *ours],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        ) as workers,
    ):
        assert workers.stdout is not None
        try:
            # Only those still missing: to find all files took an eighth of a processor.
            costs = {file: _cost(each) for each in missing if (file := _file_of(each)) is not None}
            all_costs, looked = sum(costs.values()), 0.0
            pipe = workers.stdout.fileno()
            while True:
                has_come, _, _ = select.select([pipe], [], [], _LOOK_S)
                # A byte for each function, and the end when the last worker has ended.
                if has_come and not os.read(pipe, len(missing)):
                    break
                if progress is not None and time.monotonic() - looked >= _LOOK_S:
                    looked = time.monotonic()
                    costs = {file: cost for file, cost in costs.items() if not file.exists()}
                    share = 1 - sum(costs.values()) / all_costs
                    progress(Compiled(len(missing) - len(costs), len(missing), share))
        except BaseException:
            os.killpg(workers.pid, SIGKILL)
            raise
        if workers.wait() != 0:
            errors.seek(0)
            raise CompilationError(f"compiling the rules failed:\n{errors.read()[-2000:]}")


def _cost(function: Any) -> int:
    if isinstance(function, InnerRule):
        return 1
    return _LARGE_RULE_COST if function.__module__ in LARGE_RULES else _RULE_COST


def _in_order() -> list[Any]:
    """All functions, callees before callers where the order of definition has it so.

    First come the rules that take longest to link, each behind its callees: one process links it,
    and the others compile the rest in the meantime.
    """
    needed = [sources_of(module) for module in LARGE_RULES]

    def place(function: Any) -> tuple[int, int]:
        source = source_of(function.__module__)
        first = next((at for at, sources in enumerate(needed) if source in sources), len(needed))
        is_large = first < len(needed) and function.__module__ == LARGE_RULES[first]
        return first, 0 if function in inner else 1 if is_large else 2

    inner = set(INNER_RULES)
    return sorted([*INNER_RULES, *_outermost()], key=place)


def import_kernel() -> None:
    """Import all rules: those of the rooms, and the loop that joins them."""
    import_modules_of(KERNEL_ROOMS)
    importlib.import_module(RUN)


def import_modules_of(rooms: Iterable[str]) -> None:
    """Import every module of these rooms: a rule is known once its module is imported."""
    for room in rooms:
        package = find_spec(f"tidegauge.{room}")
        if package is None or package.submodule_search_locations is None:
            continue
        for module in pkgutil.walk_packages(
            package.submodule_search_locations, prefix=f"tidegauge.{room}."
        ):
            importlib.import_module(module.name)


def work(modules: Sequence[str]) -> None:
    """Compile functions of these modules that no other process has compiled or claimed.

    The workers are forks of one process that has imported everything: each import takes 1.5 s.

    Raises:
        CompilationError: a worker has failed, and has said why.
    """
    for module in modules:
        importlib.import_module(module)
    # Numba notes the begin and the end of every call of LLVM: 200,000 notes, for no one.
    ffi.lib._lock._cblist.clear()  # noqa: SLF001 - one has to have registered them to take them out
    # Collecting garbage took a tenth of the time, and nearly all objects stay.
    gc.collect()
    gc.freeze()
    gc.disable()
    others: list[int] = []
    for _ in range(1, min(os.cpu_count() or 1, _MOST_WORKERS)):
        forked = os.fork()
        if forked == 0:
            others.clear()
            break
        others.append(forked)
    for function in _in_order():
        file = _file_of(function)
        if file is None or file.exists():
            continue
        with claimed(file, wait=False) as is_ours:
            if is_ours:
                function.compile(signature_of(function))
                os.write(sys.stdout.fileno(), b".")
    statuses = [os.waitpid(each, 0)[1] for each in others]
    if any(statuses):
        raise CompilationError("another worker has failed")


if __name__ == "__main__":
    work(sys.argv[1:])
