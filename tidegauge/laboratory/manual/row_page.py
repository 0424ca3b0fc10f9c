"""The page ``docs/trace-rows.md``: the schema of the trace, from ``simulation/trace_rows``."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tidegauge.laboratory.manual.markdown import NONE, code, prose, table
from tidegauge.simulation.trace_rows.columns import Column, Type
from tidegauge.simulation.trace_rows.row import RowKind
from tidegauge.simulation.trace_rows.schema import COMMON_COLUMNS, ROW_KINDS, SCHEMA_VERSION

#: The most codes that a page lists; the header of each trace file has all.
_MOST_CODES = 20


#: Headings of the groups of kinds, and which belong to each.
_GROUPS: tuple[tuple[str, Callable[[RowKind], bool]], ...] = (
    ("Canonical rows", lambda kind: kind.canonical),
    ("Samples", lambda kind: not kind.canonical and not kind.detail),
    ("Details", lambda kind: kind.detail),
)


def documentation() -> str:
    """The page, in Markdown."""
    opening = prose("trace-rows.md").replace("SCHEMA_VERSION", str(SCHEMA_VERSION))
    parts = [opening, "## Columns of every row\n", _columns(COMMON_COLUMNS.items())]
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
