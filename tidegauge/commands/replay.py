"""``tidegauge replay`` and ``compare-runs``: a run beside its repetition, or beside another."""

import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer
from rich.console import Console

from tidegauge.commands.loading import announce_compilation, opened_run
from tidegauge.commands.performing import engine_of, perform
from tidegauge.commands.result_options import CompareRunsOptions, ReplayOptions
from tidegauge.commands.shared_options import Hosting, parsed
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.kraft_releases import KRAFT_CELLS
from tidegauge.replication.releases import RULE_CELLS
from tidegauge.runs.run import Run
from tidegauge.runs.side_by_side import side_by_side
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import parse_time, time_text, whole_time_text
from tidegauge.simulation.trace_rows.schema import SCHEMA_VERSION, tidegauge_version
from tidegauge.simulation.wall_clock import show_clock
from tidegauge.traces.run_comparison import Difference, RunComparison, row_count
from tidegauge.traces.run_files import MANIFEST, TRACE, RunError
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views.output import console, print_json, report
from tidegauge.views.progress import working
from tidegauge.views.side_by_side_view import show_side_by_side, side_by_side_content


def replay_run(options: ReplayOptions) -> None:
    """Perform ``tidegauge replay``."""
    hosting = Hosting(inline=options.inline, ray=options.ray, actors=options.actors)
    hosting.check()

    recorded = opened_run(options.run, "replay")
    if recorded.is_of_logs:
        raise TidegaugeError(
            f"{options.run}: is a real cluster's, made of its logs: it cannot be repeated"
        )
    past = recorded.manifest.get("past")
    if past is not None:
        raise TidegaugeError(
            f"{options.run}: is a branch of {past['run']} from {whole_time_text(past['at_us'])}: "
            "its scenario began there, and is not that of its past; repeat `tidegauge branch`"
        )
    note_other_release(recorded)
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


def note_other_release(run: RunFolder) -> None:
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
    known = RULE_CELLS.keys() | KRAFT_CELLS.keys()
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


def _compare(recorded: Run, replayed: Run) -> bool:
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
        _show_difference(console(), difference, recorded, replayed)
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


def _show_difference(out: Console, difference: Difference, recorded: Run, replayed: Run) -> None:
    """Print the first different row, as each run has it, and the different values."""
    out.print("The first row that differs:", style="bold")
    rows = ((difference.one, recorded), (difference.other, replayed))
    one, other = (None if row is None else run.event(row) for row, run in rows)
    for which, event in (("recorded", one), ("replayed", other)):
        text = "has no more rows" if event is None else _event_text(event)
        out.print(f"  {which}  {text}", soft_wrap=True, markup=False)
    columns = difference.columns()
    width = max(map(len, columns), default=0)
    for name in columns:
        assert one is not None
        assert other is not None
        values = f"recorded {one[name]}, replayed {other[name]}"
        out.print(f"    {name:{width}}  {values}", soft_wrap=True, markup=False)


def _event_text(event: TraceEvent) -> str:
    """The row's time, process, number in the trace, and content."""
    number = event.handle or "{process}:{sequence}.{minor}".format_map(event.row.columns)
    who = f"{event.process}  {event.kind}"
    return f"{time_text(event.time_us)}  {number}  {who}: {event.words}"


def compare_runs(options: CompareRunsOptions) -> None:
    """Perform ``tidegauge compare-runs``."""
    shift_us = None if options.shift is None else parsed("--shift", options.shift, _shift_us)
    with report(as_json=options.as_json):
        runs = (opened_run(options.one, "compare-runs"), opened_run(options.other, "compare-runs"))
        # Times are those of the first.
        show_clock(runs[0].wall_clock)
        with working(f"comparing {options.one} and {options.other}"):
            found = side_by_side(runs, shift_us)
        if not options.as_json:
            show_side_by_side(console(), found)
    if options.as_json:
        print_json(side_by_side_content(found))


def _shift_us(text: str) -> int:
    return -parse_time(text[1:]) if text.startswith("-") else parse_time(text)
