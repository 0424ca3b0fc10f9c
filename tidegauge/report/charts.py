"""Charts as SVG within the page: lines, steps, areas, bars, dots and lanes, with axes and units.

Places are percentages of the chart, so that it is as wide as the page and its letters keep their
size; only paths are stretched. Colours are those of the style sheet (``page.css``), after Okabe and
Ito: they differ for people with any colour vision, and follow the theme of the page.
"""

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10
from typing import Any, NamedTuple, Protocol

#: Colours for lines that are drawn side by side, in this order.
COLOURS = tuple(
    f"var(--{name})" for name in ("blue", "orange", "green", "purple", "sky", "red", "yellow")
)
BAD = "var(--red)"
WORSE = "var(--purple)"
WARNING = "var(--orange)"
GOOD = "var(--blue)"
SKY = "var(--sky)"
QUIET = "var(--muted)"
FAULT = "var(--fault)"

#: A value on the horizontal axis, and one on the vertical.
Place = tuple[float, float]

#: The side of the square that is stretched over a chart, for paths.
_SQUARE = 1000
#: In pixels: the height of a chart with a vertical axis, and that of a lane with its name.
_HEIGHT, _LANE = 150, 40
#: The most intervals between ticks: along, where a narrow page has room for so many, and upwards.
_ALONG, _UPWARDS = 5, 3
#: From this part of the width on a label stands left of its tick.
_NEAR_THE_END = 0.95


def seconds(time_us: float) -> float:
    """A moment or a length of virtual time, as an axis of time takes it."""
    return round(time_us / 1e6, 6)


def _text(value: float) -> str:
    """A number on an axis: ``0.5``, ``2,000``, ``20k``, ``3M``."""
    if value >= _MILLION:
        return f"{value / _MILLION:g}M"
    return f"{value / 1000:g}k" if value >= _MANY else f"{value:,.6g}"


#: From here on thousands and millions are numbered.
_MANY, _MILLION = 10_000, 1_000_000


def _percent(part: float) -> str:
    return f"{100 * part:.2f}".rstrip("0").rstrip(".") + "%"


class Axis(NamedTuple):
    """An axis of numbers from 0 on."""

    most: float
    #: Written after each number: ``s`` for seconds.
    unit: str = ""
    #: Whether there is nothing between two whole numbers.
    is_whole: bool = False

    def part(self, value: float) -> float:
        """The place of a value, in parts of the axis."""
        return value / self.most if self.most else 0.0

    def step(self, intervals: int) -> float:
        """The distance of ticks with at most so many intervals: 1, 2 or 5 times a power of ten."""
        if not self.most:
            return 1.0
        power = 10.0 ** floor(log10(self.most / intervals))
        step = next(d * power for d in (1, 2, 5, 10) if d * power * intervals >= self.most)
        return max(step, 1.0) if self.is_whole else step

    def ticks(self, intervals: int) -> list[float]:
        """The values that are named, at most so many beside 0."""
        step = self.step(intervals)
        return [nth * step for nth in range(floor(self.most / step + _NEARLY) + 1)]

    def rounded_up(self) -> "Axis":
        """With the first tick that no value is above as its end."""
        step = self.step(_UPWARDS)
        return self._replace(most=step * max(1, ceil(self.most / step - _NEARLY)))


#: Divisions of fractions are not exact.
_NEARLY = 1e-9


def time_axis(end_us: int) -> Axis:
    """An axis of virtual time, in seconds."""
    return Axis(seconds(end_us), " s")


class Mark(Protocol):
    """A mark in a chart: lines, areas, lanes, dots."""

    def svg(self, along: Axis, up: Axis) -> str:
        """The elements."""
        ...


class Line(NamedTuple):
    """A line through places; a step keeps each value until the next place."""

    places: Sequence[Place]
    colour: str
    is_step: bool = False
    #: Whether the area below it is filled, in a lighter colour.
    is_area: bool = False

    def svg(self, along: Axis, up: Axis) -> str:
        """A path, and one for the area."""
        inner = "".join(
            f"H{x}V{y}" if self.is_step else f"L{x} {y}"
            for x, y in (_stretched(each, along, up) for each in self.places[1:])
        )
        first, last = (_stretched(self.places[end], along, up) for end in (0, -1))
        line = f"M{first[0]} {first[1]}{inner}"
        area = f"{line}V{_SQUARE}H{first[0]}z"
        filled = f'<path class="area" d="{area}" fill="{self.colour}"/>' if self.is_area else ""
        dot = "h.01" if last == first else ""
        return _paths(f'{filled}<path class="line" d="{line}{dot}" stroke="{self.colour}"/>')


