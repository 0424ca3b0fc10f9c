"""``tidegauge read-logs``: the logs of a real cluster as a run, and as a proposed scenario."""

from __future__ import annotations

import importlib
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tidegauge.commands.result_options import ReadLogsOptions
from tidegauge.commands.shared_options import parsed
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.real_cluster.describe.server_properties import properties_files
from tidegauge.real_cluster.logs.log_files import FoundLogs, LogFile, found_logs
from tidegauge.real_cluster.logs.log_window import LogWindow
from tidegauge.real_cluster.logs.real_history import real_history
from tidegauge.runs.run import Run
from tidegauge.simulation.quantities import parse_time
from tidegauge.simulation.wall_clock import Moment, parse_moment
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views.output import print_json, report
from tidegauge.views.progress import working

if TYPE_CHECKING:
    from tidegauge.real_cluster.incident.proposal import Proposal


def read_logs(options: ReadLogsOptions) -> None:
    """Perform ``tidegauge read-logs``."""
    check_proposal(options.scenario, options.properties or [])
    window = _window(options)
    if options.out.exists():
        raise TidegaugeError(f"{options.out}: exists; name a folder that does not")
    with working(f"reading {options.folder}") as tell:
        found = found_logs(options.folder)
        history = real_history(
            found,
            lambda done, whole: tell(
                f"reading {options.folder}: {done >> 20:,} of {max(whole >> 20, 1):,} MiB"
            ),
            _import_writing,
            window,
        )
        tell(f"writing {options.out}")
        from tidegauge.real_cluster.logs.logged_run import found_in_logs, write_run  # noqa: PLC0415

        run = write_run(history, options.out)
    proposal = None
    if options.scenario is not None:
        with working(f"proposing {options.scenario}"):
            files = options.properties or [*_properties_in(options.folder, found)]
            proposal = propose_scenario(run, found.files, files, options.scenario)

    told = found_in_logs(history, run)
    with report(as_json=options.as_json):
        for line in told.lines():
            typer.echo(line)
        typer.echo(f"Run: {options.out}")
        name = shlex.quote(str(options.out))
        typer.echo(f"Next: tidegauge show partitions {name}")
        typer.echo(f"      tidegauge picture {name}")
        if options.scenario is not None and proposal is not None:
            for line in proposal_report(proposal, options.out, options.scenario):
                typer.echo(line)
    if options.as_json:
        content = {"run": str(options.out), **told.as_json()}
        if options.scenario is not None and proposal is not None:
            content["scenario"] = proposal_content(proposal, options.scenario)
        print_json(content)


#: The time before and after that of ``--around``.
_WITHIN = "10m"


def _window(options: ReadLogsOptions) -> LogWindow:
    """The window of time that the options name.

    Raises:
        TidegaugeError: a time cannot be read, or options exclude each other.
    """
    if options.around is not None and (options.begin, options.end) != (None, None):
        raise TidegaugeError("--around excludes --from and --to")
    if options.around is None and options.within is not None:
        raise TidegaugeError("--within: has no effect without --around TIME")
    within_us = parsed("--within", options.within or _WITHIN, parse_time)
    return LogWindow(
        _moment("--from", options.begin),
        _moment("--to", options.end),
        _moment("--around", options.around),
        within_us // 1000,
    )


def _moment(option: str, text: str | None) -> Moment | None:
    return None if text is None else parsed(option, text, parse_moment)


def _import_writing() -> None:
    """Import the rooms that write runs: they take two seconds, in which other processes read."""
    importlib.import_module("tidegauge.real_cluster.logs.logged_run")


#: Names of files with the settings of a node.
_PROPERTIES = ("server.properties", "controller.properties", "broker.properties")


def propose_scenario(
    run: RunFolder, logs: Sequence[LogFile], properties: Sequence[Path], file: Path
) -> Proposal:
    """Write the scenario that would leave these logs; the command ends if there is none.

    Args:
        run: the run that was made from the logs.
        logs: the files of the logs.
        properties: files of settings.
        file: the file to write.
    """
    from tidegauge.real_cluster.incident.proposal import write_proposal  # noqa: PLC0415
    from tidegauge.real_cluster.incident.sightings import log_sightings  # noqa: PLC0415

    try:
        files = properties_files(properties)
        sightings = log_sightings(logs, run.manifest["logs"])
        sightings.write(run.path)
        return write_proposal(Run(run.path), files, file, sightings=sightings)
    except OSError as error:
        raise TidegaugeError(
            f"{error.filename or file}: cannot be written: {error.strerror}"
        ) from error


def check_proposal(file: Path | None, properties: Sequence[Path]) -> None:
    """Fail if the file of a proposed scenario is not a new one, or options need one."""
    if file is None and properties:
        raise TidegaugeError("--properties: has no effect without --scenario FILE")
    if file is not None and file.exists():
        raise TidegaugeError(f"{file}: exists; name a file that does not")


def proposal_report(proposal: Proposal, run: Path, file: Path) -> Iterator[str]:
    """The lines of a proposal for a terminal, with the next commands."""
    from tidegauge.real_cluster.incident.proposal import proposal_lines  # noqa: PLC0415

    yield ""
    yield f"Scenario: {file}"
    yield from proposal_lines(proposal)
    again = Path("runs") / f"{file.stem}-again"
    yield f"Next: tidegauge run {shlex.quote(str(file))} --out {shlex.quote(str(again))}"
    yield f"      tidegauge compare-runs {shlex.quote(str(run))} {shlex.quote(str(again))}"


def proposal_content(proposal: Proposal, file: Path) -> dict[str, object]:
    """The proposal as JSON."""
    return {
        "file": str(file),
        "earlier_us": proposal.earlier_us,
        "scenario": proposal.data,
        "notices": [notice._asdict() for notice in proposal.notices],
    }


def _properties_in(folder: Path, found: FoundLogs) -> Iterator[Path]:
    """The files of settings in a folder of logs, without those that the logs contradict."""
    left_out = {each.path for each in found.unread}
    for name in _PROPERTIES:
        yield from (file for file in sorted(folder.rglob(name)) if file not in left_out)
