"""The Python API: a run, many runs, a scenario of a real cluster, and their results.

:func:`run` is a whole run, :func:`resume` continues one that was interrupted, and :class:`Result`
reads the results. :func:`sweep` and :func:`compare` are many runs, as the commands of these names
perform them; :func:`import_cluster` makes a scenario. All are names of ``tidegauge``, too. They are
imported on first use, so ``import tidegauge`` is quick.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rich.console import Console

from tidegauge.analysis.requests import QueryError
from tidegauge.analysis.tables.all_tables import TABLES
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.contract import EngineMaker, Progress
from tidegauge.engine.inline_engine import inline as all_inline
from tidegauge.engine.resuming import resume as resume_run
from tidegauge.engine.simulate import Watched, simulate
from tidegauge.runs import histories, stories
from tidegauge.runs.figures import figures_of
from tidegauge.runs.run import Run
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.scenario.reading import Scenario, ScenarioError, load_scenario, scenario_from_mapping
from tidegauge.scenario.shipped import find_scenario
from tidegauge.scenario.text.changes import value_text
from tidegauge.scenario.text.errors import did_you_mean, one_line
from tidegauge.scenario.text.yaml_file import lines_of
from tidegauge.simulation.quantities import parse_time, whole_time_text
from tidegauge.simulation.wall_clock import clock_shown
from tidegauge.traces.run_files import RunError, snapshot_times_us
from tidegauge.traces.run_folder import new_run_folder, written_to
from tidegauge.views import cluster_picture, partition_picture
from tidegauge.views.output import WIDTH, report
from tidegauge.views.story_lines import parse_span
from tidegauge.views.time_axis import axis_of

if TYPE_CHECKING:
    from tidegauge.commands.comparing import Comparison
    from tidegauge.commands.run_options import RunOptions
    from tidegauge.real_cluster.describe.imported_scenario import ImportedScenario
    from tidegauge.report.picture import RunPicture
    from tidegauge.rewind.moment import Moment
    from tidegauge.runs.fault_costs import FaultCosts

__all__ = [
    "QueryError",
    "Result",
    "RunError",
    "ScenarioError",
    "Sweep",
    "TidegaugeError",
    "TraceEvent",
    "branch",
    "compare",
    "import_cluster",
    "resume",
    "run",
    "sweep",
]

#: What a scenario may be: a file, the name of a shipped one, a mapping as a file has it, or loaded.
AnyScenario = str | Path | Mapping[str, object] | Scenario


def run(
    scenario: AnyScenario,
    *,
    seed: int | None = None,
    changes: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    inline: bool = True,
    actors: int | None = None,
    trace: str | None = None,
    speed: float | None = None,
    progress: Progress | None = None,
    snapshot_every: str | None = None,
    snapshot_at: Sequence[str] = (),
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
        snapshot_every: save the state of the whole run at this interval of virtual time, such as
            ``60s``: :func:`resume` continues from there. Default: never.
        snapshot_at: save the state at these virtual times, too.

    Raises:
        ScenarioError: the scenario cannot be run; one line for each problem.
        EngineError: the run is not possible on Ray with these arguments, or an actor died.
        TidegaugeError: the speed is not positive, a snapshot is not within the run, or the folder
            is not empty or cannot be written.
        KeyboardInterrupt: it was interrupted; :class:`Result` reads the unfinished run.
    """
    _check_speed(speed)
    changes = dict(changes or {})
    if seed is not None:
        changes["seed"] = seed
    if trace is not None:
        changes["trace"] = trace
    loaded = _loaded(scenario, changes)
    folder = new_run_folder(f"{loaded.name}-{loaded.seed}") if out is None else Path(out)
    snapshots_us = _planned_snapshots_us(snapshot_every, snapshot_at, loaded)
    with written_to(folder):
        simulate(
            loaded,
            folder,
            make_engine=_engine(inline=inline, actors=actors),
            progress=progress,
            speed=speed,
            snapshots_us=snapshots_us,
        )
    return Result(folder)


