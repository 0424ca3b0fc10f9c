"""Label matchers of ``--match``, as PromQL has them: ``cluster="a",job=~"kafka.*"``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_TEXT = r'"(?:[^"\\]|\\.)*"'
_MATCHER = re.compile(rf"\s*([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*({_TEXT}|'[^']*')\s*(?:,|$)")
_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t"}


class Matcher(NamedTuple):
    """A condition on one label."""

    label: str
    operator: str
    value: str

    def __str__(self) -> str:
        """As PromQL has it."""
        return f"{self.label}{self.operator}{quoted(self.value)}"

    def accepts(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet the condition; a missing label is empty."""
        actual = labels.get(self.label, "")
        if self.operator.endswith("~"):
            is_met = re.fullmatch(self.value, actual) is not None
        else:
            is_met = actual == self.value
        return is_met != self.operator.startswith("!")


def parse_matchers(text: str) -> tuple[Matcher, ...]:
    """The matchers of a text, with or without braces around them.

    Raises:
        ValueError: the text has another form.
    """
    rest = text.strip()
    if rest.startswith("{") and rest.endswith("}"):
        rest = rest[1:-1]
    found, at = [], 0
    while at < len(rest):
        match = _MATCHER.match(rest, at)
        if match is None:
            break
        label, operator, value = match[1], match[2], unquoted(match[3])
        try:
            re.compile(value if operator.endswith("~") else "")
        except re.error as error:
            raise ValueError(f"{value!r} is not a regular expression: {error}") from error
        found.append(Matcher(label, operator, value))
        at = match.end()
    if not found or at < len(rest):
        raise ValueError("must be matchers of labels, such as 'cluster=\"a\"'")
    return tuple(found)


def all_accept(matchers: Iterable[Matcher], labels: Mapping[str, str]) -> bool:
    """Whether labels meet all conditions."""
    return all(matcher.accepts(labels) for matcher in matchers)


def quoted(value: str) -> str:
    """A text in quotes, as PromQL and the text format have it."""
    escaped = value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'"{escaped}"'


def unquoted(text: str) -> str:
    """The value of a text in quotes."""
    inner = text[1:-1]
    if "\\" not in inner:
        return inner
    return _ESCAPED.sub(lambda match: _ESCAPES.get(match[1], match[1]), inner)
