"""Common elements of the parts of a scenario: strictness, names, broker ids, partitions.

A part refuses unknown field names, and converts no value to another type: the text "5" is no
number, and 1 is not true. In the file fields have plain names (``at``); in the model durations
carry their unit (``at_us``).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from tidegauge.scenario.text.errors import Problem, ProblemsError, did_you_mean

_Item = TypeVar("_Item")

#: Of a number within a text.
MOST_DIGITS = 20

#: A list in the file. (Strict, Pydantic would insist on a tuple; its items stay strict.)
Listed = Annotated[tuple[_Item, ...], Field(strict=False)]
#: A list with at least one item.
Some = Annotated[tuple[_Item, ...], Field(strict=False, min_length=1)]


class Part(BaseModel):
    """A part of a scenario; immutable once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    #: As YAML, for the manual; together they have each field of the part.
    examples: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _has_only_known_names(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        known = [field.alias or name for name, field in cls.model_fields.items()]
        unknown = [name for name in data if name not in known]
        if unknown:
            raise ProblemsError(
                [Problem((name,), f"unknown name; {did_you_mean(name, known)}") for name in unknown]
            )
        return data


def _number_of_key(key: object) -> object:
    # JSON knows only text as keys.
    is_number = isinstance(key, str) and key.isascii() and key.isdigit()
    return int(str(key)) if is_number and len(str(key)) <= MOST_DIGITS else key


def _printable(name: str) -> str:
    if not name.isprintable():
        raise ValueError(f"must have only letters that can be printed, not {name!r}")
    return name


def _topic_name(name: str) -> str:
    if name in {".", ".."}:
        raise ValueError(f"Kafka refuses the topic name {name!r}")
    return name


def one_of(name: str, *kinds: str) -> BeforeValidator:
    """For a union of parts: the field of this name says which of these kinds it is."""

    def says_its_kind(data: Any) -> Any:
        if isinstance(data, Mapping) and data.get(name) not in kinds:
            problem = f"must be one of {', '.join(kinds)}"
            raise ProblemsError(
                [Problem((name,), f"{problem}, not {data[name]!r}" if name in data else problem)]
            )
        return data

    return BeforeValidator(says_its_kind)


def kind_of(part: type[Part], field: str) -> str:
    """The kind that the field of this name says, of a part that is of one kind."""
    (kind,) = get_args(part.model_fields[field].annotation)
    return str(kind)


def kinds_of(union: UnionType, field: str) -> dict[str, Any]:
    """The parts of a union, by their kinds."""
    return {kind_of(part, field): part for part in get_args(union)}


def without_repetition(items: tuple[_Item, ...]) -> tuple[_Item, ...]:
    """The items; an error if one appears twice."""
    seen = set()
    for item in items:
        if item in seen:
            raise ValueError(f"{item} appears twice")
        seen.add(item)
    return items


class Unit(NamedTuple):
    """The unit of a number, as metadata of its field, for the manual."""

    name: str


#: broker.id
BrokerId = Annotated[int, Field(ge=0, lt=2**31)]
#: A broker id as a key of a mapping.
BrokerKey = Annotated[BrokerId, BeforeValidator(_number_of_key)]
PartitionKey = Annotated[int, Field(ge=0), BeforeValidator(_number_of_key)]
BrokerIds = Annotated[Some[BrokerId], AfterValidator(without_repetition)]

#: Names of topics that Kafka accepts (Topic.validate@2.6.0).
TopicName = Annotated[
    str, Field(pattern=r"^[a-zA-Z0-9._-]+$", max_length=249), AfterValidator(_topic_name)
]
#: Name of a rack, a group of clients or a fault, in one line.
Name = Annotated[str, Field(min_length=1, max_length=249), AfterValidator(_printable)]
#: An offset in a log.
Offset = Annotated[int, Field(ge=0, lt=2**63), Unit("offset")]


class OfPartition(Part):
    """A part that refers to one partition."""

    topic: str = Field(description="Name of the topic.")
    partition: int = Field(ge=0, description="Number of the partition.")
