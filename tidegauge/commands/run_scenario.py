"""``tidegauge run``: run a scenario into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegauge.commands.check_view import show_verdicts
from tidegauge.commands.compile_rules import announce_compilation
from tidegauge.commands.output import console, fail
from tidegauge.commands.run_progress import progress_bar

if TYPE_CHECKING:
    from tidegauge.engine import EngineMaker
    from tidegauge.run_folder import RunFolder
    from tidegauge.simulation.scenario import Scenario

_INTERRUPTED = 130


def run_scenario(
    scenario: Annotated[
        str, typer.Argument(help="A scenario file, or the name of one that comes along.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder for the run; new or empty.")],
    *,
    inline: Annotated[
        bool, typer.Option("--inline", help="Run all processes in this interpreter, without Ray.")
    ] = False,
    actors: Annotated[
        int | None,
        typer.Option(
            "--actors",
            min=1,
            help="How many actors of Ray host brokers, beside the one of the controllers. "
            "Default: one a broker up to 8 brokers, else as many as are worth it.",
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            "--address",
            help="Join the Ray cluster at this address. Default: that of RAY_ADDRESS, else Ray is "
            "started on this machine.",
        ),
    ] = None,
    speed: Annotated[
        float | None,
        typer.Option("--speed", help="Go so many times as fast as real time, and no faster."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Another seed than the scenario's.")
    ] = None,
    trace: Annotated[
        str | None, typer.Option("--trace", help="transitions, or all: single requests, too.")
    ] = None,
) -> None:
    """Run a scenario in virtual time; write manifest, trace and summary.

    Each broker is an actor of Ray; --inline does without, and is the fast way for a small cluster.
    The same scenario and seed give the same trace, either way and whatever the machine. The exit
    status is 1 if a check has another verdict than the scenario expects.

    \b
    Examples:
      tidegauge run quickstart --out runs/first
      tidegauge run quickstart --inline --out runs/again
      tidegauge run rack-power-loss --actors 2 --speed 10 --out runs/rack
      tidegauge run my-cluster.yaml --inline --out runs/mine --seed 7 --trace all
    """
    if inline and (actors is not None or address is not None):
        fail("--inline does without Ray: leave out --actors and --address")
    if speed is not None and speed <= 0:
        fail(f"--speed {speed:g}: must be more than 0")
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
    again = _command(scenario, loaded, inline=inline)
    if inline:
        from tidegauge.inline_engine import inline as all_inline

        engine = all_inline()
    else:
        from tidegauge.ray_engine import on_ray

        engine = on_ray(actors, address)
    run = _simulate(loaded, out, engine, speed, again)
    _show(run, scenario, loaded, again)


def _simulate(
    loaded: Scenario, out: Path, engine: EngineMaker, speed: float | None, again: str
) -> RunFolder:
    """The run, or one line that says why there is none."""
    from tidegauge.engine import ActorError, EngineError
    from tidegauge.replication.checkpoint_files import CheckpointError
    from tidegauge.simulate import simulate
    from tidegauge.simulation.scenario import ScenarioError

    try:
        with progress_bar(loaded.duration_us) as progress:
            return simulate(loaded, out, make_engine=engine, progress=progress, speed=speed)
    except ActorError as error:
        typer.echo(f"tidegauge: {error}", err=True)
        typer.echo(f"{out} can be read as far as it is. Again: {again}", err=True)
        raise typer.Exit(1) from None
    except (CheckpointError, EngineError, FileExistsError, ScenarioError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{out}: cannot be written to: {error.strerror}")
    except KeyboardInterrupt:
        typer.echo(f"\nStopped: {out} holds the trace so far. Again: {again}")
        raise typer.Exit(_INTERRUPTED) from None


def _show(run: RunFolder, scenario: str, loaded: Scenario, again: str) -> None:
    """What came of a run, and the exit status that says whether that is as it should be."""
    assert run.summary is not None
    for warning in run.summary["warnings"]:
        typer.echo(f"tidegauge: {warning}", err=True)
    _print_summary(run.summary)
    is_as_expected = show_verdicts(console(), run)
    typer.echo(f"Next: tidegauge show {run.path}")
    typer.echo(f"Again: {again}")
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


def _command(scenario: str, loaded: Scenario, *, inline: bool) -> str:
    how = " --inline" if inline else ""
    return f"tidegauge run {scenario}{how} --out DIR --seed {loaded.seed} --trace {loaded.trace}"


def _print_groups(summary: dict[str, Any]) -> None:
    """What several groups, each an actor, have cost."""
    brokers = summary["groups"][:-1]
    exchange = max(group["exchange_cpu_us_per_window"] for group in brokers)
    busiest = max(summary["groups"], key=lambda group: float(group["kernel_cpu_seconds"]))
    typer.echo(
        f"{len(brokers)} actor{'s' if len(brokers) > 1 else ''} for brokers, 1 for controllers: "
        f"{summary['windows_per_virtual_second']:,.0f} windows a virtual second of "
        f"{summary['events_per_window']:,.1f} events; exchange {exchange:.0f} us of CPU a window "
        f"at most; busiest: {busiest['name']}, {busiest['kernel_cpu_seconds']:.1f} s"
    )


def _print_summary(summary: dict[str, Any]) -> None:
    typer.echo(
        f"{summary['events']:,} events in {summary['loop_seconds']:.2f} s: "
        f"{summary['times_real_time']:,.4g} times real time"
    )
    if len(summary["groups"]) > 1:
        _print_groups(summary)
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
