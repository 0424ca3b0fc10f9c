"""The cluster of a scenario: brokers, racks, settings, ZooKeeper or controllers, the topics."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from tidegauge.replication.records import MOST_VOTERS, SLOTS
from tidegauge.replication.release_versions import ProtocolVersion, Release
from tidegauge.scenario.model import parts
from tidegauge.scenario.model.limits import MOST_BROKERS, MOST_PARTITIONS, MOST_SERVERS, Size
from tidegauge.scenario.model.replica_placement import Placement
from tidegauge.scenario.model.settings import TOPIC_SETTINGS, BrokerSettings, Settings
from tidegauge.scenario.text.errors import Problem, ProblemsError
from tidegauge.simulation import quantities

#: The rack of all brokers where a scenario names none.
DEFAULT_RACK = "default"
#: Each is a bit of an integer.
MOST_LOG_DIRECTORIES = 32
_PARTITION_NUMBER = re.compile(r"[0-9]{1,9}")
#: Instead of a duration, for an event that may never happen.
NEVER = "never"
#: The numbers of voters that controller.quorum.voters may name here.
_STATIC_VOTERS = (1, 3, 5)
#: Instead of a broker, where a partition has no leader (as kafka-topics writes it).
NOBODY = "none"


def _version_text(value: object) -> object:
    if isinstance(value, int | float):
        raise ValueError(f'must be in quotes: "{value}" (YAML reads it as a number)')
    return value


def _duration_or_never(written: object) -> int | None:
    if written == NEVER:
        return None
    try:
        return quantities.parse_duration(written)
    except ValueError as error:
        raise ValueError(f"{error}; or {NEVER}") from error


#: A duration, or None for ``never`` in the scenario.
DurationOrNever = Annotated[
    int | None,
    PlainValidator(_duration_or_never),
    PlainSerializer(quantities.format_duration, when_used="unless-none"),
    WithJsonSchema({"anyOf": [quantities.DURATION_SCHEMA, {"const": NEVER}]}),
]
#: A release in full: 2.6 is 2.6.3.
ReleaseText = Annotated[
    str,
    BeforeValidator(_version_text),
    AfterValidator(lambda text: str(Release.parse(text))),
]
#: A version of inter.broker.protocol.version or metadata.version in full: 2.4 is 2.4-IV1.
ProtocolText = Annotated[
    str,
    BeforeValidator(_version_text),
    AfterValidator(lambda text: str(ProtocolVersion.parse(text))),
]


_ID_SCHEMA = {"type": "integer", "minimum": 0}
#: The forms of brokers and racks; their validators normalize them.
_BROKERS_SCHEMA = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": MOST_BROKERS},
        {"type": "array", "items": _ID_SCHEMA, "minItems": 1, "uniqueItems": True},
    ]
}
_RACKS_SCHEMA = {
    "anyOf": [
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        {"type": "object", "additionalProperties": {"type": "array", "items": _ID_SCHEMA}},
    ]
}


class BrokerRelease(parts.Part):
    """The release and protocol version of one broker of a mixed cluster."""

    release: ReleaseText | None = Field(
        default=None, description="Release of this broker. Default: the scenario's."
    )
    protocol: ProtocolText | None = Field(
        default=None,
        description="inter.broker.protocol.version of this broker. Default: the scenario's if "
        "it names one, else that of the broker's release.",
    )


class Cluster(parts.Part):
    """The brokers: their racks, releases and settings."""

    brokers: Annotated[parts.BrokerIds, WithJsonSchema(_BROKERS_SCHEMA)] = Field(
        description="Ids, or a number of brokers: then the ids are 1, 2, ..."
    )
    racks: Annotated[
        dict[parts.Name, parts.Listed[parts.BrokerId]], WithJsonSchema(_RACKS_SCHEMA)
    ] = Field(
        default_factory=dict,
        validate_default=True,
        description="Ids by rack; or a list of racks, to which the brokers are assigned in turn.",
    )
    placement: Placement = Field(
        default="fixed",
        description="Replicas of topics that have no assignment. fixed: Kafka's round robin over "
        "racks and brokers, for each topic from the first broker on. drawn: as Kafka places those "
        "of a new topic, by the seed: with ZooKeeper that round robin from a drawn broker on, with "
        "KRaft stripes over shuffled racks and brokers (StripedReplicaPlacer).",
    )
    start_spread_us: parts.DrawnDuration = Field(
        default=1_000_000,
        alias="start_spread",
        description="The time at which a broker starts is drawn from 0 to this.",
    )
    start_us: dict[parts.BrokerKey, parts.Duration] = Field(
        default_factory=dict,
        alias="start",
        description="Start times of single brokers, by id, instead of drawn ones.",
    )
    restart_after_exit_us: DurationOrNever = Field(
        default=5_000_000,
        alias="restart_after_exit",
        description="Time after which a supervisor restarts a broker that exits by "
        "itself (because its own registration still exists in ZooKeeper, or, in old releases, "
        "because its log is out of range), or never.",
    )
    log_directories: int = Field(
        default=1,
        ge=1,
        le=MOST_LOG_DIRECTORIES,
        description="Number of log directories (log.dirs) of each broker. A new log is created "
        "in the directory with the fewest logs.",
    )
    write_back_us: parts.PositiveDuration = Field(
        default=30_000_000,
        alias="write_back",
        description="Time until the operating system has written a broker's appends to disk "
        "(Linux: dirty_expire_centisecs = 3000).",
    )
    settings: BrokerSettings = Field(
        default_factory=dict, description="Settings of all brokers, as in server.properties."
    )
    broker_settings: dict[parts.BrokerKey, BrokerSettings] = Field(
        default_factory=dict, description="Settings of single brokers, by id."
    )
    broker_releases: dict[parts.BrokerKey, BrokerRelease] = Field(
        default_factory=dict,
        description="Brokers that run another release or protocol version than the scenario's, "
        "by id.",
    )

    @field_validator("brokers", mode="before")
    @classmethod
    def _ids_from_their_number(cls, brokers: Any) -> Any:
        if not isinstance(brokers, int) or isinstance(brokers, bool):
            return brokers
        if not 1 <= brokers <= MOST_BROKERS:
            raise ValueError(f"must be from 1 to {MOST_BROKERS}, not {brokers}")
        return range(1, brokers + 1)

    @field_validator("brokers")
    @classmethod
    def _in_ascending_order(cls, brokers: tuple[int, ...]) -> tuple[int, ...]:
        if len(brokers) > MOST_BROKERS:
            raise ValueError(f"has {len(brokers)} brokers; {MOST_BROKERS} is the most")
        return tuple(sorted(brokers))

    @field_validator("racks", mode="before")
    @classmethod
    def _deal_brokers_to_racks(cls, racks: Any, info: ValidationInfo) -> Any:
        brokers = info.data.get("brokers", ())
        if isinstance(racks, Mapping):
            return racks or {DEFAULT_RACK: brokers}
        if not isinstance(racks, list | tuple) or not all(isinstance(name, str) for name in racks):
            raise ValueError("must be a list of names, or ids by name ({a: [1, 2], b: [3]})")
        parts.without_repetition(tuple(racks))
        return {name: brokers[place :: len(racks)] for place, name in enumerate(racks)}

    @model_validator(mode="after")
    def _each_broker_is_known_and_in_one_rack(self) -> Self:
        unknown = [
            Problem((name, broker), self.no_such_broker(broker))
            for name, by_broker in (
                ("start", self.start_us),
                ("broker_settings", self.broker_settings),
                ("broker_releases", self.broker_releases),
            )
            for broker in by_broker
            if broker not in self.brokers
        ]
        placed: set[int] = set()
        for rack, brokers in self.racks.items():
            for place, broker in enumerate(brokers):
                path = ("racks", rack, place)
                if broker not in self.brokers:
                    unknown.append(Problem(path, self.no_such_broker(broker)))
                elif broker in placed:
                    unknown.append(Problem(path, f"broker {broker} is already in a rack"))
                placed.add(broker)
        lost = [broker for broker in self.brokers if broker not in placed]
        if lost:
            unknown.append(Problem(("racks",), f"broker {lost[0]} is in no rack"))
        if unknown:
            raise ProblemsError(unknown)
        return self

    def no_such_broker(self, broker: int) -> str:
        """The problem of a broker that is not in the cluster."""
        ids = self.brokers
        are_in_a_row = ids[-1] - ids[0] == len(ids) - 1
        known = f"{ids[0]} to {ids[-1]}" if are_in_a_row else ", ".join(map(str, ids))
        return f"there is no broker {broker}, only {known}"


class ZooKeeper(parts.Part):
    """The ZooKeeper ensemble, as one process."""

    tick_ms: int = Field(
        default=2_000,
        ge=1,
        le=3_600_000,
        description="ZooKeeper's tickTime; sessions expire on ticks.",
    )
    servers: int = Field(
        default=3,
        ge=1,
        le=MOST_SERVERS,
        description="Number of servers of the ensemble. With a single server, a client that has "
        "lost its connection waits a second before it retries the same server.",
    )
    rack: parts.Name | None = Field(
        default=None,
        description="Rack of the ensemble. Default: none, so every broker reaches it across racks.",
    )


class Controllers(parts.Part):
    """The controllers of a KRaft cluster: the quorum that keeps the metadata log.

    Its voters are all of them, as `controller.quorum.voters` names them, and stay; or `voters` are
    the first ones, and may change (KIP-853).
    """

    count: int = Field(
        default=3,
        ge=1,
        le=MOST_VOTERS,
        description="Number of controllers: 1, 3 or 5, with `voters` up to 15. The voters elect "
        "one of them, which is active; records are committed once a majority has them.",
    )
    voters: parts.Listed[parts.ControllerNumber] = Field(
        default=(),
        description="Numbers of the first voters, which may change (kraft.version 1; from 3.9): "
        "their directories were formatted with --initial-controllers, or one with --standalone; "
        "all others with --no-initial-controllers, and observe. Must have controller:0. An "
        "empty list is the default. Default: all are voters by `controller.quorum.voters`, and "
        "stay (kraft.version 0).",
    )
    start_us: dict[parts.ControllerKey, parts.Duration] = Field(
        default_factory=dict,
        alias="start",
        description="Start times of single controllers, by number, that are not among `voters`: "
        "new ones, whose directory is empty until then. Default: a controller runs, and has the "
        "metadata log, as the run begins.",
    )
    racks: parts.Listed[parts.Name] = Field(
        default=(),
        description="Racks, to which the controllers are assigned in turn, from controller:0 on, "
        "which leads the quorum at the start; a rack with two of them appears twice. Default: "
        "none, so every broker reaches them across racks.",
    )
    bootstrap_servers: parts.Listed[parts.ControllerNumber] = Field(
        default=(),
        description="Numbers of the controllers that `controller.quorum.bootstrap.servers` names; "
        "0 is controller:0. Brokers of 3.9 and later ask these for the leader; before, brokers ask "
        "any controller. Default: all.",
    )
    settings: Settings = Field(
        default_factory=dict,
        description="Settings of all controllers, as in controller.properties, and those of the "
        "quorum (`controller.quorum.*`), which brokers have, too. With min.insync.replicas, "
        "unclean.leader.election.enable and default.replication.factor controllers decide by their "
        "own value; default: that of the brokers.",
    )

    @model_validator(mode="after")
    def _has_a_controller_in_each_rack(self) -> Self:
        if len(self.racks) > self.count:
            message = f"are {len(self.racks)}, for {self.count} controllers"
            raise ProblemsError([Problem(("racks",), message)])
        return self

    @model_validator(mode="after")
    def _has_known_voters(self) -> Self:
        if not self.voters and self.count not in _STATIC_VOTERS:
            message = f"must be 1, 3 or 5 without voters, not {self.count}"
            raise ProblemsError([Problem(("count",), message)])
        for place, number in enumerate(self.voters):
            if number >= self.count or number in self.voters[:place]:
                message = f"must be distinct, from 0 to {self.count - 1}: {number}"
                raise ProblemsError([Problem(("voters", place), message)])
        if self.voters and 0 not in self.voters:
            raise ProblemsError([Problem(("voters",), "must have 0: controller:0 leads at first")])
        for number in self.start_us:
            if number >= self.count:
                raise ProblemsError([Problem(("start", number), self.no_such_controller(number))])
            if not self.voters or number in self.voters:
                message = "is a voter, and runs from the beginning: a fault can keep it down"
                raise ProblemsError([Problem(("start", number), message)])
        return self

    @model_validator(mode="after")
    def _bootstraps_from_its_own(self) -> Self:
        for place, number in enumerate(self.bootstrap_servers):
            if number >= self.count:
                problem = Problem(("bootstrap_servers", place), self.no_such_controller(number))
                raise ProblemsError([problem])
        return self

    @property
    def first_voters(self) -> tuple[int, ...]:
        """The numbers of the voters as the run begins."""
        return tuple(sorted(self.voters)) or tuple(range(self.count))

    def no_such_controller(self, number: int) -> str:
        """The problem of a controller that is not in the quorum."""
        return f"there is no controller:{number}, only controller:0 to {self.count - 1}"


def racks_of_controllers(racks: Iterable[str], count: int, known: Sequence[str] = ()) -> list[str]:
    """Racks for the controllers of a quorum: the known ones, then the brokers' others by name.

    Outside of all racks the loss of a rack would spare a quorum that it hits in any cluster of
    several availability zones.

    Args:
        racks: those of the brokers.
        count: the number of controllers.
        known: the racks of some controllers, one for each.
    """
    others = sorted({*racks} - {*known, DEFAULT_RACK})
    return [*known, *others][:count]


def _nobody(leader: object) -> object:
    return None if leader == NOBODY else leader


class FormerState(parts.Part):
    """The state of a partition in the control plane as the run begins."""

    leader: Annotated[parts.BrokerId | None, BeforeValidator(_nobody)] = Field(
        default=None, description="Broker id of the leader; none: the partition has no leader."
    )
    isr: Annotated[parts.Listed[parts.BrokerId], AfterValidator(parts.without_repetition)] = Field(
        description="In-sync replicas, in this order; with KRaft it may be empty."
    )
    elr: Annotated[parts.Listed[parts.BrokerId], AfterValidator(parts.without_repetition)] = Field(
        default=(),
        description="Eligible leader replicas of KRaft (KIP-966): they left an ISR that had become "
        "smaller than min.insync.replicas.",
    )
    last_known_leader: parts.BrokerId | None = Field(
        default=None,
        description="With KRaft: the last leader of a partition that has no leader and an empty "
        "ISR (LastKnownElr).",
    )
    adding: Annotated[parts.Listed[parts.BrokerId], AfterValidator(parts.without_repetition)] = (
        Field(
            default=(),
            description="With KRaft: replicas that a reassignment in progress adds; the assignment "
            "has them, too.",
        )
    )
    removing: Annotated[parts.Listed[parts.BrokerId], AfterValidator(parts.without_repetition)] = (
        Field(
            default=(),
            description="With KRaft: replicas that it removes; the assignment has them last.",
        )
    )
    leader_epoch: int = Field(default=0, ge=0, lt=2**31, description="Leader epoch.")
    behind: dict[parts.BrokerKey, Size] = Field(
        default_factory=dict,
        description="For a topic with a `size`: the bytes that the logs of replicas outside of the "
        "ISR lack at their end, by broker id. Default: all, so their logs are empty.",
    )

    @model_validator(mode="after")
    def _is_led_by_one_in_sync(self) -> Self:
        if self.leader is not None and self.leader not in self.isr:
            raise ProblemsError([Problem(("leader",), f"broker {self.leader} is not in the ISR")])
        both = [broker for broker in self.elr if broker in self.isr]
        if both:
            raise ProblemsError([Problem(("elr",), f"broker {both[0]} is in the ISR, too")])
        for broker in self.behind:
            if broker in (*self.isr, *self.elr):
                message = "is in the ISR, or eligible to lead, so it has all records"
                raise ProblemsError([Problem(("behind", broker), message)])
        if self.last_known_leader is not None and (self.leader is not None or self.isr):
            message = "has no meaning while there is a leader or an ISR"
            raise ProblemsError([Problem(("last_known_leader",), message)])
        return self

    def is_complete(self, broker: int) -> bool:
        """Whether a broker's replica has all records that were committed before the run."""
        return broker in (*self.isr, *self.elr, self.last_known_leader)


