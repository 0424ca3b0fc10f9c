"""``tidegauge blame``: the true cost of each fault of a run."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from tidegauge.commands import loading
from tidegauge.commands.shared_options import MOST_RUNS as MOST_RUNS_AT_ALL
from tidegauge.commands.shared_options import seeds_of
from tidegauge.commands.snapshots.snapshot_options import BlameOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.resuming import plan_of_run
from tidegauge.runs.fault_costs import FaultCosts, Faults, amounts_of, content_of, split_figures
from tidegauge.runs.run import Run
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.text.errors import did_you_mean, one_line
from tidegauge.simulation.trace_rows.schema import tidegauge_version
from tidegauge.sweeps.fault_runs import (
    MOST_RUNS,
    FaultRun,
    JudgedFault,
    Start,
    checked,
    faults_of,
    perform,
    planned_runs,
    selected_faults,
    start_of_branch,
    subsets_to_run,
    unusable,
)
from tidegauge.sweeps.many_runs import outcome_of
from tidegauge.traces.run_files import BLAME, snapshot_times_us
from tidegauge.traces.run_folder import write_json_atomically
from tidegauge.views.blame_view import show_blame
from tidegauge.views.output import console, print_json, report
from tidegauge.views.progress import check_jobs, runs_progress


def blame_run(options: BlameOptions) -> None:
    """Perform ``tidegauge blame``."""
    run = loading.opened_run(options.run, "blame")
    names = [name for text in options.figures or () for name in text.split(",")]
    with report(as_json=options.as_json):
        costs = blamed(
            run,
            faults=options.fault or (),
            seeds=_seeds(options.seeds),
            figures=names,
            most=options.max_runs,
            jobs=options.jobs,
            address=options.address,
        )
    content = content_of(costs)
    if options.as_json:
        print_json(content)
    else:
        show_blame(console(), run, costs, costs.shown(names, details=options.details))
    try:
        write_json_atomically(run.path / BLAME, content)
    except OSError as error:
        loading.warn(f"{run.path / BLAME}: cannot be written: {error.strerror}")


def _seeds(text: str | None) -> range | int:
    """The seeds of ``--seeds``; or their number, with that of the run as the first one."""
    if text is None:
        return 1
    if text.isascii() and text.isdigit():
        if not 1 <= int(text) <= MOST_RUNS_AT_ALL:
            raise TidegaugeError(f"--seeds {text}: must be 1 to {MOST_RUNS_AT_ALL:,} seeds")
        return int(text)
    return seeds_of(text)


def blamed(
    run: Run,
    *,
    faults: Sequence[str] = (),
    seeds: range | int = 1,
    figures: Sequence[str] = (),
    most: int = MOST_RUNS,
    jobs: int | None = None,
    address: str | None = None,
) -> FaultCosts:
    """Run the scenario of a run without some of its faults, and split its figures among them.

    Args:
        run: the run, which is finished.
        faults: the names of the faults that are judged; none: all that begin. The others stay.
        seeds: the seeds; or their number, with that of the run as the first one.
        figures: figures that have to be there.
        most: the most runs with one seed.
        jobs: the number of parallel runs; None: the number of CPUs.
        address: the Ray cluster to join; None: as ``many_runs.run_all`` says.

    Raises:
        TidegaugeError: the run is of logs or unfinished, it has no such fault or figure, there are
            too many faults, or a run has failed.
    """
    check_jobs(jobs)
    _check(run, figures)
    plan = plan_of_run(run)
    begun = faults_of(run, plan)
    judged = selected_faults(begun, faults)
    subsets = subsets_to_run(len(judged), most)
    if isinstance(seeds, int):
        seeds = range(plan.scenario.seed, plan.scenario.seed + seeds)
    if len(subsets) * len(seeds) > MOST_RUNS_AT_ALL:
        raise TidegaugeError(f"--seeds: more than {MOST_RUNS_AT_ALL:,} runs are too many")
    whole = frozenset(range(len(judged)))
    names = [each.name for each in judged]
    loading.announce_compilation()
    with TemporaryDirectory(prefix="tidegauge-") as temporary:
        branch = start_of_branch(run, Path(temporary) / "past")
        planned, has_whole = _planned(run, plan, judged, subsets, seeds, branch)
        outcomes = _performed(planned, names, jobs, address)
    if has_whole and plan.scenario.seed in seeds:
        outcomes[plan.scenario.seed, whole] = dict(outcome_of(run, ()).figures)
    ordered = {(seed, each): outcomes[seed, each] for seed in seeds for each in subsets}
    return FaultCosts(
        str(run.manifest["scenario"].get("name", run.path.name)),
        names,
        len(begun) - len(judged),
        [*seeds],
        len(planned),
        sum(each.start is not None for each in planned.values()),
        split_figures(ordered, len(judged)),
    )


def _planned(
    run: Run,
    plan: ClusterPlan,
    judged: Sequence[JudgedFault],
    subsets: Sequence[Faults],
    seeds: Sequence[int],
    branch: Start | None,
) -> tuple[dict[tuple[int, Faults], FaultRun], bool]:
    """The missing runs, and whether the run itself is none of them: other sources have made it."""
    has_whole = run.manifest["tidegauge"] == tidegauge_version()
    given = (run, plan, judged, subsets, seeds)
    planned = planned_runs(*given, snapshot_times_us(run.path), branch, has_whole=has_whole)
    why = unusable(each.start for each in planned.values() if each.start is not None)
    if why is None:
        return planned, has_whole
    loading.warn(f"{why}; no run begins there")
    return planned_runs(*given, (), branch, has_whole=False), False


def _check(run: Run, figures: Sequence[str]) -> None:
    """End the command for a run that cannot be judged, or that lacks one of these figures."""
    if run.is_of_logs:
        raise TidegaugeError(
            f"{run.path}: is a real cluster's, made of its logs: it cannot be repeated"
        )
    if run.summary is None:
        resume = f"tidegauge resume {run.path} continues it"
        again = resume if snapshot_times_us(run.path) else "run it again"
        raise TidegaugeError(f"{run.path}: the run is unfinished: {again}")
    known = {each.name for each in amounts_of([outcome_of(run, ()).figures])}
    for name in figures:
        if name not in known:
            raise TidegaugeError(one_line(f"--figures {name}: {did_you_mean(name, known)}"))


def _performed(
    planned: dict[tuple[int, Faults], FaultRun],
    names: Sequence[str],
    jobs: int | None,
    address: str | None,
) -> dict[tuple[int, Faults], dict[str, float]]:
    """The figures of all these runs."""
    keys, runs = list(planned), list(planned.values())
    found = {}
    with (
        closing(perform(runs, jobs, address, loading.warn)) as running,
        runs_progress(len(runs)) as advance,
    ):
        for number, outcome in running:
            seed, faults = keys[number]
            left_out = [name for place, name in enumerate(names) if place not in faults]
            found[seed, faults] = dict(checked(outcome, runs[number], left_out).figures)
            advance()
    return found
