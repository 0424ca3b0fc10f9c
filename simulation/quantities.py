"""Quantities in text form: times (``250ms``, ``23m50s``), bytes (``28GiB``) and bandwidths.

The program uses integer microseconds. In a scenario a number always has its unit; in an option that
is a time of a run, a number without a unit is seconds. A value finer than a microsecond is refused
rather than rounded, so a duration that is written and read again is the same. Every time of a run
is printed in seconds, by :func:`time_text` or :func:`short_time_text`, and can be used as an option
in the printed form. Times of a run from logs have the wall clock's beside them
(``simulation/wall_clock.py``), and both can be used.

It uses integer bytes, and integer bytes per second (``600MB/s``, ``10Gbit/s``). Eight bits of a
bandwidth are a byte; prefixes without an i are powers of ten, those with one powers of two.
"""

import re
from fractions import Fraction

from tidegauge.simulation.wall_clock import is_wall_clock, shown_clock

#: Microseconds in a unit, the smallest first.
UNITS_US = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000}

#: Four years. Interpolation between two latencies multiplies by 2**16 and fits into 64 bits.
MAX_DURATION_US = 39_000 * UNITS_US["h"]

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

    While a run from logs is shown, also by the wall clock: ``23:56:48``; before the run it is
    negative.

    Raises:
        ValueError: the text is not valid.
    """
    clock = shown_clock()
    if clock is not None and is_wall_clock(text):
        return clock.time_us(text)
    is_seconds = _SECONDS.fullmatch(text.strip())
    return parse_duration(f"{text.strip()}s" if is_seconds else text)


def format_duration(duration_us: int) -> str:
    """The duration in the largest unit of which it is a whole number: 90000000 is 90s."""
    for unit, unit_us in reversed(UNITS_US.items()):
        if duration_us >= unit_us and duration_us % unit_us == 0:
            return f"{duration_us // unit_us}{unit}"
    return f"{duration_us}us"


def seconds_text(time_us: int) -> str:
    """A time or a duration in virtual seconds: ``12.345s``; microseconds are cut off."""
    return f"{time_us // 1_000_000}.{time_us // 1000 % 1000:03}s"


def short_seconds_text(time_us: int) -> str:
    """The same without zeros at its end: ``90s``, ``12.5s``."""
    return f"{seconds_text(time_us)[:-1].rstrip('0').rstrip('.')}s"


def whole_time_text(time_us: int) -> str:
    """A time in virtual seconds with all its digits: ``90s``, ``12.345678s``."""
    seconds, micros = divmod(time_us, 1_000_000)
    return f"{seconds}.{micros:06}".rstrip("0").rstrip(".") + "s"


def time_text(time_us: int) -> str:
    """A time of a run: ``12.345s``, or with its wall clock ``12.345s (23:57:00.685)``."""
    return _with_wall_clock(seconds_text(time_us), time_us)


def short_time_text(time_us: int) -> str:
    """The same without zeros at the end of the seconds: ``90s``, ``12.5s``."""
    return _with_wall_clock(short_seconds_text(time_us), time_us)


def _with_wall_clock(text: str, time_us: int) -> str:
    clock = shown_clock()
    return text if clock is None else f"{text} ({clock.text(time_us)})"


#: Bytes in a unit, the smallest first.
UNITS_BYTES = {
    "B": 1,
    "kB": 10**3,
    "KiB": 2**10,
    "MB": 10**6,
    "MiB": 2**20,
    "GB": 10**9,
    "GiB": 2**30,
    "TB": 10**12,
    "TiB": 2**40,
}
#: Bits per second in a unit of a bandwidth.
UNITS_BITS = {"kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}

#: A microsecond's work in nanobytes still fits into 64 bits.
MOST_BYTES = 2**50

UNLIMITED = "unlimited"

_QUANTITY = re.compile(rf"\s*(?P<number>{_NUMBER}) ?(?P<unit>[A-Za-z/]+)\s*")

_SIZES = "|".join(UNITS_BYTES)
_BITS = "|".join(UNITS_BITS)
#: JSON schemas, for editors.
SIZE_SCHEMA: dict[str, object] = {
    "type": "string",
    "pattern": rf"^\s*[0-9]+(\.[0-9]+)? ?({_SIZES})\s*$",
    "examples": ["500MB", "28GiB"],
}
BANDWIDTH_SCHEMA: dict[str, object] = {
    "type": "string",
    "pattern": rf"^\s*([0-9]+(\.[0-9]+)? ?(({_SIZES})/s|{_BITS})|{UNLIMITED})\s*$",
    "examples": ["600MB/s", "10Gbit/s", UNLIMITED],
}


def parse_size(text: object) -> int:
    """An amount of bytes.

    Raises:
        ValueError: the text is not valid.
    """
    size = _parse(text, {unit: Fraction(count) for unit, count in UNITS_BYTES.items()})
    if size is None:
        raise ValueError(
            f"must be a number of bytes and its unit ({', '.join(UNITS_BYTES)}), such as 28GiB, "
            f"not {text!r}"
        )
    return size


def parse_bandwidth(text: object) -> int:
    """A bandwidth in bytes per second; 0: unlimited.

    Raises:
        ValueError: the text is not valid.
    """
    if isinstance(text, str) and text.strip() == UNLIMITED:
        return 0
    units = {f"{unit}/s": Fraction(count) for unit, count in UNITS_BYTES.items()}
    units |= {unit: Fraction(bits, 8) for unit, bits in UNITS_BITS.items()}
    bandwidth = _parse(text, units)
    if bandwidth is None:
        raise ValueError(
            f"must be a bandwidth, such as 600MB/s or 10Gbit/s, or {UNLIMITED}, not {text!r}"
        )
    if bandwidth == 0:
        raise ValueError("must be more than 0")
    return bandwidth


def _parse(text: object, units: dict[str, Fraction]) -> int | None:
    """The number of bytes that a text names; None if it names none."""
    match = _QUANTITY.fullmatch(text) if isinstance(text, str) else None
    if match is None or match["unit"] not in units:
        return None
    exact = Fraction(match["number"]) * units[match["unit"]]
    if exact > MOST_BYTES:
        raise ValueError(f"must be {format_size(MOST_BYTES)} at most, not {text}")
    return round(exact)


def format_size(size_bytes: int) -> str:
    """The bytes in the largest unit of which they are a whole number: 2147483648 is 2GiB."""
    whole = [unit for unit, count in UNITS_BYTES.items() if size_bytes % count == 0]
    unit = max(whole, key=lambda each: UNITS_BYTES[each]) if size_bytes else "B"
    return f"{size_bytes // UNITS_BYTES[unit]}{unit}"


def format_bandwidth(bytes_per_second: int) -> str:
    """A bandwidth in the largest unit of bytes of which it is a whole number."""
    return f"{format_size(bytes_per_second)}/s" if bytes_per_second else UNLIMITED
