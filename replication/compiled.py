"""One decorator for every rule: compiled by Numba, or plain Python for debugging.

``@rule`` marks a function over records (``records.py``) and integers. By default it
becomes machine code; with ``TIDEGAUGE_COMPILED=0`` the same source runs as plain Python,
so that a debugger can step through it. Both give the same results, which the tests check.

Three environment variables, read once at import:

=========================== ===========================================================
``TIDEGAUGE_COMPILED=0``      run the rules as plain Python
``TIDEGAUGE_BOUNDS_CHECK=1``  compile with array bounds checked (slower, its own cache)
``TIDEGAUGE_CACHE_DIR``       where compiled code is kept, else ``$XDG_CACHE_HOME/tidegauge``
=========================== ===========================================================

Compiled code is cached in one folder per source file, named after a hash of that file and
of all files that it imports from, directly or not. Numba's own key covers one file at a
time: it would go on using a function whose callee, in another file, has changed.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar, cast, get_args, get_origin, get_type_hints

import numba
import numpy as np
from filelock import FileLock

from tidegauge.replication import inner_code
from tidegauge.replication.codes import code as code  # noqa: PLC0414 - rules import it from here
from tidegauge.replication.records import Record, Records, dtype_of
from tidegauge.replication.table_views import TablesType, TablesView

COMPILED = os.environ.get("TIDEGAUGE_COMPILED", "1") != "0"
BOUNDS_CHECKED = os.environ.get("TIDEGAUGE_BOUNDS_CHECK", "0") == "1"

#: Rooms in which there are rules. The loop that calls them lies in ``tidegauge.kernel``.
KERNEL_ROOMS = ("replication", "simulation", "controller", "actors")

#: How long compiled code is kept after it was last made or asked for by ``compile_all``.
KEPT_S = 14 * 24 * 3600

Function = TypeVar("Function", bound=Callable[..., Any])

#: Every rule in the order of its definition: a Numba dispatcher, or the plain function.
RULES: list[Callable[..., Any]] = []

#: Dispatchers of functions that only rules call.
INNER_RULES: list[Callable[..., Any]] = []


def rule(function: Function) -> Function:
    """Compile a function over records and integers, and enter it in :data:`RULES`."""
    if not COMPILED:
        RULES.append(function)
        return function
    with _numba_cache_in(cache_folder() / _folder_of(function.__module__)):
        dispatcher = numba.njit(
            cache=True,
            # Several groups of processes run in threads of one interpreter.
            nogil=True,
            # C's division: Python's would add a branch that raises to each one.
            error_model="numpy",
            boundscheck=BOUNDS_CHECKED,
            pipeline_class=inner_code.RuleCompiler,
        )(function)
    RULES.append(dispatcher)
    return cast(Function, dispatcher)


class Tables:
    """Arrays of records that rules take as one argument, under names.

    A class derived from this declares ``name: Records[SomeRecord]`` for each. Plain rules use
    the instance itself, compiled ones its :attr:`view` (``table_views.py``), which shares the
    arrays' memory: what either writes the other sees. An array can be exchanged for a larger
    one between two calls, never inside one, so that a record that a rule holds stays where
    it is.
    """

    def __init__(self, **arrays: Any) -> None:
        names = list(get_type_hints(type(self)))
        if sorted(names) != sorted(arrays):
            raise TypeError(f"{type(self).__name__} has {names}, not {sorted(arrays)}")
        for name in names:
            setattr(self, name, arrays[name])

    @property
    def view(self) -> Self:
        """What is handed to a rule; made anew after an array was exchanged."""
        if not COMPILED:
            return self
        struct = _tables_type(cast("Any", type(self)))
        arrays = [getattr(self, name) for name in struct.fields]
        return cast("Self", TablesView(struct, arrays))


def inner_rule(function: Function) -> Function:
    """Compile a function that only rules call, as a part of them: not to be called from Python.

    Numba makes machine code of every function by itself, with all that it calls in it, so
    in a deep kernel the same code is optimised again at each level. An inner rule is typed
    and lowered once, and its code goes into the rules that use it: the kernel of 430
    functions compiles in a third of the time (DESIGN asks for less than a minute).
    """
    if not COMPILED:
        return function
    dispatcher = numba.njit(
        nogil=True,
        error_model="numpy",
        boundscheck=BOUNDS_CHECKED,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        pipeline_class=inner_code.InnerCompiler,
    )(function)
    INNER_RULES.append(dispatcher)
    return cast(Function, dispatcher)


class Compilation(NamedTuple):
    """What :func:`compile_all` did."""

    rules: int  #: how many rules there are
    compiled: int  #: how many of them were not in the cache yet
    seconds: float  #: wall time
    folder: Path  #: where the compiled code lies


def compile_all() -> Compilation:
    """Compile every rule that is not in the cache yet.

    Safe to call from several processes at once: the first compiles while the others wait.
    """
    started = time.perf_counter()
    if not COMPILED:
        return Compilation(len(RULES), 0, 0.0, cache_folder())
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    compiled = 0
    with FileLock(folder / "compiling.lock"):
        for dispatcher in RULES:
            signature = signature_of(dispatcher)
            dispatcher.compile(signature)  # type: ignore[attr-defined]  # Numba has no stubs
            compiled += sum(dispatcher.stats.cache_misses.values())  # type: ignore[attr-defined]
        _forget_old_caches(folder)
    return Compilation(len(RULES), compiled, time.perf_counter() - started, folder)


def is_compiled() -> bool:
    """Whether there is code of every module with rules in the cache."""
    folder = cache_folder()
    modules = {rule.__module__ for rule in RULES}
    return all(any((folder / _folder_of(module)).glob("**/*.nbi")) for module in modules)


def _forget_old_caches(folder: Path) -> None:
    """Delete what sources of long ago were compiled to: each change leaves a folder."""
    os.utime(folder)
    for module in {function.__module__ for function in RULES}:
        used = folder / _folder_of(module)
        if used.exists():
            os.utime(used)
    for other in (*folder.parent.glob("rules-*"), *folder.glob("*-*")):
        if time.time() - other.stat().st_mtime > KEPT_S:
            shutil.rmtree(other, ignore_errors=True)


def signature_of(dispatcher: Callable[..., Any]) -> tuple[Any, ...]:
    """The Numba types of a rule's parameters, read off its annotations."""
    function = getattr(dispatcher, "py_func", dispatcher)
    hints = get_type_hints(function)
    return tuple(_numba_type(hints[name]) for name in inspect.signature(function).parameters)


