"""Fields of a scenario that are durations in the file and integer microseconds in the model."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, WithJsonSchema

from tidegauge.simulation.durations import (
    DURATION_SCHEMA,
    UNITS_US,
    format_duration,
    parse_duration,
)


def _positive(duration_us: int) -> int:
    if duration_us == 0:
        raise ValueError("must be longer than 0")
    return duration_us


Duration = Annotated[
    int,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema(DURATION_SCHEMA),
]
#: A duration from which a time is drawn: a draw takes 31 bits of milliseconds, some 596 hours.
LONGEST_DRAWN_US = 500 * UNITS_US["h"]


def _drawn(duration_us: int) -> int:
    if duration_us > LONGEST_DRAWN_US:
        raise ValueError(f"must be {format_duration(LONGEST_DRAWN_US)} at most")
    return duration_us


DrawnDuration = Annotated[Duration, AfterValidator(_drawn)]
PositiveDuration = Annotated[Duration, AfterValidator(_positive)]