def _sizes(written: object) -> int | dict[int, int]:
    if not isinstance(written, Mapping):
        return quantities.parse_size(written)
    sizes: dict[int, int] = {}
    problems = []
    for key, size in written.items():
        if isinstance(key, bool) or not _PARTITION_NUMBER.fullmatch(str(key)):
            problems.append(Problem((key,), "must be the number of a partition"))
            continue
        try:
            sizes[int(key)] = quantities.parse_size(size)
        except ValueError as error:
            problems.append(Problem((key,), str(error)))
    if problems:
        raise ProblemsError(problems)
    return sizes


def _sizes_text(sizes: int | dict[int, int]) -> str | dict[int, str]:
    if isinstance(sizes, int):
        return quantities.format_size(sizes)
    return {number: quantities.format_size(size) for number, size in sizes.items()}


#: Bytes of each partition; or by its number, 0 where a partition is not named.
SizeOfPartitions = Annotated[
    int | dict[int, int],
    PlainValidator(_sizes),
    PlainSerializer(_sizes_text),
    WithJsonSchema(
        {
            "anyOf": [
                quantities.SIZE_SCHEMA,
                {"type": "object", "additionalProperties": quantities.SIZE_SCHEMA},
            ]
        }
    ),
]


class Topic(parts.Part):
    """A topic that exists from the start."""

    name: parts.TopicName = Field(description="Name of the topic.")
    partitions: int | None = Field(
        default=None,
        ge=1,
        le=MOST_PARTITIONS,
        description="Number of partitions. Default: that of the assignment.",
    )
    replication_factor: int | None = Field(
        default=None,
        ge=1,
        le=SLOTS,
        description="Number of replicas of each partition. Default: that of the assignment, "
        "else default.replication.factor.",
    )
    assignment: dict[parts.PartitionKey, parts.BrokerIds] | None = Field(
        default=None,
        description="Brokers of each partition, the preferred leader first. Default: as the "
        "cluster's `placement` says.",
    )
    state: dict[parts.PartitionKey, FormerState] | None = Field(
        default=None,
        description="Leader and ISR of partitions as the run begins. A partition that is not "
        "named has its preferred replica as leader, and all replicas in sync. The cluster then "
        "existed before the run: its brokers return at once. With ZooKeeper, the session of the "
        "former controller ends with the first tick; with KRaft, the metadata log begins with "
        "these states. Default: the topic is created once all brokers are registered.",
    )
    size: SizeOfPartitions | None = Field(
        default=None,
        description="Size of each partition's log as the run begins: one for all partitions, or by "
        "the partition's number, and then nothing where a partition is not named. The topic "
        "existed before the run, as one with `state: {}`. Each in-sync replica has a log of so "
        "many bytes, from offset 0 on, all committed in the leader epoch of its `state` and "
        "flushed. Consumers begin at its end, or at its start if their settings name "
        "auto.offset.reset=earliest. A record has the size of the topic's producers' records, or "
        "1 kB.",
    )
    settings: Settings = Field(default_factory=dict, description="Settings of the topic.")

    @model_validator(mode="after")
    def _sizes_are_those_of_its_partitions(self) -> Self:
        if isinstance(self.size, dict) and self.partition_count > 0:
            for number in self.size:
                if number >= self.partition_count:
                    raise ProblemsError([Problem(("size", number), "there is no such partition")])
        return self

    @model_validator(mode="after")
    def _state_is_that_of_its_replicas(self) -> Self:
        problems = []
        for number, state in (self.state or {}).items():
            if number not in (self.assignment or {}):
                problems.append(Problem(("state", number), "the assignment has no such partition"))
                continue
            replicas = (self.assignment or {})[number]
            problems += [
                Problem(("state", number, field), f"broker {broker} has no replica of it")
                for field, brokers in (
                    ("isr", state.isr),
                    ("elr", state.elr),
                    ("adding", state.adding),
                    ("removing", state.removing),
                    ("last_known_leader", (state.last_known_leader,)),
                    ("behind", tuple(state.behind)),
                )
                for broker in brokers
                if broker is not None and broker not in replicas
            ]
        if problems:
            raise ProblemsError(problems)
        return self

    @model_validator(mode="after")
    def _says_how_many_partitions_and_replicas(self) -> Self:
        if self.assignment is None:
            if self.partitions is None:
                raise ProblemsError(
                    [Problem(("partitions",), "is missing, and there is no assignment")]
                )
            return self
        numbers = sorted(self.assignment)
        count = len(numbers) if self.partitions is None else self.partitions
        if not numbers or numbers != list(range(count)):
            expected = "0" if count <= 1 else f"0 to {count - 1}"
            raise ProblemsError(
                [Problem(("assignment",), f"must name partitions {expected}, each of them once")]
            )
        for number, replicas in self.assignment.items():
            if self.replication_factor not in (None, len(replicas)) or len(replicas) > SLOTS:
                raise ProblemsError(
                    [
                        Problem(
                            ("assignment", number),
                            f"must have at most {SLOTS} replicas, and as many as "
                            "replication_factor if there is one",
                        )
                    ]
                )
        return self

    def state_of(self, partition: int, replicas: Sequence[int]) -> FormerState | None:
        """The state of a partition as the run begins; None if it is created later."""
        if not self.existed:
            return None
        well = FormerState(leader=replicas[0], isr=tuple(replicas))
        return (self.state or {}).get(partition, well)

    @property
    def existed(self) -> bool:
        """Whether the topic existed before the run."""
        return self.state is not None or self.size is not None

    def size_of(self, partition: int) -> int:
        """The bytes of a partition's log as the run begins."""
        if isinstance(self.size, dict):
            return self.size.get(partition, 0)
        return self.size or 0

    @property
    def partition_count(self) -> int:
        """The number of partitions."""
        return len(self.assignment or ()) if self.partitions is None else self.partitions

    def effective(self, broker_settings: Mapping[str, int]) -> dict[str, int]:
        """The settings of the topic, as a broker with these settings applies them."""
        return {
            name: int(self.settings.get(name, broker_settings[name])) for name in TOPIC_SETTINGS
        }
