"""What processes tell of each other: moments at which a connection to a process was lost.

A process that is killed closes its connections at once, and its peers log that. A process that is
paused, or cut off, closes none. So a lost connection dates a death to some milliseconds, and tells
it from a pause. Rows of a run have no such lines; who has the logs passes the sightings.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping

#: Peers that lose a connection within this time lose it for the same reason.
_TOGETHER_US = 500_000
#: So many lost connections are more than one that was closed since it was idle.
_SEVERAL = 2


class Sightings:
    """The times at which peers lost connections, by process; and each process's own lines."""

    def __init__(
        self,
        lost_us: Mapping[int, Iterable[int]] | None = None,
        lines_us: Mapping[int, Iterable[int]] | None = None,
        paused_us: Mapping[int, Iterable[int]] | None = None,
    ) -> None:
        """Take the times, in the time of the run.

        Args:
            lost_us: by node id, when another process lost a connection to it.
            lines_us: by node id, when it logged a line.
            paused_us: by node id, when it was paused, if that is known.
        """
        self._lost = {node: sorted(times) for node, times in (lost_us or {}).items()}
        self._lines = {node: sorted(times) for node, times in (lines_us or {}).items()}
        self._paused = {node: sorted(times) for node, times in (paused_us or {}).items()}

    @property
    def has_lines(self) -> bool:
        """Whether any line was read."""
        return bool(self._lines)

    def death_us(
        self, node: int, least_us: int, most_us: int, *, is_certain: bool = False
    ) -> int | None:
        """When connections to a process were lost together, between two times.

        Args:
            node: its id.
            least_us: not before this time.
            most_us: not after this time.
            is_certain: whether it ended in this time, so that one lost connection is enough.
        """
        times = self._lost.get(node, [])
        needed = 1 if is_certain else _SEVERAL
        found = None
        for place in range(bisect_left(times, least_us), bisect_right(times, most_us)):
            together = bisect_right(times, times[place] + _TOGETHER_US) - place
            if together >= _SEVERAL:
                return times[place]
            if found is None and together >= needed:
                found = times[place]
        return found

    def pause_us(self, node: int, least_us: int, most_us: int) -> int | None:
        """When a process was paused between two times."""
        times = self._paused.get(node, [])
        place = bisect_left(times, least_us)
        return times[place] if place < len(times) and times[place] <= most_us else None

    def last_line_us(self, node: int, before_us: int) -> int | None:
        """The last line of a process before a time."""
        times = self._lines.get(node, [])
        place = bisect_left(times, before_us)
        return times[place - 1] if place else None

    def first_line_us(self, node: int, after_us: int) -> int | None:
        """The first line of a process after a time."""
        times = self._lines.get(node, [])
        place = bisect_right(times, after_us)
        return times[place] if place < len(times) else None
