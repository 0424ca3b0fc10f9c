"""The cluster of a scenario as checks ask it: partitions by their properties, faults to try.

The end of the file has the checks themselves: functions of such a cluster.

Each array has an entry for each partition of a topic, so a million partitions take a second.

A finding is shown by a run of the scenario with other faults: those of the scenario are left out,
unless all of them begin with the run, as an imported cluster has them for brokers that are down.
"""

import inspect
import json
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.replication.releases import rules_of
from tidegauge.scenario.lint.finding import NAMED, Concerned, Finding, Simulation
from tidegauge.scenario.model.cluster import Topic
from tidegauge.scenario.model.replica_placement import Assignments
from tidegauge.scenario.model.request_steps import BeginFaultStep, EndFaultStep
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.simulation.quantities import format_duration

#: The time at which faults begin, in milliseconds: brokers and clients have started.
BEGIN_MS = 60_000
#: The duration of an outage, and the time until the end of the run after the last fault.
OUTAGE_MS = 60_000
#: A safe distance between two events.
MARGIN_MS = 5_000

LAG = "replica.lag.time.max.ms"
_MIN_ISR = "min.insync.replicas"
_ALL = -1
_NO_BROKER = -1

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class LintedTopic:
    """A topic, with the properties of its partitions."""

    def __init__(self, cluster: "LintedCluster", topic: Topic) -> None:
        """Take a topic of the cluster."""
        self._cluster = cluster
        self.topic = topic

    @cached_property
    def assignments(self) -> Assignments:
        """The brokers of each partition."""
        return self._cluster.scenario.assignments(self.topic)

    @cached_property
    def replicas(self) -> Numbers:
        """The number of replicas of each partition."""
        if self.topic.assignment is not None:
            return self.assignments.counts
        # To place a million replicas takes seconds.
        factor = self._cluster.scenario.replication_factor(self.topic)
        return np.full(self.topic.partition_count, factor)

    @cached_property
    def min_insync_replicas(self) -> Numbers:
        """The min.insync.replicas in force in the preferred leader of each partition."""
        of_brokers = self._cluster.min_insync_replicas
        own = self.topic.settings.get(_MIN_ISR)
        if own is not None or len({*of_brokers}) == 1:
            return np.full(len(self.replicas), of_brokers[0] if own is None else int(own))
        preferred = self.assignments.table[:, 0]
        return np.array(of_brokers)[np.searchsorted(self._cluster.brokers, preferred)]

    @cached_property
    def most_in_a_rack(self) -> Numbers:
        """The number of replicas of each partition in the rack that has most of them."""
        table, brokers = self.assignments.table, self._cluster.brokers
        is_replica = table != _NO_BROKER
        places = np.searchsorted(brokers, np.where(is_replica, table, brokers[0]))
        racks = np.array(self._cluster.rack_numbers)[places]
        alike = (racks[:, :, None] == racks[:, None, :]) & is_replica[:, None, :]
        return np.asarray((alike.sum(axis=2) * is_replica).max(axis=1, initial=0))

    @property
    def has_unclean_elections(self) -> bool:
        """Whether the controllers may elect replicas that are not in sync."""
        effective = self.topic.effective(self._cluster.deciding)
        return bool(effective["unclean.leader.election.enable"])

    @property
    def takes_acks_all(self) -> bool:
        """Whether a producer may wait for the ISR: one does, or there is none in the scenario."""
        acks = self._cluster.acks.get(self.topic.name)
        return not acks or _ALL in acks


class FoundPartitions(NamedTuple):
    """Partitions with a fault, of which the first one is tried."""

    concerned: Concerned
    topic: LintedTopic
    number: int

    @property
    def leader(self) -> int:
        """The leader of the first partition, or the replica that is to lead it."""
        replicas = self._replicas
        state = self.topic.topic.state_of(self.number, replicas)
        return replicas[0] if state is None or state.leader is None else state.leader

    @property
    def followers(self) -> list[int]:
        """The other brokers of the first partition."""
        leader = self.leader
        return [broker for broker in self._replicas if broker != leader]

    def cut_off_leader(self, for_ms: int) -> str:
        """A cut of the leader from its followers alone: controllers on their hosts reach it."""
        leader, *followers = (f"broker:{broker}" for broker in (self.leader, *self.followers))
        return cut([leader], followers, for_ms)

    @property
    def _replicas(self) -> list[int]:
        return self.topic.assignments[self.number]


