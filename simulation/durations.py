"""Durations as people write them: ``250ms``, ``1.5s``, ``4m``. Inside, integer microseconds.

A number always has its unit. What is finer than a microsecond is refused rather than rounded,
so that a duration that was written and read again is the same.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, WithJsonSchema

#: Microseconds in a unit, the smallest first.
UNITS_US = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000}

#: More than a year. Interpolation between two latencies multiplies by 2**16 and fits into 64 bits.
MAX_DURATION_US = 10_000 * UNITS_US["h"]

#: What an editor is told that a duration is.
DURATION_SCHEMA: dict[str, object] = {
    "type": "string",
    "pattern": r"^\s*[0-9]+(\.[0-9]+)? ?(us|ms|s|m|h)\s*$",
    "examples": ["250ms", "30s", "4m"],
}

_DURATION = re.compile(r"(?P<number>\d{1,20}(\.\d{1,20})?) ?(?P<unit>us|ms|s|m|h)", re.ASCII)


def parse_duration(text: object) -> int:
    """A duration in microseconds from what a scenario says."""
    match = _DURATION.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise ValueError(
            f"must be a duration: a number and its unit (us, ms, s, m or h), such as 250ms, "
            f"not {text!r}"
        )
    exact_us = Fraction(match["number"]) * UNITS_US[match["unit"]]
    if exact_us.denominator != 1:
        raise ValueError(f"must be whole microseconds, not {text}")
    if exact_us > MAX_DURATION_US:
        raise ValueError(f"must be {format_duration(MAX_DURATION_US)} at most, not {text}")
    return int(exact_us)


def format_duration(duration_us: int) -> str:
    """The duration in the largest unit of which it is a whole number: 90000000 is 90s."""
    for unit, unit_us in reversed(UNITS_US.items()):
        if duration_us >= unit_us and duration_us % unit_us == 0:
            return f"{duration_us // unit_us}{unit}"
    return f"{duration_us}us"


def _positive(duration_us: int) -> int:
    if duration_us == 0:
        raise ValueError("must be longer than 0")
    return duration_us


#: A field that is a duration in the file and integer microseconds in the model.
Duration = Annotated[
    int,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema(DURATION_SCHEMA),
]
PositiveDuration = Annotated[Duration, AfterValidator(_positive)]
