"""Faults that stop or suspend brokers, or the machines of any processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field

from tidegauge.replication.release_versions import Release
from tidegauge.scenario.model import parts
from tidegauge.scenario.model.cluster import ProtocolText, ReleaseText
from tidegauge.scenario.model.deployment import Deployment, Versions
from tidegauge.scenario.model.fault import BrokerFault, Stop
from tidegauge.scenario.model.references import no_replica, partition_is_there
from tidegauge.scenario.model.selectors import (
    BROKER,
    CONTROLLER,
    CONTROLLERS,
    OPERATOR,
    LinkEnd,
    MachineSelector,
    ServerSelector,
)
from tidegauge.scenario.text.errors import Path, Problem, counted
from tidegauge.simulation.quantities import format_duration

if TYPE_CHECKING:  # as in fault.py
    from tidegauge.simulation.kernel import Fault as FaultRecord


class PauseFault(BrokerFault):
    """Brokers and their controllers are suspended, and resume where they were.

    This is SIGSTOP and SIGCONT.
    """

    effect = "{targets} stopped (SIGSTOP)"
    examples = ("{kind: pause, at: 30s, for: 20s, brokers: [2]}",)
    suspends = True

    kind: Literal["pause"]


class CrashFault(BrokerFault):
    """Brokers and their controllers are killed; they start again when the fault ends.

    This is SIGKILL. Appends of a broker are in the page cache, and survive.
    """

    effect = "{targets} killed (SIGKILL)"
    examples = ("{kind: crash, at: 30s, for: 1m, brokers: [2, 5]}",)
    stop = Stop.KILLED

    kind: Literal["crash"]


class SurvivingLog(parts.OfPartition):
    """The part of a log that survives a loss of power."""

    examples = ("{broker: 2, topic: orders, partition: 0, offset: 100}",)

    broker: parts.BrokerId = Field(description="Id of the broker that has the log.")
    offset: parts.Offset = Field(
        description="The log end offset after the loss: records below it survive, all others "
        "are lost."
    )


class PowerLossFault(BrokerFault):
    """Machines lose power; when power is back, their brokers start.

    No connection is closed, and no process is notified. Records of a log that are younger than the
    cluster's `write_back` may be lost, from a point on that is drawn for that log. A controller of
    KRaft loses the part of its log that it has not flushed. ZooKeeper keeps its data, and sessions
    have their whole timeout again when it is back. Clients resume where they were.
    """

    effect = "{targets} without power"
    examples = (
        """\
