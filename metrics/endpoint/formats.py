"""The two formats of a page, and the choice of a client."""

from __future__ import annotations

from enum import Enum
from math import isnan

_OPENMETRICS = "application/openmetrics-text"
#: Versions of OpenMetrics that a client may name; 0.0.1 was Prometheus's name for it before 1.0.0.
_OPENMETRICS_VERSIONS = {"", "0.0.1", "1.0.0"}
_TEXTS = {"text/plain", "text/*", "*/*"}
#: Above this a number with a fraction of 0 is not the same as the integer any more.
_EXACT = 2**53


class Format(Enum):
    """The format of a page; the value is its content type."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = f"{_OPENMETRICS}; version=1.0.0; charset=utf-8"


def wanted_format(accept: str) -> Format:
    """The format that an ``Accept`` header prefers; text is the default."""
    wishes = {Format.TEXT: 0.0, Format.OPENMETRICS: 0.0}
    for wish in accept.split(","):
        media, *written = [part.strip().lower() for part in wish.split(";")]
        parameters = dict(part.split("=", 1) for part in written if "=" in part)
        version = parameters.get("version", "").strip('"')
        if media == _OPENMETRICS and version in _OPENMETRICS_VERSIONS:
            wished = Format.OPENMETRICS
        elif media in _TEXTS:
            wished = Format.TEXT
        else:
            continue
        wishes[wished] = max(wishes[wished], _weight(parameters.get("q", "1")))
    return max(Format, key=wishes.__getitem__)


def _weight(quality: str) -> float:
    """A weight between 0 and 1; any other text counts as 0."""
    try:
        weight = float(quality)
    except ValueError:
        return 0.0
    return weight if 0 <= weight <= 1 else 0.0


def number_text(value: float) -> str:
    """A number in both formats: an integer without a fraction, where that is equal."""
    is_whole = float(value).is_integer() and abs(value) < _EXACT
    return str(int(value)) if is_whole else float_text(float(value))


def float_text(value: float) -> str:
    """A number in both formats, with a fraction."""
    return "NaN" if isnan(value) else repr(value)
