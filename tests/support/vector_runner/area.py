"""The frame of an area: strict reading of a vector, dispatch of steps and expectations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from tidegauge.compiled.records import Record, Records, new_record, new_records
from tidegauge.replication import errors
from tidegauge.replication.records import SLOTS, EpochEntry
from tidegauge.replication.release_rules import ReleaseRules
from tidegauge.replication.releases import rules_of
from tidegauge.replication.replica_list import pack, unpack

Json = Any

#: The first release that is modelled.
OLDEST = [0, 10, 2, 0]

#: Class of each area, by its name in the file.
AREAS: dict[str, type[Area]] = {}

A = TypeVar("A", bound="type[Area]")
R = TypeVar("R", bound=Record)
Meaning = TypeVar("Meaning")


def area(name: str) -> Callable[[A], A]:
    """Register a class as the meaning of an area."""

    def register(cls: A) -> A:
        AREAS[name] = cls
        return cls

    return register


class UnknownContentError(AssertionError):
    """A vector says something that its area does not know."""


class Fields:
    """A JSON object whose every key has to be taken, and only keys that are known."""

    def __init__(self, content: Mapping[str, Json], where: str) -> None:
        self._content = dict(content)
        self._where = where

    def take(self, key: str, *default: Json) -> Json:
        """The value of a key, or the default if there is one."""
        if key not in self._content and default:
            return default[0]
        try:
            return self._content.pop(key)
        except KeyError:
            raise UnknownContentError(f"{self._where} lacks {key!r}") from None

    def all_taken(self) -> None:
        """Raise for keys that nobody asked for."""
        if self._content:
            raise UnknownContentError(f"{self._where} has unknown {sorted(self._content)}")


class Area:
    """One vector at work. Operations are methods ``op_NAME``, observations ``see_NAME``.

    ``__init__`` takes what is given. An operation takes its step's fields if it has any. An
    observation returns what it sees in the form of the expectation, which it takes if it has
    to know from there what to look up.
    """

    def __init__(self, given: Fields, tag: str) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Give back what the area has taken from the machine."""

    def run(self, steps: Iterable[Mapping[str, Json]]) -> None:
        """Carry out the steps in order, checks in between included."""
        for number, content in enumerate(steps, 1):
            where = f"step {number}"
            step = Fields(content, where)
            name = step.take("op")
            if name == "check":
                self.check(step.take("expect"), where)
            else:
                operation = getattr(self, f"op_{name}", None)
                if operation is None:
                    raise UnknownContentError(f"{where} has unknown operation {name!r}")
                _call(operation, step)
            step.all_taken()

    def check(self, expect: Mapping[str, Json], where: str) -> None:
        """Compare what is expected with what is seen, key by key."""
        for key, expected in expect.items():
            observation = getattr(self, f"see_{key}", None)
            if observation is None:
                raise UnknownContentError(f"{where} expects unknown {key!r}")
            seen = plain(_call(observation, expected))
            if not same(seen, expected):
                raise AssertionError(f"{where}: {key} is {seen!r}, expected {expected!r}")


def _call(method: Callable[..., Json], argument: Json) -> Json:
    return method(argument) if inspect.signature(method).parameters else method()


def run_vector(vector: Mapping[str, Json]) -> None:
    """Run one vector; raises AssertionError at the first thing that is not as expected."""
    fields = Fields(vector, f"vector {vector.get('id')}")
    for described in ("id", "source_test", "basis", "applies_to"):
        fields.take(described)
    fields.take("note", None)
    name = fields.take("area")
    if name not in AREAS:
        raise UnknownContentError(f"unknown area {name!r}")
    given = Fields(fields.take("given"), "given")
    steps = fields.take("steps")
    expect = fields.take("expect")
    tag = fields.take("tag")
    fields.all_taken()
    if not expect and not any(step.get("op") == "check" for step in steps):
        raise UnknownContentError("the vector expects nothing")
    work = AREAS[name](given, tag)
    try:
        given.all_taken()
        work.run(steps)
        work.check(expect, "at the end")
    finally:
        work.close()


def same(seen: Json, expected: Json) -> bool:
    """Equality that also tells true from 1 and null from false."""
    if isinstance(seen, list) and isinstance(expected, list):
        return len(seen) == len(expected) and all(map(same, seen, expected))
    if isinstance(seen, dict) and isinstance(expected, dict):
        return seen.keys() == expected.keys() and all(same(seen[k], expected[k]) for k in seen)
    return type(seen) is type(expected) and bool(seen == expected)


def plain(value: Json) -> Json:
    """The value as JSON has it: compiled rules return numpy scalars when uncompiled."""
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.item() if hasattr(value, "item") else value


def choice(table: Mapping[str, Meaning], name: str, what: str) -> Meaning:
    """What a word of the vector stands for."""
    if name not in table:
        raise UnknownContentError(f"unknown {what} {name!r}")
    return table[name]


def error_code(name: str) -> int:
    """Kafka's code of an error name, old spellings included."""
    return int(choice(errors.CODES, name, "error"))


def error_name(code: int, expected: Json) -> str:
    """Name of an error code; in the expectation's spelling if that means the same."""
    if isinstance(expected, str) and errors.CODES.get(expected) == code:
        return expected
    return errors.NAMES[int(code)]


def release_rules(tag: str, **switches: int | bool) -> ReleaseRules:
    """The rules of the release at which a vector was read, with some switches set.

    A vector read before the first release that is modelled states itself what differed.
    """
    release = tag.partition("-rc")[0]
    if [int(part) for part in release.split(".")] < OLDEST:
        release = ".".join(map(str, OLDEST))
    rules = rules_of(release)
    for name, value in switches.items():
        setattr(rules, name, value)
    return rules


def none_if_absent(value: int) -> int | None:
    """A number as JSON has it: null for -1."""
    return None if value == -1 else int(value)


def epoch_entries(pairs: Iterable[tuple[int, int]], room: int = 0) -> Records[EpochEntry]:
    """An array with these (epoch, start offset) entries and room for some more."""
    listed = list(pairs)
    entries = new_records(EpochEntry, len(listed) + room + 1)
    for index, (epoch, start_offset) in enumerate(listed):
        entries[index].epoch = epoch
        entries[index].start_offset = start_offset
    return entries


def record(kind: type[R], **fields: int) -> R:
    """A record with these fields set."""
    made = new_record(kind)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


class Brokers:
    """Broker ids of a vector and the slots that they take in the rules' replica lists."""

    def __init__(self, ids: Iterable[int] = ()) -> None:
        self._ids: list[int] = []
        self.pack(ids)

    def known(self) -> list[int]:
        """The brokers that have a slot, in order of their slots."""
        return list(self._ids)

    def slot(self, broker: int) -> int:
        """Slot of a broker, a new one if it has none yet; -1 (none) stays -1."""
        if broker == -1:
            return -1
        if broker not in self._ids:
            if len(self._ids) == SLOTS:
                raise UnknownContentError(f"more than {SLOTS} brokers")
            self._ids.append(broker)
        return self._ids.index(broker)

    def pack(self, brokers: Iterable[int]) -> int:
        """The replica list of these brokers."""
        return pack([self.slot(broker) for broker in brokers])

    def unpack(self, replicas: int) -> list[int]:
        """The brokers of a replica list, in order."""
        return [self._ids[slot] for slot in unpack(replicas)]

    def broker(self, slot: int) -> int:
        """The broker in a slot; -1 (none) stays -1."""
        return -1 if slot == -1 else self._ids[slot]
