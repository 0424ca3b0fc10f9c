"""``tidegauge read-logs``: the logs of a real cluster as a run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

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

    \b
    Examples:
      tidegauge read-logs /var/log/kafka-cluster -o runs/outage
      tidegauge read-logs logs -o runs/outage --json
      tidegauge show runs/outage --partition orders-0
      tidegauge describe runs/outage --at 90s
    """
    from tidegauge.real_logs.log_files import LogsError, found_logs
    from tidegauge.real_logs.log_reporting import found_in_logs
    from tidegauge.real_logs.real_history import real_history
    from tidegauge.real_logs.run_writing import write_run

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
            )
            tell(f"writing {out}")
            run = write_run(history, out)
    except LogsError as error:
        fail(str(error))
    # A scenario of this cluster is proposed from the finished run: `run` is its folder.
    told = found_in_logs(history, run)
    with report(as_json=as_json):
        for line in told.lines():
            typer.echo(line)
        typer.echo(f"Run: {out}")
        name = shlex.quote(str(out))
        typer.echo(f"Next: tidegauge show {name}")
        typer.echo(f"      tidegauge picture {name}")
    if as_json:
        print_json({"run": str(out), **told.as_json()})
