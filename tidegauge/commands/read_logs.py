"""``tidegauge read-logs``: the logs of a real cluster as a run, and as a proposed scenario."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.real_cluster.describe.properties_files import properties_files
from tidegauge.real_cluster.incident.log_sightings import log_sightings
from tidegauge.real_cluster.incident.proposal import Proposal
from tidegauge.real_cluster.incident.proposal_text import proposal_lines, write_proposal
from tidegauge.real_cluster.logs.log_files import found_logs
from tidegauge.real_cluster.logs.log_reporting import found_in_logs
from tidegauge.real_cluster.logs.real_history import real_history
from tidegauge.real_cluster.logs.run_writing import write_run
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views.output import print_json, report
from tidegauge.views.progress import working


def read_logs(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="A folder with a folder of logs for each node, or with the logs of one node.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="RUN", help="The folder of the run to write.")
    ],
    *,
    scenario: Annotated[
        Path | None,
        typer.Option(
            "--scenario",
            metavar="FILE",
            help="Also propose the scenario that would leave such logs: topology, faults, steps "
            "and times, with the evidence of each. A file that does not exist yet.",
        ),
    ] = None,
    properties: Annotated[
        list[Path] | None,
        typer.Option(
            "--properties",
            metavar="FILE",
            help="With --scenario: server.properties of a node, or a folder of such files; "
            "repeatable. Default: those below DIR.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON, on standard output.")
    ] = False,
) -> None:
    """Turn the logs of a real cluster into a run.

    The command reads server.log, controller.log and state-change.log of each node, with their
    rotated and compressed files. Brokers 2.x with ZooKeeper to 4.x with KRaft are known, with
    Kafka's own log4j and log4j2 layouts. Nodes are told apart by folder: broker-1/server.log,
    broker-2/server.log.

    The run has the states of partitions, ISR changes, elections, the lives of brokers, and the
    controllers. show, picture, describe, report, analyze and compare-runs take it like a simulated run.
    What logs do not tell, such as acknowledged records, is absent in it. The offset of each node's
    clock is estimated, and times are corrected by it.

    --scenario proposes brokers, topics, faults and steps that would leave such logs. run plays
    them, and compare-runs puts both runs side by side. Deaths are dated by lost connections, or by
    timeouts in server.properties.

    \b
    Examples:
      tidegauge read-logs /var/log/kafka-cluster -o runs/outage
      tidegauge read-logs logs -o runs/outage --json
      tidegauge read-logs logs -o runs/outage --scenario outage.yaml
      tidegauge show partition runs/outage orders-0
      tidegauge describe runs/outage --at 90s
    """
    check_proposal(scenario, properties or [])
    if out.exists():
        raise TidegaugeError(f"{out}: exists; name a folder that does not")
    with working(f"reading {folder}") as tell:
        found = found_logs(folder)
        history = real_history(
            found,
            lambda done, whole: tell(
                f"reading {folder}: {done >> 20:,} of {max(whole >> 20, 1):,} MiB"
            ),
            _import_writing,
        )
        tell(f"writing {out}")

        run = write_run(history, out)
    proposal = None
    if scenario is not None:
        with working(f"proposing {scenario}"):
            proposal = propose_scenario(run, folder, properties or [], scenario)

    told = found_in_logs(history, run)
    with report(as_json=as_json):
        for line in told.lines():
            typer.echo(line)
        typer.echo(f"Run: {out}")
        name = shlex.quote(str(out))
        typer.echo(f"Next: tidegauge show partitions {name}")
        typer.echo(f"      tidegauge picture {name}")
        if scenario is not None and proposal is not None:
            for line in proposal_report(proposal, out, scenario):
                typer.echo(line)
    if as_json:
        content = {"run": str(out), **told.as_json()}
        if scenario is not None and proposal is not None:
            content["scenario"] = proposal_content(proposal, scenario)
        print_json(content)


def _import_writing() -> None:
    """Import the rooms that write runs: they take two seconds, in which other processes read."""


#: Names of files that say the settings of a node.
_PROPERTIES = ("server.properties", "controller.properties", "broker.properties")


def propose_scenario(
    run: RunFolder, folder: Path, properties: Sequence[Path], file: Path
) -> Proposal:
    """Write the scenario that would leave these logs; the command ends if there is none.

    Args:
        run: the run that was made from the logs.
        folder: the folder of the logs.
        properties: files of settings; without one those in the folder, and beside it in config.
        file: the file to write.
    """
    try:
        files = properties_files(properties) if properties else list(_properties_in(folder))
        sightings = log_sightings(folder, run.manifest["logs"])
        sightings.write(run.path)
        return write_proposal(run, files, file, sightings=sightings)
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


def _properties_in(folder: Path) -> Iterator[Path]:
    for name in _PROPERTIES:
        yield from sorted(folder.rglob(name))
