"""Steps that restart clients, record state, wait, and begin or end faults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from tidegauge.scenario.model.deployment import Deployment
from tidegauge.scenario.model.parts import Name
from tidegauge.scenario.model.references import no_such
from tidegauge.scenario.model.step import Numbers, StepOfAnyKind
from tidegauge.scenario.text.errors import Path, Problem

if TYPE_CHECKING:  # as in step.py
    from tidegauge.clients.client_state import Step as StepRecord


class RestartConsumersStep(StepOfAnyKind):
    """Kill and restart the consumers of a group: they resume at their committed offsets."""

    examples = ("{do: restart_consumers, at: 1m, group: billing}",)

    do: Literal["restart_consumers"]
    group: Name = Field(description="Name of the group, one that commits (enable.auto.commit).")

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """A group that does not exist, or commits nothing."""
        path = (*path, "group")
        groups = {group.name: group for group in scenario.workload.consumers}
        if self.group not in groups:
            yield Problem(path, no_such("group of consumers", self.group, groups))
        elif not scenario.consumer_settings(groups[self.group])["enable.auto.commit"]:
            message = f"{self.group} commits nothing to begin with: it needs enable.auto.commit"
            yield Problem(path, message)

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The clients of the group."""
        restarted = numbers.consumers(self.group)
        record.first_process, record.process_count = restarted.start, len(restarted)


class ObserveStep(StepOfAnyKind):
    """Record every replica's log, checkpoint files and high watermark."""

    examples = ("{do: observe, when: {quiescent: true}, within: 30s}",)

    do: Literal["observe"]


class WaitStep(StepOfAnyKind):
    """Wait, without any action."""

    examples = ("{do: wait, after: 10s}",)

    do: Literal["wait"]


class FaultStep(StepOfAnyKind):
    """A step that begins or ends a fault; whether it can is checked with the steps before it."""

    do: str
    fault: Name = Field(description="Name of the fault.")

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The fault."""
        record.fault = numbers.fault(self.fault)


class BeginFaultStep(FaultStep):
    """Begin a fault that has no `at`."""

    examples = ("{do: begin_fault, at: 1m, fault: power}",)

    do: Literal["begin_fault"]


class EndFaultStep(FaultStep):
    """End a fault."""

    examples = ("{do: end_fault, after: 30s, fault: power}",)

    do: Literal["end_fault"]


OperatorStep = RestartConsumersStep | ObserveStep | WaitStep | BeginFaultStep | EndFaultStep
