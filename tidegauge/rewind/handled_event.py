"""An event that was handled: itself, the rows that it wrote, the fields that it changed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tidegauge.rewind.event_states import EventState
from tidegauge.rewind.field_values import FieldValue
from tidegauge.rewind.seen_run import SubjectState
from tidegauge.runs.trace_events import Names, TraceEvent, event_of
from tidegauge.simulation.trace_rows.schema import COMMON_COLUMNS, ROW_KINDS
from tidegauge.traces.run_folder import TraceRow


class Change(NamedTuple):
    """A field that an event has changed."""

    subject: str
    #: The title of the record.
    record: str
    field: str
    #: None: the record, or the field of a list, was not there before, or is not there any more.
    before: FieldValue | None
    after: FieldValue | None

    def __str__(self) -> str:
        texts = ["nothing" if each is None else each.text for each in (self.before, self.after)]
        return f"{self.subject}, {self.record}: {self.field} {texts[0]} → {texts[1]}"


class HandledStep(NamedTuple):
    """A step of a run: an event, its rows, and its changes of the subjects that are looked at."""

    event: EventState
    rows: Sequence[TraceEvent]
    changes: Sequence[Change]

    @property
    def values(self) -> dict[str, Any]:
        """The step for programs."""
        return {
            **self.event.values,
            "rows": [
                {
                    "handle": row.handle,
                    "kind": row.kind,
                    "process": row.process,
                    "columns": row.columns,
                }
                for row in self.rows
            ],
            "changes": [
                {
                    "subject": each.subject,
                    "record": each.record,
                    "field": each.field,
                    "before": None if each.before is None else each.before.value,
                    "after": None if each.after is None else each.after.value,
                }
                for each in self.changes
            ],
        }


def rows_as_events(rows: Any, names: Names) -> list[TraceEvent]:
    """Rows of the kernel as events of a trace."""
    found = []
    for row in rows:
        kind = ROW_KINDS[int(row.kind)]
        common = {name: int(row[name]) for name in COMMON_COLUMNS}
        own = dict(zip(kind.columns, row["values"].tolist(), strict=False))
        found.append(event_of(TraceRow(kind.name, common | own), names))
    return found


def changes_between(
    before: Sequence[SubjectState], after: Sequence[SubjectState]
) -> Iterator[Change]:
    """The fields of subjects that differ between two moments."""
    for old, new in zip(before, after, strict=True):
        records = [{each.title: each.fields for each in state.records} for state in (old, new)]
        for title in dict.fromkeys((*records[0], *records[1])):
            fields = [each.get(title, {}) for each in records]
            for field, values in _differences(fields[0], fields[1]):
                yield Change(new.name, title, field, *values)


def _differences(
    before: Mapping[str, FieldValue], after: Mapping[str, FieldValue]
) -> Iterator[tuple[str, tuple[FieldValue | None, FieldValue | None]]]:
    for field in dict.fromkeys((*before, *after)):
        values = before.get(field), after.get(field)
        if values[0] != values[1]:
            yield field, values
