"""Notices of an import: omissions, assumptions, and the reasons."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tidegauge.scenario.text.errors import one_line

#: The subjects of notices, in the order of output.
SUBJECTS = (
    *("input", "brokers", "controllers", "partitions", "logs", "settings", "release"),
    *("workload", "faults", "steps"),
)

#: Most items of a list in a sentence.
_MOST_NAMED = 8


class Notice(NamedTuple):
    """One notice to the user."""

    #: One of ``SUBJECTS``.
    subject: str
    text: str


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
