"""A fault of any kind: the fields that all have, and the facts that each kind gives about itself.

**To add a fault** takes two files. One is ``process_faults.py`` or ``component_faults.py``: a class
that gives the facts of :class:`FaultOfAnyKind` that differ from the defaults here, and its name in
the union at the end of that file. The other has its rule in the kernel, with the code of the fault
beside it: ``X = FAULT_CODES.new("x", number)`` (``simulation/faults.py``). A fault that only
suspends or stops processes has its code there, and needs no rule. Then the pages and the schema are
written again.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from tidegauge.scenario.model import selectors
from tidegauge.scenario.model.costs import Latency
from tidegauge.scenario.model.deployment import Deployment
from tidegauge.scenario.model.parts import Duration, Name, Part, PositiveDuration, Some, kind_of
from tidegauge.scenario.model.references import selectors_are_there
from tidegauge.scenario.text.errors import Path, Problem, counted

if TYPE_CHECKING:  # scenarios are read without the kernel: its import takes a second
    from tidegauge.simulation.kernel import Fault as FaultRecord


class Stop(Enum):
    """The end of a broker's process at a fault, before its next start."""

    NEVER = "never"
    KILLED = "killed"
    CLEANLY = "cleanly"


class FaultOfAnyKind(Part):
    """The name, begin and end of a fault."""

    examples: ClassVar[tuple[str, ...]] = ("{name: power, at: 90s, for: 5m}",)
    #: In words, in the passive: about ``{targets}``, with its own fields as ``{0.field}``.
    effect: ClassVar[str]
    #: The end of the processes of the named brokers, if they end; hosts come back when the fault is
    #: over.
    stop: ClassVar[Stop] = Stop.NEVER
    #: The processes that it hits are suspended, and resume where they were.
    suspends: ClassVar[bool] = False
    #: It hits the links between its two sides, and not the processes.
    is_between: ClassVar[bool] = False
    #: It has no duration.
    is_over_at_once: ClassVar[bool] = False
    #: The operator plans it and sees to its end: it is not drawn from a rate.
    is_planned: ClassVar[bool] = False

    name: Name | None = Field(
        default=None, description="Name of the fault, unique among the faults; steps refer to it."
    )
    at_us: Duration | None = Field(
        default=None,
        alias="at",
        description="Begin of the fault. Default: a step begins it.",
    )
    for_us: PositiveDuration | None = Field(
        default=None,
        alias="for",
        description="Duration of the fault. Default: until a step ends it or the run ends.",
    )

    def words(self, scenario: Deployment) -> str:
        """Its effect in words."""
        return self.effect.format(self, targets=self.targets(scenario))

    def targets(self, scenario: Deployment) -> str:
        """The processes or links that it hits, in words."""
        del scenario
        return ""

    def short_words(self) -> str:
        """Its kind and its targets, for stories."""
        return kind_of(type(self), "kind")

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """The problems of its fields with the cluster and the clients."""
        del path, scenario
        yield from ()

    def hit_brokers(self, scenario: Deployment) -> list[int]:
        """Ids of the brokers that it stops, suspends or slows down."""
        del scenario
        return []

    def sides(
        self, scenario: Deployment
    ) -> tuple[list[selectors.LinkEnd], list[selectors.LinkEnd]]:
        """The processes that it hits; of one that hits links, those at both ends."""
        raise NotImplementedError(f"nothing is hit by {type(self).__name__}")

    def drawn_delay(self) -> Latency | None:
        """A delay that is drawn again for each piece of work that the fault slows down."""
        return None

    def plan(self, record: FaultRecord) -> None:
        """Enter its own fields into its record in the kernel."""


class BrokerFault(FaultOfAnyKind):
    """A fault that hits brokers, or whole machines."""

    kind: str
    brokers: Some[selectors.ServerSelector] = Field(
        description="Brokers that the fault hits; with KRaft controllers, too."
    )

    def targets(self, scenario: Deployment) -> str:
        """The brokers and racks that it names, with the number of brokers in a rack."""
        named = []
        for selector in self.brokers:
            if selector.kind == selectors.RACK:
                named.append(f"rack {selector.name} ({self._in_rack(selector, scenario)})")
            elif selector.selects_brokers:
                named.append(f"broker {selector.broker}")
            elif selector.kind == selectors.CONTROLLER:
                named.append(f"controller {selector.broker}")
            else:
                named.append(str(selector))
        return ", ".join(named)

    def _in_rack(self, rack: selectors.Selector, scenario: Deployment) -> str:
        parts = [counted(len(scenario.brokers_of([rack])), "broker")]
        if controllers := scenario.controllers_of([rack]):
            parts.append(counted(len(controllers), "controller"))
        return ", ".join(parts)

    def short_words(self) -> str:
        """Its kind and its targets, for stories."""
        return f"{self.kind} of {','.join(map(str, self.brokers)) or 'all'}"

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """The targets that do not exist."""
        yield from selectors_are_there((*path, "brokers"), self.brokers, scenario)

    def hit_brokers(self, scenario: Deployment) -> list[int]:
        """Ids of the brokers that it names."""
        return scenario.brokers_of(self.brokers)

    def sides(
        self, scenario: Deployment
    ) -> tuple[list[selectors.LinkEnd], list[selectors.LinkEnd]]:
        """The brokers, with ZooKeeper their controllers, and whatever else it names."""
        hit = self.hit_brokers(scenario)
        controllers = scenario.controllers_of(self.brokers) if scenario.has_kraft else hit
        others = [
            end
            for end in scenario.endpoints_of(self.brokers)
            if end.kind not in {selectors.BROKER, selectors.CONTROLLER}
        ]
        servers = [selectors.LinkEnd(selectors.BROKER, id_) for id_ in hit]
        return servers + [
            selectors.LinkEnd(selectors.CONTROLLER, id_) for id_ in controllers
        ] + others, []
