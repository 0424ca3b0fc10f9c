"""Commands and code as README and docs/ show them, with the output that they are shown with.

In a fenced block a command begins a line, with ``$ `` before it if its output follows. Lines of
output may be left out where ``...`` stands for them, or anywhere if the command is followed by
``(shortened)``; then a line may end in ``...``, too.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^```")
_SHORTENED = "(shortened)"


class Documented(NamedTuple):
    """A command of ours in a page."""

    page: str
    #: Of the page, from 1.
    line: int
    #: The heading that it stands below.
    section: str
    #: As a shell takes them, without ``tidegauge``.
    words: tuple[str, ...]
    #: None: the page does not show it.
    output: tuple[str, ...] | None
    is_shortened: bool

    @property
    def place(self) -> str:
        """For people: page, line, command."""
        return f"{self.page}:{self.line} tidegauge {shlex.join(self.words)}"


def pages() -> list[Path]:
    """README and all pages of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def documented(page: Path) -> Iterator[Documented]:
    """All commands ``tidegauge ...`` in the fenced blocks of a page, in its order."""
    section, fenced = "", False
    lines = page.read_text(encoding="utf-8").splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and line.startswith("#"):
            section = line.lstrip("# ")
        elif fenced and line.startswith(("tidegauge ", "$ tidegauge ")):
            begin = number
            while line.endswith("\\"):
                line = line[:-1] + lines[number]
                number += 1
            output = None
            if line.startswith("$ "):
                end = next(at for at in range(number, len(lines)) if _ends_output(lines[at]))
                output, number = tuple(lines[number:end]), end
            is_shortened = _SHORTENED in line
            command = line.removeprefix("$ ").replace(_SHORTENED, "")
            words = tuple(shlex.split(command, comments=True))[1:]
            yield Documented(page.name, begin, section, words, output, is_shortened)


def _ends_output(line: str) -> bool:
    return bool(_FENCE.match(line)) or line.startswith("$ ")


def missing_lines(shown: Documented, printed: str) -> list[str]:
    """Lines of a shown output that a command has not printed, in this order; all is well if none.

    If nothing may be left out, lines that are printed and not shown count, too.
    """
    assert shown.output is not None
    wanted = [line.rstrip() for line in shown.output if line.strip()]
    actual = [line.rstrip() for line in printed.splitlines() if line.strip()]
    if not shown.is_shortened and "..." not in wanted:
        return [] if wanted == actual else [f"shown {wanted}, printed {actual}"]
    missing, at = [], 0
    for line in wanted:
        if line == "...":
            continue
        found = next((place for place in range(at, len(actual)) if _is(line, actual[place])), None)
        if found is None:
            missing.append(line)
        else:
            at = found + 1
    return missing


def _is(shown: str, printed: str) -> bool:
    """Whether a printed line is the one shown; each ``...`` in it stands for anything."""
    if shown == printed:
        return True
    parts = [re.escape(part) for part in re.split(r" *\.\.\.", shown)]
    return len(parts) > 1 and re.fullmatch(".*".join(parts), printed) is not None


class Code(NamedTuple):
    """A block of code in a page."""

    #: The heading that it stands below.
    section: str
    #: As the fence has it, such as ``python``.
    language: str
    text: str


_HEADING_OR_CODE = re.compile(
    r"^#+ (?P<section>[^\n]*)$|^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


def code_in(page: Path, *languages: str) -> Iterator[Code]:
    """The blocks of a page in these languages, in its order."""
    section = ""
    for found in _HEADING_OR_CODE.finditer(page.read_text(encoding="utf-8")):
        section = found["section"] or section
        if found["language"] in languages:
            yield Code(section, found["language"], found["text"])


def value_of(source: str, names: dict[str, Any], file: str) -> Any:
    """The value of the last line of some documented Python, which is executed."""
    *before, last = ast.parse(source).body
    exec(compile(ast.Module(before, []), file, "exec"), names)  # noqa: S102
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), file, "eval"), names)  # noqa: S307
