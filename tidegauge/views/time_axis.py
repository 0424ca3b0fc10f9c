"""Virtual time from left to right, one character for each stretch of it.

Nothing here needs colour. Bars consist of blocks if the output can show them, else of ASCII. Faults
and steps have a line each, or a line for each kind if they are many.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from rich.console import Console

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.report.headline import moving_us
from tidegauge.simulation.quantities import short_seconds_text, short_time_text
from tidegauge.simulation.wall_clock import shown_clock
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views.story_lines import Span

#: Columns before the axis: the name of a line, and its figures.
LABEL_WIDTH = 37
#: The least characters of time, however narrow the terminal is.
_LEAST = 20
#: Characters from one mark to the next, and behind the last one for its time.
_MARK_EVERY, _LAST_MARK = 15, 3

_BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII = ".:-=+*%@"


class TimeAxis(NamedTuple):
    """A part of virtual time, cut into equal parts."""

    begin_us: int
    end_us: int
    #: The number of parts, each one character wide.
    width: int
    #: The characters of a bar, the lowest one first.
    levels: str

    @property
    def edges_us(self) -> list[int]:
        """The start of each part, then the end of the last one."""
        span_us = self.end_us - self.begin_us
        return [self.begin_us + span_us * part // self.width for part in range(self.width + 1)]

    def marks(self) -> tuple[list[str], str]:
        """Lines of times, those of the wall clock below the virtual ones; and their places."""
        edges_us, clock = self.edges_us, shown_clock()
        places = range(0, self.width + 1, _MARK_EVERY)
        texts = [
            [short_seconds_text(edges_us[at]), *(clock.texts(edges_us[at]) if clock else ())]
            for at in places
        ]
        lines = [
            "".join(f"{text:<{_MARK_EVERY}}" for text in line) for line in zip(*texts, strict=True)
        ]
        ruler = "".join("|" if place in places else "-" for place in range(self.width))
        return [line.rstrip() for line in lines], ruler

    def bars(self, values: Iterable[int]) -> str:
        """A bar for the value of each part; any value above 0 is visible."""
        numbers = list(values)
        highest = max(numbers, default=0)
        return "".join(
            self.levels[-(-value * len(self.levels) // highest) - 1] if value else " "
            for value in numbers
        ).rstrip()

    def band(self, spans: Iterable[tuple[int, int]]) -> str:
        """Marks for the parts that the spans of time touch."""
        edges_us = self.edges_us
        touched = [False] * self.width
        for begin_us, end_us in spans:
            for part in range(self.width):
                begins = begin_us < edges_us[part + 1]
                ends = max(end_us, begin_us + 1) <= edges_us[part]
                touched[part] |= begins and not ends
        return "".join("#" if is_touched else " " for is_touched in touched).rstrip()

    def told_to(self, tables: RunTables) -> None:
        """Make the parts a relation for queries, ``parts``: ``part``, begin and end."""
        edges_us = self.edges_us
        rows = [(part, edges_us[part], edges_us[part + 1]) for part in range(self.width)]
        tables.add("parts", "part bigint, begin_us bigint, end_us bigint", rows)

    def in_parts(self, rows: Iterable[Mapping[str, int]], column: str) -> list[int]:
        """The values of a column by ``part``; 0 where there is no row."""
        values = [0] * self.width
        for row in rows:
            values[row["part"]] = row[column]
        return values


def axis_of(run: RunFolder, out: Console, span: Span) -> TimeAxis:
    """The axis for a run, or for a part of it, as wide as the output has room.

    It ends with the run at the latest: tables do not have the liveness phase.

    Raises:
        TidegaugeError: the part is too short, or after the end of the run.
    """
    end_us = run.end_us if span.end_us is None else min(span.end_us, run.end_us)
    room = out.width - LABEL_WIDTH - _LAST_MARK
    width = max(_LEAST, room // _MARK_EVERY * _MARK_EVERY)
    if end_us - span.begin_us < width:
        raise TidegaugeError(
            f"from {short_time_text(span.begin_us)} to {short_time_text(end_us)} there is nothing "
            f"to draw: --from must be before --to, and before the end of the run"
        )
    return TimeAxis(span.begin_us, end_us, width, _ASCII if out.options.ascii_only else _BLOCKS)


#: The spans in which a fault was on.
Times: TypeAlias = list[tuple[int, int]]

#: The number of faults of a kind that keep their names, however many others there are.
_FEW = 1
#: Room for the name of a fault.
_NAME_WIDTH = LABEL_WIDTH - 2


#: Faults, and steps that begin or end none.
_BANDS = """
    select fault_kind as kind, fault_name || ': ' || fault_text as name, begin_us, end_us,
        null as step
    from faults
    union all
    select 'step ' || action, 'step ' || cast(step + 1 as string) || ': ' || step_text, taken_us,
        coalesce(over_us, taken_us), step
    from steps where taken_us is not null and action not in ('begin_fault', 'end_fault', 'wait')
    order by begin_us, name, kind, end_us, step
"""


def fault_lines(
    run: RunFolder, tables: RunTables, axis: TimeAxis, most_lines: int
) -> Iterator[str]:
    """The faults and steps within the axis, in at most ``most_lines`` lines.

    A step that moves replicas lasts until the last one is moved.
    """
    moving = {} if run.summary is None or run.is_of_logs else moving_us(run.summary)
    by_kind: dict[str, dict[str, Times]] = {}
    for each in tables.rows(_BANDS):
        begin_us = each["begin_us"]
        end_us = max(each["end_us"], begin_us + moving.get(each["step"], 0))
        if begin_us < axis.end_us and end_us >= axis.begin_us:
            of_kind = by_kind.setdefault(each["kind"], {})
            of_kind.setdefault(each["name"], []).append((begin_us, end_us))
    bands = {name: times for of_kind in by_kind.values() for name, times in of_kind.items()}
    if len(bands) > most_lines:
        bands = dict(_joined(by_kind))
    room = most_lines if len(bands) <= most_lines else most_lines - 1
    for name, times in list(bands.items())[:room]:
        yield f"{_shortened(name):<{LABEL_WIDTH}}{axis.band(times)}"
    if len(bands) > room:
        yield f"... and {len(bands) - room} more"


def faults_within(tables: RunTables, axis: TimeAxis) -> list[dict[str, Any]]:
    """The faults and steps within the axis, for programs."""
    return [
        {key: each[key] for key in ("kind", "name", "begin_us", "end_us")}
        for each in tables.rows(_BANDS)
        if each["begin_us"] < axis.end_us and each["end_us"] >= axis.begin_us
    ]


def _joined(by_kind: dict[str, dict[str, Times]]) -> Iterator[tuple[str, Times]]:
    """One line for each kind of fault, unless it has few faults."""
    for kind, of_kind in by_kind.items():
        if len(of_kind) <= _FEW:
            yield from of_kind.items()
        else:
            times = [when for each in of_kind.values() for when in each]
            yield f"{len(times)} x {kind}", times


def _shortened(name: str) -> str:
    return name if len(name) <= _NAME_WIDTH else f"{name[: _NAME_WIDTH - 2]}.."
