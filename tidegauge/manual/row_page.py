"""The page ``docs/trace-rows.md``: the schema of the trace, from ``simulation/row_kinds.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tidegauge.manual.markdown import code, table
from tidegauge.manual.row_columns import COLUMNS, COMMON, Column, unit_of
from tidegauge.simulation.api_keys import API_KEYS
from tidegauge.simulation.row_kinds import (
    BROKER_STATES,
    CHECKPOINTS,
    MOMENTS,
    REASONS,
    ROLL_STATES,
    ROW_KINDS,
    SCHEMA_VERSION,
    STATE_CHANGES,
    STATE_REASONS,
    STOPS,
    UNSEEN,
    RowKind,
)

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

#: The codes of a column, and the heading below which they stand.
_CODES: Mapping[str, Mapping[int, str]] = {
    "reason": REASONS,
    "moment": MOMENTS,
    "stop": STOPS,
    "progress": ROLL_STATES,
    "checkpoint": CHECKPOINTS,
    "high_watermark": UNSEEN,
    "change": STATE_CHANGES,
    "state": BROKER_STATES,
    "state_reason": STATE_REASONS,
    "api_key": API_KEYS,
}

#: Headings of the groups of kinds, and which belong to each.
_GROUPS: tuple[tuple[str, Callable[[RowKind], bool]], ...] = (
    ("Canonical rows", lambda kind: kind.canonical),
    ("Samples", lambda kind: not kind.canonical and not kind.detail),
    ("Details", lambda kind: kind.detail),
)


def documentation() -> str:
    """The page, in Markdown."""
    parts = [_OPENING, "## Columns of every row\n", _columns(COMMON, COMMON)]
    for title, belongs in _GROUPS:
        kinds = [kind for kind in ROW_KINDS.values() if belongs(kind)]
        parts += [f"## {title}\n", _kinds(kinds)]
    used = {column for kind in ROW_KINDS.values() for column in kind.columns}
    parts += ["## Columns of the kinds\n", _columns(sorted(used), COLUMNS), "## Codes\n"]
    for column, codes in _CODES.items():
        rows = ((str(number), meaning) for number, meaning in codes.items())
        parts += [f"### {column}\n", table(("code", "meaning"), rows)]
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


def _columns(names: Iterable[str], columns: Mapping[str, Column]) -> str:
    return table(
        ("column", "type", "unit", "meaning"),
        (
            (code(name), columns[name].type, unit_of(name, columns[name]), columns[name].meaning)
            for name in names
        ),
    )
