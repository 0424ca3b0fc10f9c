"""``tidegauge read-logs``: the logs of a real cluster as a run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from tidegauge.performing.propose_scenario import (
    check_proposal,
    proposal_content,
    proposal_report,
    propose_scenario,
)
from tidegauge.views.output import fail, print_json, report
from tidegauge.views.working import working


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
    controllers. show, picture, describe, report, analyze and compare take it like a simulated run.
    What logs do not tell, such as acknowledged records, is absent in it. The offset of each node's
    clock is estimated, and times are corrected by it.

    --scenario proposes brokers, topics, faults and steps that would leave such logs. run plays
    them, and compare puts both runs side by side. Deaths are dated by lost connections, or by
    timeouts in server.properties.

    \b
    Examples:
      tidegauge read-logs /var/log/kafka-cluster -o runs/outage
      tidegauge read-logs logs -o runs/outage --json
      tidegauge read-logs logs -o runs/outage --scenario outage.yaml
      tidegauge show runs/outage --partition orders-0
      tidegauge describe runs/outage --at 90s
    """
    from tidegauge.real_cluster.logs.log_files import LogsError, found_logs
    from tidegauge.real_cluster.logs.real_history import real_history

    check_proposal(scenario, properties or [])
    if out.exists():
        fail(f"{out}: exists; name a folder that does not")
    try:
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
            from tidegauge.real_cluster.logs.logged_run import write_run

            run = write_run(history, out)
    except LogsError as error:
        fail(str(error))
    proposal = None
    if scenario is not None:
        with working(f"proposing {scenario}"):
            proposal = propose_scenario(run, folder, properties or [], scenario)
    from tidegauge.real_cluster.logs.logged_run import found_in_logs

    told = found_in_logs(history, run)
    with report(as_json=as_json):
        for line in told.lines():
            typer.echo(line)
        typer.echo(f"Run: {out}")
        name = shlex.quote(str(out))
        typer.echo(f"Next: tidegauge show {name}")
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
    import tidegauge.real_cluster.logs.logged_run  # noqa: F401
