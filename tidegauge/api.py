"""The Python API: :func:`run` is a whole run, and :class:`Result` reads its results.

``tidegauge.run`` and ``tidegauge.Result`` are the same objects. They are imported on first use, so
``import tidegauge`` is quick.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.contract import EngineMaker, Progress
from tidegauge.engine.inline_engine import inline as all_inline
from tidegauge.engine.simulate import simulate
from tidegauge.runs import histories, stories
from tidegauge.runs.figures import figures_of
from tidegauge.runs.run import Run
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.scenario.reading import Scenario, ScenarioError, load_scenario, scenario_from_mapping
from tidegauge.scenario.shipped import find_scenario
from tidegauge.scenario.text.errors import did_you_mean, one_line
from tidegauge.simulation.quantities import parse_time
from tidegauge.traces.run_files import RunError
from tidegauge.traces.run_folder import new_run_folder

__all__ = ["Result", "RunError", "ScenarioError", "TidegaugeError", "TraceEvent", "run"]


def run(
    scenario: str | Path | Mapping[str, object] | Scenario,
    *,
    seed: int | None = None,
    changes: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    inline: bool = True,
    actors: int | None = None,
    trace: str | None = None,
    speed: float | None = None,
    progress: Progress | None = None,
) -> Result:
    """Run a scenario in virtual time, and return its result.

    >>> import tidegauge
    >>> result = tidegauge.run("cut-and-pause", seed=7, changes={"faults.cut.for": "40s"})
    >>> result.is_as_expected
    True
    >>> result.checks["acknowledged_records_lost"], result.summary["isr_shrinks"]
    (True, 7)
    >>> for event in result.events("isr_shrunk", partition="orders-0"):
    ...     print(event.time_us, event.process, event.old_isr, event.isr, event.lag_ms)
    30974829 broker 1 [1, 2, 3] [1, 3] 11170
    80974189 broker 1 [1, 3, 2] [1, 2] 11370

    Args:
        scenario: a file, the name of a shipped scenario (``tidegauge scenarios``), the content of
            a file as a mapping, or a loaded scenario. In a loaded scenario the faults of rates
            are drawn already: another seed does not draw them again.
        seed: the seed of the run. Default: the scenario's.
        changes: other values in the scenario, by their paths (``scenario/text/changes.py``).
        out: the folder of the run, new or empty. Default: ``runs/NAME-SEED``, with a number after
            it if that folder exists.
        inline: run all processes in this interpreter; if False, in actors of Ray.
        actors: the number of Ray actors; it overrides ``inline``.
        trace: ``transitions``, or ``all`` for single requests, too. Default: the scenario's.
        speed: the speed limit, as a multiple of real time. Default: no limit.
        progress: a function that is called at times with the progress of the run.

    Raises:
        ScenarioError: the scenario cannot be run; one line for each problem.
        FileExistsError: the folder is not empty.
        ValueError: the speed is not positive.
        EngineError: the run is not possible on Ray with these arguments, or an actor died.
        OSError: the folder cannot be written.
    """
    if speed is not None and not speed > 0:
        raise TidegaugeError(f"speed {speed:g}: must be more than 0")
    changes = dict(changes or {})
    if seed is not None:
        changes["seed"] = seed
    if trace is not None:
        changes["trace"] = trace
    loaded = _loaded(scenario, changes)
    folder = new_run_folder(f"{loaded.name}-{loaded.seed}") if out is None else Path(out)
    engine = all_inline() if inline and actors is None else _on_ray(actors)
    simulate(loaded, folder, make_engine=engine, progress=progress, speed=speed)
    return Result(folder)


def _loaded(
    scenario: str | Path | Mapping[str, object] | Scenario, changes: Mapping[str, object]
) -> Scenario:
    if isinstance(scenario, Scenario):
        if not changes:
            return scenario
        return scenario_from_mapping(scenario.resolved(), scenario.name, changes)
    if isinstance(scenario, Mapping):
        return scenario_from_mapping(scenario, "scenario", changes)
    return load_scenario(find_scenario(str(scenario)), changes)


def _on_ray(actors: int | None) -> EngineMaker:
    # It takes a second to import, and most runs do without.
    from tidegauge.engine.ray_engine import on_ray  # noqa: PLC0415

    return on_ray(actors)


class Result:
    """The result of a run, read from its folder; any run's folder can be read.

    Histories (:attr:`states`, :attr:`elections`, :attr:`isr_changes`, :attr:`brokers`) are
    sequences of named tuples, and as a whole ``.arrow()``, ``.pandas()`` or ``.polars()``.
    """

    def __init__(self, path: str | Path) -> None:
        """Open the folder of a run.

        Raises:
            RunError: the folder has no run that this Tidegauge can read.
        """
        self._run = Run(Path(path))

    def __repr__(self) -> str:
        return f"<Result {self._title}: {self._verdict}; {self.path}>"

    def _repr_html_(self) -> str:
        """The figures of the run as HTML, for a notebook."""
        rows = "".join(
            f"<tr><td>{name}</td><td>{value:,g}</td></tr>"
            for name, value in self.figures.items()
            if value
        )
        caption = escape(f"{self._title}: {self._verdict}")
        return f"<table><caption>{caption}</caption><tbody>{rows}</tbody></table>"

    @property
    def _title(self) -> str:
        name = self.manifest["scenario"].get("name", self.path.name)
        return str(name) if self._run.is_of_logs else f"{name}, seed {self.manifest['seed']}"

    @property
    def _verdict(self) -> str:
        if self._run.summary is None:
            return "unfinished"
        return "as expected" if self.is_as_expected else "not as expected"

    @property
    def path(self) -> Path:
        """The folder of the run."""
        return self._run.path

    @property
    def manifest(self) -> dict[str, Any]:
        """The scenario with all defaults and drawn faults, and the names of numbered objects."""
        return self._run.manifest

    @property
    def summary(self) -> dict[str, Any]:
        """All figures; ``traces/figures.yaml`` defines each of them.

        Raises:
            RunError: the run is unfinished, so it has no summary.
        """
        if self._run.summary is None:
            raise RunError(f"{self.path}: the run is unfinished, it has no summary")
        return self._run.summary

    @property
    def trace_sha256(self) -> str:
        """The hash of the whole trace: the same for the same scenario and seed."""
        return str(self.summary["trace_sha256"])

    @property
    def checks(self) -> dict[str, bool | str]:
        """The verdict of each check: True, False or ``"unknown"``."""
        return {name: found["verdict"] for name, found in self.summary["checks"].items()}

    @property
    def is_as_expected(self) -> bool:
        """Whether each check has the expected verdict, and no step timed out."""
        found = self.summary["checks"].values()
        return all(each["as_expected"] for each in found) and not self.summary["steps_timed_out"]

    @cached_property
    def figures(self) -> dict[str, float | None]:
        """The figures of the run by name: the columns of the result tables of figures."""
        return figures_of(self._run)

    @cached_property
    def states(self) -> histories.History[histories.PartitionState]:
        """The states of all partitions over time, as the control plane held them."""
        return histories.partition_states(self._run)

    @cached_property
    def elections(self) -> histories.History[histories.Election]:
        """The leaders that the controller chose, with the fault that each is charged to."""
        return histories.elections(self._run)

    @cached_property
    def isr_changes(self) -> histories.History[histories.IsrChange]:
        """The changes of ISRs, with the fault that each is charged to."""
        return histories.isr_changes(self._run)

    @cached_property
    def brokers(self) -> histories.History[histories.BrokerState]:
        """The states of all brokers over time."""
        return histories.broker_states(self._run)

    def sql(self, query: str) -> histories.History[Any]:
        """The rows that a query finds in the result tables of the run (``analysis/TABLES.md``).

        Args:
            query: SQL of DuckDB or of Spark.

        Raises:
            duckdb.Error: the query is wrong.
        """
        return histories.selected(self._run, query)

    def story(self, partition: str) -> list[stories.StoryLine]:
        """The story of a partition, line by line, as ``tidegauge show`` prints it.

        Raises:
            ValueError: there is no such partition.
            TraceError: a trace file is damaged.
        """
        return stories.partition_story(self._run, self._partition_number(partition))

    def events(
        self,
        kind: str | None = None,
        *,
        partition: str | None = None,
        process: str | None = None,
        begin: str = "0s",
        end: str | None = None,
    ) -> Iterator[TraceEvent]:
        """The rows of the trace in their total order; without arguments all rows.

        Args:
            kind: only rows of this kind, such as ``isr_shrunk``.
            partition: only rows about this partition, such as ``orders-0``.
            process: only rows of this process, such as ``broker 2`` or ``zookeeper``.
            begin: only rows from this time on, such as ``10s``.
            end: only rows up to this time.

        Raises:
            ValueError: a name is unknown, or a time cannot be read.
            TraceError: a trace file is damaged.
        """
        if kind is not None:
            _check_known("kind", kind, self._run.kinds)
        number = None if partition is None else self._partition_number(partition)
        if process is not None:
            known = {each.name for each in self._run.names.processes.values()}
            _check_known("process", process, known)
        begin_us = parse_time(begin)
        end_us = None if end is None else parse_time(end)
        found = self._run.events(
            lambda each: kind in {None, each.name}, partition=number, until_us=end_us
        )
        return (
            event
            for event in found
            if begin_us <= event.time_us and process in {None, event.process}
        )

    def _partition_number(self, partition: str) -> int:
        _check_known("partition", partition, self._run.names.partitions)
        return self._run.names.partitions[partition]


def _check_known(what: str, name: str, known: Mapping[str, object] | set[str]) -> None:
    if name not in known:
        raise TidegaugeError(one_line(f"{what} {name}: is unknown; {did_you_mean(name, known)}"))