def _numba_type(annotation: Any) -> Any:
    if annotation is bool:
        return numba.boolean
    if annotation is int:
        return numba.int64
    if get_origin(annotation) is Records:
        (record,) = get_args(annotation)
        return numba.from_dtype(dtype_of(record))[::1]
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return numba.from_dtype(dtype_of(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Tables):
        return _tables_type(cast("Any", annotation))
    raise TypeError(f"a rule cannot take a parameter of type {annotation!r}")


@cache
def _tables_type(tables: Any) -> TablesType:
    hints = get_type_hints(tables)
    return TablesType(tables.__name__, [(name, _numba_type(hint)) for name, hint in hints.items()])


def wrapped(value: int) -> int:
    """The lowest 64 bits of an integer, signed: what compiled arithmetic leaves of it.

    Plain Python's integers do not wrap round, so arithmetic that relies on it says so. Its
    operands have to be plain integers too (``int(...)``), since numpy's complain.
    """
    return ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


@numba.extending.overload(wrapped, inline="always")
def _wrapped(value):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202, ARG001 - Numba's wish
    return lambda value: value


def cache_folder() -> Path:
    """Where the code lies that this compiler makes with these flags, a folder per module."""
    base = os.environ.get("TIDEGAUGE_CACHE_DIR")
    if base is None:
        home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        base = str(Path(home) / "tidegauge")
    versions = (sys.version, numba.__version__, np.__version__, BOUNDS_CHECKED)
    return Path(base) / f"rules-{hashlib.sha256(repr(versions).encode()).hexdigest()[:16]}"


@cache
def _folder_of(module: str) -> str:
    """Where in the cache folder the code of a module's rules lies."""
    digest = hashlib.sha256()
    for file in sorted(_sources_of(module)):
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return f"{module}-{digest.hexdigest()[:16]}"


_IMPORT = re.compile(r"^from (tidegauge[\w.]*) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)


@cache
def _sources_of(module: str) -> frozenset[Path]:
    """The file of a module and those of all it imports from at its top, directly or not."""
    source = _source_of(module)
    if source is None:
        return frozenset()
    files = {source}
    for imported in _IMPORT.finditer(source.read_text()):
        files |= _sources_of(imported[1])
        for name in re.findall(r"\w+", imported[2] or imported[3]):
            files |= _sources_of(f"{imported[1]}.{name}")
    return frozenset(files)


def _source_of(module: str) -> Path | None:
    """The file of a module that is imported; None for what is not one, or is a package."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file) if file is not None and not file.endswith("__init__.py") else None


@contextmanager
def _numba_cache_in(folder: Path) -> Iterator[None]:
    """Let Numba keep what is decorated inside in ``folder``; other code is not touched."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before
