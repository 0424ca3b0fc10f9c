"""Input files as tools, editors and shells leave them: their lines, errors and notices."""

import codecs
import json
import re
import sys
from collections.abc import Iterable, Iterator
from glob import glob, has_magic
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.scenario.text.errors import one_line, path_text, problems_in

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


def files_at(place: Path, pattern: str = "*") -> list[Path]:
    """The files of a folder or of a pattern, by name; a file itself.

    Args:
        place: a file, a folder or a pattern.
        pattern: of the files of a folder.

    Raises:
        InputError: the folder has no such file, or the pattern matches none.
    """
    if place.is_dir():
        files, problem = [*place.glob(pattern)], f"has no file {pattern}"
    elif has_magic(str(place)) and not place.exists():
        files = [Path(match) for match in glob(str(place))]  # noqa: PTH207 - pathlib's takes no absolute pattern
        problem = "matches no file"
    else:
        return [place]
    files = sorted(file for file in files if file.is_file() and not file.name.startswith("."))
    if not files:
        raise input_error(place, None, problem)
    return files


def json_error(file: Path, line: int | None, error: Exception) -> InputError:
    """The error about JSON that Python refuses, or that is nested too deeply."""
    if isinstance(error, json.JSONDecodeError):
        return input_error(file, error.lineno, f"is not valid JSON: {error.msg}")
    reason = "is nested too deeply" if isinstance(error, RecursionError) else error
    return input_error(file, line, f"is not valid JSON: {reason}")


def form_error(file: Path, line: int | None, error: ValidationError, data: object) -> InputError:
    """The error about data of another form than that of their model, with the place in them."""
    problem = problems_in(error, data)[0]
    where = f"{path_text(problem.path)}: " if problem.path else ""
    return input_error(file, line, f"{where}{problem.message}")


def json_values(file: Path, text: str) -> Iterator[tuple[int, object]]:
    """The JSON objects and lists between other lines of a text, each with its first line.

    Each begins at the begin of a line; a tool may have indented it, in several lines.

    Raises:
        InputError: JSON is damaged.
    """
    lines = lines_of(text)
    text = "\n".join(lines)
    begins = ends = 0
    for number, line in enumerate(lines, start=1):
        if (line.startswith(("{", "[{")) or line == "[") and begins >= ends:
            try:
                data, ends = json.JSONDecoder().raw_decode(text, begins)
            except (RecursionError, ValueError) as error:
                raise json_error(file, number, error) from error
            yield number, data
        begins += len(line) + 1


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
    return text_in(read_bytes(file))


def text_in(content: bytes) -> str:
    """The text in the bytes of a file, as :func:`read_text` has it."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", errors="replace")
    return content.decode("utf-8-sig", errors="replace")


def lines_of(text: str) -> list[str]:
    """The lines of a text, without line ends."""
    return _LINE_END.split(text)


#: The subjects of notices, in the order of output.
SUBJECTS = (
    *("input", "times", "brokers", "controllers", "partitions", "logs", "settings", "release"),
    *("workload", "faults", "steps"),
)

#: Most items of a list in a sentence.
_MOST_NAMED = 8


class Notice(NamedTuple):
    """One notice to the user."""

    #: One of ``SUBJECTS``.
    subject: str
    text: str


class Notices(list[Notice]):
    """Notices, in the order of their discovery."""

    def add(self, subject: str, *texts: str) -> None:
        """Add notices about a subject."""
        self += [Notice(subject, text) for text in texts]

    def name(self, subject: str, text: str, items: Iterable[object]) -> None:
        """Add a notice that ends with the names of these items, if there are any."""
        if found := named(items):
            self.add(subject, f"{text}: {found}")


def in_order(notices: Iterable[Notice]) -> list[Notice]:
    """Each notice once, by subject, each in one printable line."""
    tidy = dict.fromkeys(Notice(notice.subject, one_line(notice.text)) for notice in notices)
    return sorted(tidy, key=lambda notice: SUBJECTS.index(notice.subject))


def named(items: Iterable[object]) -> str:
    """Items of a sentence: the first few, and the number of further ones."""
    texts = [str(item) for item in items]
    if len(texts) <= _MOST_NAMED:
        return ", ".join(texts)
    return f"{', '.join(texts[: _MOST_NAMED - 1])} and {len(texts) - _MOST_NAMED + 1} more"


def number_ranges(numbers: Iterable[int]) -> str:
    """Numbers in ascending order, consecutive ones as a range: 0, 4 to 9."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    texts = (f"{first}" if first == last else f"{first} to {last}" for first, last in ranges)
    return ", ".join(texts)
