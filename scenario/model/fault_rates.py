"""Faults that are drawn: the rates of components' failures, and the times of their repair.

A rate is written as the fault that it draws, with its mean time between failures instead of a start
time. Before the run, ordinary faults are drawn from it (``drawn_faults.py``). The manifest lists
them.
"""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from tidegauge.scenario.model.component_faults import Fault
from tidegauge.scenario.model.costs import Latency
from tidegauge.scenario.model.parts import Duration, Name, Part, PositiveDuration
from tidegauge.scenario.text.errors import Problem, ProblemsError


class FaultRate(Part):
    """A fault that recurs at times drawn from the seed."""

    fault: Fault = Field(
        description="Not a field in the file: the fields of the fault stand beside the others."
    )
    name: Name | None = Field(
        default=None,
        description="Name of the rate; the names of its faults begin with it. Default: their kind.",
    )
    mtbf_us: PositiveDuration = Field(
        alias="mtbf",
        description="Mean time between failures: how long a component works on average, from "
        "the start or its last repair on. Each time is drawn from an exponential distribution, "
        "as the component does not age.",
    )
    repair_time: Latency | None = Field(
        default=None,
        description="Duration of a fault: one value, or quantiles from which the duration "
        "of each fault is drawn.",
    )
    each: Literal["broker", "selector"] = Field(
        default="broker",
        description="The component that fails: each broker or controller on its own, or together "
        "all targets of one selector, such as a rack. Links always fail together.",
    )
    start_us: Duration = Field(
        default=0, alias="start", description="Time from which components can fail."
    )
    stop_us: PositiveDuration | None = Field(
        default=None,
        alias="stop",
        description="Time after which no fault begins. Default: the end of the run.",
    )

    @model_validator(mode="before")
    @classmethod
    def _take_the_fault_out(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        own = {field.alias or name for name, field in cls.model_fields.items()} - {"fault"}
        misplaced = [name for name in ("at", "for", "keeps", "fault") if name in data]
        if misplaced:
            raise ProblemsError(
                [
                    Problem((name,), "is not a field of a rate: a rate draws its faults")
                    for name in misplaced
                ]
            )
        rate = {name: value for name, value in data.items() if name in own}
        return rate | {"fault": {name: data[name] for name in data if name not in own}}

    @model_validator(mode="after")
    def _says_how_long_faults_last(self) -> Self:
        if self.fault.is_planned:
            raise ProblemsError(
                [Problem(("kind",), ("is a planned event and cannot be drawn from a rate"))]
            )
        if self.fault.is_over_at_once and self.repair_time is not None:
            what = self.fault.kind.replace("_", " ")
            raise ProblemsError([Problem(("repair_time",), f"a {what} is over at once")])
        if not self.fault.is_over_at_once and self.repair_time is None:
            raise ProblemsError([Problem(("repair_time",), "is missing")])
        return self
