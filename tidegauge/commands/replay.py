"""``tidegauge replay`` and ``compare-runs``: a run beside its repetition, or beside another."""

from __future__ import annotations

import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer
from rich.console import Console

from tidegauge.commands.loading import announce_compilation
from tidegauge.commands.opening import opened_run
from tidegauge.commands.performing import engine_of, perform
from tidegauge.commands.result_options import CompareRunsOptions, ReplayOptions
from tidegauge.commands.shared_options import Hosting, parsed
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.real_cluster.incident.pair_view import pair_content, show_run_pair
from tidegauge.real_cluster.incident.run_pair import run_pair
from tidegauge.replication.releases import RULE_CELLS
from tidegauge.runs.story import Names, told
from tidegauge.scenario.cluster_plan import UNCONDITIONAL_ISR
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping
from tidegauge.scenario.text.counted import counted
from tidegauge.simulation.durations import parse_time, time_text
from tidegauge.simulation.trace_rows.schema import SCHEMA_VERSION, tidegauge_version
from tidegauge.traces.run_comparison import Difference, RunComparison, row_count
from tidegauge.traces.run_files import MANIFEST, TRACE, RunError
from tidegauge.traces.run_folder import RunFolder, TraceRow
from tidegauge.views.output import console, print_json, report
from tidegauge.views.progress import working


def replay_run(options: ReplayOptions) -> None:
    """Perform ``tidegauge replay``."""
    hosting = Hosting(inline=options.inline, ray=options.ray, actors=options.actors)
    hosting.check()

    recorded = opened_run(options.run, "replay")
    if recorded.is_of_logs:
        raise TidegaugeError(
            f"{options.run}: is a real cluster's, made of its logs: it cannot be repeated"
        )
    _note_other_release(recorded)
    scenario, switches = _manifest_parts(recorded)
    end_us = _recorded_until_us(recorded)
    announce_compilation()
    with TemporaryDirectory(prefix="tidegauge-") as temporary:
        folder = options.out or Path(temporary) / "run"
        replayed = perform(
            scenario,
            folder,
            engine_of(hosting),
            f"tidegauge replay {shlex.quote(str(options.run))}",
            switches=switches,
            until_us=end_us,
            is_kept=options.out is not None,
        )
        is_equal = _compare(recorded, replayed)
    if options.out is not None:
        typer.echo(f"Next: tidegauge show partitions {options.out}")
    if not is_equal:
        raise typer.Exit(1)


def _note_other_release(run: RunFolder) -> None:
    """Print a note if another version of Tidegauge wrote the run: its results may differ."""
    writer, schema_version = run.manifest.get("tidegauge"), run.manifest.get("schema_version")
    release = tidegauge_version()
    if (writer, schema_version) != (release, SCHEMA_VERSION):
        typer.echo(
            f"note: {run.path} was written by Tidegauge {writer} with schema version "
            f"{schema_version}; this is {release} with {SCHEMA_VERSION}, and its results may "
            "differ",
            err=True,
        )


def _manifest_parts(run: RunFolder) -> tuple[Scenario, dict[str, int | bool]]:
    """The scenario of a run, and its switched rules.

    Raises:
        RunError: the manifest lacks them, or this release cannot run the scenario.
    """
    file = run.path / MANIFEST
    switches: Any = run.manifest.get("switches", {})
    known = {*RULE_CELLS, UNCONDITIONAL_ISR}
    if not isinstance(switches, dict) or not switches.keys() <= known:
        raise RunError(f"{file}: switches: must name rules of this release, not {switches}")
    try:
        return scenario_from_mapping(run.manifest.get("scenario", {}), str(file)), switches
    except ScenarioError as error:
        first, *others = str(error).splitlines()
        more = f", and {counted(len(others), 'problem')} more" if others else ""
        raise RunError(f"{first}{more}; Tidegauge {tidegauge_version()} cannot run it") from error


def _recorded_until_us(run: RunFolder) -> int | None:
    """The last time of an unfinished run; None for a finished run.

    Raises:
        RunError, TraceError: the trace is damaged or incomplete.
    """
    if run.summary is None:
        return run.last_time_us
    if not isinstance(run.summary.get("trace_sha256"), str):
        raise RunError(f"{run.path}: the summary has no trace_sha256 to compare")
    if not run.traces:
        raise RunError(f"{run.path / TRACE}: has no trace of the run")
    for trace in run.torn:
        raise RunError(f"{trace.path}: ends within a frame, after byte {trace.torn_at}")
    return None


def _compare(recorded: RunFolder, replayed: RunFolder) -> bool:
    """Print whether both runs are equal, or their first difference."""
    is_unfinished = recorded.summary is None
    difference = RunComparison(recorded, replayed, one_is_unfinished=is_unfinished).first
    rows = counted(row_count(recorded), "row")
    if is_unfinished:
        typer.echo(
            f"note: {recorded.path} is unfinished: the comparison covers its {rows}, up to "
            f"{time_text(recorded.last_time_us)}",
            err=True,
        )
    hashes = [(run.summary or {}).get("trace_sha256") for run in (recorded, replayed)]
    if difference is not None:
        _show_difference(console(), difference, Names.of(recorded), Names.of(replayed))
    if is_unfinished:
        typer.echo("equal up to its last row" if difference is None else "not equal")
        return difference is None
    if hashes[0] != hashes[1]:
        typer.echo(f"not equal: trace_sha256 was {hashes[0]}, is {hashes[1]}")
    elif difference is not None:
        typer.echo(
            f"not equal: trace_sha256 is {hashes[0]} in both, but rows of {recorded.path} were "
            "changed or lost later: see tidegauge verify"
        )
    else:
        typer.echo(f"equal: {rows}, trace_sha256 {hashes[0]}")
    return hashes[0] == hashes[1] and difference is None


def _show_difference(
    out: Console, difference: Difference, recorded: Names, replayed: Names
) -> None:
    """Print the first different row, as each run has it, and the different values."""
    out.print("The first row that differs:", style="bold")
    for which, row, names in (
        ("recorded", difference.one, recorded),
        ("replayed", difference.other, replayed),
    ):
        out.print(f"  {which}  {_row_text(row, names)}", soft_wrap=True, markup=False)
    columns = difference.columns()
    width = max(map(len, columns), default=0)
    for name in columns:
        assert difference.one is not None
        assert difference.other is not None
        values = f"recorded {difference.one[name]}, replayed {difference.other[name]}"
        out.print(f"    {name:{width}}  {values}", soft_wrap=True, markup=False)


def _row_text(row: TraceRow | None, names: Names) -> str:
    """The row's time, process, number in the trace, and content."""
    if row is None:
        return "has no more rows"
    number = f"{row['process']}:{row['sequence']}" + (f".{row['minor']}" if row["minor"] else "")
    who = names.process(row["process"])
    return f"{time_text(row['time_us'])}  {number}  {who}  {row.kind}: {told(row, names)}"


def compare_runs(options: CompareRunsOptions) -> None:
    """Perform ``tidegauge compare-runs``."""
    shift_us = None if options.shift is None else parsed("--shift", options.shift, _shift_us)
    with report(as_json=options.as_json):
        runs = (opened_run(options.one, "compare-runs"), opened_run(options.other, "compare-runs"))
        with working(f"comparing {options.one} and {options.other}"):
            pair = run_pair(*runs, shift_us=shift_us)
        if not options.as_json:
            show_run_pair(console(), pair)
    if options.as_json:
        print_json(pair_content(pair))


def _shift_us(text: str) -> int:
    return -parse_time(text[1:]) if text.startswith("-") else parse_time(text)
