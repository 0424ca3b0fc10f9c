"""The cluster of a scenario as checks ask it: partitions by their properties, and faults to try.

Each array has an entry for each partition of a topic, so a million partitions take a second.

A finding is shown by a run of the scenario with other faults: those of the scenario are left out,
unless all of them begin with the run, as an imported cluster has them for brokers that are down.
"""

import json
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.replication.releases import rules_of
from tidegauge.scenario.lint.finding import NAMED, Concerned, Simulation
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

_LAG = "replica.lag.time.max.ms"
_MIN_ISR = "min.insync.replicas"
_ALL = -1
_NO_BROKER = -1

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class LintedTopic(NamedTuple):
    """A topic, with the properties of its partitions."""

    topic: Topic
    assignments: Assignments
    #: The number of replicas.
    replicas: Numbers
    min_insync_replicas: Numbers
    #: The number of replicas in the rack that has most of them.
    most_in_a_rack: Numbers
    has_unclean_elections: bool
    #: The acks of its producers.
    acks: frozenset[int]

    @property
    def takes_acks_all(self) -> bool:
        """Whether a producer may wait for the ISR: one does, or there is none in the scenario."""
        return not self.acks or _ALL in self.acks


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
        return [self._linted(topic) for topic in self.scenario.topics]

    def _linted(self, topic: Topic) -> LintedTopic:
        assignments = self.scenario.assignments(topic)
        table = assignments.table
        least = topic.settings.get(_MIN_ISR)
        if least is None:
            by_broker = np.array([self.settings[broker][_MIN_ISR] for broker in self.settings])
            min_isr = by_broker[np.searchsorted(self.brokers, table[:, 0])]
        else:
            min_isr = np.full(len(assignments), int(least))
        racks = np.array([self._rack_numbers[broker] for broker in self.brokers.tolist()])
        of_replicas = racks[np.searchsorted(self.brokers, np.maximum(table, self.brokers[0]))]
        # No replica is in the rack of another one.
        of_replicas[table == _NO_BROKER] = _NO_BROKER
        alike = (of_replicas[:, :, None] == of_replicas[:, None, :]).sum(axis=2)
        most = np.where(table == _NO_BROKER, 0, alike).max(axis=1, initial=0)
        return LintedTopic(
            topic,
            assignments,
            assignments.counts,
            min_isr.astype(np.int64),
            most.astype(np.int64),
            bool(topic.effective(self._deciding)["unclean.leader.election.enable"]),
            frozenset(self._acks.get(topic.name, ())),
        )

    @cached_property
    def settings(self) -> dict[int, dict[str, int]]:
        """All settings of each broker, by its id."""
        return {broker: self.scenario.settings_of(broker) for broker in self.scenario.broker_ids()}

    @cached_property
    def _deciding(self) -> dict[str, int]:
        """The settings by which the controllers elect leaders."""
        return self.settings[self.scenario.broker_ids()[0]] | self.scenario.decided_by_controllers()

    @cached_property
    def _rack_numbers(self) -> dict[int, int]:
        racks = self.scenario.cluster.racks.values()
        return {broker: number for number, rack in enumerate(racks) for broker in rack}

    @cached_property
    def _acks(self) -> dict[str, set[int]]:
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
        return min(settings[_LAG] for settings in self.settings.values())

    @cached_property
    def shrunk_after_ms(self) -> int:
        """The time in which every leader has removed a follower that it does not hear of."""
        longest = max(settings[_LAG] for settings in self.settings.values())
        return longest * 3 // 2 + MARGIN_MS

    def partitions_where(
        self, is_concerned: Callable[[LintedTopic], Mask | bool]
    ) -> FoundPartitions | None:
        """The partitions of which a condition holds, or all of a topic; None: there are none."""
        count, named, first = 0, [], None
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
