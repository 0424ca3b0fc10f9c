"""Metrics that a PromQL expression needs, and those that are not served.

An alert such as ``absent(container_last_seen)`` would fire forever, since containers are not
simulated, and one about the heap of a JVM would never fire; neither result tests the rule. So an
expression is parsed as far as needed for that: names of metrics, ``or`` between alternatives, of
which one is enough, and ``unless``, whose right side may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)
      | (?P<skipped>\s+|\#[^\n]*|\[[^\]]*\])
      | (?P<number>[0-9.][\w.]*)
      | (?P<name>[a-zA-Z_:][\w:]*)
      | (?P<sign>=~|!~|!=|.)""",
    re.VERBOSE | re.DOTALL,
)
#: Keywords with labels in parentheses after them.
_GROUPING = {"by", "without", "on", "ignoring", "group_left", "group_right"}
_SET_OPERATORS = {"and", "or", "unless"}
#: Aggregations do not need a parenthesis directly after them; functions do.
_WORDS = {
    *_SET_OPERATORS,
    *("bool", "offset", "atan2", "inf", "nan"),
    *("sum", "min", "max", "avg", "group", "stddev", "stdvar", "count", "count_values"),
    *("bottomk", "topk", "quantile", "limitk", "limit_ratio"),
}


class Needs(NamedTuple):
    """The metrics that an expression reads."""

    #: Names of metrics that are served.
    served: frozenset[str]
    #: Names of metrics that it needs for any result, and that are not served.
    missing: frozenset[str]


def needs_of(expression: str, served: Collection[str]) -> Needs:
    """The metrics that an expression reads, where these metrics are served."""
    reader = _Reader(expression, served)
    missing = reader.read()
    return Needs(frozenset(reader.found), missing)


class _Reader:
    """Goes through the tokens of an expression once."""

    def __init__(self, expression: str, served: Collection[str]) -> None:
        self._tokens = [
            (match.lastgroup or "", match[0])
            for match in _TOKEN.finditer(expression)
            if match.lastgroup != "skipped"
        ]
        self._place = 0
        self._served = served
        self.found: set[str] = set()

    def read(self) -> frozenset[str]:
        """The missing metrics up to the end, or to the parenthesis that closes this part."""
        alternatives: list[set[str]] = [set()]
        is_subtracted = False
        while (token := self._next()) is not None and token[1] != ")":
            word = token[1].lower()
            if word in _SET_OPERATORS:
                is_subtracted = word == "unless"
            if word == "or":
                alternatives.append(set())
            missing = self._operand(*token)
            if not is_subtracted:
                alternatives[-1] |= missing
        if not all(alternatives):
            return frozenset()
        return frozenset().union(*alternatives)

    def _operand(self, kind: str, text: str) -> frozenset[str]:
        """The missing metrics of the term that begins with this token."""
        word = text.lower()
        if text == "(":
            return self.read()
        if text == "{":
            return self._selector(None)
        if word in _GROUPING:
            self._skip_labels()
        elif kind == "name" and word not in _WORDS and self._peek() != "(":
            return self._selector(text)
        return frozenset()

    def _next(self) -> tuple[str, str] | None:
        if self._place == len(self._tokens):
            return None
        self._place += 1
        return self._tokens[self._place - 1]

    def _peek(self) -> str:
        return self._tokens[self._place][1] if self._place < len(self._tokens) else ""

    def _skip_labels(self) -> None:
        if self._peek() == "(":
            while (token := self._next()) is not None and token[1] != ")":
                pass

    def _selector(self, name: str | None) -> frozenset[str]:
        """The missing metric of one selector: its name is before its braces, or within them."""
        matches = ("=", name) if name is not None else None
        if name is None or self._peek() == "{":
            inside = self._braces()
            matches = matches or _name_within(inside)
        sign, wanted = matches or ("=~", ".*")
        if sign == "=":
            found = {wanted} & set(self._served)
        else:
            found = {each for each in self._served if _is_wanted(each, sign, wanted)}
        self.found |= found
        return frozenset() if found else frozenset({wanted})

    def _braces(self) -> list[tuple[str, str]]:
        if self._peek() == "{":
            self._next()
        inside = []
        while (token := self._next()) is not None and token[1] != "}":
            inside.append(token)
        return inside


def _name_within(inside: list[tuple[str, str]]) -> tuple[str, str] | None:
    """The name of a metric within braces: ``__name__=~"kafka_.*"``, or in quotes and alone."""
    for place, (kind, text) in enumerate(inside):
        if text == "__name__" and len(inside) > place + 2:
            return inside[place + 1][1], inside[place + 2][1][1:-1]
        is_alone = place == 0 or inside[place - 1][1] == ","
        if kind == "string" and is_alone and inside[place + 1 : place + 2] in ([], [("sign", ",")]):
            return "=", text[1:-1]
    return None


def _is_wanted(name: str, sign: str, wanted: str) -> bool:
    if sign == "!=":
        return name != wanted
    return (re.fullmatch(wanted, name) is not None) == (sign == "=~")
