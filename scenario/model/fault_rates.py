"""Faults that are drawn: how often components fail, and how long their repair takes.

A rate is written as the fault that it draws, with its mean time between failures instead of
a time. Before the run it becomes ordinary faults (``fault_rates.py``), which the manifest lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from tidegauge.scenario.model.costs import Latency
from tidegauge.scenario.model.duration_fields import Duration, PositiveDuration
from tidegauge.scenario.model.faults import ControllerMoveFault, Fault, RollingRestartFault
from tidegauge.scenario.model.parts import Name, Part
from tidegauge.scenario.text.errors import Problem, ProblemsError


class FaultRate(Part):
    """A fault that comes again and again, at times that the seed draws."""

    fault: Fault = Field(
        description="Not written as such: the fields of the fault stand beside the others."
    )
    name: Name | None = Field(
        default=None, description="Its faults are named after it. Default: their kind."
    )
    mtbf_us: PositiveDuration = Field(
        alias="mtbf",
        description="Mean time between failures: how long a component works on average, from "
        "the start or its last repair on. Each time is drawn as if the component did not age.",
    )
    repair_time: Latency | None = Field(
        default=None,
        description="How long a fault lasts: a duration, or quantiles from which each draws.",
    )
    each: Literal["broker", "selector"] = Field(
        default="broker",
        description="What a component is: each of the brokers, or all that one selector stands "
        "for, such as a rack, so that they fail together. Links fail together always.",
    )
    start_us: Duration = Field(
        default=0, alias="start", description="From when on components can fail."
    )
    stop_us: PositiveDuration | None = Field(
        default=None, alias="stop", description="No fault begins after it. Default: the end."
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
                [Problem((name,), "is not for a rate, which draws faults") for name in misplaced]
            )
        rate = {name: value for name, value in data.items() if name in own}
        return rate | {"fault": {name: data[name] for name in data if name not in own}}

    @model_validator(mode="after")
    def _says_how_long_faults_last(self) -> Self:
        if isinstance(self.fault, RollingRestartFault):
            raise ProblemsError([Problem(("kind",), "is planned, and not drawn from a rate")])
        is_over_at_once = isinstance(self.fault, ControllerMoveFault)
        if is_over_at_once and self.repair_time is not None:
            raise ProblemsError([Problem(("repair_time",), "a controller move is over at once")])
        if not is_over_at_once and self.repair_time is None:
            raise ProblemsError([Problem(("repair_time",), "is missing")])
        return self