class Between(NamedTuple):
    """The area between two lines."""

    lower: Sequence[Place]
    upper: Sequence[Place]
    colour: str

    def svg(self, along: Axis, up: Axis) -> str:
        """A path around it."""
        around = (_stretched(each, along, up) for each in (*self.lower, *reversed(self.upper)))
        d = "L".join(f"{x} {y}" for x, y in around)
        return _paths(f'<path class="area" d="M{d}z" fill="{self.colour}"/>')


class Bars(NamedTuple):
    """Upright bars of one width, each from its place to the right; those below it are its base."""

    places: Sequence[Place]
    width: float
    colour: str
    bases: Mapping[float, float]

    def svg(self, along: Axis, up: Axis) -> str:
        """One path for all."""
        drawn = []
        for x, value in self.places:
            base = self.bases.get(x, 0.0)
            left, top = _stretched((x, base + value), along, up)
            right, bottom = _stretched((x + self.width, base), along, up)
            drawn.append(f"M{left} {bottom}V{top}H{right}V{bottom}z")
        return _paths(f'<path d="{"".join(drawn)}" fill="{self.colour}"/>')


class Dot(NamedTuple):
    """A point."""

    at: Place
    #: Shown while the pointer is on it.
    says: str


class Dots(NamedTuple):
    """Points of one kind."""

    dots: Sequence[Dot]
    colour: str
    #: Circles, and no discs.
    is_hollow: bool = False

    def svg(self, along: Axis, up: Axis) -> str:
        """A circle for each."""
        look = f'fill="{self.colour}"'
        if self.is_hollow:
            look = f'fill="none" stroke="{self.colour}" stroke-width="2"'
        circles = "".join(
            f'<circle cx="{_percent(along.part(at[0]))}" cy="{_percent(1 - up.part(at[1]))}" r="4">'
            f"<title>{escape(says)}</title></circle>"
            for at, says in self.dots
        )
        return f"<g {look}>{circles}</g>"


class Span(NamedTuple):
    """A part of a lane."""

    #: The number of the lane, from above.
    lane: int
    begin: float
    end: float
    #: Shown while the pointer is on it.
    says: str


#: The most bars that are drawn one by one; of more, those that nothing is seen between are one.
_ONE_BY_ONE = 200
#: The parts of a chart's width that can be told apart.
_SEEN = 300


def _drawn(spans: Sequence[Span], along: Axis) -> list[Span]:
    """The bars that are drawn, lane by lane."""
    if len(spans) <= _ONE_BY_ONE:
        return [*spans]
    found: list[Span] = []
    for each in sorted(spans):
        last = found[-1] if found and found[-1].lane == each.lane else None
        if last is None or (each.begin - last.end) * _SEEN > along.most:
            found.append(each)
        else:
            found[-1] = last._replace(end=max(last.end, each.end), says="several")
    return found


class Spans(NamedTuple):
    """Bars along lanes; those of a lower part of the height lie within others."""

    spans: Sequence[Span]
    colour: str
    #: In pixels.
    height: int = 14
    #: The middle of the bar, in pixels below that of other bars: for several in a lane.
    lower: int = 0

    def svg(self, along: Axis, up: Axis) -> str:  # noqa: ARG002 - lanes have no vertical axis
        """A rectangle for each."""
        drawn = "".join(
            f'<rect x="{_percent(along.part(begin))}" y="{self._top(lane)}" '
            f'width="{_percent(along.part(end - begin))}" height="{self.height}">'
            f"<title>{escape(says)}</title></rect>"
            for lane, begin, end, says in _drawn(self.spans, along)
        )
        return f'<g class="spans" fill="{self.colour}">{drawn}</g>'

    def _top(self, lane: int) -> int:
        return lane * _LANE + 28 + self.lower - self.height // 2


def in_lane(lane: int, lanes: int) -> float:
    """The place of a dot in the middle of a lane's bars, on the vertical axis of :class:`Chart`."""
    return 1 - (lane * _LANE + 28) / (lanes * _LANE)


def _stretched(place: Place, along: Axis, up: Axis) -> tuple[str, str]:
    x, y = along.part(place[0]), 1 - up.part(place[1])
    return f"{_SQUARE * x:.1f}".removesuffix(".0"), f"{_SQUARE * y:.0f}"


