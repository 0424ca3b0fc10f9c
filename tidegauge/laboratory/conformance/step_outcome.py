"""The outcome of one recorded step in a run, in the form of a recording."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from tidegauge.laboratory.conformance.recorded_dialects import Tree


@dataclass
class StateWrite:
    """A write of a partition's state: the columns of a recording, and the time."""

    columns: list[Any]
    time_us: int


@dataclass
class StepOutcome:
    """The outcome of one recorded step in the run."""

    begin_us: int = 0
    #: None: the step did not finish.
    end_us: int | None = None
    observed: Tree = field(default_factory=dict)
    result: Tree = field(default_factory=dict)
    #: By partition.
    state_writes: dict[str, list[StateWrite]] = field(default_factory=lambda: defaultdict(list))
    #: By broker (``b1``), of KRaft.
    broker_records: dict[str, list[StateWrite]] = field(default_factory=lambda: defaultdict(list))
    #: Milliseconds since the step began, by path as in a recording.
    times_ms: dict[str, float] = field(default_factory=dict)
