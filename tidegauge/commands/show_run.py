"""``tidegauge show``: the events of a run and their causes; one view for each question."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.options.run_argument import opened_run
from tidegauge.runs.broker_history import broker_index
from tidegauge.runs.cause_chain import row_of_handle
from tidegauge.runs.result_tables import tables_of
from tidegauge.runs.story import Names
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views.broker_view import show_broker, show_broker_at
from tidegauge.views.cause_view import show_cause
from tidegauge.views.client_view import show_client
from tidegauge.views.controller_view import show_controller, show_controller_at, show_zookeeper
from tidegauge.views.fault_view import faults_for_programs, show_faults
from tidegauge.views.output import console, print_json
from tidegauge.views.overview import show_partitions, show_unreachable
from tidegauge.views.partition_view import partition_number, show_partition
from tidegauge.views.quorum_view import show_metadata_log, show_quorum
from tidegauge.views.story_lines import (
    StoryOptions,
    moment_of,
    parse_span,
    print_notes,
)


def show_run(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder that the run wrote.")],
    partition: Annotated[
        str | None,
        typer.Option(metavar="TOPIC-PARTITION", help="Print the story of this partition."),
    ] = None,
    broker: Annotated[
        str | None, typer.Option(metavar="ID", help="Print the story of this broker.")
    ] = None,
    client: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Print the story of this client, or group of clients."),
    ] = None,
    controller: Annotated[
        bool,
        typer.Option("--controller", help="Print the controllers, their queues and decisions."),
    ] = False,
    faults: Annotated[
        bool,
        typer.Option(
            "--faults",
            help="Print the cost of each fault: time until a new leader, work, outages.",
        ),
    ] = False,
    cause: Annotated[
        str | None,
        typer.Option(
            metavar="PROCESS:SEQUENCE",
            help="Print the chain of triggers of one row, back to the first fault; --handles "
            "prints such numbers.",
        ),
    ] = None,
    zookeeper: Annotated[
        bool, typer.Option("--zookeeper", help="List the znodes of ZooKeeper.")
    ] = False,
    quorum: Annotated[
        bool,
        typer.Option(
            "--quorum",
            help="Print the KRaft quorum: its leader, and how much of its log each node has.",
        ),
    ] = False,
    metadata_log: Annotated[
        bool,
        typer.Option("--metadata-log", help="List the committed records of the metadata log."),
    ] = False,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Print the state of ZooKeeper, the quorum, a broker or the controller at this "
            "time.",
        ),
    ] = None,
    begin: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Start of the story.")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="End of the story.")
    ] = None,
    details: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Print each row by itself, with samples, and with requests if recorded.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the output of --faults as JSON.")
    ] = False,
    handles: Annotated[
        bool,
        typer.Option("--handles", help="Print the handle for --cause in each line of a story."),
    ] = False,
) -> None:
    """Explain what happened in a run, and why.

    The views are the story of a partition, of a broker, of a client or of the controller, the cost
    of each fault, the causes of one line of a story, and the znodes of ZooKeeper, or the quorum of
    KRaft and its metadata log. Without a view the command lists the partitions that are worth a
    look.

    Times are virtual, since the beginning of the run: 10s, 12.345s, 4m.

    \b
    Examples:
      tidegauge show runs/rack-outage
      tidegauge show runs/rack-outage --partition orders-0
      tidegauge show runs/rack-outage --partition orders-0 --from 10s --to 20s --all
      tidegauge show runs/rack-outage --broker 3
                                 its sessions, roles, ISR changes, refusals, faults
      tidegauge show runs/rack-outage --broker 3 --at 12s
                                 its roles and log ends at that time
      tidegauge show runs/rack-outage --client shop
                                 its records, errors and the times in which it was stalled
      tidegauge show runs/rack-outage --controller
                                 controllers, waiting times of events, decisions
      tidegauge show runs/rack-outage --controller --at 12s
                                 the controller, its live brokers, leaderless partitions
      tidegauge show runs/rack-outage --faults
                                 the cost of each fault
      tidegauge show runs/rack-outage --broker 3 --handles
      tidegauge show runs/rack-outage --cause 2:17
                                 the causes of the line with this handle
      tidegauge show runs/rack-outage --zookeeper --at 12s
      tidegauge show runs/kraft-outage --quorum --at 12s
      tidegauge show runs/kraft-outage --metadata-log --from 10s --to 20s
    """
    views = {
        "--partition": partition is not None,
        "--broker": broker is not None,
        "--client": client is not None,
        "--controller": controller,
        "--faults": faults,
        "--cause": cause is not None,
        "--zookeeper": zookeeper,
        "--quorum": quorum,
        "--metadata-log": metadata_log,
    }
    narrowed = details or handles or begin is not None or end is not None
    if as_json and not faults:
        raise TidegaugeError("--json needs --faults")
    _check_options([view for view, wanted in views.items() if wanted], at is not None, narrowed)

    try:
        folder = opened_run(run, "show")
        names = Names.of(folder)
        tables = tables_of(folder)
        print_notes(folder)
        at_us = None if at is None else moment_of(folder, at)
        options = StoryOptions(parse_span(begin, end), details, handles)
        if partition is not None:
            _show_partition(folder, tables, names, partition, options)
        elif broker is not None:
            _show_broker(folder, tables, names, broker, at_us, options)
        elif client is not None:
            _show_client(folder, tables, names, client, options)
        elif controller:
            _show_controller(folder, tables, names, at_us, options)
        elif faults:
            _show_faults(folder, tables, as_json=as_json)
        elif cause is not None:
            _show_cause(folder, names, cause)
        elif zookeeper or quorum:
            _show_control_plane(folder, at_us, of_quorum=quorum)
        else:
            _show_whole_run(folder, tables, names, options, of_metadata_log=metadata_log)
    except ValueError as error:
        raise TidegaugeError(str(error)) from error


def _check_options(views: list[str], has_at: bool, narrowed: bool) -> None:
    """Fail if the options contradict each other."""
    if len(views) > 1:
        raise TidegaugeError(f"{views[0]} and {views[1]} exclude each other")
    view = views[0] if views else ""
    if has_at and view not in {"--zookeeper", "--quorum", "--broker", "--controller"}:
        raise TidegaugeError("--at needs --zookeeper, --quorum, a --broker or --controller")
    stories = {"--partition", "--broker", "--client", "--controller", "--metadata-log"}
    if narrowed and view not in stories:
        raise TidegaugeError(
            "--from, --to, --all and --handles need a --partition, a --broker, a --client or "
            "--controller"
        )
    if narrowed and has_at:
        raise TidegaugeError("--at shows one moment: it excludes --from, --to, --all and --handles")


def _show_whole_run(
    run: RunFolder, tables: RunTables, names: Names, options: StoryOptions, *, of_metadata_log: bool
) -> None:
    if of_metadata_log:
        show_metadata_log(console(), run, names, options.span)
        return
    show_partitions(console(), run, tables)
    show_unreachable(console(), run, names)


def _show_partition(
    run: RunFolder, tables: RunTables, names: Names, name: str, options: StoryOptions
) -> None:
    show_partition(console(), run, tables, names, partition_number(name, names), options)


def _show_broker(
    run: RunFolder,
    tables: RunTables,
    names: Names,
    name: str,
    at_us: int | None,
    options: StoryOptions,
) -> None:
    broker = broker_index(name, names)
    if at_us is None:
        show_broker(console(), run, tables, names, broker, options)
    else:
        show_broker_at(console(), run, tables, names, broker, at_us)


def _show_client(
    run: RunFolder, tables: RunTables, names: Names, name: str, options: StoryOptions
) -> None:
    show_client(console(), run, tables, names, name, options)


def _show_controller(
    run: RunFolder, tables: RunTables, names: Names, at_us: int | None, options: StoryOptions
) -> None:
    if at_us is None:
        show_controller(console(), run, tables, names, options)
    else:
        show_controller_at(console(), run, tables, names, at_us)


def _show_faults(run: RunFolder, tables: RunTables, *, as_json: bool) -> None:
    if as_json:
        print_json(faults_for_programs(run, tables))
    else:
        show_faults(console(), run, tables)


def _show_cause(run: RunFolder, names: Names, handle: str) -> None:
    show_cause(console(), run, names, row_of_handle(handle, run, names))


def _show_control_plane(run: RunFolder, at_us: int | None, *, of_quorum: bool) -> None:
    if run.is_of_logs:
        which = "--quorum: logs do not tell the states of all voters"
        if not of_quorum:
            which = "--zookeeper: logs do not tell ZooKeeper's tree"
        raise TidegaugeError(f"{which}; --controller shows the active controllers")
    (show_quorum if of_quorum else show_zookeeper)(console(), run, at_us)
