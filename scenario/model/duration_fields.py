"""Fields of a scenario that are durations in the file and integer microseconds in the model."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, WithJsonSchema

from tidegauge.simulation.durations import DURATION_SCHEMA, format_duration, parse_duration


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
PositiveDuration = Annotated[Duration, AfterValidator(_positive)]
