"""Functions and methods that fill a free record of a class by keywords."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import pytest

from tidegauge.compiled.filled_records import filled, made_by
from tidegauge.compiled.records import (
    Record,
    RecordMethod,
    Records,
    flag,
    i64,
    new_records,
    view_as,
)
from tidegauge.compiled.rules import COMPILED, Tables, inner_rule, rule
from tidegauge.compiled.signatures import signature_of

WRITE = RecordMethod(__name__, __name__)


class Row(Record, head=True):
    write = WRITE

    number: i64

    KIND: ClassVar[int] = 0


class Slot(Row):
    first: i64
    second: i64
    third: i64


class Elected(Row):
    leader: i64 = -1
    epoch: i64 = 7
    unclean: flag

    KIND: ClassVar[int] = 3


class Partition(Record):
    leader: i64
    epoch: i64
    offset: i64


class Replica(Record):
    epoch: i64


class World(Tables):
    rows: Records[Slot]
    partitions: Records[Partition]
    replicas: Records[Replica]


SomeRow = TypeVar("SomeRow", bound=Row)


@inner_rule
def free_row(world: World, place: int, kind: int) -> Slot:
    row = world.rows[place]
    row.number = kind
    return row


@made_by(free_row)
def new_row(
    world: World, place: int, kind: type[SomeRow], *sources: Record, **columns: int
) -> SomeRow:
    return filled(free_row(world, place, kind.KIND), kind, sources, columns)


@inner_rule
def first_row(world: World, kind: int) -> Slot:
    return free_row(world, 0, kind)


@inner_rule
def record_row(_world: World, row: Row) -> None:
    row.number += 100


@made_by(first_row, then=record_row, complete=True, method=WRITE)
def write_row(kind: type[SomeRow], world: World, *sources: Record, **columns: int) -> SomeRow:
    row = filled(first_row(world, kind.KIND), kind, sources, columns, complete=True)
    record_row(world, row)
    return row


@rule
def fill_with_defaults(world: World) -> int:
    """A field without a keyword has its default, or is that of a source."""
    elected = new_row(world, 1, Elected, unclean=True)
    return new_row(world, 2, Elected, world.partitions[0], leader=elected.epoch).epoch


@rule
def write_all(world: World) -> int:
    """Every column is named, or is a source's; a keyword precedes a source."""
    return Elected.write(
        world, world.partitions[0], epoch=5, unclean=world.rows[2].number > 0
    ).number


@inner_rule
def leave_one_out(world: World) -> None:
    """No value for a column."""
    Elected.write(world, leader=1, unclean=False)


@inner_rule
def name_another(world: World) -> None:
    """A column that the row does not have."""
    Elected.write(world, world.partitions[0], unclean=False, offset=3)


@inner_rule
def take_from_two(world: World) -> None:
    """A column that two sources have."""
    Elected.write(world, world.partitions[0], world.replicas[0], unclean=False)


def new_world() -> World:
    world = World(
        rows=new_records(Slot, 3),
        partitions=new_records(Partition, 1),
        replicas=new_records(Replica, 1),
    )
    world.partitions[0].leader, world.partitions[0].epoch = 11, 12
    return world


def fields(world: World, place: int) -> tuple[int, int, int, bool]:
    row = view_as(world.rows[place], Elected)
    return row.number, row.leader, row.epoch, bool(row.unclean)


def test_fields_without_a_keyword_have_their_defaults_or_are_those_of_a_source() -> None:
    world = new_world()
    assert fill_with_defaults(world.view) == 12
    assert [fields(world, 1), fields(world, 2)] == [(3, -1, 7, True), (3, 7, 12, False)]


def test_a_method_of_a_class_fills_and_records_a_row() -> None:
    world = new_world()
    assert write_all(world.view) == 103
    assert fields(world, 0) == (103, 11, 5, False)


@pytest.mark.parametrize(
    ("rule_in_error", "message"),
    [
        (leave_one_out, "Elected: give epoch"),
        (name_another, "Elected has no offset"),
        (take_from_two, "Elected: give epoch"),
    ],
)
def test_a_column_without_one_value_is_an_error_when_its_writer_is_compiled(
    rule_in_error: Any, message: str
) -> None:
    def written() -> None:
        if COMPILED:
            rule_in_error.compile(signature_of(rule_in_error))
        else:
            rule_in_error(new_world())

    with pytest.raises(Exception, match=message):
        written()
