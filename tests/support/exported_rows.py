"""The rows of a relation as the plain readers of a run have them: the oracle of exported rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tidegauge.analysis.attribution import arrow_of_causes
from tidegauge.analysis.requests import KINDS, FoundRun
from tidegauge.analysis.rows.row_schema import CAUSES
from tidegauge.analysis.tables.topology import Topology
from tidegauge.simulation.trace_rows.columns import Type
from tidegauge.traces.run_folder import RunFolder, TraceRow

Rows = list[dict[str, Any]]


def plain_rows(runs: Sequence[FoundRun], relation: str) -> Rows:
    """The rows of a relation of runs, with the names of their numbers."""
    if relation in KINDS:
        return [row for run in runs for row in _of_kind(run, relation)]
    if relation == CAUSES:
        return [row for run in runs for row in arrow_of_causes(run).to_pylist()]
    made: Rows = Topology(runs)[relation].to_pylist()
    return made


def in_any_order(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Rows to be compared by all of their columns."""
    return sorted(repr(dict(sorted(row.items()))) for row in rows)


def _of_kind(found: FoundRun, kind: str) -> Iterator[dict[str, Any]]:
    run = RunFolder(found.folder)
    for row in run.rows(kind):
        yield {
            "run": found.name,
            "liveness": row["time_us"] >= found.end_us(),
            **row.columns,
            "process_name": _process(run, row["process"]),
            **_names(run, row),
        }


def _names(run: RunFolder, row: TraceRow) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for column, described in KINDS[row.kind].described.items():
        number = row[column]
        if described.type == Type.CODE and column not in run.enumerations:
            continue
        if described.type in (Type.SLOT, Type.REPLICAS) and "partition" not in row.columns:
            continue
        if described.type in _NAMED:
            ending, name = _NAMED[described.type]
            named = "topic_partition" if ending is None else f"{column}_{ending}"
            names[named] = name(run, row, number, column)
    return names


def _process(run: RunFolder, number: int) -> str | None:
    known = run.directory.processes.get(number)
    return known and known.name


def _at(names: Sequence[Any], number: int) -> Any:
    return names[number] if 0 <= number < len(names) else None


def _slots(run: RunFolder, row: TraceRow) -> Sequence[int]:
    partition = _at(run.directory.all_partitions, row["partition"])
    return () if partition is None else partition.slots


def _ids(run: RunFolder, row: TraceRow, number: int) -> list[int] | None:
    if _at(run.directory.all_partitions, row["partition"]) is None:
        return None
    found = run.directory.brokers_in(number, row["partition"])
    return [each for each in found if each is not None]


#: The end of the name of the column that a type of number has beside it, and its content.
_NAMED: Mapping[Type, tuple[str | None, Callable[[RunFolder, TraceRow, int, str], Any]]] = {
    Type.PROCESS: ("name", lambda run, _, number, __: _process(run, number)),
    Type.CODE: ("name", lambda run, _, number, column: run.enumerations[column].get(number)),
    Type.TOPIC: ("name", lambda run, _, number, __: _at(run.directory.topics, number)),
    Type.FAULT: (
        "name",
        lambda run, _, number, __: getattr(_at(run.directory.faults, number), "name", None),
    ),
    Type.PIN: ("name", lambda run, _, number, __: _at(run.directory.pins, number)),
    Type.PARTITION: (
        None,
        lambda run, _, number, __: (
            None
            if _at(run.directory.all_partitions, number) is None
            else run.directory.partition(number)
        ),
    ),
    Type.BROKER: ("id", lambda run, _, number, __: run.directory.member_id(number)),
    Type.WRITER: ("id", lambda run, _, number, __: run.directory.member_id(number)),
    Type.SLOT: ("id", lambda run, row, number, _: _at(_slots(run, row), number)),
    Type.REPLICAS: ("ids", lambda run, row, number, _: _ids(run, row, number)),
    Type.VOTERS: ("keys", lambda run, _, number, __: run.directory.voter_keys(number)),
}
