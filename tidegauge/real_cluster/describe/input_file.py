"""Input files as tools, editors and shells leave them: their lines, and their problems."""

from __future__ import annotations

import codecs
import re
import sys
from pathlib import Path

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.scenario.text.errors import one_line

#: Instead of a file.
STANDARD_INPUT = Path("-")

_MOST_BYTES = 64 * 2**20
# Only line ends of editors, so that line numbers are those of an editor.
_LINE_END = re.compile(r"\r*\n|\r")


class InputError(TidegaugeError):
    """Input that cannot become a scenario; one line that names the place."""


def input_error(file: Path, line: int | None, message: str) -> InputError:
    """The error to raise: the file, the line if known, the problem."""
    place = file_text(file) if line is None else f"{file_text(file)}:{line}"
    return InputError(one_line(f"{place}: {message}"))


def file_text(file: Path) -> str:
    """The name of a file in messages."""
    return "standard input" if file == STANDARD_INPUT else str(file)


def read_bytes(file: Path) -> bytes:
    """The content of a file; an ``InputError`` if it cannot be read or is far too large."""
    try:
        if file == STANDARD_INPUT:
            content = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with file.open("rb") as stream:
                content = stream.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise input_error(file, None, f"cannot be read: {reason}") from error
    if len(content) > _MOST_BYTES:
        raise input_error(file, None, f"is larger than {_MOST_BYTES >> 20} MiB")
    return content


def read_text(file: Path) -> str:
    """The text of a file in UTF-8, or in UTF-16 as PowerShell writes the output of a tool.

    A byte that is not text becomes a replacement character: most often it is in a skipped line; any
    other line with it cannot be read.
    """
    content = read_bytes(file)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", errors="replace")
    return content.decode("utf-8-sig", errors="replace")


def lines_of(text: str) -> list[str]:
    """The lines of a text, without line ends."""
    return _LINE_END.split(text)
