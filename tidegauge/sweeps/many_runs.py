"""Many runs on a pool of warm processes: seeds of a scenario, or variants of it.

Each run has the same results as it would have alone. A run that fails, or whose process dies, is
reported as failed, and the others continue.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tidegauge.engine.branching import branch, read_past
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.pool import run_on_pool
from tidegauge.engine.simulate import simulate_plan
from tidegauge.runs.quorum_margin import PREFIX as QUORUM_FIGURES
from tidegauge.runs.quorum_margin import quorum_figures
from tidegauge.runs.run import Run
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import load_scenario
from tidegauge.scenario.text.errors import one_line
from tidegauge.sweeps.sweep_folder import remove_unfinished
from tidegauge.traces.run_files import SUMMARY
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.summary_figures import is_left_out_at_zero, numbers_of


class SharedPast(NamedTuple):
    """The past that runs continue, each in its own way (``engine/branching.py``)."""

    #: The folder that has the snapshot.
    folder: Path
    at_us: int
    #: The run's name for manifests.
    name: str


class PlannedRun(NamedTuple):
    """One planned run."""

    #: The scenario, and other values in it by their paths.
    file: Path
    changes: Mapping[str, object]
    #: New, or with an unfinished run, which is repeated from its beginning.
    folder: Path
    #: The figures that its outcome has to have, beside those of the summary.
    figures: Collection[str] = ()
    #: The past that it continues; None: it begins at 0.
    past: SharedPast | None = None


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run."""

    #: The reason why it has no summary; None if it has one.
    error: str | None = None
    #: The checks with an unexpected verdict, and ``steps`` if a step timed out.
    unexpected: Sequence[str] = ()
    #: As ``traces/figures.yaml`` defines them: every number of its summary, the active seconds of
    #: each fault, and those of the quorum.
    figures: Mapping[str, float] = field(default_factory=dict)
    trace_sha256: str | None = None
    #: The scenario's expectations of many runs, in words: whether this one meets each.
    sometimes: Mapping[str, bool] = field(default_factory=dict)

    @property
    def is_as_expected(self) -> bool:
        """Whether it is finished, and all verdicts are as expected."""
        return self.error is None and not self.unexpected

    def figure(self, name: str) -> float | None:
        """One of its figures; None if it has no such figure, or no summary."""
        if self.error is None and is_left_out_at_zero(name):
            return self.figures.get(name, 0)
        return self.figures.get(name)


def run_all(
    runs: Sequence[PlannedRun],
    jobs: int | None = None,
    address: str | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> Generator[tuple[int, Outcome]]:
    """Perform runs; yield the place and the outcome of each, in the order in which they end.

    If the iteration ends early, also by an interruption, all runs are stopped first. The caller
    has to close the iterator.

    Args:
        runs: the runs, each with its own folder.
        jobs: the number of parallel runs; None: the number of CPUs.
        address: the Ray cluster to join; None: that of RAY_ADDRESS, else Ray starts here.
            The machines of a cluster have to share the files and folders of the runs.
        warn: is told in a line why the runs are performed in processes of this machine, where
            Ray does not start.

    Raises:
        RayUnavailableError: Ray cannot be joined.
    """
    # Other processes may have other working directories.
    placed = [_placed(each) for each in runs]
    with closing(run_on_pool(_run, placed, jobs, address, warn)) as calls:
        for ended in calls:
            folder = placed[ended.number].folder
            outcome = ended.result or Outcome(ended.error)
            if outcome.error is None and not (folder / SUMMARY).exists():
                outcome = Outcome(f"{folder} is on another machine, and has to be on a shared disk")
            yield ended.number, outcome


def outcome_of(run: RunFolder, figures: Collection[str] | None = None) -> Outcome:
    """The outcome of a finished run.

    Args:
        run: the run.
        figures: the figures that it has to have, beside those of the summary; None: all.

    Raises:
        TraceError: a trace file is damaged.
    """
    assert run.summary is not None
    found = dict(numbers_of(run.summary))
    missing = [name for name in figures or () if name not in found]
    if figures is None or any(name.startswith(QUORUM_FIGURES) for name in missing):
        found |= quorum_figures(Run(run.path))
        missing = [name for name in missing if name not in found]
    if figures is None or not all(map(is_left_out_at_zero, missing)):
        found |= _fault_seconds(run)
    met = {each["expected"]: each["is_met"] for each in run.summary.get("sometimes", ())}
    return Outcome(None, _unexpected(run.summary), found, run.summary["trace_sha256"], met)


def _run(planned: PlannedRun) -> Outcome:
    try:
        remove_unfinished(planned.folder)
        return outcome_of(_performed(planned), planned.figures)
    except Exception as error:  # noqa: BLE001 - after any error the other runs continue
        return Outcome(one_line(f"{type(error).__name__}: {error}"))


def _performed(planned: PlannedRun) -> RunFolder:
    past = planned.past
    if past is None:
        plan = _plan_of(planned.file, planned.changes)
        return simulate_plan(plan, planned.folder, inline())
    scenario = load_scenario(planned.file, planned.changes)
    return branch(_read_past(*past), scenario, planned.folder)


#: The runs of a sweep have one past. It is as large as a run.
_read_past = lru_cache(maxsize=1)(read_past)


def _placed(run: PlannedRun) -> PlannedRun:
    """The run with absolute paths."""
    past = run.past and run.past._replace(folder=run.past.folder.absolute())
    return run._replace(file=run.file.absolute(), folder=run.folder.absolute(), past=past)


#: The plans of the last scenarios that this process has run, by their files and changes: a run with
#: another seed begins with what the run before it has made.
_PLANS: OrderedDict[str, ClusterPlan] = OrderedDict()
#: A sweep goes through the seeds of one setting after the other.
_MOST_PLANS = 2


def _plan_of(file: Path, changes: Mapping[str, object]) -> ClusterPlan:
    """The plan of a scenario: that of the last run with another seed, if there was one."""
    others = {path: value for path, value in changes.items() if path != "seed"}
    # The actor outlives a sweep, and the file may be another one by the next.
    key = repr((file, file.read_bytes(), others))
    plan = _PLANS.pop(key, None)
    seed = changes.get("seed")
    if plan is None or not isinstance(seed, int):
        plan = ClusterPlan(load_scenario(file, changes), kept={})
    else:
        plan = plan.with_seed(seed)
    if not plan.scenario.draws_parts:
        _PLANS[key] = plan
    if len(_PLANS) > _MOST_PLANS:
        _PLANS.popitem(last=False)
    return plan


def _fault_seconds(run: RunFolder) -> dict[str, float]:
    # It takes as long as a short run, and few sweeps ask for it.
    from tidegauge.analysis.making.run_tables import RunTables  # noqa: PLC0415
    from tidegauge.runs.figures import fault_seconds  # noqa: PLC0415

    with TemporaryDirectory(prefix="tidegauge-") as folder:
        return fault_seconds(run, RunTables(run.path, Path(folder)))


def _unexpected(summary: Mapping[str, Any]) -> list[str]:
    checks = [name for name, found in summary["checks"].items() if not found["as_expected"]]
    return checks + ["steps"] * bool(summary["steps_timed_out"])
