"""The layout of a log file: where its lines begin, and what their first words are.

Kafka's own configurations write ``[2024-05-01 10:00:00,123] INFO message (logger)``. Others are in
use, too: without brackets, with a dot or a ``T`` in the time, with a time zone, with the thread in
brackets before or behind the level.
"""

from __future__ import annotations

import calendar
import re
from typing import NamedTuple

#: The time that a line begins with. A time zone is taken off; without one it is UTC.
_TIME = (
    rb"\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:[,.](\d{3})\d*)?"
    rb"[ ]?(Z|UTC|GMT|[+-]\d\d:?\d\d)?\]?"
)
_LEVELS = rb"(TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)"

#: The beginning of a line with a time: time, milliseconds, time zone, level.
HEADER = re.compile(_TIME + rb"[ ]+(?:\[[^\]\n]*\][ ]+)?\[?" + _LEVELS + rb"\]?[ ]+(?:- )?")

#: A line that begins so may be the first of an entry: a cheap test, before ``HEADER``.
_BEGINNINGS = (b"[20", b"20")

#: A sample that has no line of any layout is not that of a log.
SAMPLE_BYTES = 1 << 18


_MOST_SECONDS = 100_000
_SAMPLE_LINES = 400


class Layout(NamedTuple):
    """How the entries of a file begin."""

    #: The bytes at the beginning of the first line of each entry.
    beginning: bytes
    #: All lines are as ``[2024-05-01 10:00:00,123] INFO message``, or have no time.
    is_plain: bool


_PLAIN = re.compile(
    rb"\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]\d{3}\] (?:INFO|WARN|DEBUG|TRACE|ERROR|FATAL) \S"
)


def layout_of(sample: bytes) -> Layout | None:
    """The layout of a file that begins so; None if it is not the log of a Java process."""
    lines = sample.split(b"\n")[:_SAMPLE_LINES]
    found = {
        beginning: [
            line for line in lines if line.startswith(beginning) and HEADER.match(line) is not None
        ]
        for beginning in _BEGINNINGS
    }
    beginning, with_time = max(found.items(), key=lambda each: len(each[1]))
    if not with_time:
        return None
    return Layout(beginning, all(_PLAIN.match(line) for line in with_time))


class LogClock:
    """Times of lines as milliseconds since 1970; seconds that were met before are kept."""

    def __init__(self) -> None:
        self._seconds_ms: dict[tuple[bytes, bytes | None], int] = {}

    def time_ms(self, header: re.Match[bytes]) -> int:
        """The time of a line, -1 if there is no such day or hour."""
        second, milliseconds, zone = header.group(1, 2, 3)
        second_ms = self._seconds_ms.get((second, zone))
        if second_ms is None:
            if len(self._seconds_ms) > _MOST_SECONDS:
                self._seconds_ms.clear()
            second_ms = self._seconds_ms[second, zone] = _second_ms(second, zone)
        return second_ms + int(milliseconds or 0)


def _second_ms(second: bytes, zone: bytes | None) -> int:
    fields = tuple(int(part) for part in re.split(rb"[-T :]", second))
    year, month, day, hour, minute, of_minute = fields
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60):  # noqa: PLR2004
        return -1_000
    seconds = calendar.timegm((year, month, day, hour, minute, of_minute))
    if zone and zone[:1] in b"+-":
        digits = zone[1:].replace(b":", b"")
        ahead = int(digits[:2]) * 3_600 + int(digits[2:]) * 60
        seconds -= ahead if zone[:1] == b"+" else -ahead
    return seconds * 1_000