def resume(
    folder: str | Path,
    *,
    inline: bool = True,
    actors: int | None = None,
    speed: float | None = None,
    progress: Progress | None = None,
) -> Result:
    """Continue an interrupted run from its last snapshot, and return its result.

    Its hash and figures are those of an undisturbed run.

    Args:
        folder: the folder of the run.
        inline: run all processes in this interpreter; if False, in actors of Ray.
        actors: the number of Ray actors; it overrides ``inline``.
        speed: the speed limit, as a multiple of real time. Default: no limit.
        progress: a function that is called at times with the progress of the run.

    Raises:
        RunError: the folder has no run, or the run is being written.
        EngineError: as for :func:`run`.
        TidegaugeError: the run is complete, it has no snapshot, or its last snapshot cannot be
            used; or the speed is not positive, or the folder cannot be written.
        KeyboardInterrupt: as for :func:`run`.
    """
    _check_speed(speed)
    engine = _engine(inline=inline, actors=actors)
    with written_to(Path(folder)):
        resume_run(Path(folder), engine, Watched(progress, speed))
    return Result(folder)


def _check_speed(speed: float | None) -> None:
    if speed is not None and not speed > 0:
        raise TidegaugeError(f"speed {speed:g}: must be more than 0")


def branch(
    run: str | Path,
    at: str,
    *,
    changes: Mapping[str, object] | None = None,
    faults: Sequence[Mapping[str, object]] = (),
    steps: Sequence[Mapping[str, object]] = (),
    seed: int | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Result:
    """Continue a run from a time on in another way, as ``tidegauge branch`` does.

    Args:
        run: the folder of the run; it stays as it is.
        at: the virtual time, such as ``90s``. Without a snapshot there the past is repeated.
        changes: other values in the scenario from then on, by their paths.
        faults: more faults, as a scenario file has them.
        steps: more steps, likewise.
        seed: another seed from then on.
        out: the folder of the branch, new or empty. Default: ``runs/NAME-SEED-from-TIME``.
        progress: a function that is called at times with the progress of the branch.

    Raises:
        ScenarioError: the scenario cannot be run.
        TidegaugeError: no run can be changed so half-way, or has that time; the folder is not
            empty, or cannot be written.
    """
    # The kernel, which readers of a result do without.
    from tidegauge.engine import branching  # noqa: PLC0415
    from tidegauge.engine.simulate import Watched  # noqa: PLC0415

    past_run = Run(Path(run))
    at_us = parse_time(at)
    changes = dict(changes or {}) | ({} if seed is None else {"seed": seed})
    scenario = branching.branched_scenario(past_run, changes, faults=faults, steps=steps)
    name = f"{scenario.name}-{scenario.seed}-from-{whole_time_text(at_us)}"
    folder = new_run_folder(name) if out is None else Path(out)
    with TemporaryDirectory(prefix="tidegauge-") as temporary, written_to(folder):
        past = branching.past_until(past_run, at_us, Path(temporary) / "past")
        opened = branching.read_past(past, at_us, str(run))
        branching.branch(opened, scenario, folder, watched=Watched(progress), keeps_joint=True)
    return Result(folder)


def _planned_snapshots_us(
    every: str | None, at: Sequence[str], scenario: Scenario
) -> Sequence[int]:
    if every is None and not at:
        return ()
    # The command takes a while to be imported.
    from tidegauge.commands.performing import planned_snapshots_us  # noqa: PLC0415

    names = ("snapshot_every", "snapshot_at")
    return planned_snapshots_us(every, at, scenario.duration_us, names)


def _loaded(scenario: AnyScenario, changes: Mapping[str, object]) -> Scenario:
    if isinstance(scenario, Scenario):
        if not changes:
            return scenario
        return scenario_from_mapping(scenario.resolved(), scenario.name, changes)
    if isinstance(scenario, Mapping):
        return scenario_from_mapping(scenario, "scenario", changes)
    return load_scenario(find_scenario(str(scenario)), changes)


def _engine(*, inline: bool, actors: int | None) -> EngineMaker:
    if inline and actors is None:
        return all_inline()
    # It takes a second to import, and most runs do without.
    from tidegauge.engine.ray_engine import on_ray  # noqa: PLC0415

    return on_ray(actors)


def sweep(
    scenario: AnyScenario,
    *,
    over: Mapping[str, Sequence[object]] | None = None,
    seeds: range | None = None,
    changes: Mapping[str, object] | None = None,
    figures: Sequence[str] = (),
    out: str | Path | None = None,
    jobs: int | None = None,
) -> Sweep:
    """Run a scenario with several values or seeds, as ``tidegauge sweep`` does.

    Finished runs in the folder are not repeated. The progress goes to standard error.

    Args:
        scenario: as :func:`run` takes it.
        over: the values of each path that has several: ``{"faults.crash.for": ["10s", "40s"]}``.
        seeds: the seeds of each setting. Default: the scenario's.
        changes: other values in all runs, by their paths.
        figures: the figures of each run (``tidegauge sweep SCENARIO --figures``). Default: lost
            records, and the times offline and under min ISR.
        out: the folder of the runs. Default: ``runs/NAME-sweep``, with a number after it if that
            folder exists.
        jobs: the number of parallel runs. Default: the number of CPUs.

    Raises:
        TidegaugeError: a setting cannot be run, or there is no such figure.
        KeyboardInterrupt: it was interrupted. :class:`Result` reads the finished runs, and the same
            call with this ``out`` resumes.
    """
    # Each takes a while to import, and most scripts do one thing.
    from tidegauge.commands.performing_many import SweepRequest, swept  # noqa: PLC0415
    from tidegauge.sweeps.sweep_folder import Axis  # noqa: PLC0415

    folder = _folder(scenario, "sweep", out)
    for path, given in {**(over or {}), "seeds": seeds}.items():
        _check_any(path, given)
    axes = [Axis(path, tuple(map(value_text, values))) for path, values in (over or {}).items()]
    request = SweepRequest(_request(scenario, changes, folder), axes, seeds, figures, jobs, folder)
    with report(as_json=True):
        found = swept(request)
    return Sweep(found.folder, found.content)


def compare(
    scenario: AnyScenario,
    path: str,
    values: Sequence[object],
    *,
    seeds: range | None = None,
    changes: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    jobs: int | None = None,
) -> Comparison:
    """Run two to four variants of a scenario and compare them, as ``tidegauge compare`` does.

    Args:
        scenario: as :func:`run` takes it.
        path: ``mode``, ``release``, or the path of a field.
        values: its values: ``["zookeeper", "kraft"]``, ``["3.9", "4.4"]``.
        seeds: the seeds of each variant. Default: the scenario's.
        changes: other values in all runs, by their paths.
        out: the folder of the runs. Default: ``runs/NAME-compare``.
        jobs: the number of parallel runs. Default: the number of CPUs.

    Raises:
        TidegaugeError: a variant cannot be run, or has no finished run.
        KeyboardInterrupt: as :func:`sweep`.
    """
    from tidegauge.commands.comparing import CompareRequest, perform_comparison  # noqa: PLC0415
    from tidegauge.sweeps.sweep_folder import Axis  # noqa: PLC0415

    _check_any("seeds", seeds)
    folder = _folder(scenario, "compare", out)
    # Modes and releases are names; the values of a field are YAML.
    text = str if path in {"mode", "release"} else value_text
    axis = Axis(path, tuple(map(text, values)))
    request = CompareRequest(_request(scenario, changes, folder), axis, seeds, jobs, folder)
    with report(as_json=True):
        return perform_comparison(request.request, request.variants(), seeds, folder, jobs)


def import_cluster(
    files: str | Path | Sequence[str | Path],
    *,
    properties: Sequence[str | Path] = (),
    release: str | None = None,
    duration: str = "5m",
    name: str | None = None,
) -> ImportedScenario:
    """Make a scenario of a real cluster, as ``tidegauge import`` does.

    ``run(imported.scenario)`` runs it; ``imported.data`` is its content, to which faults and
    producers can be added; ``imported.notices`` are the assumptions about missing facts.

    Args:
        files: the output of ``kafka-topics.sh --describe``, resources of Strimzi, or both: a file,
            or several.
        properties: the brokers' ``server.properties``: files, folders or patterns.
        release: the release of Kafka. Default: guessed from the files.
        duration: the duration of a run.
        name: the name of the scenario. Default: that of the file.

    Raises:
        TidegaugeError: a file cannot be read, or has something that does not fit.
    """
    from tidegauge.commands.import_cluster import requested_import  # noqa: PLC0415
    from tidegauge.commands.scenario_options import ImportOptions  # noqa: PLC0415
    from tidegauge.real_cluster.describe.imported_scenario import import_scenario  # noqa: PLC0415

    places = [files] if isinstance(files, str | Path) else files
    sources = [*map(Path, places)]
    options = ImportOptions(
        sources,
        out=sources[0].with_suffix(".yaml"),
        properties=[*map(Path, properties)],
        release=release,
        duration=duration,
        name=name,
    )
    return import_scenario(requested_import(options))


def _folder(scenario: AnyScenario, purpose: str, out: str | Path | None) -> Path:
    return new_run_folder(f"{_loaded(scenario, {}).name}-{purpose}") if out is None else Path(out)


def _request(
    scenario: AnyScenario, changes: Mapping[str, object] | None, folder: Path
) -> RunOptions:
    """The scenario and its changes, as the command line has them.

    A mapping is written into a file beside the folder.
    """
    from tidegauge.commands.run_options import RunOptions  # noqa: PLC0415

    if isinstance(scenario, Mapping | Scenario):
        content = scenario.resolved() if isinstance(scenario, Scenario) else scenario
        file = folder.with_name(f"{folder.name}.yaml")
        with written_to(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(lines_of(content)) + "\n", encoding="utf-8")
        scenario = file
    texts = [f"{path}={value_text(value)}" for path, value in (changes or {}).items()]
    return RunOptions(str(scenario), changes=texts)


def _check_any(name: str, values: Sequence[object] | None) -> None:
    if values is not None and not values:
        raise TidegaugeError(f"{name}: has no value; at least one is needed")


class Sweep:
    """The runs of a sweep, and their figures."""

    def __init__(self, path: Path, content: dict[str, Any]) -> None:
        """Take the folder of the runs, and the content of its ``sweep.json``."""
        self.path = path
        self.content = content

    def __repr__(self) -> str:
        return f"<Sweep {self.content['scenario']}: {len(self)} runs; {self.path}>"

    def __len__(self) -> int:
        return len(self.content["runs"])

    @property
    def worst(self) -> Result:
        """The worst run.

        Raises:
            RunError: it has not been finished.
        """
        return Result(self.path / self.content["worst"]["folder"])

    @property
    def runs(self) -> histories.History[Any]:
        """A row for each run: its values, its seed, its figures; ``.pandas()`` is a DataFrame."""
        return histories.history_of(
            {
                **dict(text.split("=", 1) for text in each["changes"]),
                **{name: each[name] for name in ("seed", *self.content["figures"])},
                "error": each["error"],
                "folder": each["folder"],
            }
            for each in self.content["runs"]
        )


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
    def snapshots(self) -> list[str]:
        """The virtual times of its snapshots: ``["60s", "120s"]``."""
        return [whole_time_text(time_us) for time_us in snapshot_times_us(self.path)]

    def resume(self) -> Result:
        """Continue the interrupted run from its last snapshot in this interpreter.

        :func:`resume` has more arguments. Errors are its own.
        """
        return resume(self.path)

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
        return all(each["as_expected"] for each in found) and not self.summary.get(
            "steps_timed_out"
        )

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

    @cached_property
    def faults(self) -> histories.History[Any]:
        """The faults, and the cost of each: the table ``fault_costs``."""
        return self.sql("select * exclude (run) from fault_costs order by begin_us, fault")

    def blame(
        self, *, seeds: int | range = 1, faults: Sequence[str] = (), jobs: int | None = None
    ) -> FaultCosts:
        """The true costs of the faults: the run is repeated without each, as by `tidegauge blame`.

        ``blame().table`` has a row for each figure and seed, ``.figures`` the exact numbers.

        Args:
            seeds: the seeds; or their number, with that of the run as the first one.
            faults: the names of the faults that are judged; the others stay. Default: all.
            jobs: the number of parallel runs. Default: the number of CPUs.

        Raises:
            TidegaugeError: the run is unfinished or of logs, it has no such fault, or it has too
                many.
        """
        # The pool of many runs takes a while to import.
        from tidegauge.commands.snapshots.blaming import blamed  # noqa: PLC0415

        with report(as_json=True):
            return blamed(self._run, faults=faults, seeds=seeds, jobs=jobs)

    def table(self, name: str) -> histories.History[Any]:
        """A result table of the run; ``.pandas()`` is its DataFrame.

        Args:
            name: its name; ``analysis/TABLES.md`` lists them.

        Raises:
            TidegaugeError: there is no such table.
        """
        _check_known("table", name, set(TABLES))
        return self.sql(f"select * from {name}")  # noqa: S608 - the name of a table

    def picture(
        self,
        partition: str | None = None,
        width: int = WIDTH,
        *,
        begin: str | None = None,
        end: str | None = None,
    ) -> str:
        """The run over time as text, or one partition's, as ``tidegauge picture`` draws it.

        Args:
            partition: such as ``orders-0``; None: the whole cluster.
            width: columns of the text.
            begin: the time from which on it is drawn, as in :meth:`time_us`.
            end: the time up to which it is drawn.

        Raises:
            TidegaugeError: there is no such partition, or a time cannot be read.
        """
        screen = Console(file=io.StringIO(), width=width, highlight=False)
        with clock_shown(self._run.wall_clock):
            axis = axis_of(self._run, screen, parse_span(begin, end, ("begin", "end")))
            if partition is None:
                names = self._run.names
                cluster_picture.show_cluster(screen, self._run, self._run.tables, names, axis)
            else:
                number = self._partition_number(partition)
                partition_picture.show_partition(screen, self._run, number, axis)
        assert isinstance(screen.file, io.StringIO)
        return screen.file.getvalue()

    def plot(self) -> RunPicture:
        """The run over time as charts of the report, in SVG: a notebook shows it.

        Faults, records of producers, partitions without service, elections and changes of ISRs;
        ``plot().save("run.svg")`` writes it to a file.
        """
        # The sections of the report take a while to import.
        from tidegauge.report.picture import picture_of  # noqa: PLC0415

        return picture_of(self._run.tables, f"{self._title}: {self._verdict}")

    def sql(self, query: str) -> histories.History[Any]:
        """The rows that a query finds in the result tables of the run (``analysis/TABLES.md``).

        Args:
            query: SQL of DuckDB or of Spark.

        Raises:
            QueryError: the query is wrong.
        """
        return histories.selected(self._run, query)

    def story(self, partition: str) -> list[stories.StoryLine]:
        """The story of a partition, line by line, as ``tidegauge show`` prints it.

        Times are virtual; those of a run from logs begin with its first line (:meth:`time_us`).

        Raises:
            ValueError: there is no such partition.
            TraceError: a trace file is damaged.
        """
        return stories.partition_story(self._run, self._partition_number(partition))

    def time_us(self, text: str) -> int:
        """A time of the run in microseconds, as options of the command line name it.

        Args:
            text: ``12.5s``; of a run from logs also the wall clock: ``23:52:56.848``,
                ``2026-11-22T23:52:56Z``. A time before the run is negative.

        Raises:
            ValueError: the text is not valid, or a time of several days.
        """
        with clock_shown(self._run.wall_clock):
            return parse_time(text)

    def events(
        self,
        kind: str | None = None,
        *,
        partition: str | None = None,
        process: str | None = None,
        begin: str | None = None,
        end: str | None = None,
    ) -> Iterator[TraceEvent]:
        """The rows of the trace in their total order; without arguments all rows.

        Args:
            kind: only rows of this kind, such as ``isr_shrunk``.
            partition: only rows about this partition, such as ``orders-0``.
            process: only rows of this process, such as ``broker 2`` or ``zookeeper``.
            begin: only rows from this time on, such as ``10s``; as in :meth:`time_us`.
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
        with clock_shown(self._run.wall_clock):
            span = parse_span(begin, end, ("begin", "end"))
        found = self._run.events(
            lambda each: kind in {None, each.name}, partition=number, until_us=span.end_us
        )
        return (
            event
            for event in found
            if span.begin_us <= event.time_us and process in {None, event.process}
        )

    def at(self, time: str, *, idle_fetches: bool = False) -> Moment:
        """The run at a moment of its past, with every field of its state.

        The run is repeated up to there, from the last snapshot before it or from its beginning.

        >>> result = tidegauge.run("quickstart")
        >>> result.at("63.2s").partition("orders-0")["replica at broker 1"]["isr"]
        [1, 3]
        >>> other = tidegauge.Result("runs/mine").at("90s").branch(seed=7)

        Args:
            time: the time, such as ``63.2s``; all earlier events are handled.
            idle_fetches: handle fetches that bring nothing one by one, which are computed else.

        Raises:
            TidegaugeError: the run is of logs, or the time is outside of it.
        """
        # It needs the kernel, which readers of a result do without.
        from tidegauge.rewind.moment import Moment  # noqa: PLC0415

        return Moment(self._run, time, handles_idle=idle_fetches, branched=branch)

    def _partition_number(self, partition: str) -> int:
        _check_known("partition", partition, self._run.names.partitions)
        return self._run.names.partitions[partition]


def _check_known(what: str, name: str, known: Mapping[str, object] | set[str]) -> None:
    if name not in known:
        raise TidegaugeError(one_line(f"{what} {name}: is unknown; {did_you_mean(name, known)}"))
