"""Faults of disks, links, connections, ZooKeeper, the controller; all processes keep running.

The faults of a scenario: all kinds of them, and their names.

A fault hits processes, or the links between two groups of them, which are written as lists of
selectors (``selectors.py``). A fault without ``at`` waits for a step that begins it, and its
``for`` counts from then. ``fault.py`` says how to add a kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Discriminator, Field, field_validator

from tidegauge.scenario.model.costs import Latency
from tidegauge.scenario.model.deployment import Deployment
from tidegauge.scenario.model.fault import BrokerFault, FaultOfAnyKind
from tidegauge.scenario.model.parts import PositiveDuration, Some, Unit, kinds_of, one_of
from tidegauge.scenario.model.process_faults import ProcessFault
from tidegauge.scenario.model.references import selectors_are_there
from tidegauge.scenario.model.selectors import (
    BROKER,
    CONTROLLER,
    ZOOKEEPER,
    BrokerSelector,
    Ends,
    LinkEnd,
    ServerSelector,
)
from tidegauge.scenario.text.errors import Path, Problem
from tidegauge.simulation.quantities import format_duration

if TYPE_CHECKING:  # as in fault.py
    from tidegauge.simulation.kernel import Fault as FaultRecord


class DiskFault(BrokerFault):
    """A fault of disks: their brokers are hit, and not the controllers on the same hosts."""

    def sides(self, scenario: Deployment) -> tuple[list[LinkEnd], list[LinkEnd]]:
        """The brokers without their controllers."""
        return [LinkEnd(BROKER, id_) for id_ in self.hit_brokers(scenario)], []


class SlowDiskFault(DiskFault):
    """Disks are slow: each append takes longer, whether its broker leads or follows.

    A controller of KRaft flushes the metadata log later.
    """

    effect = "disks slow: {targets}"
    examples = (
        (
            "{kind: slow_disk, at: 30s, for: 90s, brokers: [2], "
            "delay: {min: 1ms, p50: 5ms, p99: 300ms}}"
        ),
    )

    kind: Literal["slow_disk"]
    brokers: Some[ServerSelector] = Field(
        description="Brokers with slow disks; with KRaft controllers, too."
    )
    delay: Latency = Field(
        description="Additional time of each append: a duration, or quantiles from which it is "
        "drawn for each append."
    )

    def sides(self, scenario: Deployment) -> tuple[list[LinkEnd], list[LinkEnd]]:
        """The brokers, and controllers that have disks of their own."""
        brokers, others = super().sides(scenario)
        controllers = scenario.controllers_of(self.brokers)
        return brokers + [LinkEnd(CONTROLLER, number) for number in controllers], others

    def drawn_delay(self) -> Latency:
        """The delay of each append."""
        return self.delay


class LogDirectoryFailureFault(DiskFault):
    """A log directory of brokers cannot be written to.

    It goes offline with the first write that fails. The directory can be used again after the
    fault, from the broker's next start on.
    """

    effect = "log directory {0.directory} {0.how}: {targets}"
    examples = (
        "{kind: log_directory_failure, at: 30s, for: 10m, brokers: [2], directory: 1, how: full}",
    )

    kind: Literal["log_directory_failure"]
    brokers: Some[BrokerSelector] = Field(description="The brokers whose log directory fails.")
    directory: Annotated[int, Unit("directory number")] = Field(
        default=1,
        ge=1,
        description="Number of the directory, from 1 to the `log_directories` of the cluster.",
    )
    how: Literal["failed", "full"] = Field(
        default="failed",
        description="failed: the directory cannot be read at a start either. full: a start "
        "loads its logs.",
    )

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """The targets that do not exist; a directory that brokers do not have."""
        yield from super().problems(path, scenario)
        count = scenario.cluster.log_directories
        if self.directory > count:
            yield Problem((*path, "directory"), f"each broker has {count} (log_directories)")

    def plan(self, record: FaultRecord) -> None:
        """The directory that fails, and the kind of failure."""
        record.directory = self.directory - 1
        record.is_full = self.how == "full"


class AuthenticationFailureFault(BrokerFault):
    """New connections of brokers to controllers fail to authenticate; those that exist are kept.

    So it is where credentials have expired, or the server that checks them is down. It hits
    registrations, heartbeats, AlterPartition and requests for producer ids, not the fetches of the
    metadata log.
    """

    effect = "connections to controllers fail to authenticate: {targets}"
    examples = ("{kind: authentication_failure, at: 30s, for: 1m, brokers: [1, 2]}",)

    kind: Literal["authentication_failure"]
    brokers: Some[BrokerSelector] = Field(description="The brokers whose new connections fail.")

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """The targets that do not exist; ZooKeeper."""
        yield from super().problems(path, scenario)
        if not scenario.has_kraft:
            yield Problem((*path, "kind"), "it needs mode: kraft")

    def sides(self, scenario: Deployment) -> tuple[list[LinkEnd], list[LinkEnd]]:
        """The brokers without their controllers."""
        return [LinkEnd(BROKER, id_) for id_ in self.hit_brokers(scenario)], []


class LinkFault(FaultOfAnyKind):
    """A fault that hits the links between two groups of processes."""

    is_between = True

    kind: str
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

    def targets(self, scenario: Deployment) -> str:
        """Its links."""
        del scenario
        return self._links(", ")

    def short_words(self) -> str:
        """Its kind and its links, for stories."""
        return f"{self.kind} {self._links(',')}"

    def _links(self, comma: str) -> str:
        one, other = (comma.join(map(str, ends)) for ends in self.between)
        return f"{one} {'->' if self.one_way else '<->'} {other}"

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """The ends that do not exist, or are on both sides."""
        path = (*path, "between")
        problems = [
            problem
            for side, selectors in enumerate(self.between)
            for problem in selectors_are_there((*path, side), selectors, scenario)
        ]
        yield from problems
        if problems:
            return
        ends, _ = self.sides(scenario)
        for selector in self.between[1]:
            if set(scenario.endpoints_of([selector])) & set(ends):
                message = f"{selector} is on both sides, and no process has a link to itself"
                yield Problem(path, message)

    def sides(self, scenario: Deployment) -> tuple[list[LinkEnd], list[LinkEnd]]:
        """The processes at both ends."""
        one, other = self.between
        return scenario.endpoints_of(one), scenario.endpoints_of(other)

    def plan(self, record: FaultRecord) -> None:
        """In which direction links are hit."""
        record.one_way = self.one_way


class SlowLinkFault(LinkFault):
    """Messages take longer."""

    examples = (
        (
            '{kind: slow_link, at: 30s, for: 1m, between: [["rack:a"], ["rack:b"]], one_way: true, '
            "delay: 50ms}"
        ),
    )

    kind: Literal["slow_link"]
    delay_us: PositiveDuration = Field(
        alias="delay", description="Additional time of each message."
    )

    def words(self, scenario: Deployment) -> str:
        """Its effect in words, with the delay."""
        delay = format_duration(self.delay_us)
        return f"links slow, {delay} more a message: {self.targets(scenario)}"

    def plan(self, record: FaultRecord) -> None:
        """The direction, and the delay of each message."""
        super().plan(record)
        record.delay_us = self.delay_us


class CutLinkFault(LinkFault):
    """Packets are dropped, and neither end is notified."""

    effect = "links cut: {targets}"
    examples = (
        "{kind: cut_link, at: 20s, for: 80s, between: [[1], [zookeeper, 4]], one_way: true}",
    )

    kind: Literal["cut_link"]


class ZooKeeperFault(FaultOfAnyKind):
    """A fault that hits ZooKeeper alone."""

    def sides(self, scenario: Deployment) -> tuple[list[LinkEnd], list[LinkEnd]]:
        """ZooKeeper."""
        del scenario
        return [LinkEnd(ZOOKEEPER)], []


class ZooKeeperOutageFault(ZooKeeperFault):
    """ZooKeeper does not respond."""

    effect = "ZooKeeper does not respond ({0.how})"
    examples = ("{kind: zookeeper_outage, at: 30s, for: 10s, how: restart}",)
    suspends = True

    kind: Literal["zookeeper_outage"]
    how: Literal["pause", "restart"] = Field(
        default="pause",
        description="pause: ZooKeeper is suspended and resumes, and expires sessions whose "
        "timeout has passed. restart: sessions have their whole timeout again once it is back.",
    )

    def plan(self, record: FaultRecord) -> None:
        """Whether sessions have their whole timeout again."""
        record.refreshes_sessions = self.how == "restart"


class ControllerMoveFault(ZooKeeperFault):
    """ZooKeeper's /controller is deleted, and the fault is over; the brokers elect a controller."""

    effect = "/controller deleted: a new controller is elected"
    examples = ("{kind: controller_move, at: 30s}",)
    is_over_at_once = True

    kind: Literal["controller_move"]

    @field_validator("for_us", mode="before")
    @classmethod
    def _is_over_at_once(cls, duration: object) -> object:
        if duration is not None:
            raise ValueError("a controller move is over at once, so it has no `for`")
        return duration


ComponentFault = (
    SlowDiskFault
    | LogDirectoryFailureFault
    | AuthenticationFailureFault
    | SlowLinkFault
    | CutLinkFault
    | ZooKeeperOutageFault
    | ControllerMoveFault
)


#: The kinds of faults, by the names that scenarios give them.
FAULTS: Mapping[str, type[FaultOfAnyKind]] = kinds_of(ProcessFault | ComponentFault, "kind")

Fault = Annotated[ProcessFault | ComponentFault, Discriminator("kind"), one_of("kind", *FAULTS)]


def fault_name(faults: Sequence[Fault], place: int) -> str:
    """The name of a fault in output: its own, or its kind and its number among all faults."""
    fault = faults[place]
    return fault.name or f"{fault.kind}-{place + 1}"
