"""Charts over time, each folded behind its figures, and the queries of their series.

A query of a series has the columns ``series``, ``at_us`` (the start of its bucket), ``value`` and
``later`` (of a level: the remainder at the end of the bucket). A bucket in which nothing happened
has no row, so that charts stay small.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from tidegauge.report.charts import Axis, Bars, Chart, Dot, Dots, Key, Line, seconds, time_axis
from tidegauge.report.charts import Mark as Drawn
from tidegauge.report.one_run import OneRun
from tidegauge.report.quantities import duration_text, number_text
from tidegauge.report.section import Folded, Piece, Words
from tidegauge.simulation.quantities import short_time_text

# ruff: noqa: S608 - queries are put together from texts of this room


def levels(intervals: str, bucket_us: int, run_us: int) -> str:
    """The number of intervals open at once: ``value`` is the most at any time within the bucket.

    ``later`` is the number of those that are open when the bucket ends, until the next row.

    Args: intervals: a query for ``series``, ``begin_us``, ``end_us``. bucket_us: the length of a
    bucket. run_us: the end of the run, which closes no interval.
    """
    return f"""
        with intervals as ({intervals}),
        changes as (
            select series, time_us, sum(change) as change
            from (
                select series, begin_us as time_us, 1 as change from intervals
                union all
                select series, end_us, -1 from intervals where end_us < {run_us}
            ) as both_ends
            group by series, time_us
        ),
        counted as (
            select *, sum(change) over (partition by series order by time_us) as still_open
            from changes
        )
        -- Intervals open before the first change of a bucket were open in it, too.
        select series, {_bucket(bucket_us)} as at_us,
            cast(max(greatest(still_open, still_open - change)) as double) as value,
            cast(max_by(still_open, time_us) as double) as later
        from counted group by series, at_us
    """


def counts(happened: str, bucket_us: int) -> str:
    """The number of events in each bucket.

    Args:
        happened: a query for ``series``, ``time_us``.
        bucket_us: the length of a bucket.
    """
    return f"""
        select series, {_bucket(bucket_us)} as at_us, cast(count(*) as double) as value,
            cast(null as double) as later
        from ({happened}) as happened group by series, at_us
    """


def measured(source: str, bucket_us: int, values: Mapping[str, str]) -> str:
    """Aggregates of the measurements in each bucket, each a series of its name.

    Args:
        source: a table, or a query in parentheses, with ``time_us``.
        bucket_us: the length of a bucket.
        values: an aggregate for each series.
    """
    together = ", ".join(f"cast({value} as double) as {name}" for name, value in values.items())
    apart = " union all ".join(
        f"select '{name}' as series, at_us, {name} as value, cast(null as double) as later"
        f" from together where {name} is not null"
        for name in values
    )
    return f"""
        with together as (
            select {_bucket(bucket_us)} as at_us, {together} from {source} as rows_
            group by at_us
        )
        {apart}
    """


def in_order(queries: Iterable[str]) -> str:
    """The rows of several of these queries, series by series in the order of time."""
    united = " union all ".join(f"select * from ({query}) as q" for query in queries)
    return f"select * from ({united}) as united order by all"


def _bucket(bucket_us: int) -> str:
    return f"time_us - time_us % {bucket_us}"


class Mark(NamedTuple):
    """A series, and how it is drawn."""

    series: str
    name: str
    colour: str
    #: ``level``: a line with steps; ``rate``: the same from bucket to bucket; ``area``: that with
    #: the area below it; ``line``; ``bar``: as wide as its interval; ``point``.
    drawn: str
    #: The figure that is named of it: the ``most``; the ``least`` after start-up; ``any``, as all
    #: are equal. That of bars is their sum.
    named: str = "most"


class Panel(NamedTuple):
    """A chart over the time of a run."""

    title: str
    #: The unit of its numbers.
    unit: str
    marks: tuple[Mark, ...]
    #: The only control plane that has it: ``kraft`` or ``zookeeper``; empty: both.
    mode: str = ""
    #: The series by which the vertical axis is scaled, so that a peak of others leaves the chart.
    scaled_by: str = ""


class Point(NamedTuple):
    """A value of a series: of the bucket that begins at a time."""

    at_us: int
    value: float
    #: For a level: the remainder when the bucket ends.
    later: float | None = None


Series = Mapping[str, Sequence[Point]]


def collected(run: OneRun, queries: Iterable[str]) -> dict[str, list[Point]]:
    """The series that queries of :mod:`series` find, by their names."""
    found: dict[str, list[Point]] = {}
    for row in run.tables.rows(in_order(queries)):
        found.setdefault(row["series"], []).append(Point(row["at_us"], row["value"], row["later"]))
    return found


def folded_panels(run: OneRun, panels: Sequence[Panel], series: Series) -> Iterator[Piece]:
    """A folded chart for each panel in which anything is; the names of the others.

    Of logs the others are not named: their values can be unknown.
    """
    empty = []
    for panel in panels:
        if panel.mode not in {"", run.scenario["mode"]}:
            continue
        chart = panel_chart(run, panel, series)
        if chart is None:
            empty.append(panel.title)
        else:
            answer = "; ".join(key.text for key in chart.keys)
            yield Folded(f"{panel.title}:", f"{answer}.", [chart])
    if empty and not run.is_of_logs:
        listed = "; ".join(title[0].lower() + title[1:] for title in empty)
        yield Words(f"0 at all times: {listed}.", "note")


def panel_chart(run: OneRun, panel: Panel, series: Series) -> Chart | None:
    """The chart of a panel; None: all of its values are 0."""
    marks = [
        mark for mark in panel.marks if any(point.value for point in series.get(mark.series, ()))
    ]
    if not marks:
        return None
    stacked: dict[float, float] = {}
    drawn = [_drawn(run, mark, series[mark.series], panel.unit, stacked) for mark in marks]
    values = (point.value for mark in marks for point in series[mark.series])
    most = max((*values, *stacked.values()))
    title, limit = panel.title, _limit(panel, series)
    if limit < most:
        most, title = limit, f"{title}, with a peak beyond the axis"
    return Chart(
        f"{title} ({panel.unit})",
        time_axis(run.duration_us),
        drawn,
        [
            Key(mark.name, mark.colour, _named(run, panel, mark, series[mark.series]))
            for mark in marks
        ],
        up=Axis(most, is_whole=panel.unit != "seconds").rounded_up(),
        faults=run.faults,
    )


def _limit(panel: Panel, series: Series) -> float:
    """The end of the vertical axis, whatever is above it."""
    scale = max((point.value for point in series.get(panel.scaled_by, ())), default=0.0)
    return _ABOVE * scale or inf


#: The axis of a panel that is scaled by a series ends at so many times its most.
_ABOVE = 2


def _named(run: OneRun, panel: Panel, mark: Mark, points: Sequence[Point]) -> str:
    """A figure of a series, in words."""
    if mark.drawn == "bar" and panel.unit not in _NOT_SUMMED:
        return f"{number_text(round(sum(point.value for point in points)))} in all"
    if mark.named == "any":
        return _with_unit(points[0].value, panel)
    if mark.named == "least":
        left = [Point(each.at_us, each.later or 0.0) for each in points]
        counted = [each for each in left if each.at_us >= run.figures_from_us] or left[-1:]
        least = min(counted, key=lambda point: point.value)
        return f"at least {_with_unit(least.value, panel)}, from {short_time_text(least.at_us)}"
    most = max(points, key=lambda point: point.value)
    return f"at most {_with_unit(most.value, panel)}, at {short_time_text(most.at_us)}"


def _with_unit(value: float, panel: Panel) -> str:
    if panel.unit == "seconds":
        return duration_text(value * 1e6)
    return number_text(int(value) if value.is_integer() else value)


#: Units of which bars show the most, and not the number.
_NOT_SUMMED = frozenset({"seconds", "events left"})


def _drawn(
    run: OneRun, mark: Mark, points: Sequence[Point], unit: str, stacked: dict[float, float]
) -> Drawn:
    """A series; bars stand on those that are ``stacked`` there, and are added to them."""
    if mark.drawn == "level":
        points = steps(points, run.bucket_us, run.duration_us)
    places = [(seconds(point.at_us), point.value) for point in points]
    if mark.drawn == "bar":
        bases = {**stacked}
        stacked.update((x, bases.get(x, 0.0) + value) for x, value in places)
        return Bars(places, seconds(run.bar_us), mark.colour, bases)
    if mark.drawn == "point":
        says = (f"{short_time_text(each.at_us)}: {each.value:,.4g} {unit}" for each in points)
        return Dots([Dot(*each) for each in zip(places, says, strict=True)], mark.colour)
    is_step = mark.drawn in {"level", "rate", "area"}
    return Line(places, mark.colour, is_step=is_step, is_area=mark.drawn == "area")


def steps(points: Sequence[Point], bucket_us: int, end_us: int) -> list[Point]:
    """The places of a line of steps: the most in each bucket, then the rest until the next one.

    A level is 0 before its first bucket, and stays to the end of the run.
    """
    values: dict[int, float] = {0: 0.0}
    for point in points:
        values[point.at_us] = point.value
        values[point.at_us + bucket_us] = point.later or 0.0
    values[end_us] = [value for at_us, value in values.items() if at_us <= end_us][-1]
    found: list[Point] = []
    for at_us, value in sorted(values.items()):
        if at_us <= end_us and (not found or value != found[-1].value or at_us == end_us):
            found.append(Point(at_us, value))
    return found
