"""Sightings: moments at which processes lost a connection to another process.

A process that is killed closes its connections at once, and its peers log that. A process that is
paused, or cut off, closes none. So a lost connection dates a death to a tenth of a second, and
tells it from a pause. Rows of a run have no such lines: the sightings of logs are a file of their
own in the folder of the run that was made from them.

In logs all clients within brokers and controllers name the node: ``Node 1 disconnected``,
``Connection to node 1 (...) could not be established``, ``Error sending fetch request ... to node
1``. Each writer counts once at a time: a single connection that was closed for being idle is no
death.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegauge.real_cluster.logs.log_files import LogFile
from tidegauge.real_cluster.logs.log_lines import times_and_lines_of
from tidegauge.traces.run_folder import write_json_atomically

#: The file in a run's folder.
SIGHTINGS = "sightings.json"
#: Peers that lose a connection within this time lose it for the same reason.
_TOGETHER_US = 500_000
#: The number of lost connections that cannot all be idle ones that were closed.
_SEVERAL = 2
#: Lines of a process that follow each other within this time are one span.
_SPAN_US = 500_000

#: Times at which a process logged lines: from the first to the last of each span.
Spans = list[tuple[int, int]]


class Sightings:
    """The times at which peers lost connections, by process; and each process's own lines."""

    def __init__(
        self,
        lost_us: Mapping[int, Iterable[int]] | None = None,
        lines_us: Mapping[int, Iterable[tuple[int, int]]] | None = None,
        paused_us: Mapping[int, Iterable[int]] | None = None,
    ) -> None:
        """Take the times, in the time of the run.

        Args:
            lost_us: by node id, when another process lost a connection to it.
            lines_us: by node id, the spans in which it logged lines.
            paused_us: by node id, when it was paused, if that is known.
        """
        self._lost = {node: sorted(times) for node, times in (lost_us or {}).items()}
        self._lines: dict[int, Spans] = {
            node: sorted(spans) for node, spans in (lines_us or {}).items()
        }
        self._paused = {node: sorted(times) for node, times in (paused_us or {}).items()}

    @property
    def has_lines(self) -> bool:
        """Whether any line was read."""
        return bool(self._lines)

    def death_us(
        self, node: int, least_us: int, most_us: int, *, is_certain: bool = False
    ) -> int | None:
        """The time at which connections to a process were lost together, within two times.

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
        """The time of a pause of a process, within two times."""
        times = self._paused.get(node, [])
        place = bisect_left(times, least_us)
        return times[place] if place < len(times) and times[place] <= most_us else None

    def last_line_us(self, node: int, before_us: int) -> int | None:
        """The last line of a process before a time, up to a span."""
        earlier = [end for begin, end in self._lines.get(node, []) if begin < before_us]
        return min(earlier[-1], before_us - 1) if earlier else None

    def first_line_us(self, node: int, after_us: int) -> int | None:
        """The first line of a process after a time, up to a span."""
        later = [begin for begin, end in self._lines.get(node, []) if end > after_us]
        return max(later[0], after_us + 1) if later else None

    def longest_silence_us(self, node: int, before_us: int) -> tuple[int, int] | None:
        """The last and the first line around the longest time without one, before a time."""
        spans = [span for span in self._lines.get(node, []) if span[0] < before_us]
        silences = [(last, first) for (_, last), (first, _) in pairwise(spans)]
        return max(silences, key=lambda silence: silence[1] - silence[0], default=None)

    def moved(
        self, moved_us: Callable[[int], int], is_left_out: Callable[[int], bool]
    ) -> Sightings:
        """The same at other times, in the same order, without those that are left out."""

        def of_times(times: Mapping[int, list[int]]) -> dict[int, list[int]]:
            return {
                node: [moved_us(each) for each in of_node if not is_left_out(each)]
                for node, of_node in times.items()
            }

        lines = {
            node: [
                (moved_us(begin), moved_us(end))
                for begin, end in spans
                if not (is_left_out(begin) and is_left_out(end))
            ]
            for node, spans in self._lines.items()
        }
        return Sightings(of_times(self._lost), lines, of_times(self._paused))

    def write(self, folder: Path) -> None:
        """Write them into the folder of a run.

        Raises:
            OSError: the file cannot be written.
        """
        content = {"format": "tidegauge-sightings", "lost_us": self._lost, "lines_us": self._lines}
        write_json_atomically(folder / SIGHTINGS, content)


def sightings_of(folder: Path) -> Sightings:
    """The sightings in the folder of a run; none if it has no such file, or a damaged one."""
    try:
        content = json.loads((folder / SIGHTINGS).read_text(encoding="utf-8"))
        return Sightings(
            {int(node): times for node, times in content["lost_us"].items()},
            {
                int(node): [(int(begin), int(end)) for begin, end in spans]
                for node, spans in content["lines_us"].items()
            },
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Sightings()


def spans_of(times_us: NDArray[np.int64]) -> Spans:
    """The spans of lines with these times, in any order."""
    if not len(times_us):
        return []
    ordered = np.sort(times_us)
    gaps = np.flatnonzero(np.diff(ordered) > _SPAN_US)
    begins, ends = ordered[[0, *(gaps + 1)]], ordered[[*gaps, -1]]
    return list(zip(begins.tolist(), ends.tolist(), strict=True))


def merged_spans(spans: Iterable[tuple[int, int]]) -> Spans:
    """Spans in their order, those that follow each other closely as one."""
    merged: Spans = []
    for begin_us, end_us in sorted(spans):
        if merged and begin_us <= merged[-1][1] + _SPAN_US:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end_us))
        else:
            merged.append((begin_us, end_us))
    return merged


#: Literals of such lines; a line with one of them is read.
_MARKERS = ("disconnected", "could not be established", "Error sending fetch request")
_NODE = re.compile(
    r"\bNode (\d+) disconnected|\bConnection to node (\d+) |"
    r"\bError sending fetch request .* to node (\d+)"
)
#: Lines of one writer about one node within this time are one loss.
_TOGETHER_MS = 1000


def log_sightings(files: Iterable[LogFile], logs: dict[str, Any]) -> Sightings:
    """The sightings in logs.

    Args:
        files: the logs.
        logs: the part ``logs`` of the manifest of the run that they were made into, which has the
            begin and end of the run and the offsets of clocks.

    Raises:
        LogsError: the logs cannot be read; one line.
    """
    first_ms = int(logs["first_line_ms"])
    length_us = (int(logs["last_line_ms"]) - first_ms) * 1000
    ahead = {int(each["node"]): float(each["offset_ms"]) for each in logs["clock_offsets"]}
    lost: dict[int, list[int]] = {}
    spans: dict[int, Spans] = {}
    last_ms: dict[tuple[int, int], float] = {}
    for file in files:
        if file.node is None:
            continue
        offset_ms = ahead.get(file.node, 0.0)
        for times_ms, lines in times_and_lines_of(file, _MARKERS):
            times_us = ((times_ms - offset_ms - first_ms) * 1000).round().astype(np.int64)
            times_us = times_us[(times_us >= 0) & (times_us <= length_us)]
            spans.setdefault(file.node, []).extend(spans_of(times_us))
            for line in lines:
                node = _lost_node(line.message)
                if node is None or node == file.node:
                    continue
                time_ms = line.time_ms - offset_ms
                if not 0 <= (time_ms - first_ms) * 1000 <= length_us:
                    continue
                before_ms = last_ms.get((file.node, node))
                last_ms[file.node, node] = time_ms
                if before_ms is None or time_ms - before_ms > _TOGETHER_MS:
                    lost.setdefault(node, []).append(round((time_ms - first_ms) * 1000))
    return Sightings(lost, {node: merged_spans(of_node) for node, of_node in spans.items()})


def _lost_node(message: str) -> int | None:
    """The node of a line about a lost connection; None: the line is about another subject."""
    found = _NODE.search(message)
    if found is None:
        return None
    return int(next(group for group in found.groups() if group is not None))
