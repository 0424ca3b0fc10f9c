"""The predicted time and memory of a run on this machine: a second of the scenario itself is run.

The trial is an inline run with checks and trace, in a folder that is deleted. It ends after a
second of work, or with the scenario. The rest of the run is predicted by its expected number of
events (``scenario/named_figures.py``), each of which takes as long as those of the trial.
"""

import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tidegauge.compiled.compile_all import is_compiled
from tidegauge.compiled.rules import COMPILED
from tidegauge.engine.contract import EngineInput, Passed
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.row_stream import RowStream
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.named_figures import ExpectedEvents, expected_events

#: The work of a trial, once compiled code is loaded.
_TRIAL_S = 1.0
#: The start of any run: the interpreter, imports, loading of compiled code.
_START_UP_S = 2.0


class Prediction(NamedTuple):
    """The predicted costs of an inline run; mostly within a factor of 2."""

    events: ExpectedEvents
    #: None: nothing is compiled yet, so nothing can be tried.
    seconds: float | None
    memory_bytes: int | None


class _EnoughTried(Exception):  # noqa: N818 - it is what was asked for, no error
    """The trial has worked for its second."""


class _Trial:
    """The progress of a trial."""

    def __init__(self) -> None:
        self.began_s = time.process_time()
        #: The time at which the first events had been handled: until then code is loaded.
        self._warm_s: float | None = None
        self._events_before = 0
        self._now_s = 0.0
        self.events = 0

    def take(self, passed: Passed) -> None:
        """Note the progress; end the trial if it is enough."""
        self._now_s, self.events = time.process_time(), passed.events
        if self._warm_s is None:
            self._warm_s, self._events_before = self._now_s, passed.events
        elif self._now_s - self._warm_s > _TRIAL_S:
            raise _EnoughTried

    @property
    def seconds_per_event(self) -> float:
        """The work for one event."""
        if self._warm_s is None or self.events == self._events_before:
            return 0.0
        return (self._now_s - self._warm_s) / (self.events - self._events_before)


def predict(plan: ClusterPlan) -> Prediction:
    """Predict the costs of an inline run of a plan on this machine, within some two seconds."""
    events = expected_events(plan)
    if not (COMPILED and is_compiled()):
        return Prediction(events, None, None)
    trial = _Trial()
    with TemporaryDirectory(prefix="tidegauge-") as folder:
        run = EngineInput(plan, Path(folder), RowStream(plan), trial.take, speed=None)
        with inline()(run) as engine:
            try:
                engine.run_to(plan.scenario.duration_us)
            except _EnoughTried:
                left = max(0.0, events.total - trial.events)
            else:
                left = 0.0
    tried_s = time.process_time() - trial.began_s
    seconds = _START_UP_S + tried_s + left * trial.seconds_per_event
    return Prediction(events, round(seconds, 1), _most_bytes())


def _most_bytes() -> int:
    """The most memory that this process has had: that of a run, whose tables are all there."""
    unit_bytes = 1 if sys.platform == "darwin" else 1024
    return unit_bytes * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
