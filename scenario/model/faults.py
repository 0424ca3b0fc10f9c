"""The faults of a scenario: their targets, times and effects.

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
    """The target of a fault."""

    #: HOST, BROKER, CONTROLLER, RACK, ZOOKEEPER, CLIENTS or CLIENT_GROUP.
    kind: str
    #: Id of the broker, if it selects one by id.
    broker: int = -1
    #: Name of the rack or of the group.
    name: str = ""

    @property
    def selects_brokers(self) -> bool:
        """Whether it selects brokers only."""
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
    """The text of a selector in a scenario."""
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
    """The name, begin and end of a fault."""

    name: Name | None = Field(
        default=None, description="Name of the fault, unique among the faults; steps refer to it."
    )
    at_us: Duration | None = Field(
        default=None, alias="at", description="When the fault begins. Default: a step begins it."
    )
    for_us: PositiveDuration | None = Field(
        default=None,
        alias="for",
        description="Duration of the fault. Default: until a step ends it or the run ends.",
    )


class PauseFault(FaultOfAnyKind):
    """Brokers and their controllers are suspended, and resume where they were.

    This is SIGSTOP and SIGCONT.
    """

    kind: Literal["pause"]
    brokers: Some[BrokerSelector] = Field(description="Brokers that the fault hits.")


class CrashFault(FaultOfAnyKind):
    """Brokers and their controllers are killed; they start again when the fault ends.

    This is SIGKILL. Appends of a broker are in the page cache, and survive.
    """

    kind: Literal["crash"]
    brokers: Some[BrokerSelector] = Field(description="Brokers that the fault hits.")


class SurvivingLog(OfPartition):
    """The part of a log that survives a loss of power."""

    broker: BrokerId = Field(description="Id of the broker that has the log.")
    offset: Offset = Field(
        description="The log end offset after the loss: records below it survive, all others "
        "are lost."
    )


class PowerLossFault(FaultOfAnyKind):
    """Machines lose power; when power is back, their brokers start.

    No connection is closed, and no process is notified. Records of a log that are younger than the
    cluster's `write_back` may be lost, from a point on that is drawn for that log. ZooKeeper keeps
    its data, and sessions have their whole timeout again when it is back. Clients resume where they
    were.
    """

    kind: Literal["power_loss"]
    brokers: Some[MachineSelector] = Field(
        description="Machines that lose power. A rack selects only its brokers; name anything "
        "else in it, too: `[rack:b, zookeeper, client:shop]`."
    )
    keeps: Listed[SurvivingLog] = Field(
        default=(), description="Logs with a given point, instead of a drawn one."
    )


class RestartFault(FaultOfAnyKind):
    """Brokers are stopped cleanly, and start when the fault ends.

    This is SIGTERM: a controlled shutdown, then all logs are flushed and checkpointed. A broker
    that has not stopped when the fault ends starts as soon as it has.
    """

    kind: Literal["restart"]
    brokers: Some[BrokerSelector] = Field(description="Brokers that the fault hits.")


class RollingRestartFault(FaultOfAnyKind):
    """Brokers are restarted cleanly one after the other, as operators do.

    Each broker of a batch is stopped, stays down for a while and is started; then the next batch
    follows. The roll ends when all brokers are done, after its `for`, or by a step; brokers that
    are down then are still started.
    """

    kind: Literal["rolling_restart"]
    brokers: Listed[BrokerSelector] = Field(
        default=(), description="Brokers to restart, in this order. Default: all, by their ids."
    )
    batch: int = Field(
        default=1, ge=1, description="Number of brokers that are restarted together."
    )
    stopped_for_us: PositiveDuration = Field(
        default=10_000_000,
        alias="stopped_for",
        description="Time that a broker is down, from the end of its process to its start.",
    )
    wait_for_full_isr: bool = Field(
        default=True,
        description="Wait, before the next batch, until the brokers are registered again and no "
        "partition with a replica on them is under-replicated, by ZooKeeper's state as "
        "kafka-topics --describe --under-replicated-partitions reads it.",
    )
    poll_us: PositiveDuration = Field(
        default=5_000_000,
        alias="poll",
        description="Interval between two checks of the condition of wait_for_isr.",
    )
    timeout_us: PositiveDuration = Field(
        default=600_000_000,
        alias="timeout",
        description="Longest duration of a batch, from the signal to stop.",
    )
    on_timeout: Literal["stop", "go_on"] = Field(
        default="stop",
        description="Action after the timeout. stop: no more brokers are restarted; go_on: the "
        "next batch is restarted.",
    )
    pause_us: Duration = Field(
        default=0, alias="pause", description="Pause before the next batch, after the wait."
    )
    leadership_back: Literal["none", "after_each_batch", "at_end"] = Field(
        default="none",
        description="When a preferred election is requested: after each batch, for the "
        "partitions with a replica on it, or at the end, for all.",
    )


class ControllerMoveFault(FaultOfAnyKind):
    """ZooKeeper's /controller is deleted, and the fault is over; the brokers elect a controller."""

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
    brokers: Some[BrokerSelector] = Field(description="Brokers with slow disks.")
    delay: Latency = Field(
        description="Additional time of each append: a duration, or quantiles from which it is "
        "drawn for each append."
    )


class LogDirectoryFailureFault(FaultOfAnyKind):
    """A log directory of brokers cannot be written to.

    It goes offline with the first write that fails. When the fault is over, the directory can be
    used again, from the broker's next start on.
    """

    kind: Literal["log_directory_failure"]
    brokers: Some[BrokerSelector] = Field(description="The brokers whose log directory fails.")
    directory: int = Field(
        default=1,
        ge=1,
        description="Number of the directory, from 1 to the `log_directories` of the cluster.",
    )
    how: Literal["failed", "full"] = Field(
        default="failed",
        description="failed: the directory cannot be read at a start either. full: a start "
        "loads its logs.",
    )


class SlowLinkFault(FaultOfAnyKind):
    """Messages take longer."""

    kind: Literal["slow_link"]
    between: Ends = Field(
        description=(
            "Two groups; the fault hits the links between any member of the first and any of the "
            "second."
        )
    )
    one_way: bool = Field(
        default=False,
        description="true: only the links from the first group to the second, not those back.",
    )
    delay_us: PositiveDuration = Field(
        alias="delay", description="Additional time of each message."
    )


class CutLinkFault(FaultOfAnyKind):
    """Packets are dropped, and neither end is notified."""

    kind: Literal["cut_link"]
    between: Ends = Field(
        description=(
            "Two groups; the fault hits the links between any member of the first and any of the "
            "second."
        )
    )
    one_way: bool = Field(
        default=False,
        description="true: only the links from the first group to the second, not those back.",
    )


class ZooKeeperOutageFault(FaultOfAnyKind):
    """ZooKeeper does not respond."""

    kind: Literal["zookeeper_outage"]
    how: Literal["pause", "restart"] = Field(
        default="pause",
        description="pause: ZooKeeper is suspended and resumes, and expires sessions whose "
        "timeout has passed. restart: sessions have their whole timeout again once it is back.",
    )


LinkFault = SlowLinkFault | CutLinkFault


def fault_name(faults: Sequence[FaultOfAnyKind], place: int) -> str:
    """The name of a fault in output: its own, or its kind and its number among all faults."""
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
