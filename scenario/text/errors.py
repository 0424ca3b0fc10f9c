"""A number of things, in words.

The problems of a scenario, in words with which its author can correct them.

Every problem has a path in the file (``faults[1].between[0]``). Its text has the error and the
allowed values. Validators find problems one by one; they are reported in one
:class:`ScenarioError`, one line each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from tidegauge.compiled.errors import TidegaugeError

_MILLISECOND_US, _SECOND_US = 1_000, 1_000_000


def counted(number: int, noun: str) -> str:
    """A number with its noun: ``1 broker``, ``20,000 partitions``, ``2 leader epochs``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural(noun)}"


def plural(noun: str) -> str:
    """Several of it: partitions, batches, replicas."""
    return f"{noun}es" if noun.endswith(("tch", "s", "x")) else f"{noun}s"


def duration_text(duration_us: int) -> str:
    """A duration in a suitable unit: ``650 us``, ``6.18 ms``, ``12.35 s``."""
    if duration_us < _MILLISECOND_US:
        return f"{duration_us} us"
    if duration_us < _SECOND_US:
        return f"{duration_us / _MILLISECOND_US:.2f} ms"
    return f"{duration_us / _SECOND_US:.2f} s"


if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_MOST_PROBLEMS = 100
#: Length of the text about one problem, in characters.
_LONGEST = 1_000

#: Keys and indexes from the top of the file.
Path = tuple[str | int, ...]


class ScenarioError(TidegaugeError):
    """A scenario that cannot be run; one line for each problem."""


class Problem(NamedTuple):
    """One problem and its path."""

    path: Path
    message: str


class ProblemsError(ValueError):
    """Raised by a validator that can point at something below its own place in the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(f"{path_text(path)}: {text}" for path, text in problems))
        self.problems = problems


def scenario_error(
    source: str, problems: Iterable[Problem], line_of: Callable[[Path], int | None]
) -> ScenarioError:
    """The error to raise: for each problem the file, the line if known, the path."""
    lines = []
    found = list(problems)
    for path, message in found[:_MOST_PROBLEMS]:
        line = line_of(path)
        place = source if line is None else f"{source}:{line}"
        lines.append(f"{place}: {one_line(f'{path_text(path)}: {message}' if path else message)}")
    if len(found) > _MOST_PROBLEMS:
        lines.append(f"{source}: and {counted(len(found) - _MOST_PROBLEMS, 'problem')} more")
    return ScenarioError("\n".join(lines))


def one_line(text: str) -> str:
    """A text of which any part may come from a file, fit for a line on any terminal."""
    shown = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text[: _LONGEST + 1]
    )
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."


def path_text(path: Path) -> str:
    """A path in text form; keys that are numbers or have dots are in brackets."""
    text = ""
    for item in path:
        if not str(item).isidentifier():
            text += f"[{item}]"
        else:
            text += f".{item}" if text else str(item)
    return text


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The known name that is nearest to an unknown one; all known names if none is near."""
    names = sorted(known)
    nearest = get_close_matches(str(name), names, n=1)
    return f"did you mean {nearest[0]}?" if nearest else f"known names: {', '.join(names)}"


def problems_in(error: ValidationError, data: object) -> list[Problem]:
    """The problems that Pydantic found in this data."""
    problems: list[Problem] = []
    for details in error.errors(include_url=False):
        # A default that depends on another field, of which there is a problem of its own.
        if details["type"] == "default_factory_not_called":
            continue
        path = _path_in(data, details["loc"], is_missing=details["type"] == "missing")
        cause = details.get("ctx", {}).get("error")
        if isinstance(cause, ProblemsError):
            problems += [Problem((*path, *below), message) for below, message in cause.problems]
        else:
            problems.append(Problem(path, _message(details, cause)))
    # A list whose items are refused is too short only because of that.
    short = [
        _path_in(data, each["loc"], is_missing=False)
        for each in error.errors(include_url=False)
        if each["type"] == "too_short"
    ]
    above = {path[:end] for path, _ in problems for end in range(len(path))}
    left = (each for each in problems if each.path not in short or each.path not in above)
    # A value that stands for two fields has each problem twice.
    return list(dict.fromkeys(left))


def _path_in(data: Any, location: Path, *, is_missing: bool) -> Path:
    """The part of Pydantic's location that is in the data; the kind of a union is not in it."""
    path: list[str | int] = []
    for place, item in enumerate(location):
        if _has(data, item):
            data = data[item]
        elif not (is_missing and place == len(location) - 1):
            continue
        path.append(item)
    return tuple(path)


def _has(data: Any, item: str | int) -> bool:
    if isinstance(data, list | tuple):
        return isinstance(item, int) and item < len(data)
    return isinstance(data, Mapping) and item in data


_MESSAGES = {
    "missing": "is missing",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
    "dict_type": "must be a mapping",
    "tuple_type": "must be a list in brackets",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "string_type": "must be text; YAML reads it as another type unless it is in quotes",
}


def _message(details: ErrorDetails, cause: object) -> str:
    if cause is not None:
        return str(cause)
    message = _MESSAGES.get(details["type"])
    if message is None:
        message = details["msg"].replace("Input should be", "must be")
        message = message.replace("Tuple should have", "must have")
        message = message.replace(" after validation", "")
    found = details["input"]
    says_what_it_found = details["type"] in {"missing", "too_short", "too_long"}
    if says_what_it_found or (isinstance(found, Mapping | list | tuple) and found):
        return message
    return f"{message}, not {json.dumps(found, default=str)}"
