"""The relations of rows as Parquet, as Arrow schemas that explain themselves.

There is a relation for each kind of row (``simulation/trace_rows``), one for each object behind the
numbers in rows (``analysis/tables/topology.py``), and ``causes`` (``analysis/attribution.py``). So
all result tables can be made of these files alone.

A row of a kind has, in this order: ``run``, ``liveness``, the columns of every row, the columns of
its kind, and the names of its numbers, each named after its number:

======================  ==============  =======================================================
number                  column          content
======================  ==============  =======================================================
code                    ``*_name``      its name, as the release that wrote the run has it
process, topic, fault   ``*_name``      the name in the scenario
partition               ``topic_…``     ``topic_partition``, such as ``orders-7``
broker, slot, writer    ``*_id``        the id of the broker, or of a controller of the quorum
replica list            ``*_ids``       the ids of the brokers, in the order of the list
======================  ==============  =======================================================

A name is null where the number stands for nothing. Metadata of a field is its ``unit``, empty
without one, its ``meaning``, and for a number of a row the ``type`` of it; that of a schema is its
``relation``, the ``meaning`` of a row, the ``schema_version`` of rows, and ``tidegauge``, the
release, where that is installed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError
from typing import Any, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types

from tidegauge.analysis.requests import KINDS
from tidegauge.analysis.tables import result_table
from tidegauge.analysis.tables.dialect import ORDER
from tidegauge.analysis.tables.result_table import FAULT, MOMENT, PARTITION, RUN
from tidegauge.analysis.tables.topology import ARROW_TYPES, TOPOLOGY, Relation
from tidegauge.simulation.trace_rows.columns import Column, Type
from tidegauge.simulation.trace_rows.schema import (
    COMMON_COLUMNS,
    ENUMERATIONS,
    SCHEMA_VERSION,
    tidegauge_version,
)

#: The origins of rows, with the faults that each is charged to.
CAUSES = "causes"

_TIME_US, _PROCESS, _SEQUENCE = MOMENT
_FAULT, _FAULT_NAME, _FAULT_US, _FAULTS = FAULT
_CAUSES = Relation(
    "The origin of a row, and the faults that it is charged to.",
    (
        RUN,
        *(_PROCESS, _SEQUENCE, _TIME_US),
        PARTITION[0],
        result_table.Column("effect", "string", "", "the consequence that the row is"),
        result_table.Column(
            "trigger_process",
            "bigint",
            "",
            "the process of the nearest row of another process that led to it; null: none",
        ),
        result_table.Column("trigger_us", "bigint", "us", "when that row was written"),
        result_table.Column("trigger_kind", "string", "", "its kind"),
        *(_FAULTS, _FAULT, _FAULT_NAME, _FAULT_US),
        result_table.Column(
            "reason", "string", "", "why it is there, where no fault has a part in it"
        ),
    ),
)

#: The relations that have no rows of a trace, by name.
OBJECTS: Mapping[str, Relation] = {**TOPOLOGY, CAUSES: _CAUSES}

#: The names of all relations.
RELATIONS = (*KINDS, *OBJECTS)

_TEXT = pa.dictionary(pa.int32(), pa.string())
_TEXTS = pa.list_(pa.string())
_NUMBER = pa.int64()


class NameColumn(NamedTuple):
    """The column of the names of numbers: of those in another column."""

    name: str
    of: str
    #: The meaning of the number.
    type: Type


def names_of(kind: str) -> tuple[NameColumn, ...]:
    """The columns of names of a kind of row."""
    described = KINDS[kind].described
    found = [NameColumn("process_name", "process", Type.PROCESS)]
    for name, column in described.items():
        if column.type == Type.CODE and name not in ENUMERATIONS:
            continue
        # Rows of ZooKeeper's tree have lists of a partition that they do not name.
        if column.type in _OF_PARTITIONS and "partition" not in described:
            continue
        ending = _ENDINGS.get(column.type)
        if ending is not None:
            found.append(NameColumn(f"{name}_{ending}", name, column.type))
        elif column.type == Type.PARTITION:
            found.append(NameColumn("topic_partition", name, column.type))
    return tuple(found)


_OF_PARTITIONS = {Type.SLOT, Type.REPLICAS}
_ENDINGS = {
    **dict.fromkeys((Type.CODE, Type.PROCESS, Type.TOPIC, Type.FAULT, Type.PIN), "name"),
    **dict.fromkeys((Type.BROKER, Type.SLOT, Type.WRITER), "id"),
    Type.REPLICAS: "ids",
    Type.VOTERS: "keys",
}
_NAME_TYPES = {
    **dict.fromkeys((Type.BROKER, Type.SLOT, Type.WRITER), _NUMBER),
    Type.REPLICAS: pa.list_(_NUMBER),
    Type.VOTERS: _TEXTS,
}
_NAME_MEANINGS = {
    Type.PARTITION: "topic and number",
    Type.VOTERS: "controllers with the numbers of their directories (`3000#1`)",
}
_NAME_UNITS = dict.fromkeys((Type.BROKER, Type.SLOT, Type.WRITER, Type.REPLICAS), "broker id")


def unit_of(name: str, column: Column) -> str:
    """The unit of a column of rows; empty: it has none."""
    if column.type == Type.RATE:
        return "bytes/s"
    return column.unit or next((unit for unit in ("us", "ms") if name.endswith(f"_{unit}")), "")


@cache
def schema_of(relation: str, *, with_names: bool) -> Any:
    """The Arrow schema of a relation.

    Args:
        relation: its name, one of :data:`RELATIONS`.
        with_names: whether rows have the names of their numbers, too, and the columns that lead to
            the rows that caused them. Queries of result tables use neither.

    Raises:
        KeyError: there is none of this name.
    """
    if relation in OBJECTS:
        meaning, columns = OBJECTS[relation]
        fields = [
            _field(each.name, ARROW_TYPES[each.type], each.unit, each.meaning) for each in columns
        ]
    else:
        meaning = KINDS[relation].meaning
        fields = [*_fields_of_rows(relation, COMMON_COLUMNS if with_names else ORDER)]
        fields += _fields_of_names(relation) if with_names else ()
    about = {"relation": relation, "meaning": meaning, "schema_version": str(SCHEMA_VERSION)}
    # Executors of Spark have no installed Tidegauge.
    with suppress(PackageNotFoundError):
        about["tidegauge"] = tidegauge_version()
    return pa.schema(fields, metadata=about)


def _fields_of_rows(kind: str, common: Collection[str]) -> Iterator[Any]:
    yield _field(RUN.name, _TEXT, RUN.unit, RUN.meaning)
    yield _field("liveness", pa.bool_(), "", "the row belongs to the liveness phase after the run")
    of_all = {name: COMMON_COLUMNS[name] for name in common}
    for name, column in {**of_all, **KINDS[kind].described}.items():
        yield _field(name, _NUMBER, unit_of(name, column), column.meaning, column.type.value)


def _fields_of_names(kind: str) -> Iterator[Any]:
    for each in names_of(kind):
        meaning = _NAME_MEANINGS.get(each.type) or each.name.rpartition("_")[2]
        yield _field(
            each.name,
            _NAME_TYPES.get(each.type, _TEXT),
            _NAME_UNITS.get(each.type, ""),
            f"{meaning} behind `{each.of}`; null: none",
        )


def _field(name: str, kind: Any, unit: str, meaning: str, type_of_number: str = "") -> Any:
    about = {"unit": unit, "meaning": meaning}
    if type_of_number:
        about["type"] = type_of_number
    return pa.field(name, _TEXT if name == RUN.name else kind, metadata=about)


_HEAD = """\
# Rows

