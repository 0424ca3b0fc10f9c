"""The tables that name what the numbers of fields stand for, and the meanings of fields."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import get_annotations
from typing import Any, get_args, get_type_hints

from tidegauge.compiled.records import Record
from tidegauge.engine.doors import World
from tidegauge.replication.records import Partition
from tidegauge.rewind import field_values
from tidegauge.rewind.field_values import meanings_of, seconds
from tidegauge.simulation.kernel import Process
from tidegauge.simulation.messages.event import KINDS, PartitionData


def fields_of(record: Any) -> dict[str, Any]:
    """The types of a record's fields by their names, those of its bases too."""
    return {name: hint for each in record.__mro__ for name, hint in get_annotations(each).items()}


def below(record: Any) -> Iterator[Any]:
    """A class of records, the classes that it derives from, and those of records within it."""
    for each in record.__mro__:
        if issubclass(each, Record) and each is not Record:
            yield each
    for hint in fields_of(record).values():
        if isinstance(hint, type) and issubclass(hint, Record):
            yield from below(hint)


def all_records() -> set[Any]:
    """All classes of records of a group's tables, of events and of their entries."""
    tables = [get_args(hint) for hint in get_type_hints(World).values()]
    entries: list[Any] = [PartitionData]
    for each in entries:
        entries += each.__subclasses__()
    declared = [*(each[0] for each in tables if each), *KINDS.values(), *entries]
    records = [each for each in declared if issubclass(each, Record)]
    return {one for each in records for one in below(each)}


def test_each_name_of_a_field_is_that_of_some_record() -> None:
    known = {name for record in all_records() for name in fields_of(record)}
    assert set(field_values._READINGS) <= known  # noqa: SLF001 - the table itself


def test_each_name_of_a_record_and_a_field_is_one() -> None:
    known = {f"{record.__name__}.{name}" for record in all_records() for name in fields_of(record)}
    assert set(field_values._OF_RECORDS) <= known  # noqa: SLF001 - the table itself


def test_a_field_has_the_comment_above_it() -> None:
    meanings = meanings_of(Partition)
    assert meanings["high_watermark"] == "First offset that consumers cannot read (HW)."
    assert meanings["removing_replicas"] == "... and those that it will remove."
    # One comment is about both.
    assert meanings_of(Process)["rows"] == meanings_of(Process)["hash"]


def test_seconds_are_exact() -> None:
    assert [seconds(each) for each in (0, 63_200_000, 50, -1_500_000)] == [
        *("0s", "63.2s", "0.00005s", "-1.5s"),
    ]
