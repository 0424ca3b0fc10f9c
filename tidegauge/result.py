"""A run from Python: its result, and the ways in which it continues.

:class:`Result` reads the folder of any run. :func:`resume` continues one that was interrupted, and
:func:`branch` one that goes on in another way.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from tidegauge.analysis.tables.all_tables import TABLES
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.contract import EngineMaker, Progress
from tidegauge.engine.inline_engine import inline as all_inline
from tidegauge.engine.resuming import resume as resume_run
from tidegauge.engine.simulate import Watched
from tidegauge.runs import histories, stories
from tidegauge.runs.figures import figures_of
from tidegauge.runs.run import Run
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.scenario.text.errors import did_you_mean, one_line
from tidegauge.simulation.quantities import parse_time, whole_time_text
from tidegauge.simulation.wall_clock import clock_shown
from tidegauge.traces.run_files import RunError, snapshot_times_us
from tidegauge.traces.run_folder import new_run_folder, written_to
from tidegauge.views import cluster_picture, partition_picture
from tidegauge.views.output import WIDTH, report
from tidegauge.views.story_lines import parse_span
from tidegauge.views.time_axis import axis_of

if TYPE_CHECKING:
    from tidegauge.report.picture import RunPicture
    from tidegauge.rewind.moment import Moment
    from tidegauge.runs.fault_costs import FaultCosts


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
    check_speed(speed)
    engine = engine_of(inline=inline, actors=actors)
    with written_to(Path(folder)):
        resume_run(Path(folder), engine, Watched(progress, speed))
    return Result(folder)


def check_speed(speed: float | None) -> None:
    """Check that a speed limit is positive.

    Raises:
        TidegaugeError: it is not.
    """
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
    try:
        at_us = parse_time(at)
    except ValueError as error:
        raise TidegaugeError(f"at: {error}") from error
    changes = dict(changes or {}) | ({} if seed is None else {"seed": seed})
    scenario = branching.branched_scenario(past_run, changes, faults=faults, steps=steps)
    name = branching.name_of_branch(scenario, at_us)
    folder = new_run_folder(name) if out is None else Path(out)
    with written_to(folder), branching.past_at(past_run, at_us) as past:
        branching.branch(past, scenario, folder, watched=Watched(progress), keeps_joint=True)
    return Result(folder)


def engine_of(*, inline: bool, actors: int | None) -> EngineMaker:
    """The engine for all processes: in this interpreter, or in so many actors of Ray."""
    if inline and actors is None:
        return all_inline()
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
