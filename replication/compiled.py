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

Compiled code is cached in a folder named after a hash of every source that can end up in
it. Numba's own key covers one file at a time: it would go on using a function whose
callee, in another file, has changed.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints

import numba
import numpy as np
from filelock import FileLock

from tidegauge.replication.records import Record, Records, dtype_of

COMPILED = os.environ.get("TIDEGAUGE_COMPILED", "1") != "0"
BOUNDS_CHECKED = os.environ.get("TIDEGAUGE_BOUNDS_CHECK", "0") == "1"

#: Rooms whose sources can end up in compiled code. All of them name the cache, since a
#: needless compilation is cheaper than a stale answer.
KERNEL_ROOMS = ("replication", "simulation", "controller", "actors")

Constant = TypeVar("Constant", int, bool)

#: How long compiled code is kept after it was last made or asked for by ``compile_all``.
KEPT_S = 14 * 24 * 3600

Function = TypeVar("Function", bound=Callable[..., Any])

#: Every rule in the order of its definition: a Numba dispatcher, or the plain function.
RULES: list[Callable[..., Any]] = []


def rule(function: Function) -> Function:
    """Compile a function over records and integers, and enter it in :data:`RULES`."""
    if not COMPILED:
        RULES.append(function)
        return function
    with _numba_cache_in(cache_folder()):
        dispatcher = numba.njit(
            cache=True,
            # Several groups of processes run in threads of one interpreter.
            nogil=True,
            # C's division: Python's would add a branch that raises to each one.
            error_model="numpy",
            boundscheck=BOUNDS_CHECKED,
        )(function)
    RULES.append(dispatcher)
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


def _forget_old_caches(folder: Path) -> None:
    """Delete what sources of long ago were compiled to: each change leaves a folder."""
    os.utime(folder)
    for other in folder.parent.glob("rules-*"):
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
    raise TypeError(f"a rule cannot take a parameter of type {annotation!r}")


def code(value: Constant) -> Constant:
    """A constant of the rules: a kind, a state, an error code, a flag.

    A typed number, since Numba compiles a function once more for each bare literal that
    another rule calls it with.
    """
    typed: dict[type, type] = {int: np.int64, bool: np.bool_}
    return cast(Constant, typed[type(value)](value))


def cache_folder() -> Path:
    """Where compiled code of exactly these sources, this compiler and these flags lies."""
    base = os.environ.get("TIDEGAUGE_CACHE_DIR")
    if base is None:
        home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        base = str(Path(home) / "tidegauge")
    return Path(base) / f"rules-{_sources_hash()}"


@cache
def _sources_hash() -> str:
    versions = (sys.version, numba.__version__, np.__version__, BOUNDS_CHECKED)
    digest = hashlib.sha256(repr(versions).encode())
    house = Path(__file__).resolve().parent.parent
    for room in KERNEL_ROOMS:
        for source in sorted((house / room).rglob("*.py")):
            digest.update(source.relative_to(house).as_posix().encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def _numba_cache_in(folder: Path) -> Iterator[None]:
    """Let Numba keep what is decorated inside in ``folder``; other code is not touched."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before