Each folder is a relation, in files `part-<n>.parquet`; `rows.json` has the runs of each part.
DuckDB, Polars, pandas and Spark read one so:

```
duckdb.sql("from 'FOLDER/isr_shrunk/*.parquet'")
polars.read_parquet("FOLDER/isr_shrunk/*.parquet")
pandas.read_parquet("FOLDER/isr_shrunk", dtype_backend="pyarrow")
spark.read.parquet("FOLDER/isr_shrunk")
```

Within a run, rows of the trace are in the order of `time_us`, `process`, `sequence`, `minor`, which
have no ties. Times are microseconds of virtual time since the run began. A canonical row (`minor`
0) is known by `process` and `sequence`: `tidegauge show cause RUN PROCESS:SEQUENCE` prints its
causes, and `cause_process`, `cause_sequence` lead to the row that caused it.

All numbers are 64-bit integers as the trace has them. Their type here is what they stand for, such
as `broker index`. The names behind them are in columns that end in `_name`, `_id`, `_ids`
or `_keys`. The same description is in the metadata of each file.
"""


def documentation(relations: Iterable[str]) -> str:
    """The page that describes relations, column by column, as Markdown."""
    return "\n".join([_HEAD, *map(_section, relations)])


def _section(relation: str) -> str:
    schema = schema_of(relation, with_names=True)
    lines = [
        f"## {relation}",
        "",
        _text(schema.metadata, "meaning"),
        "",
        "| column | type | unit | meaning |",
        "|---|---|---|---|",
        *(
            f"| `{each.name}` | {_text(each.metadata, 'type') or _sql_type(each.type)} |"
            f" {_text(each.metadata, 'unit')} | {_text(each.metadata, 'meaning')} |"
            for each in schema
        ),
        "",
    ]
    return "\n".join(lines)


def _text(about: Mapping[bytes, bytes], name: str) -> str:
    return about.get(name.encode(), b"").decode().replace("|", "\\|")


def _sql_type(kind: Any) -> str:
    """The name of a type, as the documentation of result tables has it."""
    known = [*ARROW_TYPES.items(), ("string", _TEXT), ("array<string>", _TEXTS)]
    return next(name for name, each in known if each == kind)
