"""Numbers and names for readers: with their units, and only significant digits."""

from tidegauge.analysis.tables.result_table import Column
from tidegauge.simulation.quantities import time_text

#: Units of durations that columns have, in microseconds.
_DURATIONS = {"us": 1, "ms": 1000}
#: Columns that are times, and not durations.
_MOMENTS = frozenset(
    {"time_us", "begin_us", "end_us", "from_us", "to_us", "first_us", "fault_us", "began_us"}
)
# The duration from which rounding would make a thousand of the smaller unit.
_ROUNDS_TO_A_MILLISECOND_US = 999.5
_ROUNDS_TO_A_SECOND_US = 999_500
#: Words in names of columns as they are written in texts.
_WORDS = {
    "isr": "ISR",
    "isrs": "ISRs",
    "hw": "high watermark",
    "hws": "high watermarks",
    "p50": "median",
    "p90": "P90",
    "p95": "P95",
    "p99": "P99",
    "max": "most",
    "avg": "mean",
    "us": "microseconds",
}
#: Columns whose values are names with underscores, and not those of a cluster.
_CODES = frozenset({"condition", "change", "trigger_kind", "figure"})
#: From here on seconds alone are hard to grasp.
_FEW_MINUTES = 2


def duration_text(lasted_us: float) -> str:
    """A duration, in the unit that suits it best: ``16.4 s``."""
    if lasted_us < _ROUNDS_TO_A_MILLISECOND_US:
        return f"{lasted_us:,.0f} us"
    if lasted_us < _ROUNDS_TO_A_SECOND_US:
        return f"{lasted_us / 1000:,.3g} ms"
    minutes, seconds = divmod(round(lasted_us / 1e6), 60)
    if minutes < _FEW_MINUTES:
        return f"{lasted_us / 1e6:,.1f} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def number_text(number: float) -> str:
    """A number with commas; a fraction with one decimal, or three digits if it is small."""
    if isinstance(number, int) or number == 0:
        return f"{number:,.0f}"
    return f"{number:,.1f}" if abs(number) >= 1 else f"{number:.3g}"


def mean_text(mean: float, unit: str) -> str:
    """A mean of a figure with this unit; of counts without a fraction where there is none."""
    in_us = {**_DURATIONS, "s": 1_000_000}
    if unit in in_us and mean:
        return duration_text(mean * in_us[unit])
    return number_text(int(mean) if mean == int(mean) else mean)


def value_text(value: object, unit: str, name: str = "") -> str:
    """A value of a table's column, by the column's unit and name; nothing for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in _CODES:
        return plain_words(str(value))
    if isinstance(value, list):
        return ",".join(value_text(each, unit) for each in value)
    if isinstance(value, int | float):
        return _number_with_unit(value, unit, name)
    return str(value)


def _number_with_unit(value: float, unit: str, name: str) -> str:
    if unit == "broker id":
        return str(value)
    if unit in _DURATIONS:
        in_us = value * _DURATIONS[unit]
        return time_text(round(in_us)) if is_moment(name) else duration_text(in_us)
    if unit == "%":
        return f"{value:.4g} %"
    return number_text(value)


def plain_words(name: str) -> str:
    """A name with underscores in words: ``under min ISR``."""
    return " ".join(_WORDS.get(word, word) for word in name.split("_"))


def column_title(column: Column) -> str:
    """A column's name in plain words; without the unit if its values have it."""
    name = column.name
    if column.unit in _DURATIONS:
        name = name.removesuffix(f"_{column.unit}")
    title = plain_words(name)
    return title[0].upper() + title[1:]


def is_moment(name: str) -> bool:
    """Whether a column of this name is a time, and not a duration."""
    return name in _MOMENTS or name.endswith("_began_us")


def nice_step_us(at_least_us: float) -> int:
    """The next duration of 1, 2 or 5 times a power of ten, in microseconds."""
    power = 1
    while True:
        for digit in (1, 2, 5):
            if digit * power >= at_least_us:
                return digit * power
        power *= 10
