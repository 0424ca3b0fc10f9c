"""The contract of a source of measured values: a Prometheus, or files of samples.

A source answers one kind of aggregation: a function over the samples that each series has in a
window, and then the sum, the mean or the largest of those series that share certain labels.
Prometheus evaluates it itself; of files ``sampled_source.py`` does.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import NamedTuple, Protocol

from tidegauge.real_cluster.describe.input_file import InputError, Notices, named
from tidegauge.simulation.quantities import format_duration

_TEXT = r'"(?:[^"\\]|\\.)*"'
_MATCHER = re.compile(rf"\s*([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*({_TEXT}|'[^']*')\s*(?:,|$)")
_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t"}


class Matcher(NamedTuple):
    """A condition on one label."""

    label: str
    operator: str
    value: str

    def __str__(self) -> str:
        """As PromQL has it."""
        return f"{self.label}{self.operator}{quoted(self.value)}"

    def accepts(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet the condition; a missing label is empty."""
        actual = labels.get(self.label, "")
        if self.operator.endswith("~"):
            is_met = re.fullmatch(self.value, actual) is not None
        else:
            is_met = actual == self.value
        return is_met != self.operator.startswith("!")


def parse_matchers(text: str) -> tuple[Matcher, ...]:
    """The matchers of a text, with or without braces around them.

    Raises:
        ValueError: the text has another form.
    """
    rest = text.strip()
    if rest.startswith("{") and rest.endswith("}"):
        rest = rest[1:-1]
    found, at = [], 0
    while at < len(rest):
        match = _MATCHER.match(rest, at)
        if match is None:
            break
        label, operator, value = match[1], match[2], unquoted(match[3])
        try:
            re.compile(value if operator.endswith("~") else "")
        except re.error as error:
            raise ValueError(f"{value!r} is not a regular expression: {error}") from error
        found.append(Matcher(label, operator, value))
        at = match.end()
    if not found or at < len(rest):
        raise ValueError("must be matchers of labels, such as 'cluster=\"a\"'")
    return tuple(found)


def all_accept(matchers: Iterable[Matcher], labels: Mapping[str, str]) -> bool:
    """Whether labels meet all conditions."""
    return all(matcher.accepts(labels) for matcher in matchers)


def quoted(value: str) -> str:
    """A text in quotes, as PromQL and the text format have it."""
    escaped = value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'"{escaped}"'


def unquoted(text: str) -> str:
    """The value of a text in quotes."""
    inner = text[1:-1]
    if "\\" not in inner:
        return inner
    return _ESCAPED.sub(lambda match: _ESCAPES.get(match[1], match[1]), inner)


#: A larger number of seconds is one of milliseconds: the year 5138.
_MOST_SECONDS = 1e11


class Over(Enum):
    """A function over the samples of one series in the window."""

    #: Growth of a counter per second; a fall is a restart.
    RATE = "rate"
    #: Growth of an offset per second; a fall is a truncation.
    GROWTH = "growth"
    MEAN = "mean"
    LAST = "last"
    #: The number of samples.
    COUNT = "count"


class Together(Enum):
    """A function over the series that have the same labels."""

    SUM = "sum"
    MAX = "max"
    MEAN = "avg"


class Selected(NamedTuple):
    """The series of one metric."""

    #: As the place has it.
    name: str
    #: Labels that all of them have.
    labels: Mapping[str, str] = {}
    #: Labels that must not be empty.
    required: tuple[str, ...] = ()


class Window(NamedTuple):
    """A stretch of real time, in seconds since 1970."""

    begin_s: float
    end_s: float

    def __str__(self) -> str:
        """For messages: ``5m up to 2026-11-24 17:40:00 UTC``."""
        seconds = max(round(self.seconds, 1 if self.seconds < 10 else 0), 0)  # noqa: PLR2004
        length = format_duration(round(seconds * 1e6)) if seconds else "0s"
        return f"{length} up to {moment_text(self.end_s)}"

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end_s - self.begin_s


#: Values by the values of the requested labels.
Values = dict[tuple[str, ...], float]


class RateSource(Protocol):
    """A place that has series."""

    #: Its name in messages, without a password.
    place: str
    #: The window of the samples that are used; ``settle`` may shorten it.
    window: Window
    notices: Notices

    def names(self, also: Collection[str] = ()) -> Collection[str]:
        """The names of all series that begin with ``kafka_``, and of these if they are there."""

    def settle(self, selected: Selected) -> None:
        """Shorten the window to the part in which these series have samples.

        Raises:
            InputError: they have none in it.
        """

    def read(self, selected: Selected, over: Over, by: Sequence[str], together: Together) -> Values:
        """An aggregation of finite values; series without a value are left out.

        Raises:
            InputError: they cannot be read.
        """


def in_seconds(time: float) -> float:
    """A time since 1970 in seconds, which may be given in milliseconds."""
    return time / 1000 if abs(time) > _MOST_SECONDS else time


def moment_text(time_s: float) -> str:
    """A moment in real time, for messages."""
    try:
        return f"{datetime.fromtimestamp(round(time_s), UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{time_s:g} s"


#: Labels that distinguish clusters, the clearest first. Two values of the last ones are two
#: clusters, or the same targets scraped twice: in both cases a sum would be wrong.
_LABELS = (
    *("cluster", "kafka_cluster", "strimzi_io_cluster", "kafka_cluster_id", "cluster_id"),
    *("cluster_name", "environment", "env", "kubernetes_namespace", "namespace"),
    *("job", "prometheus_replica", "replica"),
)


def check_one_cluster(
    source: RateSource, metrics: Sequence[Selected], matchers: Sequence[Matcher]
) -> None:
    """Fail if series of these metrics are of several clusters.

    A label that is matched on is not examined.

    Raises:
        InputError: they are.
    """
    matched = {matcher.label for matcher in matchers}
    labels = [label for label in _LABELS if label not in matched]
    there = {
        values
        for selected in metrics
        for values in source.read(selected, Over.COUNT, labels, Together.MAX)
    }
    for place, label in enumerate(labels):
        values = sorted({each[place] for each in there})
        if len(values) > 1:
            example = next(value for value in values if value)
            raise InputError(
                f"{source.place}: {metrics[0].name} has {len(values)} values of the label {label}: "
                f"{named(value or '(none)' for value in values)}; choose one, such as "
                f"--match '{Matcher(label, '=', example)}'"
            )
