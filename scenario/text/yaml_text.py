"""A mapping as YAML that is easy to read and to change.

A value that fits in a line is written in one, so that a topic of thirty partitions is thirty lines.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import yaml

from tidegauge.scenario.text.errors import Path, one_line

_WIDTH = 100
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,99}", re.ASCII)
_TEXT_TAG = "tag:yaml.org,2002:str"


class Remarks:
    """Comments at the ends of lines, by the path of a line's value."""

    def __init__(self, texts: Mapping[Path, str] | None = None) -> None:
        self._texts = dict(texts or {})
        #: The parents of such paths, which therefore cannot be one line.
        self.above = {path[:-1] for path in self._texts}

    def behind(self, path: Path) -> str:
        """The end of a line."""
        return f"  # {self._texts[path]}" if path in self._texts else ""


def comment_lines(text: str, indent: str = "") -> list[str]:
    """A comment; its lines but the first are indented."""
    return textwrap.wrap(
        one_line(text),
        _WIDTH,
        initial_indent="# ",
        subsequent_indent=f"# {indent}",
        break_long_words=False,
        break_on_hyphens=False,
    )


def yaml_lines(part: Mapping[Any, Any], path: Path, remarks: Remarks) -> Iterator[str]:
    """The lines of a mapping in block style, without the indentation of its own place."""
    for key, value in part.items():
        below = (*path, key)
        head = f"{_scalar(key)}:"
        inline = f"{head} {in_line(value)}{remarks.behind(below)}"
        if isinstance(value, str) and _is_prose(value):
            yield f"{head} |"
            yield from (f"  {line}".rstrip() for line in value.splitlines())
        elif _stays_in_line(value, below, remarks) and len(inline) + 2 * len(path) <= _WIDTH:
            yield inline
        elif isinstance(value, dict):
            yield head
            yield from (f"  {line}" for line in yaml_lines(value, below, remarks))
        elif isinstance(value, list):
            yield head
            for place, item in enumerate(value):
                yield from (f"  {line}" for line in _item(item, (*below, place), remarks))
        else:
            yield inline


def _item(item: Any, path: Path, remarks: Remarks) -> Iterator[str]:
    inline = f"- {in_line(item)}"
    if not isinstance(item, dict) or len(inline) + 2 * len(path) <= _WIDTH:
        yield inline
        return
    for place, line in enumerate(yaml_lines(item, path, remarks)):
        yield f"{'  ' if place else '- '}{line}"


def _stays_in_line(value: Any, path: Path, remarks: Remarks) -> bool:
    """Whether it may be written in one line, if it fits."""
    if not isinstance(value, dict | list) or not value:
        return True
    # Of parts that are mappings by kind, such as topics, each has lines of its own.
    is_of_parts = isinstance(value, list) and isinstance(value[0], dict)
    return not is_of_parts and len(path) > 1 and path not in remarks.above


def _is_prose(text: str) -> bool:
    """Whether a text of several lines can be a literal block, which keeps them."""
    lines = text.splitlines()
    is_plain = all(line.isprintable() and line == line.rstrip() for line in lines)
    ends_once = text.endswith("\n") and not text.endswith("\n\n")
    return len(lines) > 1 and ends_once and is_plain and not text.startswith((" ", "\n"))


def in_line(value: Any) -> str:
    """A value in one line, in flow style."""
    if isinstance(value, dict):
        pairs = (f"{_scalar(key)}: {in_line(each)}" for key, each in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(in_line, value))}]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return _text(value) if isinstance(value, str) else repr(value)


@cache
def _text(text: str) -> str:
    """A text, in quotes where YAML would read it as another type."""
    resolver = yaml.resolver.Resolver()
    if _PLAIN.fullmatch(text):
        tag = resolver.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        if tag == _TEXT_TAG:
            return text
    quoted: str = yaml.safe_dump(text, default_style='"', allow_unicode=True, width=2**31)
    return quoted.strip()
