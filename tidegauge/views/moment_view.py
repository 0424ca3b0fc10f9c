"""``tidegauge inspect``: the state at a moment, and its events one by one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tidegauge.rewind.event_states import EventState
from tidegauge.rewind.field_values import FieldValue, meanings_of, seconds
from tidegauge.rewind.handled_event import HandledStep
from tidegauge.rewind.moment import Moment
from tidegauge.rewind.seen_run import RecordState, SubjectState
from tidegauge.runs.run import Run
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import time_text
from tidegauge.views.output import name_width, print_hanging


def show_moment(out: Console, moment: Moment) -> None:
    """Print where the run is, and that fetches are computed if some are."""
    print_hanging(out, "", Text(f"{moment.run.path} {moment}", style="bold"))
    if moment.idle_pairs:
        pairs = counted(moment.idle_pairs, "pair")
        computed = (
            f"fetches of {pairs} of brokers bring nothing: they are computed, and are no events"
        )
        print_hanging(out, "", Text(computed, style="dim"))


def show_states(out: Console, states: Sequence[SubjectState], *, explain: bool = False) -> None:
    """Print every field of the records of subjects, with its meaning if that is wanted."""
    for state in states:
        out.print()
        print_hanging(out, "", Text(state.name, style="bold"))
        for record in state.records:
            _show_record(out, record, explain=explain)


def _show_record(out: Console, record: RecordState, *, explain: bool) -> None:
    meanings = meanings_of(record.record) if explain and record.record is not None else {}
    print_hanging(out, "  ", Text(record.title, style="bold"))
    if not record.fields:
        print_hanging(out, "    ", "none")
    width = name_width(record.fields)
    for name, each in record.fields.items():
        print_hanging(out, f"    {name:{width}}  ", each.text)
        if name in meanings:
            print_hanging(out, " " * 6, Text(meanings[name], style="dim"))


def show_events(out: Console, events: Sequence[EventState]) -> None:
    """Print the events that come next, a line for each."""
    out.print()
    print_hanging(out, "", Text("next events", style="bold"))
    for event in events:
        print_hanging(out, f"  {seconds(event.time_us):>12}  ", _headline(event))


def show_steps(
    out: Console, run: Run, steps: Sequence[HandledStep], *, explain: bool = False
) -> None:
    """Print events that were handled, each with its fields, its cause, its rows, its changes."""
    for step in steps:
        event = step.event
        print_hanging(out, f"{seconds(event.time_us)}  ", Text(_headline(event), style="bold"))
        if explain:
            print_hanging(out, "    ", Text(event.meaning, style="dim"))
        for line in _lines_of(step, run):
            print_hanging(out, "    ", line)
    if not steps:
        out.print("No event is left.")


def _headline(event: EventState) -> str:
    """The kind of an event and its ends."""
    if event.source == event.destination:
        return f"{event.kind}  {event.source}"
    return f"{event.kind}  {event.source} → {event.destination}"


def _lines_of(step: HandledStep, run: Run) -> Iterator[str]:
    for which, fields in (
        ("", step.event.fields),
        *(("entry: ", each) for each in step.event.entries),
    ):
        told = _in_line(fields)
        if told:
            yield f"{which}{told}"
    if step.event.cause is not None:
        yield f"cause: {_cause_words(step.event.cause, run)}"
    for row in step.rows:
        yield f"wrote {_row_words(row)}"
    for change in step.changes:
        yield f"changed {change}"


def _in_line(fields: Mapping[str, FieldValue]) -> str:
    """The fields that have a value."""
    told = ((name, each.text) for name, each in fields.items() if each.value is not None)
    return ", ".join(f"{name} {text}" for name, text in told)


def _cause_words(handle: str, run: Run) -> str:
    """The handle of a row, and the row if the trace has it."""
    process, _, sequence = handle.partition(":")
    row = run.change_row(int(process), int(sequence))
    if row is None:
        return handle
    event = run.event(row)
    return f"{handle} at {time_text(event.time_us)}, {event.process}: {event.words}"


def _row_words(row: TraceEvent) -> str:
    """A row with the names of its columns."""
    name = f"{row.handle} {row.kind}" if row.handle else row.kind
    columns = ", ".join(f"{column} {row.words_of(column)}" for column in row.columns)
    return f"{name}: {columns}" if columns else name


def moment_for_programs(
    moment: Moment, states: Sequence[SubjectState], steps: Sequence[HandledStep] | None
) -> dict[str, Any]:
    """A moment, the state of subjects, and the events that led to it."""
    told: dict[str, Any] = {
        "run": str(moment.run.path),
        "time_us": moment.time_us,
        "position": moment.position._asdict(),
    }
    if steps is not None:
        told["steps"] = [each.values for each in steps]
    return {
        **told,
        "subjects": {each.name: each.values for each in states},
        "next_events": [each.values for each in moment.events()],
    }
