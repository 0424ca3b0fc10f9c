"""Fields of a scenario that are durations in the file and integer microseconds in the model.

Common elements of the parts of a scenario: strictness, names, broker ids, partitions.

A part refuses unknown field names, and converts no value to another type: the text "5" is no
number, and 1 is not true. In the file fields have plain names (``at``); in the model durations
carry their unit (``at_us``).

Settings that producers and consumers share: how a client reaches brokers.

``client.rack`` is the field ``rack`` of a group, and ``bootstrap.servers`` its field ``bootstrap``.
"""

from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)

from tidegauge.replication.release_versions import Cell, Release, Table, cells_that_apply
from tidegauge.scenario.text.errors import Problem, ProblemsError, did_you_mean
from tidegauge.simulation.quantities import (
    DURATION_SCHEMA,
    UNITS_US,
    format_duration,
    parse_duration,
)


def _positive(duration_us: int) -> int:
    if duration_us == 0:
        raise ValueError("must be longer than 0")
    return duration_us


Duration = Annotated[
    int,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema(DURATION_SCHEMA),
]
#: A duration from which a time is drawn: a draw takes 31 bits of milliseconds, some 596 hours.
LONGEST_DRAWN_US = 500 * UNITS_US["h"]


def _drawn(duration_us: int) -> int:
    if duration_us > LONGEST_DRAWN_US:
        raise ValueError(f"must be {format_duration(LONGEST_DRAWN_US)} at most")
    return duration_us


DrawnDuration = Annotated[Duration, AfterValidator(_drawn)]
PositiveDuration = Annotated[Duration, AfterValidator(_positive)]


_Item = TypeVar("_Item")

#: The limit of a number within a text.
MOST_DIGITS = 20

#: A list in the file. (Strict, Pydantic would insist on a tuple; its items stay strict.)
Listed = Annotated[tuple[_Item, ...], Field(strict=False)]
#: A list with at least one item.
Some = Annotated[tuple[_Item, ...], Field(strict=False, min_length=1)]


#: Names that other tools give to fields.
_OTHER = {"id": "name"}


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
                [
                    Problem((name,), f"unknown name; {did_you_mean(_OTHER.get(name, name), known)}")
                    for name in unknown
                ]
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
    """For a union of parts: the field of this name selects one of these kinds."""

    def says_its_kind(data: Any) -> Any:
        if isinstance(data, Mapping) and data.get(name) not in kinds:
            problem = f"must be one of {', '.join(kinds)}"
            raise ProblemsError(
                [Problem((name,), f"{problem}, not {data[name]!r}" if name in data else problem)]
            )
        return data

    return BeforeValidator(says_its_kind)


def kind_of(part: type[Part], field: str) -> str:
    """The kind in the field of this name, of a part that is of one kind."""
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
#: A controller of a KRaft quorum: 0 is controller:0. The same as a key of a mapping.
ControllerNumber = Annotated[int, Field(ge=0), Unit("controller number")]
ControllerKey = Annotated[int, Field(ge=0), BeforeValidator(_number_of_key)]
PartitionKey = Annotated[int, Field(ge=0), BeforeValidator(_number_of_key)]
BrokerIds = Annotated[Some[BrokerId], AfterValidator(without_repetition)]
ControllerNumbers = Annotated[Some[ControllerNumber], AfterValidator(without_repetition)]

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


#: The first release in which consumers fetch from the closest replica (KIP-392).
CLOSEST_REPLICA = Release.parse("2.4.0")
#: A setting of brokers whose values are classes of Kafka, and the one that selects by rack.
REPLICA_SELECTOR = "replica.selector.class"
BY_RACK = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
REPLICA_SELECTORS = ("org.apache.kafka.common.replica.LeaderSelector", BY_RACK)

REBOOTSTRAP = "rebootstrap"
STRATEGY = "metadata.recovery.strategy"

# fmt: off
CONNECTION_DEFAULTS: Table = {
    "reconnect.backoff.ms": (
        Cell("0.10.2.0", 50, "CommonClientConfigs.RECONNECT_BACKOFF_MS_CONFIG@0.10.2.0"),
    ),
    "reconnect.backoff.max.ms": (
        Cell("0.11.0.0", 1_000,
             "KIP-144, CommonClientConfigs.RECONNECT_BACKOFF_MAX_MS_CONFIG@0.11.0.0"),
    ),
    "socket.connection.setup.timeout.ms": (
        Cell("2.7.0", 10_000, "KIP-601, "
             "CommonClientConfigs.DEFAULT_SOCKET_CONNECTION_SETUP_TIMEOUT_MS@2.7.0"),
    ),
    "socket.connection.setup.timeout.max.ms": (
        Cell("2.7.0", 127_000, "KIP-601, "
             "CommonClientConfigs.DEFAULT_SOCKET_CONNECTION_SETUP_TIMEOUT_MAX_MS@2.7.0"),
        Cell("2.8.0", 30_000,
             "CommonClientConfigs.DEFAULT_SOCKET_CONNECTION_SETUP_TIMEOUT_MAX_MS@2.8.0"),
    ),
    STRATEGY: (
        Cell("3.8.0", "none", "KIP-899, "
             "CommonClientConfigs.DEFAULT_METADATA_RECOVERY_STRATEGY@3.8.0"),
        Cell("4.0.0", REBOOTSTRAP, "KIP-1102"),
    ),
    "metadata.recovery.rebootstrap.trigger.ms": (Cell("4.0.0", 300_000, "KIP-1102"),),
}
# fmt: on


def connection_defaults(release: str) -> dict[str, int | str]:
    """The defaults of a client of a release, of those of these settings that it has."""
    return {
        name: cell.value for name, cell in cells_that_apply(CONNECTION_DEFAULTS, release).items()
    }
