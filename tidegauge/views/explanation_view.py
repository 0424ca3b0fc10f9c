"""The output of ``tidegauge explain``: schedules that produce a picture, beside what was seen."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from tidegauge.engine.fuzzing.fuzzed_cluster import HeldState
from tidegauge.scenario.text.errors import counted
from tidegauge.search.explaining import Deviation, Schedule, Subject, Tried
from tidegauge.search.explanations import Explained
from tidegauge.search.picture_distances import Span
from tidegauge.search.pictures import NO_LEADER, Picture, SeenState
from tidegauge.search.suspects import words_of
from tidegauge.simulation.quantities import short_seconds_text
from tidegauge.views.output import print_command, print_hanging

#: Explanations that are printed.
_LISTED = 8
#: The nearest schedules that are printed if nothing matches.
_NEAREST = 3
_ANY = "any"


class ToldExplanations(NamedTuple):
    """A search that has ended."""

    explained: Explained
    #: The scenarios of the first explanations, or of the nearest schedule.
    files: Sequence[Path]
    took_s: float


def progress_words(explained: Explained) -> str:
    """The progress in a line."""
    length = counted(max(explained.length, 1), "fault")
    return f"explaining: schedules of {length}, {explained.runs:,} tried"


def schedule_words(subject: Subject, schedule: Schedule) -> str:
    """The faults and steps of a schedule, with the times of the picture."""
    if not schedule.deviations:
        return "nothing happens"
    return "; ".join(_words(subject, each) for each in schedule.deviations)


def _words(subject: Subject, deviation: Deviation) -> str:
    suspect = subject.cluster.suspects[deviation.suspect]
    at = subject.picture.time_text(deviation.begin_us)
    lasting = ""
    if suspect.lasts:
        lasting = " until the end"
        if deviation.end_us is not None:
            lasting = f" for {short_seconds_text(deviation.end_us - deviation.begin_us)}"
    return f"{words_of(suspect.written)} at {at}{lasting}"


def show_explanations(out: Console, told: ToldExplanations) -> None:
    """Print the explanations, the first one beside the picture, and the next command."""
    explained = told.explained
    subject = explained.subject
    tried = f"{counted(explained.runs, 'schedule')} tried in {told.took_s:.0f} s"
    early = "" if explained.is_complete else "; the search ended before all were tried"
    if explained.matches and explained.length == 0:
        print_hanging(out, "", "The picture needs no fault: the undisturbed cluster does that.")
    elif explained.matches:
        length = counted(explained.length, "fault")
        count = counted(len(explained.matches), "explanation")
        print_hanging(out, "", f"{count} with {length}, the likeliest first; {tried}{early}.")
        _list(out, explained)
    else:
        print_hanging(out, "", f"No schedule produces the picture; {tried}{early}. The nearest:")
        for each in explained.nearest[:_NEAREST]:
            print_hanging(out, "  ", schedule_words(subject, each.schedule))
    shown = [*explained.matches, *explained.nearest][:1]
    if shown:
        out.print()
        out.print(_beside(subject, shown[0]))
    if told.files:
        out.print()
        out.print(f"Scenarios: {', '.join(map(str, told.files))}", soft_wrap=True)
        print_command("Next", shlex.join(["tidegauge", "run", str(told.files[0])]))


def _list(out: Console, explained: Explained) -> None:
    for each, share in list(zip(explained.matches, explained.shares, strict=True))[:_LISTED]:
        words = schedule_words(explained.subject, each.schedule)
        print_hanging(out, f"  {share:4.0%}  ", words)
    left = len(explained.matches) - _LISTED
    if left > 0:
        print_hanging(out, "        ", f"and {left:,} more: --json has all")


def _beside(subject: Subject, tried: Tried) -> Table:
    """The states of the picture, and beside them those of a run."""
    table = Table(box=None, pad_edge=False)
    for name in ("", "seen", "", "simulated", "late"):
        table.add_column(name, overflow="fold")
    for row in _rows(subject, tried):
        table.add_row(*row)
    return table


def _rows(subject: Subject, tried: Tried) -> Iterator[tuple[str, ...]]:
    picture, first = subject.picture, 0
    for seen in picture.partitions:
        yield (seen.name, "", "", "", "")
        spans = tried.difference.spans[first : first + len(seen.states)]
        first += len(seen.states)
        for place, span in enumerate(spans):
            if not span.seen.is_anything:
                yield _row(picture, span, is_first=place == 0)


def _row(picture: Picture, span: Span, *, is_first: bool) -> tuple[str, ...]:
    seen_us = span.seen.begin_us
    simulated_us = span.simulated[0].begin_us if span.simulated and not is_first else None
    late = ""
    if seen_us is not None and simulated_us is not None:
        late = f"{round((simulated_us - seen_us) / 1e6, 1) + 0.0:+.1f} s"
    return (
        "" if seen_us is None else picture.time_text(seen_us),
        _seen_words(span.seen),
        "" if simulated_us is None else picture.time_text(simulated_us),
        _simulated_words(span),
        late if span.is_right else f"{late} other state".lstrip(),
    )


def _seen_words(state: SeenState) -> str:
    leader = _ANY if state.leader is None else state.leader
    isr = _ANY if state.isr is None else _isr_words(state.isr)
    return _state_words("none" if leader == NO_LEADER else leader, isr)


def _simulated_words(span: Span) -> str:
    if not span.simulated:
        return "no such state"
    return ", then ".join(map(_held_words, span.simulated))


def _held_words(state: HeldState) -> str:
    return _state_words("none" if state.leader is None else state.leader, _isr_words(state.isr))


def _isr_words(isr: Iterable[int]) -> str:
    return f"[{','.join(map(str, sorted(isr)))}]"


def _state_words(leader: object, isr: object) -> str:
    return f"leader {leader}, ISR {isr}"


def explanations_for_programs(told: ToldExplanations) -> dict[str, Any]:
    """The same for programs."""
    explained = told.explained
    shares = explained.shares if explained.matches else []
    return {
        "found": bool(explained.matches),
        "faults": explained.length,
        "schedules": explained.runs,
        "seconds": round(told.took_s, 1),
        "is_complete": explained.is_complete,
        "within_us": explained.subject.picture.within_us,
        "explanations": [
            {"share": share, **_for_programs(explained.subject, each)}
            for each, share in zip(explained.matches, shares, strict=True)
        ],
        "nearest": []
        if explained.matches
        else [_for_programs(explained.subject, each) for each in explained.nearest],
        "scenarios": [str(each) for each in told.files],
    }


def _for_programs(subject: Subject, tried: Tried) -> dict[str, Any]:
    return {
        "words": schedule_words(subject, tried.schedule),
        "schedule": [
            {
                **subject.cluster.suspects[each.suspect].written,
                "begin_us": each.begin_us,
                "end_us": each.end_us,
            }
            for each in tried.schedule.deviations
        ],
        "distance": round(tried.difference.distance, 3),
        "states": [
            [
                {"begin_us": each.begin_us, "leader": each.leader, "isr": sorted(each.isr)}
                for each in held
            ]
            for held in tried.states
        ],
    }
