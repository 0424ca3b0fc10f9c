"""The page ``docs/trace-rows.md``: the schema of the trace, from ``simulation/trace_rows``."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tidegauge.laboratory.manual.markdown import NONE, code, table
from tidegauge.simulation.trace_rows.columns import Column, Type
from tidegauge.simulation.trace_rows.row import RowKind
from tidegauge.simulation.trace_rows.schema import COMMON_COLUMNS, ROW_KINDS, SCHEMA_VERSION

#: The most codes that a page lists; the header of each trace file has all.
_MOST_CODES = 20

_OPENING = f"""\
# Trace rows

This page covers the rows that a run records: every kind of row, its columns, and the codes in them.
The version of the schema is {SCHEMA_VERSION}.

A trace is a set of files in the folder `trace` of a run. A file is a msgpack stream of blocks of
columns; it begins with this schema, so it can be read without this page. A row is a list of
64-bit integers: the columns that every row has, then those of its kind. The numbers of processes,
brokers, partitions and faults are places in the lists of the run's `manifest.json`.
`tidegauge show` and `tidegauge.Result.events` ([Python](python.md), [analysis](analysis.md))
translate them.

* A **canonical** row is a state transition, a fault or a refusal. It has a number, enters the run's
  hash, and is the cause of all that its process does until the end of the event.
* A **sample** is written every `sample_every` of the scenario.
* A **detail** is about a single request. It is recorded with `--trace-level all` only.

Samples and details carry the `sequence` of the last canonical row and a `minor` of their own. They
change neither the run nor its hash.
"""

#: Headings of the groups of kinds, and which belong to each.
_GROUPS: tuple[tuple[str, Callable[[RowKind], bool]], ...] = (
    ("Canonical rows", lambda kind: kind.canonical),
    ("Samples", lambda kind: not kind.canonical and not kind.detail),
    ("Details", lambda kind: kind.detail),
)


def documentation() -> str:
    """The page, in Markdown."""
    parts = [_OPENING, "## Columns of every row\n", _columns(COMMON_COLUMNS.items())]
    for title, belongs in _GROUPS:
        kinds = [kind for kind in ROW_KINDS.values() if belongs(kind)]
        parts += [f"## {title}\n", _kinds(kinds)]
    used = sorted(
        {
            (name, column.meaning): column
            for kind in ROW_KINDS.values()
            for name, column in kind.described.items()
        }.items()
    )
    own = [(name, column) for (name, _), column in used]
    parts += ["## Columns of the kinds\n", _columns(own), "## Codes\n"]
    for name, column in own:
        if column.names is not None and len(column.names) <= _MOST_CODES:
            rows = ((str(int(number)), words) for number, words in column.names.items())
            parts += [f"### {name}\n", table(("code", "meaning"), rows)]
    return "\n".join(parts)


def _kinds(kinds: Iterable[RowKind]) -> str:
    return table(
        ("kind", "number", "columns", "meaning"),
        (
            (
                code(kind.name),
                str(kind.number),
                ", ".join(code(column) for column in kind.columns),
                kind.meaning,
            )
            for kind in kinds
        ),
    )


def _columns(columns: Iterable[tuple[str, Column]]) -> str:
    return table(
        ("column", "type", "unit", "meaning"),
        (
            (code(name), column.type.value, _unit_of(name, column), column.meaning)
            for name, column in columns
        ),
    )


def _unit_of(name: str, column: Column) -> str:
    if column.type == Type.RATE:
        return "bytes/s"
    return column.unit or next((unit for unit in ("us", "ms") if name.endswith(f"_{unit}")), NONE)
