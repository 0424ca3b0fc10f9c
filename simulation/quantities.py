"""Amounts of bytes and bandwidths in text form: ``28GiB``, ``600MB/s``, ``10Gbit/s``.

The program uses integer bytes, and integer bytes per second. A bandwidth in bits is an eighth of it
in bytes; prefixes without an i are powers of ten, those with one powers of two, as everywhere.
"""

from __future__ import annotations

import re
from fractions import Fraction

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

_NUMBER = r"[0-9]{1,20}(?:\.[0-9]{1,20})?"
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
