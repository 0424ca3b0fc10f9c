"""The store of compiled code: one file for each function, found by the sources of the code.

A folder stands for a module. Its name has a hash of the module's source and of all sources
that it imports from, directly or not, so that the code of a function is exchanged with its
callees'. Numba's own cache covers one file at a time, and returns stale code after a callee in
another file has changed. No path and no time of a file has a part in it: every
clone of the same sources finds the same code.

Several processes compile at once. Each claims a function before it compiles it, and a process
that needs the same one waits and reads the file.
"""

import fcntl
import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import binding  # type: ignore[import-untyped]  # it comes without types
from numba.core import config
from numba.core.registry import cpu_target

from tidegauge.compiled.codes import BOUNDS_CHECKED, cache_base
from tidegauge.compiled.records import IMPLEMENTED_IN

#: Compiled code is deleted this long after ``compile_all`` has made it or asked for it last.
KEPT_S = 14 * 24 * 3600


#: The code that the installed package brings along; a checkout has none.
SHIPPED = Path(__file__).with_name("shipped")

#: What x86-64-v3 has, the processors of the last ten years: code for them is what a package brings
#: along, and rules of integers are as fast in it as in code for one processor.
_BASELINE = ("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt")


def _compile_for_baseline() -> None:
    """Have Numba compile for x86-64-v3 where the processor has that, else for the processor."""
    has = binding.get_host_cpu_features()
    if all(has.get(feature) for feature in _BASELINE) and "NUMBA_CPU_NAME" not in os.environ:
        os.environ["NUMBA_CPU_NAME"] = "x86-64-v3"
        os.environ["NUMBA_CPU_FEATURES"] = ",".join(f"+{feature}" for feature in _BASELINE)
        config.reload_config()


_compile_for_baseline()


def target() -> str:
    """The processor and the versions that code is made for."""
    triple, processor, _ = _compiler()
    versions = f"{_PYTHON}, Numba {numba.__version__}, NumPy {np.__version__}"
    return f"{triple}, {processor}, {versions}"


def shipped_target() -> str | None:
    """The :func:`target` of the code that the package brings along, if it does."""
    file = SHIPPED / "target"
    return file.read_text() if file.exists() else None


def ship(functions: Iterable[Callable[..., Any]], folder: Path) -> None:
    """Copy the kept machine code of rules, for a package to bring along."""
    for file in filter(None, (kept_file(function, "") for function in functions)):
        copy = folder / file.parent.parent.name / file.parent.name / file.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    (folder / "target").write_text(target())


def cache_folder() -> Path:
    """The folder of the code that this compiler makes with these flags for this processor."""
    return cache_base() / f"rules-{_digest_of_compiler()}"


def kept_file(function: Callable[..., Any], suffix: str) -> Path | None:
    """The file of a function's code; None for a function inside of another, which is not kept."""
    if "<" in function.__qualname__:
        return None
    name = f"{function.__qualname__}{suffix}"
    kept = folder_of(function.__module__)
    shipped = SHIPPED / kept.parent.name / kept.name / name
    return shipped if shipped.exists() else kept / name


def folder_of(module: str) -> Path:
    """The folder of the code of a module's functions."""
    return cache_folder() / f"{module}-{digest_of_sources(module)}"


def write_kept(file: Path, content: bytes) -> None:
    """Write a file so that readers see all of it or none."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f"{file.name}.{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(file)


@contextmanager
def claimed(file: Path, *, wait: bool = True) -> Iterator[bool]:
    """Claim the function of a file among all processes; whether it is claimed.

    A claim ends with its process at the latest. A process that waits for a claim while it
    holds others cannot wait in a circle, since no rule calls itself.

    Args:
        file: of the function.
        wait: until the process that has the claim releases it.
    """
    claims = _claims(file.parent.parent)
    place = int.from_bytes(hashlib.sha256(str(file).encode()).digest()[:6], "little")
    try:
        fcntl.lockf(claims, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, place)
    except BlockingIOError:
        yield False
        return
    try:
        yield True
    finally:
        fcntl.lockf(claims, fcntl.LOCK_UN, 1, place)


@cache
def _claims(folder: Path) -> int:
    """The file of claims, one byte for each function: open until the process ends.

    To close any handle of a file gives up all locks that the process has in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return os.open(folder / "claims", os.O_RDWR | os.O_CREAT, 0o644)


def forget_old_code(modules: Iterable[str]) -> None:
    """Delete the code of sources of long ago: each change of a source leaves a folder.

    Args:
        modules: those in use, whose folders count as used now.
    """
    folder = cache_folder()
    for used in (folder, *(folder_of(module) for module in modules)):
        if used.exists():
            os.utime(used)
    for other in (*folder.parent.glob("rules-*"), *folder.glob("*-*")):
        if time.time() - other.stat().st_mtime > KEPT_S:
            shutil.rmtree(other, ignore_errors=True)


#: Machine code knows the interpreter by its binary interface.
_PYTHON = sys.implementation.cache_tag


def _compiler() -> tuple[str, str, str]:
    """The platform, the processor and its features."""
    magic: tuple[str, str, str] = cpu_target.target_context.codegen().magic_tuple()
    return magic


@cache
def _digest_of_compiler() -> str:
    versions = (_PYTHON, numba.__version__, np.__version__, BOUNDS_CHECKED, _compiler())
    return hashlib.sha256(repr(versions).encode()).hexdigest()[:16]


@cache
def digest_of_sources(module: str) -> str:
    """A digest of the sources that a module's code is made of (:func:`sources_of`)."""
    digest = hashlib.sha256()
    for source in sorted(sources_of(module), key=lambda source: (source.name, _content(source))):
        digest.update(source.name.encode())
        digest.update(_content(source))
    return digest.hexdigest()[:16]


@cache
def _content(source: Path) -> bytes:
    return hashlib.sha256(source.read_bytes()).digest()


_IMPORT = re.compile(r"^from (tidegauge[\w.]*) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)


def sources_of(module: str) -> set[Path]:
    """The files that a module's code is made of: its own, and those of all it imports or calls."""
    files: set[Path] = set()
    seen, pending = {module}, [module]
    while pending:
        source = source_of(each := pending.pop())
        if source is not None:
            files.add(source)
            implementing = IMPLEMENTED_IN.get(each, set())
            for name in implementing:
                import_module(name)
            found = (_imported_by(source) | implementing) - seen
            seen |= found
            pending += found
    return files


@cache
def _imported_by(source: Path) -> frozenset[str]:
    """The names of modules, and of names that may be one, that a file imports from at its top."""
    names: set[str] = set()
    for imported in _IMPORT.finditer(source.read_text()):
        names.add(imported[1])
        names.update(
            f"{imported[1]}.{name}" for name in re.findall(r"\w+", imported[2] or imported[3])
        )
    return frozenset(names)


def source_of(module: str) -> Path | None:
    """The file of a module that is imported; None for a package, or for no module."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file) if file is not None and not file.endswith("__init__.py") else None
