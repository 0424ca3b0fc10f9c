"""Virtual time from left to right, one character for each stretch of it.

Nothing here needs colour. Bars consist of blocks if the output can show them, else of ASCII.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from tidegauge.simulation.durations import short_time_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console

    from tidegauge.traces.run_folder import RunFolder
    from tidegauge.views.story_lines import Span

#: Columns before the axis: the name of a line, and its figures.
LABEL_WIDTH = 37
#: The most characters of time, and the least, however narrow the terminal is.
_MOST, _LEAST = 60, 20
#: Characters from one mark to the next.
_MARK_EVERY = 15

_BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII = ".:-=+*%@"


class TimeAxis(NamedTuple):
    """A part of virtual time, cut into equal parts."""

    begin_us: int
    end_us: int
    #: How many parts, each one character wide.
    width: int
    #: The characters of a bar, the lowest one first.
    levels: str

    @property
    def edges_us(self) -> list[int]:
        """The start of each part, then the end of the last one."""
        span_us = self.end_us - self.begin_us
        return [self.begin_us + span_us * part // self.width for part in range(self.width + 1)]

    def marks(self) -> tuple[str, str]:
        """Two lines: times, and their places."""
        edges_us = self.edges_us
        places = range(0, self.width + 1, _MARK_EVERY)
        times = "".join(f"{short_time_text(edges_us[place]):<{_MARK_EVERY}}" for place in places)
        ruler = "".join("|" if place in places else "-" for place in range(self.width))
        return times.rstrip(), ruler

    def bars(self, values: Iterable[int]) -> str:
        """A bar for the value of each part; any value above 0 is visible."""
        numbers = list(values)
        highest = max(numbers, default=0)
        return "".join(
            self.levels[-(-value * len(self.levels) // highest) - 1] if value else " "
            for value in numbers
        ).rstrip()

    def band(self, spans: Iterable[tuple[int, int | None]]) -> str:
        """Marks for the parts that the spans of time touch; None is the end."""
        edges_us = self.edges_us
        touched = [False] * self.width
        for begin_us, end_us in spans:
            for part in range(self.width):
                begins = begin_us < edges_us[part + 1]
                ends = end_us is not None and max(end_us, begin_us + 1) <= edges_us[part]
                touched[part] |= begins and not ends
        return "".join("#" if is_touched else " " for is_touched in touched).rstrip()

    def counted(self, times_us: NDArray[np.int64]) -> list[int]:
        """The number of these times in each part."""
        import numpy as np

        places = np.searchsorted(self.edges_us, times_us, side="right") - 1
        inside = places[(places >= 0) & (places < self.width)]
        return np.bincount(inside, minlength=self.width).tolist()  # type: ignore[no-any-return]

    def highest(self, times_us: NDArray[np.int64], values: NDArray[np.int64]) -> list[int]:
        """The highest value in each part; a value holds until the time of the next one."""
        import numpy as np

        edges_us = self.edges_us
        firsts = np.searchsorted(times_us, edges_us[:-1], side="right") - 1
        lasts = np.searchsorted(times_us, edges_us[1:], side="left")
        return [
            max([*values[max(first, 0) : last].tolist(), 0])
            for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)
        ]

    def area_seconds(self, times_us: NDArray[np.int64], values: NDArray[np.int64]) -> float:
        """The area within the axis under values that hold until the time of the next one."""
        import numpy as np

        until_us = np.append(times_us, max(self.end_us, *times_us[-1:].tolist(), 0))
        held_us = np.diff(np.clip(until_us, self.begin_us, self.end_us))
        return int((held_us * values).sum()) / 1e6


def axis_of(run: RunFolder, out: Console, span: Span) -> TimeAxis:
    """The axis for a run, or for a part of it, as wide as the output has room.

    Raises:
        ValueError: the part is too short, or after the end of the run.
    """
    end_us = run.end_us if span.end_us is None else span.end_us
    width = min(_MOST, max(_LEAST, (out.width - LABEL_WIDTH) // _MARK_EVERY * _MARK_EVERY))
    if end_us - span.begin_us < width:
        raise ValueError(
            f"from {short_time_text(span.begin_us)} to {short_time_text(end_us)} there is nothing "
            f"to draw: --from must be before --to, and before the end of the run"
        )
    return TimeAxis(span.begin_us, end_us, width, _ASCII if out.options.ascii_only else _BLOCKS)
