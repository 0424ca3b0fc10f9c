"""YAML that is easy to read and to change: a value that fits in a line is written in one.

So a topic of thirty partitions is thirty lines, which can be compared with a dump, and a list of a
thousand names fills its lines. A text of several lines keeps them.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import yaml

from tidegauge.scenario.text.errors import Path, one_line

_WIDTH = 100
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,99}", re.ASCII)
_TEXT_TAG = "tag:yaml.org,2002:str"


def comment(text: str, indent: str = "") -> list[str]:
    """A comment of as many lines as it needs; those after the first have this indentation."""
    return textwrap.wrap(
        one_line(text),
        _WIDTH,
        initial_indent="# ",
        subsequent_indent=f"# {indent}",
        break_long_words=False,
        break_on_hyphens=False,
    )


def lines_of(part: Mapping[Any, Any], remarks: Mapping[Path, str] | None = None) -> list[str]:
    """The lines of a mapping in block style, with remarks behind the values at some paths."""
    said = remarks or {}
    return [*_Lines(said, {path[:-1] for path in said}).of_mapping(part, ())]


def in_line(value: Any) -> str:
    """A value in one line, in flow style."""
    if isinstance(value, dict):
        pairs = (f"{_scalar(key)}: {in_line(each)}" for key, each in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(in_line, value))}]"
    return _scalar(value)


class _Lines(NamedTuple):
    """The lines of parts, without the indentation of their own places."""

    remarks: Mapping[Path, str]
    #: The parents of paths with remarks, which therefore cannot be one line.
    above: set[Path]

    def of_mapping(self, part: Mapping[Any, Any], path: Path) -> Iterator[str]:
        for key, value in part.items():
            below = (*path, key)
            head = f"{_scalar(key)}:"
            remark = f"  # {self.remarks[below]}" if below in self.remarks else ""
            inline = f"{head} {in_line(value)}{remark}"
            if isinstance(value, str) and _is_prose(value):
                yield f"{head} |"
                yield from (f"  {line}".rstrip() for line in value.splitlines())
            elif self._stays_in_line(value, below) and len(inline) + 2 * len(path) <= _WIDTH:
                yield inline
            elif isinstance(value, dict):
                yield head
                yield from (f"  {line}" for line in self.of_mapping(value, below))
            elif isinstance(value, list) and not isinstance(value[0], dict | list):
                yield f"{head} ["
                yield from (f"  {line}" for line in _filled(value, _WIDTH - 2 * len(path)))
                yield "]"
            elif isinstance(value, list):
                yield head
                for place, item in enumerate(value):
                    yield from (f"  {line}" for line in self._of_item(item, (*below, place)))
            else:
                yield inline

    def _of_item(self, item: Any, path: Path) -> Iterator[str]:
        inline = f"- {in_line(item)}"
        if not isinstance(item, dict) or len(inline) + 2 * len(path) <= _WIDTH:
            yield inline
            return
        for place, line in enumerate(self.of_mapping(item, path)):
            yield f"{'  ' if place else '- '}{line}"

    def _stays_in_line(self, value: Any, path: Path) -> bool:
        """Whether it may be written in one line, if it fits."""
        if not isinstance(value, dict | list) or not value:
            return True
        # Of parts that are mappings by kind, such as topics, each has lines of its own.
        is_of_parts = isinstance(value, list) and isinstance(value[0], dict)
        return not is_of_parts and len(path) > 1 and path not in self.above


def _filled(items: list[Any], width: int) -> Iterator[str]:
    """The items of a list in lines of this width; each of them in one line."""
    line = ""
    for item in map(_scalar, items):
        if line and len(line) + len(item) + 3 > width:
            yield line
            line = ""
        line += f"{' ' if line else ''}{item},"
    yield line.removesuffix(",")


def _is_prose(text: str) -> bool:
    """Whether a text of several lines can be a literal block, which keeps them."""
    lines = text.splitlines()
    is_plain = all(line.isprintable() and line == line.rstrip() for line in lines)
    ends_once = text.endswith("\n") and not text.endswith("\n\n")
    return len(lines) > 1 and ends_once and is_plain and not text.startswith((" ", "\n"))


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