class LintedCluster:
    """A scenario whose cluster is checked."""

    def __init__(self, scenario: Scenario) -> None:
        """Take a valid scenario."""
        self.scenario = scenario
        self.brokers = np.array(scenario.broker_ids())

    @cached_property
    def topics(self) -> list[LintedTopic]:
        """All topics."""
        return [LintedTopic(self, topic) for topic in self.scenario.topics]

    @cached_property
    def settings(self) -> dict[int, dict[str, int]]:
        """All settings of each broker, by its id."""
        return {broker: self.scenario.settings_of(broker) for broker in self.scenario.broker_ids()}

    @cached_property
    def min_insync_replicas(self) -> list[int]:
        """The min.insync.replicas of each broker, in the order of their ids."""
        return [settings[_MIN_ISR] for settings in self.settings.values()]

    @cached_property
    def deciding(self) -> dict[str, int]:
        """The settings by which the controllers elect leaders."""
        return self.settings[self.scenario.broker_ids()[0]] | self.scenario.decided_by_controllers()

    @cached_property
    def rack_numbers(self) -> list[int]:
        """The number of each broker's rack, in the order of the brokers' ids."""
        numbers = {rack: number for number, rack in enumerate(self.scenario.cluster.racks)}
        return [numbers[self.scenario.rack_of(broker)] for broker in self.scenario.broker_ids()]

    @cached_property
    def acks(self) -> dict[str, set[int]]:
        """The acks of producers, by their topics."""
        acks: dict[str, set[int]] = {}
        for group in self.scenario.workload.producers:
            for name in group.topics:
                acks.setdefault(name, set()).add(self.scenario.producer_settings(group)["acks"])
        return acks

    @cached_property
    def caps_min_insync_replicas(self) -> bool:
        """Whether the release never requires more replicas than there are (KAFKA-15583)."""
        versions = self.scenario.release_of(self.scenario.broker_ids()[0])
        return bool(rules_of(*versions).min_isr_capped_by_replicas)

    @property
    def has_several_racks(self) -> bool:
        """Whether brokers stand in more than one rack."""
        return len(self.scenario.cluster.racks) > 1

    @cached_property
    def shortest_lag_ms(self) -> int:
        """The least replica.lag.time.max.ms of any broker."""
        return min(settings[LAG] for settings in self.settings.values())

    @cached_property
    def shrunk_after_ms(self) -> int:
        """The time in which every leader has removed a follower that it does not hear of."""
        longest = max(settings[LAG] for settings in self.settings.values())
        return longest * 3 // 2 + MARGIN_MS

    def partitions_where(
        self, is_concerned: Callable[[LintedTopic], Mask | bool]
    ) -> FoundPartitions | None:
        """The partitions of which a condition holds, or all of a topic; None: there are none."""
        count, first = 0, None
        named: list[str] = []
        for topic in self.topics:
            which = np.broadcast_to(is_concerned(topic), topic.replicas.shape)
            numbers = np.flatnonzero(which)
            count += len(numbers)
            some = numbers[: NAMED - len(named)].tolist()
            named += [f"{topic.topic.name}-{number}" for number in some]
            if first is None and some:
                first = topic, some[0]
        if first is None:
            return None
        return FoundPartitions(Concerned("partition", count, named), *first)

    # The runs that show a finding.

    def run_with(self, *faults: str, until_ms: int = BEGIN_MS + OUTAGE_MS) -> Simulation:
        """A run with these faults, each as in a scenario.

        Args:
            faults: their texts.
            until_ms: the end of the last of them; the run is longer than that.
        """
        scenario, changes = self.scenario, []
        own = scenario.faults[: len(scenario.faults) - scenario.drawn_faults]
        if own and all(fault.at_us == 0 for fault in own):
            changes += [f"faults.{len(own) + place}={text}" for place, text in enumerate(faults)]
        else:
            changes.append(f"faults=[{', '.join(faults)}]")
            if any(isinstance(step, BeginFaultStep | EndFaultStep) for step in scenario.steps):
                changes.append("steps=[]")
        if scenario.drawn_faults:
            changes.append("fault_rates=[]")
        if scenario.alerts is not None:
            changes.append("alerts=null")
        end_us = (until_ms + OUTAGE_MS) * 1000
        if scenario.duration_us < end_us:
            changes.append(f"duration={format_duration(end_us)}")
        return Simulation("run", changes)

    def run_with_isolated_leader(
        self, found: FoundPartitions, kind: str, after_ms: int
    ) -> Simulation:
        """A run in which a leader is cut off from its followers, and is lost a time after that."""
        return self.run_with(
            found.cut_off_leader(after_ms + MARGIN_MS),
            outage(kind, [found.leader], at_ms=BEGIN_MS + after_ms),
            until_ms=BEGIN_MS + after_ms + OUTAGE_MS,
        )

    def run_without_rack(self, rack: str, *others: str) -> Simulation:
        """A run in which a rack loses power, and other machines with it."""
        return self.run_with(outage("power_loss", [f"rack:{rack}", *others]))


def outage(
    kind: str, servers: Iterable[int | str] = (), at_ms: int = BEGIN_MS, for_ms: int = OUTAGE_MS
) -> str:
    """A fault as in a scenario, of brokers, controllers or racks, if it has such."""
    brokers = _listed(servers)
    hit = "" if brokers == "[]" else f", brokers: {brokers}"
    return f"{{kind: {kind}, {_span(at_ms, for_ms)}{hit}}}"


def cut(
    one: Iterable[int | str], other: Iterable[int | str], for_ms: int, at_ms: int = BEGIN_MS
) -> str:
    """A cut between two sides, as in a scenario."""
    sides = f"[{_listed(one)}, {_listed(other)}]"
    return f"{{kind: cut_link, {_span(at_ms, for_ms)}, between: {sides}}}"


def _span(at_ms: int, for_ms: int) -> str:
    return f"at: {format_duration(at_ms * 1000)}, for: {format_duration(for_ms * 1000)}"


def _listed(servers: Iterable[int | str]) -> str:
    # Names in JSON are names in YAML, whatever letters they have.
    return f"[{', '.join(json.dumps(server) for server in servers)}]"


_Finder = Callable[[LintedCluster], Finding | None]


class Check(NamedTuple):
    """A kind of fault, and the function that finds it."""

    find: _Finder
    #: The author can hardly mean it, so each command that runs the scenario warns of it.
    is_mistake: bool

    @property
    def name(self) -> str:
        """Its name in output."""
        return self.find.__name__

    @property
    def paragraphs(self) -> list[str]:
        """The paragraphs about it."""
        return inspect.cleandoc(self.find.__doc__ or "").split("\n\n")


def check(find: _Finder) -> Check:
    """Make a check of the function that finds its fault."""
    return Check(find, is_mistake=False)


def mistake(find: _Finder) -> Check:
    """Make a check of a fault that its author can hardly mean."""
    return Check(find, is_mistake=True)