def _paths(paths: str) -> str:
    return f'<svg viewBox="0 0 {_SQUARE} {_SQUARE}" preserveAspectRatio="none">{paths}</svg>'


class Key(NamedTuple):
    """The meaning of a colour in a chart."""

    name: str
    colour: str
    #: A figure of the content, such as the most.
    figure: str = ""

    @property
    def text(self) -> str:
        """Name and figure."""
        return f"{self.name}: {self.figure}" if self.figure else self.name

    def html(self) -> str:
        """An item of a list."""
        figure = f" <em>{escape(self.figure)}</em>" if self.figure else ""
        return f'<li><i style="background:{self.colour}"></i>{escape(self.name)}{figure}</li>'


class Chart(NamedTuple):
    """A chart with its title, its keys and a label that has their figures for screen readers."""

    title: str
    along: Axis
    marks: Sequence[Mark]
    keys: Sequence[Key] = ()
    #: The vertical axis; None: there are lanes.
    up: Axis | None = None
    #: The names of the lanes, from above.
    lanes: Sequence[str] = ()
    #: Faults, whose times are shaded: rows of the table of faults.
    faults: Sequence[Mapping[str, Any]] = ()

    @property
    def label(self) -> str:
        """It in words: title, keys with their figures, lanes."""
        return "; ".join((self.title, *(key.text for key in self.keys), *self.lanes))

    def html(self) -> str:
        """A figure."""
        keys = "".join(key.html() for key in self.keys)
        listed = f'<ul class="keys">{keys}</ul>' if keys else ""
        return (
            f"<figure><figcaption><b>{escape(self.title)}</b>{listed}</figcaption>"
            f'<div class="plot{"" if self.up else " lanes"}">'
            f'<svg role="img" aria-label="{escape(self.label)}" height="{self.height}">'
            f"{self.drawn()}</svg></div></figure>"
        )

    @property
    def height(self) -> int:
        """The height of the part between the axes, in pixels."""
        return _HEIGHT if self.up else _LANE * len(self.lanes)

    def drawn(self) -> str:
        """The elements within an SVG of this height, and below and left of it those of axes."""
        up = self.up or Axis(1)
        marks = "".join(mark.svg(self.along, up) for mark in self.marks)
        axes = f"{self._upwards()}{self._along(self.height)}"
        return f"{self._bands()}{axes}{marks}{self._names()}"

    def _bands(self) -> str:
        spans = [
            Span(0, seconds(each["begin_us"]), seconds(each["end_us"]), "") for each in self.faults
        ]
        return "".join(
            f'<rect class="band" x="{_percent(self.along.part(begin))}" height="100%" '
            f'width="{_percent(self.along.part(end - begin))}"/>'
            for _, begin, end, _ in _drawn(spans, self.along)
        )

    def _upwards(self) -> str:
        if self.up is None:
            return ""
        return "".join(
            f'<line class="grid" x2="100%" y1="{y}" y2="{y}"/>'
            f'<text x="-6" y="{y}" dy=".35em" text-anchor="end">{_text(each)}{self.up.unit}</text>'
            for each in self.up.ticks(_UPWARDS)
            for y in [_percent(1 - self.up.part(each))]
        )

    def _along(self, height: int) -> str:
        drawn = []
        for each in self.along.ticks(_ALONG):
            part = self.along.part(each)
            x, side = _percent(part), "end" if part > _NEAR_THE_END else "middle"
            side = side if part or self.up else "start"
            drawn.append(
                f'<line class="grid" x1="{x}" x2="{x}" y2="100%"/><text x="{x}" y="{height + 16}" '
                f'text-anchor="{side}">{_text(each)}{self.along.unit}</text>'
            )
        return "".join(drawn)

    def _names(self) -> str:
        return "".join(
            f'<text y="{place * _LANE + 16}">{escape(shortened(name))}</text>'
            for place, name in enumerate(self.lanes)
        )


class SideBySide(NamedTuple):
    """Small charts, as many in a row as the page has room for."""

    charts: Sequence[Chart]

    def html(self) -> str:
        """All of them."""
        return f'<div class="charts">{"".join(chart.html() for chart in self.charts)}</div>'


def shortened(name: str) -> str:
    """A name that fits above a lane of a narrow page."""
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"


#: The most letters of a name.
_NAME = 40
