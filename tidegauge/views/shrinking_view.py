"""The output of ``tidegauge shrink``: one screen about the smallest scenario that fails."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from tidegauge.runs.partitions import partition_number
from tidegauge.runs.run import Run
from tidegauge.runs.stories import StoryLine, controller_story, partition_story
from tidegauge.scenario.text.errors import counted
from tidegauge.scenario.text.yaml_file import in_line
from tidegauge.search.differences import ScenarioSize
from tidegauge.search.shrinking import Shrunk
from tidegauge.simulation.quantities import format_duration, time_text
from tidegauge.views.output import print_command, print_hanging
from tidegauge.views.overview import worst_partition
from tidegauge.views.story_lines import print_lines

#: Lines of a story, those after the failure among them.
_STORY, _AFTERWARDS = 20, 4
#: Letters of a story in one line.
_ROOM = 68
#: The parts of a schedule that are listed, with the most of each.
_LISTED = {"faults": 12, "fault_rates": 4, "steps": 12, "pins": 12}


class ToldShrinking(NamedTuple):
    """A scenario that has been shrunk, and its run."""

    shrunk: Shrunk
    run: Run
    #: The file of the scenario.
    file: Path
    #: The run or scenario that was shrunk.
    source: str
    took_s: float

    @property
    def event(self) -> Mapping[str, Any] | None:
        """The event that is the failure; None: it has none."""
        return self.shrunk.failure.event_in(self.shrunk.run)

    @property
    def command(self) -> str:
        """The command that runs it again."""
        return shlex.join(["tidegauge", "run", str(self.file)])


def _changes(before: ScenarioSize, after: ScenarioSize) -> Iterator[str]:
    """The parts of the size that the scenario has or had, such as ``faults 25 -> 1``."""
    for name, was in before._asdict().items():
        now = getattr(after, name)
        if name == "duration_us":
            yield f"duration {format_duration(was)} -> {format_duration(now)}"
        elif was or now:
            yield f"{name} {was:,} -> {now:,}" if was != now else f"{name} {was:,}"


def change_words(shrunk: Shrunk) -> str:
    """The size of the scenario, before and after it was shrunk."""
    return ", ".join(_changes(shrunk.before, shrunk.after))


def show_shrunk(out: Console, told: ToldShrinking) -> None:
    """Print the failure, the size before and after, the schedule that is left, and the story."""
    shrunk = told.shrunk
    print_hanging(out, "", Text(f"{shrunk.failure.words}.", style="bold red"))
    if told.event is not None:
        print_hanging(out, "  ", _event_words(told.event))
    out.print()
    print_hanging(out, "Shrunk: ", change_words(shrunk))
    deviations = f"{shrunk.before.deviations} -> {shrunk.after.deviations}"
    tried = f"{counted(shrunk.tried, 'run')} tried in {told.took_s:.1f} s"
    print_hanging(out, "Deviations from the default order: ", f"{deviations}; {tried}")
    out.print()
    for name, most in _LISTED.items():
        _print_parts(out, name, shrunk.written.get(name, ()), most)
    _print_story(out, told)
    out.print()
    seed = shrunk.run.plan.scenario.seed
    out.print(f"Seed: {seed}; scenario: {told.file}; run: {told.run.path}", soft_wrap=True)
    print_command("Again", told.command)


def _event_words(event: Mapping[str, Any]) -> str:
    where = "" if event["partition"] is None else f", partition {event['partition']}"
    return f"first at {time_text(event['time_us'])} by {event['process']}{where}"


def _print_parts(out: Console, name: str, parts: Sequence[Mapping[str, Any]], most: int) -> None:
    """Print the faults or steps that are left, each as the scenario has it."""
    if not parts:
        return
    out.print(f"{name.replace('_', ' ').capitalize()}:")
    for part in parts[:most]:
        print_hanging(out, "  ", in_line(dict(part)))
    if len(parts) > most:
        out.print(f"  ... and {len(parts) - most:,} more, in the scenario")


def _subject(told: ToldShrinking) -> str | None:
    """The partition of the story; None: that of the controllers is told."""
    event = told.event
    if event is not None:
        name: str | None = event["partition"]
        return name
    return worst_partition(told.run) if told.run.names.partitions else None


def _story(told: ToldShrinking) -> list[StoryLine]:
    """The last lines before the failure, the failure, and the next lines."""
    subject = _subject(told)
    if subject is None:
        lines = controller_story(told.run)
    else:
        lines = partition_story(told.run, partition_number(subject, told.run.names))
    event = told.event
    if event is None:
        return lines[-_STORY:]
    broken_us = event["time_us"]
    name = told.shrunk.failure.name
    here = StoryLine(broken_us, "check_broken", event["handle"], "", f"*** {name} is broken", [])
    before = [line for line in lines if line.time_us <= broken_us]
    after = [line for line in lines if line.time_us > broken_us][:_AFTERWARDS]
    return [*_last(before, _STORY - len(after) - 1), here, *after]


def _last(lines: Sequence[StoryLine], room: int) -> list[StoryLine]:
    """The last of some lines, with their reasons in so many lines of text."""
    kept: list[StoryLine] = []
    for line in reversed(lines):
        room -= sum(1 + len(text) // _ROOM for text in (line.words, *line.reasons))
        if room < 0:
            break
        kept.append(line)
    return kept[::-1]


def _print_story(out: Console, told: ToldShrinking) -> None:
    subject = _subject(told)
    out.print()
    out.print(f"The story of {subject or 'the controllers'}:", style="bold")
    print_lines(out, _story(told), handles=False)


def shrunk_for_programs(told: ToldShrinking) -> dict[str, Any]:
    """The same for programs."""
    shrunk = told.shrunk
    return {
        "failure": shrunk.failure.name,
        "words": shrunk.failure.words,
        "event": None if told.event is None else dict(told.event),
        "seed": shrunk.run.plan.scenario.seed,
        "before": {**shrunk.before._asdict(), "deviations": shrunk.before.deviations},
        "after": {**shrunk.after._asdict(), "deviations": shrunk.after.deviations},
        "tried": shrunk.tried,
        "was_interrupted": shrunk.was_interrupted,
        "scenario": shrunk.written,
        "file": str(told.file),
        "run": str(told.run.path),
        "command": told.command,
        "story": [line._asdict() for line in _story(told)],
    }
