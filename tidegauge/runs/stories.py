"""Stories of a run: the events of a partition, a broker, a client, the controllers; their reasons.

A line of a story is a moment (``moments.py``): one row, or many rows that are alike.
"""

from collections.abc import Container, Iterable, Iterator
from typing import Any, NamedTuple

from tidegauge.runs.controllers import controller_events
from tidegauge.runs.moments import (
    IN_PARTITION,
    OF_MANY,
    ONE_BY_ONE,
    Moment,
    moment_words,
    moments,
    reasons,
    speaker,
)
from tidegauge.runs.partitions import partition_events
from tidegauge.runs.run import Run
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.scenario.text.errors import duration_text
from tidegauge.simulation.quantities import time_text

#: Kinds of rows by which a log gets shorter.
_CUT = ("truncated", "log_lost")
#: All times of any run, in microseconds.
ALWAYS = range(1 << 62)


class StoryLine(NamedTuple):
    """One line of a story."""

    time_us: int
    #: The kind of its first row.
    kind: str
    #: Its handle for ``show cause``; empty if it has none.
    handle: str
    speaker: str
    words: str
    #: Why it happened; each is a line of its own below it.
    reasons: list[str]

    def __str__(self) -> str:
        first = f"{time_text(self.time_us):>10}  {self.speaker}: {self.words}"
        return "\n".join([first, *(f"{'':12}because: {reason}" for reason in self.reasons)])


def story_line(moment: Moment, run: Run, words: str | None = None) -> StoryLine:
    """The line of a moment, in its own words or in others.

    Raises:
        TraceError: a trace file is damaged.
    """
    return StoryLine(
        moment[0].time_us,
        moment[0].kind,
        moment[0].handle,
        speaker(moment),
        moment_words(moment) if words is None else words,
        reasons(moment, run),
    )


def story(
    events: Iterable[TraceEvent], run: Run, times: Container[int], *, details: bool = False
) -> list[StoryLine]:
    """The story of a broker or of clients.

    Args:
        events: its rows, in their total order.
        run: the run.
        times: the wanted times, in microseconds of virtual time.
        details: each row by itself.

    Raises:
        TraceError: a trace file is damaged.
    """
    shown = (event for event in events if event.time_us in times)
    likeness = ONE_BY_ONE if details else OF_MANY
    return [story_line(moment, run) for moment in moments(shown, likeness)]


def controller_story(
    run: Run, times: Container[int] = ALWAYS, *, details: bool = False
) -> list[StoryLine]:
    """The story of the controllers: their events and decisions.

    Raises:
        TraceError: a trace file is damaged.
    """
    taken = run.tables.rows(
        "select * from controller_events where queued_us is not null order by process, sequence"
    )
    queued = {f"{each['process']}:{each['sequence']}": each for each in taken}
    events = controller_events(run, details=details)
    shown = (event for event in events if event.time_us in times)
    return [
        story_line(moment, run, _event_words(moment[0], queued))
        for moment in moments(shown, ONE_BY_ONE if details else OF_MANY)
    ]


def _event_words(event: TraceEvent, queued: dict[str, dict[str, Any]]) -> str | None:
    """An event of the controller's queue in words; None: it is no such event."""
    taken = queued.get(event.handle)
    if taken is None and event.kind == "controller_event":  # of the liveness phase
        taken = {**event.columns, "event": event.event_kind, "processing_us": None}
    if taken is None:
        return None
    processing_us, left = taken["processing_us"], taken["queue_length"]
    took = "" if processing_us is None else f", took {duration_text(processing_us)}"
    more = f", {left} more in the queue" if left else ""
    return f"{taken['event']}: waited {duration_text(taken['queued_us'])}{took}{more}"


def partition_story(
    run: Run, partition: int, times: Container[int] = ALWAYS, *, details: bool = False
) -> list[StoryLine]:
    """The story of a partition, by its number, and of the events around it.

    Raises:
        TraceError: a trace file is damaged.
    """
    events = partition_events(run, partition, details=details)
    shown = (event for event in events if event.time_us in times)
    if details:
        found = moments(shown, ONE_BY_ONE)
    else:
        found = moments(_without_repeated_logs(shown), IN_PARTITION)
    return [
        story_line(moment, run, moment_words(moment, with_partitions=False)) for moment in found
    ]


def _without_repeated_logs(events: Iterable[TraceEvent]) -> Iterator[TraceEvent]:
    """Events without the rows of logs whose content the story has told already."""
    #: By process: the offsets of each epoch.
    logs: dict[str, dict[int, tuple[int, int]]] = {}
    for event in events:
        log = logs.setdefault(event.process, {})
        if event.kind in _CUT:
            cut = {
                epoch: (begin, min(end, event.end_offset)) for epoch, (begin, end) in log.items()
            }
            logs[event.process] = {epoch: each for epoch, each in cut.items() if each[0] < each[1]}
        elif event.kind == "log_end":
            told = log.get(event.epoch)
            log[event.epoch] = (event.start_offset, event.end_offset)
            if told == log[event.epoch]:
                continue
        yield event
