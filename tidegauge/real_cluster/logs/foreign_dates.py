"""Times of lines in other forms than ``2026-11-22 23:46:29,123``, brought into that one.

A form is found in the lines of a sample: of all times in the head of a line, that beside the level
counts. ``03/11/2026`` may be the third of November or the eleventh of March: a part above 12 in
another line of the file, or of its neighbours, tells the day from the month. Nothing else does, and
a year of two digits never tells its place, so such times are refused.
"""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.real_cluster.logs.log_layout import LEVEL, SECOND

#: A line has its time and its level within so many bytes.
HEAD_BYTES = 300
_SAMPLE_LINES = 300

_MONTHS = {
    month: number
    for number, month in enumerate(b"jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)
}
_NAMED = rb"(?P<named>(?i:" + b"|".join(_MONTHS) + rb"))[a-z]*+\.?"
_YEAR, _DAY = rb"(?P<year>20\d\d)", rb"(?P<day>\d\d?)"
_TIME = (
    rb"(?P<hour>\d\d?):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,:](?P<fraction>\d{1,9}))?+"
    rb"(?:[ ]?(?P<half>[AaPp])\.?[Mm]\b\.?)?+"
)
_GAP = rb"(?:,?[ ](?:at[ ]|@[ ])?|[T_:-])"
_BEGIN, _END = rb"(?<![\w.:/-])", rb"(?!(?!Z)[\w:/]|[.]\d)"
#: Day and month in either order; behind dots the day always comes first.
_EITHER = rb"(?P<one>\d\d?)(?P<mark>[/.-])(?P<other>\d\d?)(?P=mark)" + _YEAR
#: Each has a year of four digits, or the seconds since 1970.
_FORMS = tuple(
    re.compile(_BEGIN + form + _END)
    for form in (
        _YEAR + rb"[-/.](?P<month>\d\d?)[-/.]" + _DAY + _GAP + _TIME,
        _YEAR + rb"(?P<month>\d\d)(?P<day>\d\d)[ T_-]?"
        rb"(?P<hour>\d\d):?(?P<minute>\d\d):?(?P<second>\d\d)(?:[.,:]?(?P<fraction>\d{3,9}))?+(?!\d)",
        _EITHER + _GAP + _TIME,
        _DAY + rb"(?P<gap>[ /-])" + _NAMED + rb"(?P=gap)" + _YEAR + _GAP + _TIME,
        _NAMED + rb"[ ]{1,2}" + _DAY + rb",?[ ]" + _YEAR + _GAP + _TIME,
        rb"(?:[A-Z][a-z]{2}[ ])?"
        + _NAMED
        + rb"[ ]{1,2}"
        + _DAY
        + rb"[ ]"
        + _TIME
        + rb"[ ](?:UTC |GMT )?"
        + _YEAR,
        rb"(?P<epoch>1\d{9}|2[0-4]\d{8})(?:\.?(?P<fraction>\d{3})\d{0,6})?+(?!-)",
    )
)
#: Kafka's own form, and those that differ in the separators of the fraction and the zone alone.
_OWN = re.compile(_BEGIN + SECOND + rb"(?:[,.]\d{3}\d*+)?+(?![\d,.:]*\d)")
_LEVELS = re.compile(rb"(?<![\w.-])(?:" + LEVEL + rb")(?![\w.-])")
#: A zone behind a time by its name, which may be that of several zones.
_ZONE_NAME = re.compile(
    rb"[ ]?((?:[ECMP]|A[CEK]|NZ|H)[SD]T|(?:CE|EE|WE)S?T|[BIJKS]ST|MSK|SGT|HKT)\b"
)
_LAST_MONTH = 12
#: So few bytes are between a time and a level beside it.
_BESIDE = 3


class UnreadTimesError(TidegaugeError):
    """Times of a log whose meaning no line tells; the text is the reason, and has a line."""


class ForeignTimes(NamedTuple):
    """A form of times that lines of a file have."""

    form: re.Pattern[bytes]
    #: Whether the day is before the month, in a form where either may be; None: no line shows it.
    is_day_first: bool | None
    #: A line with such a time.
    example: bytes

    @property
    def may_be_either(self) -> bool:
        """Whether the form has the day before the month in some files, behind it in others."""
        return "one" in self.form.groupindex

    @property
    def untold(self) -> str:
        """The reason not to read times whose order of day and month is unknown."""
        return (
            "has dates that may begin with the day or the month, and no line with a part above 12"
            f" tells which: {shown(self.example)}"
        )

    def own(self, lines: bytes) -> bytes:
        """Lines with the first such time of each as ``2026-11-22 23:46:29,123``."""
        found = re.compile(rb"^([^\n]{0,200}?)" + self.form.pattern, re.MULTILINE)
        return found.sub(self._own, lines)

    def _own(self, found: re.Match[bytes]) -> bytes:
        parts = found.groupdict()
        if "epoch" in parts:
            second = _second_of(int(parts["epoch"]))
        else:
            second = b"%b-%02d-%02d %02d:%b:%b" % (
                parts["year"],
                *self._month_and_day(parts),
                _hour(int(parts["hour"]), parts.get("half")),
                parts["minute"],
                parts["second"],
            )
        fraction = parts["fraction"]
        milliseconds = b"" if fraction is None else b"," + fraction[:3].ljust(3, b"0")
        return found[1] + second + milliseconds

    def _month_and_day(self, parts: dict[str, bytes]) -> tuple[int, int]:
        if "one" not in parts:
            named = parts.get("named")
            month = int(parts["month"]) if named is None else _MONTHS[named.lower()]
            return month, int(parts["day"])
        one, other = int(parts["one"]), int(parts["other"])
        return (other, one) if self.is_day_first else (one, other)


def _hour(hour: int, half: bytes | None) -> int:
    return hour if half is None else hour % 12 + 12 * (half in b"pP")


@lru_cache(maxsize=1000)
def _second_of(epoch_s: int) -> bytes:
    return f"{datetime.fromtimestamp(epoch_s, UTC):%Y-%m-%d %H:%M:%S}".encode()


def is_time(text: str) -> bool:
    """Whether a text is a time in one of the forms other than Kafka's own."""
    return any(form.fullmatch(text.encode()) for form in _FORMS)


def has_time(head: bytes) -> bool:
    """Whether the head of a line has a time of any form."""
    return _OWN.search(head) is not None or any(form.search(head) for form in _FORMS)


def times_in(lines: bytes) -> ForeignTimes | None:
    """The form of the times of these lines; None: Kafka's own, or none.

    Raises:
        UnreadTimesError: the lines have their times in a zone that has a name, or in two orders.
    """
    heads = list(islice(_heads_in(lines), _SAMPLE_LINES))
    times = [time for head in heads if (time := _time_in(head)) is not None]
    for time in times:
        zone = _ZONE_NAME.match(time.string, time.end())
        if zone is not None:
            raise UnreadTimesError(
                f"has times in the zone {zone[1].decode()}, a name without an offset (Z, UTC and"
                f" +01:00 are read): {shown(time.string)}"
            )
    forms = Counter(time.re for time in times)
    form = forms.most_common(1)[0][0] if forms else _OWN
    if form is _OWN:
        return None
    example = next(time.string for time in times if time.re is form)
    return ForeignTimes(form, _is_day_first(form, lines), example)


def line_of_log(sample: bytes) -> bytes:
    """The first line of a sample that has a level, else its first line."""
    first = next((line for line in sample.split(b"\n") if line.strip()), b"")
    return next(_heads_in(sample), first)


def _heads_in(lines: bytes) -> Iterator[bytes]:
    """The heads of the lines that have a level."""
    for line in lines.split(b"\n"):
        head = line[:HEAD_BYTES]
        if _LEVELS.search(head) is not None:
            yield head


def _time_in(head: bytes) -> re.Match[bytes] | None:
    """The time that is beside the level."""
    level = _LEVELS.search(head)
    assert level is not None
    begin, end = level.span()
    for own in _OWN.finditer(head):
        # Nothing is nearer: the other forms need not be tried.
        if 0 <= max(own.start() - end, begin - own.end()) <= _BESIDE:
            return own
    found = chain.from_iterable(form.finditer(head) for form in (_OWN, *_FORMS))
    return min(found, key=lambda time: max(time.start() - end, begin - time.end()), default=None)


def _is_day_first(form: re.Pattern[bytes], lines: bytes) -> bool | None:
    """Whether the day is before the month in these lines; None: no line shows it.

    Raises:
        UnreadTimesError: lines contradict each other.
    """
    if "one" not in form.groupindex:
        return None
    shown_by: dict[bool, bytes] = {}
    for head in _heads_in(lines):
        found = form.search(head)
        if found is None:
            continue
        if found["mark"] == b"." or int(found["one"]) > _LAST_MONTH:
            shown_by[True] = head
        elif int(found["other"]) > _LAST_MONTH:
            shown_by[False] = head
    if len(shown_by) > 1:
        raise UnreadTimesError(f"has day and month in either order: {shown(shown_by[True])}")
    return next(iter(shown_by), None)


def shown(line: bytes) -> str:
    """A line in an error: its begin, without control characters."""
    text = line.split(b"\n")[0].decode("utf-8", "replace").strip()
    text = "".join(each if each.isprintable() else " " for each in text)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


_LONGEST_SHOWN = 80
