"""Rows of a run as events: no column is the number of an object, in values or in words.

Ids of brokers are not their indexes here, so that a number that is passed on is not mistaken for an
id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tidegauge.runs.trace_events import Names, TraceEvent, event_of
from tidegauge.simulation.trace_rows.columns import Column, Type
from tidegauge.simulation.trace_rows.schema import COMMON_COLUMNS, ROW_KINDS
from tidegauge.traces.run_folder import TraceRow
from written_rows import MANIFEST_OF_TESTS, named_partition

#: Ten brokers from 101 on, and a controller of a quorum behind them.
BROKERS = list(range(101, 111))
ROLES = {0: "broker", 10: "controller", 11: "quorum controller"}
MANIFEST = MANIFEST_OF_TESTS | {
    "brokers": BROKERS,
    "controllers": [3000],
    "topics": ["payments", "orders"],
    "partitions": [named_partition(number, [103, 101, 102]) for number in range(5)],
    "faults": [
        {"name": name, "kind": kind, "text": "of broker 101"}
        for name, kind in (("cut-1", "cut_link"), ("dead", "crash"), ("slow", "slow_disk"))
    ],
    "scenario": {"pins": [{"hold": "FETCH"}, {"name": "late", "hold": "FETCH"}]},
    "processes": [
        {"process": number, "name": f"{role} {number + 101}", "role": role, "number": number}
        for number, role in ROLES.items()
    ],
}
#: A row about the second of each: index 1, slot 1, the list of the slots 1 and 2.
NUMBERS: dict[Type, int] = {Type.REPLICAS: 0x32, Type.PROCESS: 10, Type.ZNODE: 11}
OF_TYPES: dict[Type, tuple[object, str]] = {
    Type.PARTITION: ("orders-1", "orders-1"),
    Type.TOPIC: ("orders", "topic orders"),
    Type.BROKER: (102, "broker 102"),
    Type.SLOT: (101, "broker 101"),
    Type.REPLICAS: ([101, 102], "[101,102]"),
    Type.VOTERS: (["3000#1"], "[3000#1]"),
    Type.PROCESS: ("controller 111", "controller 111"),
    Type.WRITER: (102, "broker 102"),
    Type.FAULT: ("dead", "crash 'dead' (of broker 101)"),
    Type.PIN: ("late", "late"),
    Type.ZNODE: (
        "/brokers/topics/orders/partitions/1/state",
        "/brokers/topics/orders/partitions/1/state",
    ),
    Type.RATE: (1, "1 bytes a second"),
    Type.DIRECTORY: (2, "2"),
}
#: Types whose integers are what they say.
PLAIN = {Type.OFFSET, Type.EPOCH, Type.TIME, Type.COUNT, Type.NUMBER}


def event(kind: str, columns: dict[str, Column], value: Callable[[Type], int]) -> TraceEvent:
    numbers = {name: value(column.type) for name, column in (columns | COMMON_COLUMNS).items()}
    return event_of(TraceRow(kind, numbers), Names(MANIFEST))


def second(column: Type) -> int:
    return NUMBERS.get(column, 1)


def test_each_type_of_column_stands_for_something_or_is_a_plain_number() -> None:
    """A type that is new has to be read, and to be here."""
    assert {*Type} - PLAIN == {*OF_TYPES, Type.CODE, Type.FLAG}


@pytest.mark.parametrize("kind", ROW_KINDS.values(), ids=lambda kind: kind.name)
def test_no_column_is_the_number_of_an_object(kind: Any) -> None:
    row = event(kind.name, kind.described, second)
    for name, column in (COMMON_COLUMNS | kind.described).items():
        value, words = row[name], row.words_of(name)
        if column.type in OF_TYPES:
            assert (value, words) == OF_TYPES[column.type], name
        elif column.type is Type.FLAG:
            assert value is True, name
        elif column.type is Type.CODE:
            assert isinstance(value, str), name
            assert not value.isdecimal(), name
            assert value == words, name
        else:
            assert value == (column.names or {}).get(1, 1), name
        assert column.type not in (Type.TIME, *OF_TYPES, Type.CODE) or words != "1", name


def test_a_row_has_its_columns_as_attributes_and_a_class_of_its_own() -> None:
    kind = next(kind for kind in ROW_KINDS.values() if kind.name == "isr_shrunk")
    row = event(kind.name, kind.described, second)
    assert (type(row).__name__, row.isr, row.partition) == ("IsrShrunk", [101, 102], "orders-1")
    assert type(row).__doc__ == kind.meaning
    assert {"isr", "old_isr", "lag_ms", "words"} <= {*dir(row)}
    with pytest.raises(AttributeError, match="a row isr_shrunk has no column leader"):
        _ = row.leader


def test_the_leader_of_a_quorum_is_a_controller_in_values_and_words() -> None:
    """The number of a controller is behind those of the brokers."""
    kind = next(kind for kind in ROW_KINDS.values() if kind.name == "voter_state")
    row = event(kind.name, kind.described, lambda _column: len(BROKERS))
    assert row.quorum_leader == row["voted_for"] == 3000
    assert row.words_of("quorum_leader") == "controller 3000"


@pytest.mark.parametrize("number", [-1, 99])
def test_a_number_that_no_object_has_is_none_or_said_to_be_unknown(number: int) -> None:
    for kind in ROW_KINDS.values():
        row = event(
            kind.name,
            kind.described,
            lambda column: 0 if column in (Type.PARTITION, Type.REPLICAS, Type.ZNODE) else number,
        )
        for name, column in kind.described.items():
            value = row[name]
            if column.type in (Type.BROKER, Type.SLOT, Type.WRITER, Type.FAULT):
                assert value is None, (kind.name, name)
            assert row.words_of(name), (kind.name, name)
