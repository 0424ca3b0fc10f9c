"""Durations and times of a run in text form: ``250ms``, ``1.5s``, ``23m50s``.

The program uses integer microseconds. In a scenario a number always has its unit; in an option that
is a time of a run, a number without a unit is seconds. A value finer than a microsecond is refused
rather than rounded, so a duration that is written and read again is the same.

Every time of a run is printed in seconds, by :func:`time_text` or :func:`short_time_text`, and can
be used as an option in the printed form.
"""

from __future__ import annotations

import re
from fractions import Fraction

#: Microseconds in a unit, the smallest first.
UNITS_US = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000}

#: More than a year. Interpolation between two latencies multiplies by 2**16 and fits into 64 bits.
MAX_DURATION_US = 10_000 * UNITS_US["h"]

_NUMBER = r"[0-9]{1,20}(?:\.[0-9]{1,20})?"
#: Each unit once at most, the largest first.
_DURATION = re.compile(
    "".join(rf"(?:(?P<{unit}>{_NUMBER}) ?{unit} ?)?" for unit in reversed(UNITS_US))
)
_SECONDS = re.compile(_NUMBER)

#: The JSON schema of a duration, for editors.
DURATION_SCHEMA: dict[str, object] = {
    "type": "string",
    "pattern": r"^\s*([0-9]+(\.[0-9]+)? ?(us|ms|s|m|h) ?)+\s*$",
    "examples": ["250ms", "30s", "1m30s"],
}


def parse_duration(text: object) -> int:
    """A duration of a scenario, in microseconds.

    Raises:
        ValueError: the text is not valid.
    """
    match = _DURATION.fullmatch(text.strip()) if isinstance(text, str) else None
    parts = match.groupdict().items() if match is not None else ()
    said = [(number, unit) for unit, number in parts if number is not None]
    if not said:
        raise ValueError(
            f"must be a duration: a number and its unit (us, ms, s, m or h), such as 250ms, "
            f"not {text!r}"
        )
    exact_us = sum((Fraction(number) * UNITS_US[unit] for number, unit in said), Fraction())
    if exact_us.denominator != 1:
        raise ValueError(f"must be whole microseconds, not {text}")
    if exact_us > MAX_DURATION_US:
        raise ValueError(f"must be {format_duration(MAX_DURATION_US)} at most, not {text}")
    return int(exact_us)


def parse_time(text: str) -> int:
    """A time of a run in microseconds, from an option: ``90``, ``90s``, ``23m50s``.

    Raises:
        ValueError: the text is not valid.
    """
    is_seconds = _SECONDS.fullmatch(text.strip())
    return parse_duration(f"{text.strip()}s" if is_seconds else text)


def format_duration(duration_us: int) -> str:
    """The duration in the largest unit of which it is a whole number: 90000000 is 90s."""
    for unit, unit_us in reversed(UNITS_US.items()):
        if duration_us >= unit_us and duration_us % unit_us == 0:
            return f"{duration_us // unit_us}{unit}"
    return f"{duration_us}us"


def time_text(time_us: int) -> str:
    """A time of a run: ``12.345s``; microseconds are cut off."""
    return f"{time_us // 1_000_000}.{time_us // 1000 % 1000:03}s"


def short_time_text(time_us: int) -> str:
    """The same without zeros at its end: ``90s``, ``12.5s``."""
    return f"{time_text(time_us)[:-1].rstrip('0').rstrip('.')}s"
