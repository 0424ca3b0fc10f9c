"""What people are told about an import: what was left out, what was assumed, and why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tidegauge.scenario.text.errors import one_line

#: What a notice may be about, in the order in which people read them.
SUBJECTS = ("input", "brokers", "partitions", "settings", "release", "workload", "steps")

#: Of a list in a sentence; more than that nobody reads.
_MOST_NAMED = 8


class Notice(NamedTuple):
    """One thing that people should know."""

    #: One of ``SUBJECTS``.
    subject: str
    text: str


def in_order(notices: Iterable[Notice]) -> list[Notice]:
    """Each notice once, by subject, each of them fit for a line on any terminal."""
    tidy = dict.fromkeys(Notice(notice.subject, one_line(notice.text)) for notice in notices)
    return sorted(tidy, key=lambda notice: SUBJECTS.index(notice.subject))


def named(items: Iterable[object]) -> str:
    """Items of a sentence: the first few, and how many there are more."""
    texts = [str(item) for item in items]
    if len(texts) <= _MOST_NAMED:
        return ", ".join(texts)
    return f"{', '.join(texts[: _MOST_NAMED - 1])} and {len(texts) - _MOST_NAMED + 1} more"


def number_ranges(numbers: Iterable[int]) -> str:
    """Numbers in ascending order, those in a row as one: 0, 4 to 9."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    texts = (f"{first}" if first == last else f"{first} to {last}" for first, last in ranges)
    return ", ".join(texts)