kind: power_loss
at: 90s
for: 5m
brokers: ["rack:b", zookeeper]
keeps: [{broker: 2, topic: orders, partition: 0, offset: 100}]
""",
    )
    stop = Stop.KILLED

    kind: Literal["power_loss"]
    brokers: parts.Some[MachineSelector] = Field(
        description="Machines that lose power. A rack selects its brokers, and with KRaft its "
        "controllers; name anything else in it, too: `[rack:b, zookeeper, client:shop]`."
    )
    keeps: parts.Listed[SurvivingLog] = Field(
        default=(), description="Logs with a given point, instead of a drawn one."
    )

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """The targets that do not exist; logs that it cannot keep, or are named twice."""
        problems = list(super().problems(path, scenario))
        yield from problems or self._problems_of_kept((*path, "keeps"), scenario)

    def _problems_of_kept(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        pinned = set()
        for place, kept in enumerate(self.keeps):
            problems = list(partition_is_there((*path, place), kept, scenario))
            yield from problems
            if problems:
                continue
            message = self._not_kept(kept, scenario)
            log = (kept.topic, kept.partition, kept.broker)
            if message is None and log in pinned:
                message = "the log of this partition on this broker is named twice"
            if message is not None:
                yield Problem((*path, place, "broker"), message)
            pinned.add(log)

    def _not_kept(self, kept: SurvivingLog, scenario: Deployment) -> str | None:
        """The problem of a broker that is to keep its log of an existing partition."""
        hit = self.hit_brokers(scenario)
        if kept.broker not in scenario.broker_ids():
            return scenario.cluster.no_such_broker(kept.broker)
        if kept.broker not in hit:
            return f"broker {kept.broker} does not lose power in this fault, only {hit}"
        return no_replica(kept, kept.broker, scenario)

    def plan(self, record: FaultRecord) -> None:
        """Sessions have their whole timeout again."""
        record.refreshes_sessions = True


class DiskLossFault(BrokerFault):
    """Controllers of KRaft are killed, and lose their disks; they start with empty ones.

    Their logs, snapshots, epochs and votes are gone: the danger of a quorum whose voters are named
    by controller.quorum.voters. A controller with an empty log votes for any other, also for one
    that lacks committed records, and may vote twice in an epoch. Checks report what comes of it.

    Where voters may change (KIP-853) its new directory has another id, formatted with
    --no-initial-controllers: the controller observes beside the voter that it was, which counts for
    majorities and never fetches. Steps remove that one, and add the new one afterwards; with
    controller.quorum.auto.join.enable the controller does both by itself.
    """

    effect = "killed, and their disks lost: {targets}"
    examples = ("{kind: disk_loss, at: 30s, for: 1m, brokers: [controller:1]}",)
    stop = Stop.KILLED

    kind: Literal["disk_loss"]
    brokers: parts.Some[ServerSelector] = Field(
        description="Controllers whose disks are lost: `controller:NUMBER`, `controllers`."
    )

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """The targets that do not exist; ZooKeeper, and brokers."""
        yield from super().problems(path, scenario)
        if not scenario.has_kraft:
            yield Problem((*path, "kind"), "it needs mode: kraft")
        for place, selector in enumerate(self.brokers):
            if selector.selects_brokers:
                message = "is no controller; a broker has the fault log_directory_failure"
                yield Problem((*path, "brokers", place), message)


class RestartFault(BrokerFault):
    """Brokers are stopped cleanly, and start when the fault ends.

    This is SIGTERM: a controlled shutdown, then all logs are flushed and checkpointed. A broker
    that has not stopped when the fault ends starts as soon as it has. A controller of KRaft that
    leads the quorum hands over to another one.
    """

    effect = "{targets} shut down cleanly (SIGTERM)"
    examples = ("{kind: restart, at: 30s, for: 10s, brokers: [2]}",)
    stop = Stop.CLEANLY

    kind: Literal["restart"]


class LeadershipAfter(parts.Part):
    """A time after which a restarted broker leads again."""

    examples = ("{after: 10m}",)

    after_us: parts.Duration = Field(
        alias="after", description="Time from the moment at which all of a batch were started."
    )


def _all_by_default(written: object) -> object:
    """No list, as by default, for the word all."""
    return () if written == "all" else written


class RollingRestartFault(BrokerFault):
    """Brokers, or controllers of KRaft, are restarted cleanly one after the other.

    Each server of a batch is stopped, stays down for a while and is started; then the next batch
    follows. The roll ends when all servers are done, after its `for`, or by a step; servers that
    are down then are still started.
    """

    examples = (
        """\
