"""Parts of a Markdown page: tables, code, anchors, and the line that ends a generated page."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

#: In a table, such as for the unit of a name.
NONE = "none"

_COMMAND = "python -m tidegauge.laboratory.manual"
_CODE_IN_DOCSTRING = re.compile(r"``(.+?)``", re.DOTALL)
#: An option of the command line outside of code.
_BARE_OPTION = re.compile(r"(`[^`]*`)|(?<![\w-])(--[a-z][a-z-]*)")


def prose(name: str) -> str:
    """The prose of a page or of a section, which is written by hand; "" if it has none."""
    return _all_prose().get(name, "")


@cache
def _all_prose() -> dict[str, str]:
    """The parts of ``prose.md``: each begins with its name in a comment."""
    text = Path(__file__).with_name("prose.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^<!-- (.+) -->\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def closing() -> str:
    """The last line of a generated page."""
    return f"This page is generated: `make docs` (`{_COMMAND}`) writes it.\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; its cells are Markdown, and stand in one line each."""
    lines = [_row(head), "|" + "---|" * len(head), *map(_row, rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_cell(each) for each in cells)} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """Text as code within a line."""
    return f"`{text}`"


def code_block(text: str, language: str = "") -> str:
    """Text as a block of code."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def of_docstring(text: str) -> str:
    """Prose of a docstring: its code has two quotes, and code in a page has one."""
    return _CODE_IN_DOCSTRING.sub(lambda found: code(" ".join(found[1].split())), text)


def with_options_as_code(text: str) -> str:
    """Prose of the command line, with its bare options set as code."""
    return _BARE_OPTION.sub(lambda found: found[1] or code(found[2]), text)


def anchor(heading: str) -> str:
    """The anchor that GitHub gives to a heading."""
    plain = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return plain.replace(" ", "-")
