"""The Python API: a run, many runs, a scenario of a real cluster, and their results.

:func:`run` is a whole run; ``result.py`` reads its result and continues it. :func:`sweep` and
:func:`compare` are many runs, as the commands of these names
perform them; :func:`import_cluster` makes a scenario. All are names of ``tidegauge``, too. They are
imported on first use, so ``import tidegauge`` is quick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegauge.analysis.requests import QueryError
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.contract import Progress
from tidegauge.engine.simulate import simulate
from tidegauge.result import Result, branch, check_speed, engine_of, resume
from tidegauge.runs import histories
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.scenario.reading import Scenario, ScenarioError, load_scenario, scenario_from_mapping
from tidegauge.scenario.shipped import find_scenario
from tidegauge.scenario.text.changes import value_text
from tidegauge.scenario.text.yaml_file import lines_of
from tidegauge.traces.run_files import RunError
from tidegauge.traces.run_folder import new_run_folder, written_to
from tidegauge.views.output import report

if TYPE_CHECKING:
    from tidegauge.commands.comparing import Comparison
    from tidegauge.commands.run_options import RunOptions
    from tidegauge.real_cluster.describe.imported_scenario import ImportedScenario

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
    without: Sequence[str] = (),
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
        without: ablations: rules of Kafka's protocol that are taken away, instead of the
            scenario's (``replication/ablations.py``).
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
    check_speed(speed)
    changes = dict(changes or {})
    if seed is not None:
        changes["seed"] = seed
    if trace is not None:
        changes["trace"] = trace
    if without:
        changes["ablations"] = [*without]
    loaded = _loaded(scenario, changes)
    folder = new_run_folder(f"{loaded.name}-{loaded.seed}") if out is None else Path(out)
    snapshots_us = _planned_snapshots_us(snapshot_every, snapshot_at, loaded)
    with written_to(folder):
        simulate(
            loaded,
            folder,
            make_engine=engine_of(inline=inline, actors=actors),
            progress=progress,
            speed=speed,
            snapshots_us=snapshots_us,
        )
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