kind: rolling_restart
at: 60s
brokers: [1, 2, 3]
batch: 1
stopped_for: 30s
wait_for_full_isr: true
poll: 5s
timeout: 10m
on_timeout: stop
pause: 10s
leadership_back: at_end
""",
        '{kind: rolling_restart, at: 5m, to_release: "3.9"}',
        '{kind: rolling_restart, at: 8m, to_release: "3.9", to_protocol: "3.9"}',
        '{kind: rolling_restart, at: 1m, brokers: [controllers], to_release: "4.4"}',
    )
    stop = Stop.CLEANLY
    is_planned = True

    kind: Literal["rolling_restart"]
    brokers: Annotated[parts.Listed[ServerSelector], BeforeValidator(_all_by_default)] = Field(
        default=(),
        description="Servers to restart, in this order: brokers, and with KRaft controllers, "
        "`controller:NUMBER`. `controllers` means all of them, the active one last. A rack means "
        "its brokers. Default: all brokers, by their ids.",
    )
    batch: Annotated[int, parts.Unit("brokers")] = Field(
        default=1, ge=1, description="Number of servers that are restarted together."
    )
    to_release: ReleaseText | None = Field(
        default=None,
        description="Release with which the servers start: an upgrade, with the settings that they "
        "have had. Their inter.broker.protocol.version stays, with KRaft the cluster's "
        "metadata.version: a step `update_features` raises it. Default: they keep their releases.",
    )
    to_protocol: ProtocolText | None = Field(
        default=None,
        description="inter.broker.protocol.version with which the brokers start; not with KRaft. "
        "Default: they keep it.",
    )
    stopped_for_us: parts.PositiveDuration = Field(
        default=10_000_000,
        alias="stopped_for",
        description="Time that a server is down, from the end of its process to its start.",
    )
    wait_for_full_isr: bool = Field(
        default=True,
        description="Wait, before the next batch, until the brokers are registered again and no "
        "partition with a replica on them is under-replicated, by the state of ZooKeeper "
        "or the quorum as kafka-topics --describe --under-replicated-partitions reads it. After "
        "controllers: until each fetches from the active one again and has its whole log, as "
        "kafka-metadata-quorum describe --replication shows it.",
    )
    poll_us: parts.PositiveDuration = Field(
        default=5_000_000,
        alias="poll",
        description="Interval between two checks of the condition of wait_for_full_isr.",
    )
    timeout_us: parts.PositiveDuration = Field(
        default=600_000_000,
        alias="timeout",
        description="Longest duration of a batch, from the signal to stop.",
    )
    on_timeout: Literal["stop", "go_on"] = Field(
        default="stop",
        description="Action after the timeout. stop: no more brokers are restarted; go_on: the "
        "next batch is restarted.",
    )
    pause_us: parts.Duration = Field(
        default=0, alias="pause", description="Pause before the next batch, after the wait."
    )
    leadership_back: Literal["none", "after_each_batch", "in_sync", "at_end"] | LeadershipAfter = (
        Field(
            default="none",
            description="The time of preferred elections: after each batch, for the "
            "partitions with a replica on it; at the end, for all; or for the partitions whose "
            "preferred replicas are on a batch, however far the later batches are: in_sync, once "
            "these brokers are back in all of their ISRs; `{after: 10m}`, so long after they were "
            "started. Replicas that are not in sync then do not lead. With "
            "auto.leader.rebalance.enable, the default, the controller may be earlier.",
        )
    )

    def words(self, scenario: Deployment) -> str:
        """Its effect in words."""
        kinds = [server.kind for server in self.servers(scenario)]
        named = [(kinds.count(kind), kind) for kind in (CONTROLLER, BROKER) if kind in kinds]
        restarted = " and ".join(counted(*each) for each in named)
        each = format_duration(self.stopped_for_us)
        versions = [each for each in (self.to_release, self.to_protocol) if each is not None]
        upgraded = f"; from then on {' with protocol '.join(versions)}" if versions else ""
        return (
            f"{restarted} restarted cleanly, {self.batch} at a time, each down for {each}{upgraded}"
        )

    @property
    def is_upgrade(self) -> bool:
        """Whether servers start with other versions than those with which they were stopped."""
        return self.to_release is not None or self.to_protocol is not None

    def after(self, before: Versions) -> Versions:
        """The versions of a server that it has restarted."""
        release = Release.parse(before.release)
        protocol = self.to_protocol or str(release.version(before.mode, before.protocol))
        return Versions(self.to_release or before.release, protocol, before.mode)

    def servers(self, scenario: Deployment) -> list[LinkEnd]:
        """The brokers and controllers that it restarts, in this order."""
        if not self.brokers:
            return [LinkEnd(BROKER, id_) for id_ in scenario.broker_ids()]
        found: list[LinkEnd] = []
        for each in self.brokers:
            if each.selects_brokers:
                found += (LinkEnd(BROKER, id_) for id_ in scenario.brokers_of([each]))
            else:
                found += (LinkEnd(CONTROLLER, id_) for id_ in scenario.controllers_of([each]))
        return list(dict.fromkeys(found))

    @property
    def has_active_last(self) -> bool:
        """Whether the active controller is restarted behind all other controllers."""
        return any(each.kind == CONTROLLERS for each in self.brokers)

    def hit_brokers(self, scenario: Deployment) -> list[int]:
        """Ids of the brokers that it restarts, in this order."""
        return [server.broker for server in self.servers(scenario) if server.kind == BROKER]

    def sides(self, scenario: Deployment) -> tuple[list[LinkEnd], list[LinkEnd]]:
        """The operator: brokers are hit by the restarts that he begins."""
        del scenario
        return [LinkEnd(OPERATOR)], []

    def plan(self, record: FaultRecord) -> None:
        """The operator, whom it hits, does not stop."""
        record.stops = False


ProcessFault = (
    PauseFault | CrashFault | PowerLossFault | DiskLossFault | RestartFault | RollingRestartFault
)
