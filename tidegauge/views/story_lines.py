"""Lines of a story: time, process, event, and below it the reason; the same in every view."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import typer
from rich.console import Console
from rich.text import Text

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.runs.stories import StoryLine
from tidegauge.simulation import quantities
from tidegauge.simulation.quantities import seconds_text, time_text, whole_time_text
from tidegauge.simulation.wall_clock import wall_clock_text
from tidegauge.traces.run_files import snapshot_times_us
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views.output import name_width, print_hanging

#: The most items in any list.
LISTED = 40

#: Kinds of rows that catch the eye, and how; others are as the terminal has them.
STYLES = {
    **dict.fromkeys(("fault_began", "fault_ended", "step_taken"), "bold yellow"),
    **dict.fromkeys(("isr_shrunk", "removed_from_isr", "session_expired"), "red"),
    **dict.fromkeys(("broker_failed", "controller_resigned"), "red"),
    **dict.fromkeys(("truncated", "batch_failed", "partition_failed"), "bold red"),
    **dict.fromkeys(("became_leader", "leader_elected", "controller_elected"), "bold"),
    "isr_expanded": "green",
}

#: Room for a time in seconds.
_SECONDS_WIDTH = 10


def time_width() -> int:
    """Room for a time in a column, with that for its wall clock if the run has one."""
    return _SECONDS_WIDTH + len(time_text(0)) - len(seconds_text(0))


@dataclass(frozen=True)
class Span:
    """A part of virtual time; both ends belong to it."""

    begin_us: int
    #: None for the end of the run.
    end_us: int | None

    def __contains__(self, time_us: object) -> bool:
        assert isinstance(time_us, int)
        return self.begin_us <= time_us and (self.end_us is None or time_us <= self.end_us)


class StoryOptions(NamedTuple):
    """The options for the content of a story."""

    span: Span
    #: Every row by itself, and those that are left out else.
    details: bool
    #: Print the handle for ``show cause`` in each line.
    handles: bool


def print_story(
    out: Console, run: RunFolder, lines: Iterable[StoryLine], options: StoryOptions
) -> None:
    """Print the lines of a story, or that there are none; a line tells where the run has ended."""
    lines = list(lines)
    print_lines(out, lines, handles=options.handles, end_us=run.end_us)
    if not lines:
        out.print("No events in this time.")


def print_lines(
    out: Console, lines: Iterable[StoryLine], *, handles: bool, end_us: int = sys.maxsize
) -> None:
    """Print lines in columns; handles stand after the time, where they can be copied.

    Args:
        out: the output.
        lines: the lines, in their order.
        handles: whether handles are printed.
        end_us: the end of the run: later lines are those of its liveness phase.
    """
    lines = list(lines)
    has_ended = False
    speaker_width = name_width(line.speaker for line in lines)
    handle_width = max((len(line.handle) for line in lines), default=0) if handles else 0
    for line in lines:
        if not has_ended and _is_after(line, end_us):
            has_ended = True
            print_hanging(out, f"{time_text(end_us):>{time_width()}}  ", Text(_END, style="bold"))
        before = f"{time_text(line.time_us):>{time_width()}}  "
        if handles:
            before += f"{line.handle:{handle_width}}  "
        words = Text(line.words, style=STYLES.get(line.kind, ""))
        if len(line.speaker) <= speaker_width:
            before += f"{line.speaker:{speaker_width}}  "
        else:
            words = Text(f"{line.speaker}  ").append_text(words)
        print_hanging(out, before, words)
        for reason in line.reasons:
            print_hanging(out, " " * len(before), Text(f"because: {reason}", style="dim"))


#: Printed where a run has ended and its liveness phase begins.
_END = "--- the run has ended; liveness phase: all faults are healed ---"


def _is_after(line: StoryLine, end_us: int) -> bool:
    """Whether a line is of the liveness phase, which begins with the ends of all faults."""
    return line.time_us > end_us or (line.time_us == end_us and line.kind == "fault_ended")


def parse_time(option: str, text: str) -> int:
    """Read the time in an option.

    Raises:
        TidegaugeError: the time cannot be read; the message names the option.
    """
    try:
        return quantities.parse_time(text)
    except ValueError as error:
        raise TidegaugeError(f"{option}: {error}") from error


def parse_span(
    begin: str | None, end: str | None, options: tuple[str, str] = ("--from", "--to")
) -> Span:
    """Read --from and --to, or other options that errors name so.

    Raises:
        TidegaugeError: one of them cannot be read, or their order is wrong; the message names it.
    """
    of_begin, of_end = options
    begin_us = 0 if begin is None else max(0, parse_time(of_begin, begin))
    end_us = None if end is None else _to_the_millisecond(parse_time(of_end, end))
    if end_us is not None and end_us < begin_us:
        before = "the run begins" if begin is None else f"{of_begin} {begin}"
        raise TidegaugeError(f"{of_end} {end}: is before {before}")
    return Span(begin_us, end_us)


def _to_the_millisecond(time_us: int) -> int:
    """The last microsecond that is printed as this time, so that a copied time has its events."""
    return time_us if time_us % 1000 else time_us + 999


def when_text(run: RunFolder, at_us: int | None) -> str:
    """``at 12.345s``, or ``at the end``: that of the liveness phase if there is one.

    Raises:
        TraceError: a trace file is damaged.
    """
    if at_us is None:
        is_healed = run.last_time_us > run.end_us
        return "after the liveness phase, all faults healed" if is_healed else "at the end"
    return f"at {time_text(at_us)}{' (in the liveness phase)' if at_us > run.end_us else ''}"


def moment_of(run: RunFolder, text: str) -> int:
    """The virtual time that ``--at`` names, in microseconds.

    Raises:
        TidegaugeError: the text is not a time, or the time is after the end of the run.
        TraceError: a trace file is damaged.
    """
    at_us = _to_the_millisecond(parse_time("--at", text))
    if run.summary is None or "duration" not in run.manifest.get("scenario", {}):
        return at_us
    # The last thing that happened may be long before the end, or in the liveness phase behind it.
    end_us = max(run.last_time_us, run.end_us)
    if at_us < 0:
        raise TidegaugeError(f"--at {text}: the run begins at {time_text(0)}")
    if at_us - at_us % 1000 > end_us:
        raise TidegaugeError(f"--at {text}: the run ends at {time_text(end_us)}")
    return at_us


def print_notes(run: RunFolder) -> None:
    """Print the date of the run's begin, if it has one, and notes about an unfinished run."""
    if run.wall_clock is not None:
        begin = wall_clock_text(run.wall_clock.first_ms)
        typer.echo(f"note: 0s is {begin} UTC; options take times of both clocks", err=True)
    if run.summary is None:
        typer.echo(
            f"note: the run is unfinished: it is shown up to {time_text(run.end_us)}", err=True
        )
        if snapshots_us := snapshot_times_us(run.path):
            begin = whole_time_text(snapshots_us[-1])
            typer.echo(f"note: tidegauge resume {run.path} continues from {begin}", err=True)
    for trace in run.torn:
        typer.echo(f"note: {trace.path} ends within a frame: some rows are missing", err=True)
