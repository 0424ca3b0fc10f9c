"""``tidegauge run``: run a scenario into a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegauge.commands.check_view import show_verdicts
from tidegauge.commands.compile_rules import announce_compilation
from tidegauge.commands.output import console, fail

if TYPE_CHECKING:
    from tidegauge.group import Progress
    from tidegauge.simulation.scenario import Scenario


def run_scenario(
    scenario: Annotated[
        str, typer.Argument(help="A scenario file, or the name of one that comes along.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder for the run; new or empty.")],
    *,
    inline: Annotated[
        bool, typer.Option("--inline", help="Run all processes in this interpreter, without Ray.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Another seed than the scenario's.")
    ] = None,
    trace: Annotated[
        str | None, typer.Option("--trace", help="transitions, or all: single requests, too.")
    ] = None,
) -> None:
    """Run a scenario in virtual time; write manifest, trace and summary.

    The same scenario and seed give the same trace, whatever the machine. The exit status is 1
    if a check has another verdict than the scenario expects.

    \b
    Examples:
      tidegauge run quickstart --inline --out runs/first
      tidegauge run my-cluster.yaml --inline --out runs/mine --seed 7 --trace all
    """
    if not inline:
        fail("runs on Ray come with a later release: add --inline")
    from tidegauge.replication.checkpoint_files import CheckpointError
    from tidegauge.simulate import simulate
    from tidegauge.simulation.scenario import ScenarioError

    try:
        loaded = _load(scenario, seed, trace)
    except ScenarioError as error:
        fail(str(error))
    announce_compilation()
    typer.echo(
        f"{loaded.name}: {len(loaded.broker_ids())} brokers of Kafka "
        f"{loaded.release}, {loaded.duration_us / 1e6:g} virtual seconds, seed {loaded.seed}"
    )
    try:
        with _progress_bar(loaded.duration_us) as progress:
            run = simulate(loaded, out, progress=progress)
    except (CheckpointError, FileExistsError, ScenarioError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{out}: cannot be written to: {error.strerror}")
    except KeyboardInterrupt:
        typer.echo(f"\nStopped: {out} holds the trace so far. Again: {_command(scenario, loaded)}")
        raise typer.Exit(130) from None
    assert run.summary is not None
    _print_summary(run.summary)
    is_as_expected = show_verdicts(console(), run)
    typer.echo(f"Next: tidegauge show {out}")
    typer.echo(f"Again: {_command(scenario, loaded)}")
    if run.summary["steps_timed_out"]:
        typer.echo(
            f"tidegauge: steps[{run.summary['steps_taken']}] of {scenario} waited in vain for its "
            "condition, so it was not taken, nor were those after it",
            err=True,
        )
    if not is_as_expected:
        typer.echo(f"Not as expected, with seed {loaded.seed}.", err=True)
    if run.summary["steps_timed_out"] or not is_as_expected:
        raise typer.Exit(1)


def _load(scenario: str, seed: int | None, trace: str | None) -> Scenario:
    from tidegauge.shipped_scenarios import find_scenario
    from tidegauge.simulation.scenario import load_scenario

    changes: dict[str, Any] = {}
    if seed is not None:
        changes["seed"] = seed
    if trace is not None:
        changes["trace"] = trace
    return load_scenario(find_scenario(scenario), changes)


@contextmanager
def _progress_bar(end_us: int) -> Iterator[Progress | None]:
    """A bar of virtual time on a terminal; nothing elsewhere."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    out = console()
    if not out.is_terminal:
        yield None
        return
    text = TextColumn("{task.completed:.0f} of {task.total:.0f} virtual seconds")
    with Progress(text, BarColumn(), TimeElapsedColumn(), console=out, transient=True) as bar:
        task = bar.add_task("run", total=end_us / 1e6)
        yield lambda time_us: bar.update(task, completed=time_us / 1e6)


def _command(scenario: str, loaded: Scenario) -> str:
    return (
        f"tidegauge run {scenario} --inline --out DIR --seed {loaded.seed} --trace {loaded.trace}"
    )


def _print_summary(summary: dict[str, Any]) -> None:
    typer.echo(
        f"{summary['events']:,} events in {summary['loop_seconds']:.2f} s: "
        f"{summary['times_real_time']:,.0f} times real time"
    )
    typer.echo(
        f"records: {summary['records_acknowledged']:,} acknowledged "
        f"({summary['records_acknowledged_lost']:,} lost, "
        f"{summary['records_acknowledged_unavailable']:,} unavailable), "
        f"{summary['records_failed']:,} failed, {summary['records_duplicated']:,} duplicated, "
        f"{summary['records_consumed']:,} consumed"
    )
    typer.echo(
        f"ISR: {summary['isr_shrinks']} shrinks and {summary['isr_expands']} expands by leaders, "
        f"{summary['isr_removals']} removals by controllers, "
        f"{summary['isr_notifications']} notifications"
    )
    typer.echo(
        f"partition-seconds: {summary['partition_seconds_offline']:,.1f} offline, "
        f"{summary['partition_seconds_not_accepting']:,.1f} without a leader that accepts writes, "
        f"{summary['partition_seconds_under_min_isr']:,.1f} under min.insync.replicas"
    )
    typer.echo(
        f"controllers: {summary['failovers']}; leaders elected: {summary['leader_elections']}, "
        f"{summary['unclean_elections']} of them uncleanly; brokers started: {summary['starts']} "
        "times"
    )
    if summary["settings_not_modelled"]:
        typer.echo("settings not modelled, which made no difference:")
        for line in summary["settings_not_modelled"]:
            typer.echo(f"  {line}")
    typer.echo(f"trace_sha256 {summary['trace_sha256']}")
