"""Many runs on a pool of warm actors: seeds of a scenario, or variants of it.

Each run has the same results as it would have alone. A run that fails, or whose process dies, is
reported as failed, and the others continue.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tidegauge.engine.ray_pool import run_on_pool
from tidegauge.engine.simulate import simulate
from tidegauge.runs.figures import summary_figures
from tidegauge.scenario.reading import load_scenario
from tidegauge.scenario.text.errors import one_line
from tidegauge.sweeps.sweep_folder import remove_unfinished
from tidegauge.traces.run_files import SUMMARY
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.summary_figures import is_left_out_at_zero


class PlannedRun(NamedTuple):
    """One planned run."""

    #: The scenario, and other values in it by their paths.
    file: Path
    changes: Mapping[str, object]
    #: New, or with an unfinished run, which is repeated from its beginning.
    folder: Path


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run."""

    #: The reason why it has no summary; None if it has one.
    error: str | None = None
    #: The checks with an unexpected verdict, and ``steps`` if a step timed out.
    unexpected: Sequence[str] = ()
    #: As ``traces/figures.yaml`` defines them: every number of its summary, and the active seconds
    #: of each fault.
    figures: Mapping[str, float] = field(default_factory=dict)
    trace_sha256: str | None = None

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
    runs: Sequence[PlannedRun], jobs: int | None = None, address: str | None = None
) -> Generator[tuple[int, Outcome]]:
    """Perform runs; yield the place and the outcome of each, in the order in which they end.

    If the iteration ends early, also by an interruption, all runs are stopped first. The caller
    has to close the iterator.

    Args:
        runs: the runs, each with its own folder.
        jobs: the number of parallel runs; None: the number of CPUs.
        address: the Ray cluster to join; None: that of RAY_ADDRESS, else Ray starts here.
            The machines of a cluster have to share the files and folders of the runs.

    Raises:
        RayUnavailableError: Ray does not start, or cannot be joined.
    """
    # Other processes may have other working directories.
    placed = [
        each._replace(file=each.file.absolute(), folder=each.folder.absolute()) for each in runs
    ]
    with closing(run_on_pool(_run, placed, jobs, address)) as calls:
        for ended in calls:
            folder = placed[ended.number].folder
            outcome = ended.result or Outcome(ended.error)
            if outcome.error is None and not (folder / SUMMARY).exists():
                outcome = Outcome(f"{folder} is on another machine, and has to be on a shared disk")
            yield ended.number, outcome


def outcome_of(run: RunFolder) -> Outcome:
    """The outcome of a finished run.

    Raises:
        TraceError: a trace file is damaged.
    """
    assert run.summary is not None
    sha256 = run.summary["trace_sha256"]
    return Outcome(None, _unexpected(run.summary), _figures(run), sha256)


def _run(planned: PlannedRun) -> Outcome:
    try:
        remove_unfinished(planned.folder)
        scenario = load_scenario(planned.file, planned.changes)
        return outcome_of(simulate(scenario, planned.folder))
    except Exception as error:  # noqa: BLE001 - after any error the other runs continue
        return Outcome(one_line(f"{type(error).__name__}: {error}"))


def _figures(run: RunFolder) -> dict[str, float]:
    # Only workers need it.
    from tidegauge.analysis.making.run_tables import RunTables  # noqa: PLC0415

    with TemporaryDirectory(prefix="tidegauge-") as folder:
        return dict(summary_figures(run, RunTables(run.path, Path(folder))))


def _unexpected(summary: Mapping[str, Any]) -> list[str]:
    checks = [name for name, found in summary["checks"].items() if not found["as_expected"]]
    return checks + ["steps"] * bool(summary["steps_timed_out"])
