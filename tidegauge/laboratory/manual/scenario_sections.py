"""The sections of the scenario reference: which part of the model stands below which heading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tidegauge.laboratory.manual.markdown import anchor
from tidegauge.scenario.model.cluster import (
    BrokerRelease,
    Cluster,
    Controllers,
    FormerState,
    Topic,
    ZooKeeper,
)
from tidegauge.scenario.model.component_faults import FAULTS
from tidegauge.scenario.model.costs import Costs, Latency, Network
from tidegauge.scenario.model.fault import FaultOfAnyKind
from tidegauge.scenario.model.fault_rates import FaultRate
from tidegauge.scenario.model.limits import Machine, Resources
from tidegauge.scenario.model.parts import Part
from tidegauge.scenario.model.process_faults import LeadershipAfter, SurvivingLog
from tidegauge.scenario.model.request_steps import STEPS
from tidegauge.scenario.model.scenario import AlertExpectations, Scenario
from tidegauge.scenario.model.step import AlteredMove, Condition, IsrIs, LeaderIs, StepOfAnyKind
from tidegauge.scenario.model.topic_steps import Move
from tidegauge.scenario.model.workload import ConsumerGroup, ProducerGroup, Workload


class Section(NamedTuple):
    """A heading, and the part of a scenario whose fields stand below it."""

    heading: str
    part: type[Part]
    level: int = 2
    #: Its fields stand in a section of their own.
    without: type[Part] | None = None


def _kinds(kinds: Mapping[str, type[Part]], field: str, common: type[Part]) -> Iterator[Section]:
    """A section for each kind of fault or step."""
    for kind, part in kinds.items():
        yield Section(f"{field}: {kind}", part, 3, without=common)


SECTIONS = (
    Section("The scenario", Scenario),
    Section("Cluster", Cluster),
    Section("Release of a broker", BrokerRelease, 3),
    Section("ZooKeeper", ZooKeeper),
    Section("Controllers", Controllers),
    Section("Topic", Topic),
    Section("State of a partition", FormerState, 3),
    Section("Workload", Workload),
    Section("Producers", ProducerGroup, 3),
    Section("Consumers", ConsumerGroup, 3),
    Section("Network", Network),
    Section("Costs", Costs),
    Section("Latency", Latency, 3),
    Section("Resources", Resources, without=Machine),
    Section("Machine of a broker", Machine, 3),
    Section("Faults", FaultOfAnyKind),
    *_kinds(FAULTS, "kind", FaultOfAnyKind),
    Section("Kept log", SurvivingLog, 3),
    Section("Leadership back", LeadershipAfter, 3),
    Section("Fault rates", FaultRate),
    Section("Steps", StepOfAnyKind),
    *_kinds(STEPS, "do", StepOfAnyKind),
    Section("Move", Move, 3),
    Section("Altered move", AlteredMove, 3),
    Section("Condition", Condition, 3),
    Section("ISR condition", IsrIs, 3),
    Section("Leader condition", LeaderIs, 3),
    Section("Expected alerts", AlertExpectations),
)

_HEADINGS = {section.part.__name__: section.heading for section in SECTIONS}


def link_to(part: str) -> str:
    """A link to the section of a part, by the name of its class."""
    return f"[{_HEADINGS[part].lower()}](#{anchor(_HEADINGS[part])})"
