"""The faults of a scenario: what is hit, when, and how.

A fault hits processes, or the links between two groups of them. Groups are written as lists of
selectors:

===================  ====================================================================
``2``                the host of broker 2: the broker and its controller
``broker:2``         the broker without its controller
``controller:2``     the controller of broker 2 alone
``rack:b``           all hosts in rack b
``zookeeper``        ZooKeeper
``clients``          all clients
``client:shop``      the clients of the group shop
===================  ====================================================================

A fault without ``at`` waits for a step that begins it, and its ``for`` counts from then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    field_validator,
)

from tidegauge.scenario.model.costs import Latency
from tidegauge.scenario.model.duration_fields import Duration, PositiveDuration
from tidegauge.scenario.model.parts import (
    BrokerId,
    Listed,
    Name,
    Offset,
    OfPartition,
    Part,
    Some,
    one_of,
)

HOST = "host"
BROKER = "broker"
CONTROLLER = "controller"
RACK = "rack"
ZOOKEEPER = "zookeeper"
CLIENTS = "clients"
CLIENT_GROUP = "client"


class Selector(NamedTuple):
    """What a fault hits."""

    #: HOST, BROKER, CONTROLLER, RACK, ZOOKEEPER, CLIENTS or CLIENT_GROUP.
    kind: str
    #: Id of the broker, if it selects one by id.
    broker: int = -1
    #: Name of the rack or of the group.
    name: str = ""

    @property
    def selects_brokers(self) -> bool:
        """Whether it stands for brokers, and for nothing that is no broker."""
        return self.kind in {HOST, BROKER, RACK}

    def __str__(self) -> str:
        if self.kind == HOST:
            return str(self.broker)
        if self.kind in {ZOOKEEPER, CLIENTS}:
            return self.kind
        return f"{self.kind}:{self.name}" if self.name else f"{self.kind}:{self.broker}"


class LinkEnd(NamedTuple):
    """A process at the end of a link."""

    #: BROKER, CONTROLLER, ZOOKEEPER or CLIENT_GROUP (one client of a group).
    kind: str
    #: Id of the broker, also of one whose controller it is.
    broker: int = -1
    #: Name of the client's group.
    group: str = ""
    #: Which client of the group, from 0 on.
    client: int = -1


def _selector(written: object) -> Selector:
    if isinstance(written, Selector):
        return written
    if isinstance(written, int) and not isinstance(written, bool) and written >= 0:
        return Selector(HOST, broker=written)
    if isinstance(written, str):
        kind, colon, name = written.partition(":")
        if not colon and kind in {ZOOKEEPER, CLIENTS}:
            return Selector(kind)
        if kind in {BROKER, CONTROLLER} and name.isascii() and name.isdigit():
            return Selector(kind, broker=int(name))
        if kind in {RACK, CLIENT_GROUP} and name:
            return Selector(kind, name=name)
    raise ValueError(
        "must be a broker's id, broker:ID, controller:ID, rack:NAME, zookeeper, clients or "
        f"client:GROUP, not {written!r}"
    )


def as_written(selector: Selector) -> int | str:
    """What a scenario says for a selector."""
    return selector.broker if selector.kind == HOST else str(selector)


def _brokers_only(selector: Selector) -> Selector:
    if not selector.selects_brokers:
        raise ValueError(f"must be a broker's id, broker:ID or rack:NAME, not {selector}")
    return selector


def _machines_only(selector: Selector) -> Selector:
    if selector.kind in {BROKER, CONTROLLER}:
        raise ValueError(
            f"must be a broker's id, rack:NAME, zookeeper, clients or client:GROUP, not {selector}"
        )
    return selector


_SELECTOR_SCHEMA = {
    "anyOf": [
        {"type": "integer", "minimum": 0},
        {
            "type": "string",
            "pattern": "^(zookeeper|clients|(broker|controller):[0-9]+|(rack|client):.+)$",
        },
    ],
    "examples": [2, "rack:b", "broker:2", "controller:2", "zookeeper", "clients", "client:shop"],
}
SelectorField = Annotated[
    Selector,
    PlainValidator(_selector),
    PlainSerializer(as_written),
    WithJsonSchema(_SELECTOR_SCHEMA),
]
BrokerSelector = Annotated[SelectorField, AfterValidator(_brokers_only)]
MachineSelector = Annotated[SelectorField, AfterValidator(_machines_only)]
#: The two ends of links.
Ends = Annotated[tuple[Some[SelectorField], Some[SelectorField]], Field(strict=False)]


class FaultOfAnyKind(Part):
    """When a fault begins and ends."""

    name: Name | None = Field(
        default=None, description="Unique among the faults; steps know it by that."
    )
    at_us: Duration | None = Field(
        default=None, alias="at", description="When it begins. Default: a step begins it."
    )
    for_us: PositiveDuration | None = Field(
        default=None,
        alias="for",
        description="How long it lasts. Default: until a step or the run ends.",
    )


class PauseFault(FaultOfAnyKind):
    """Brokers stop and go on as if nothing had been, and their controllers with them.

    This is SIGSTOP and SIGCONT.
    """

    kind: Literal["pause"]
    brokers: Some[BrokerSelector] = Field(description="Which ones.")


class CrashFault(FaultOfAnyKind):
    """Brokers are killed, and their controllers with them; they start again when it ends.

    This is SIGKILL. What a broker has written is in the page cache, and survives.
    """

    kind: Literal["crash"]
    brokers: Some[BrokerSelector] = Field(description="Which ones.")


class SurvivingLog(OfPartition):
    """How much of a log survives a loss of power."""

    broker: BrokerId = Field(description="Id of the broker whose log it is.")
    offset: Offset = Field(
        description="The log end offset it keeps: what it had below survives, nothing else does."
    )


class PowerLossFault(FaultOfAnyKind):
    """Machines lose power; when it is back, their brokers start.

    No connection is closed, and nobody is told. Of each log, what is younger than the cluster's
    `write_back` may be lost, from a point on that is drawn for that log. ZooKeeper has its data
    when it is back, and sessions have their whole time-out again; clients go on where they were.
    """

    kind: Literal["power_loss"]
    brokers: Some[MachineSelector] = Field(
        description="Whose machines. What else stands in a rack is named beside it: "
        "`[rack:b, zookeeper, client:shop]`."
    )
    keeps: Listed[SurvivingLog] = Field(
        default=(), description="Logs whose point is not drawn, but this one."
    )


class RestartFault(FaultOfAnyKind):
    """Brokers are stopped cleanly, and start when it ends.

    This is SIGTERM: a controlled shutdown, then all is flushed and checkpointed. A broker that has
    not stopped when the fault ends starts as soon as it has.
    """

    kind: Literal["restart"]
    brokers: Some[BrokerSelector] = Field(description="Which ones.")


class RollingRestartFault(FaultOfAnyKind):
    """Brokers are restarted cleanly one after the other, as operators do it.

    Each of a batch is stopped, stays down for a while and is started; then come the next, until
    it is done, or ends by its `for` or a step: what is down then still comes back.
    """

    kind: Literal["rolling_restart"]
    brokers: Listed[BrokerSelector] = Field(
        default=(), description="Which ones, in this order. Default: all, by their ids."
    )
    batch: int = Field(default=1, ge=1, description="How many at once.")
    stopped_for_us: PositiveDuration = Field(
        default=10_000_000,
        alias="stopped_for",
        description="How long a broker is down, from the end of its process to its start.",
    )
    wait_for_full_isr: bool = Field(
        default=True,
        description="Wait, before the next, until the brokers are registered again and no "
        "partition with a replica on them is under-replicated, by ZooKeeper's state as "
        "kafka-topics --describe --under-replicated-partitions reads it.",
    )
    poll_us: PositiveDuration = Field(
        default=5_000_000, alias="poll", description="How often that is looked at."
    )
    timeout_us: PositiveDuration = Field(
        default=600_000_000,
        alias="timeout",
        description="How long a batch may take, from when it is told to stop.",
    )
    on_timeout: Literal["stop", "go_on"] = Field(
        default="stop", description="What then: no more is restarted, or the next ones are."
    )
    pause_us: Duration = Field(
        default=0, alias="pause", description="How long to wait then before the next batch."
    )
    leadership_back: Literal["none", "after_each_batch", "at_end"] = Field(
        default="none",
        description="When a preferred election is asked for: of the partitions with a replica on "
        "the batch, or at the end of all.",
    )


class ControllerMoveFault(FaultOfAnyKind):
    """/controller is deleted: the brokers elect a controller anew. It is over at once."""

    kind: Literal["controller_move"]

    @field_validator("for_us", mode="before")
    @classmethod
    def _is_over_at_once(cls, duration: object) -> object:
        if duration is not None:
            raise ValueError("a controller move is over at once, so it has no `for`")
        return duration


class SlowDiskFault(FaultOfAnyKind):
    """Disks are slow: each append takes longer, whether its broker leads or follows."""

    kind: Literal["slow_disk"]
    brokers: Some[BrokerSelector] = Field(description="Whose disks.")
    delay: Latency = Field(
        description="More for each append: a duration, or quantiles from which each append draws."
    )


class LogDirectoryFailureFault(FaultOfAnyKind):
    """A log directory of brokers cannot be written to.

    It goes offline with the first write that fails. When the fault is over it can be used again,
    which a broker finds out at its next start.
    """

    kind: Literal["log_directory_failure"]
    brokers: Some[BrokerSelector] = Field(description="Whose.")
    directory: int = Field(
        default=1, ge=1, description="Which of the `log_directories` of the cluster, from 1 on."
    )
    how: Literal["failed", "full"] = Field(
        default="failed",
        description="failed: a start cannot read it either. full: a start loads its logs.",
    )


class SlowLinkFault(FaultOfAnyKind):
    """Messages take longer."""

    kind: Literal["slow_link"]
    between: Ends = Field(description="The links from any of the first to any of the second.")
    one_way: bool = Field(
        default=False, description="True: but not those from the second to the first."
    )
    delay_us: PositiveDuration = Field(alias="delay", description="More for each message.")


class CutLinkFault(FaultOfAnyKind):
    """Packets vanish without a word to either end."""

    kind: Literal["cut_link"]
    between: Ends = Field(description="The links from any of the first to any of the second.")
    one_way: bool = Field(
        default=False, description="True: but not those from the second to the first."
    )


class ZooKeeperOutageFault(FaultOfAnyKind):
    """ZooKeeper does not answer."""

    kind: Literal["zookeeper_outage"]
    how: Literal["pause", "restart"] = Field(
        default="pause",
        description="pause: it stops and goes on, and closes sessions whose time is over. "
        "restart: sessions have their whole time-out again once it is back.",
    )


LinkFault = SlowLinkFault | CutLinkFault


def fault_name(faults: Sequence[FaultOfAnyKind], place: int) -> str:
    """What people call a fault: its name, or its kind and which of all it is."""
    fault = faults[place]
    return fault.name or f"{getattr(fault, 'kind', '')}-{place + 1}"


Fault = Annotated[
    PauseFault
    | CrashFault
    | PowerLossFault
    | RestartFault
    | RollingRestartFault
    | SlowDiskFault
    | LogDirectoryFailureFault
    | SlowLinkFault
    | CutLinkFault
    | ZooKeeperOutageFault
    | ControllerMoveFault,
    Discriminator("kind"),
    one_of(
        "kind",
        *("pause", "crash", "power_loss", "restart", "slow_disk", "slow_link", "cut_link"),
        *("zookeeper_outage", "controller_move", "rolling_restart"),
        "log_directory_failure",
    ),
]
