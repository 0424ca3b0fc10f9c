"""``tidegauge show``: the events of a run and their causes; a command for each question."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.commands.loading import opened_run
from tidegauge.commands.shared_options import At, From, RunPath, To, plain_typer
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.runs.broker_history import broker_index
from tidegauge.runs.cause_chain import row_of_handle
from tidegauge.runs.result_tables import tables_of
from tidegauge.runs.story import Names
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views import (
    broker_view,
    client_view,
    controller_view,
    fault_view,
    overview,
    partition_view,
    quorum_view,
)
from tidegauge.views.output import console, print_json
from tidegauge.views.story_lines import StoryOptions, moment_of, parse_span, print_notes

Details = Annotated[
    bool,
    typer.Option(
        "--all", help="Print each row by itself, with samples, and with requests if recorded."
    ),
]
Handles = Annotated[
    bool,
    typer.Option("--handles", help="Print in each line its handle, for `tidegauge show cause`."),
]

show = plain_typer(
    no_args_is_help=True,
    add_completion=False,
    help="""Explain what happened in a run, and why.

    Times are virtual, since the beginning of the run: 10s, 12.345s, 4m.

    \b
    Examples:
      tidegauge show partitions runs/rack-outage
      tidegauge show partition runs/rack-outage orders-0
      tidegauge show faults runs/rack-outage
    """,
)


class _Opened(NamedTuple):
    """A run with its result tables and the names of its processes."""

    folder: RunFolder
    tables: RunTables
    names: Names

    def at_us(self, at: str | None) -> int | None:
        return None if at is None else moment_of(self.folder, at)


def _opened(run: Path) -> _Opened:
    folder = opened_run(run, "show partitions")
    print_notes(folder)
    return _Opened(folder, tables_of(folder), Names.of(folder))


def _story(
    begin: str | None, end: str | None, *, details: bool, handles: bool, at: str | None = None
) -> StoryOptions:
    """The part of a story that is shown; without one if there is a moment to show."""
    if at is not None and (begin, end, details, handles) != (None, None, False, False):
        raise TidegaugeError("--at shows one moment: it excludes --from, --to, --all and --handles")
    return StoryOptions(parse_span(begin, end), details, handles)


@show.command("partitions")
def show_partitions(run: RunPath) -> None:
    """List the partitions that are worth a look: those with losses first.

    \b
    Examples:
      tidegauge show partitions runs/rack-outage
    """
    opened = _opened(run)
    overview.show_partitions(console(), opened.folder, opened.tables)
    overview.show_unreachable(console(), opened.folder, opened.names)


@show.command("partition")
def show_partition(
    run: RunPath,
    partition: Annotated[str, typer.Argument(metavar="TOPIC-PARTITION", help="The partition.")],
    begin: From = None,
    end: To = None,
    *,
    details: Details = False,
    handles: Handles = False,
) -> None:
    """Print the story of a partition: leaders, ISR changes, truncations, and their causes.

    \b
    Examples:
      tidegauge show partition runs/rack-outage orders-0
      tidegauge show partition runs/rack-outage orders-0 --from 10s --to 20s --all
    """
    options = _story(begin, end, details=details, handles=handles)
    opened = _opened(run)
    number = partition_view.partition_number(partition, opened.names)
    partition_view.show_partition(console(), *opened, number, options)


@show.command("broker")
def show_broker(
    run: RunPath,
    broker: Annotated[str, typer.Argument(metavar="ID", help="The broker.")],
    at: At = None,
    begin: From = None,
    end: To = None,
    *,
    details: Details = False,
    handles: Handles = False,
) -> None:
    """Print the story of a broker: its sessions, roles, ISR changes, refusals and faults.

    \b
    Examples:
      tidegauge show broker runs/rack-outage 3
      tidegauge show broker runs/rack-outage 3 --at 12s
                                 its roles and log ends at that time
      tidegauge show broker runs/rack-outage 3 --handles
    """
    options = _story(begin, end, details=details, handles=handles, at=at)
    opened = _opened(run)
    index, at_us = broker_index(broker, opened.names), opened.at_us(at)
    if at_us is None:
        broker_view.show_broker(console(), *opened, index, options)
    else:
        broker_view.show_broker_at(console(), *opened, index, at_us)


@show.command("client")
def show_client(
    run: RunPath,
    client: Annotated[
        str, typer.Argument(metavar="NAME", help="The client, or the group of clients.")
    ],
    begin: From = None,
    end: To = None,
    *,
    details: Details = False,
    handles: Handles = False,
) -> None:
    """Print the story of a client: its records, its errors, and when it was stalled.

    \b
    Examples:
      tidegauge show client runs/rack-outage shop
    """
    options = _story(begin, end, details=details, handles=handles)
    client_view.show_client(console(), *_opened(run), client, options)


@show.command("controller")
def show_controller(
    run: RunPath,
    at: At = None,
    begin: From = None,
    end: To = None,
    *,
    details: Details = False,
    handles: Handles = False,
) -> None:
    """Print the controllers, the waiting times of their events, and their decisions.

    \b
    Examples:
      tidegauge show controller runs/rack-outage
      tidegauge show controller runs/rack-outage --at 12s
                                 the controller, its live brokers, leaderless partitions
    """
    options = _story(begin, end, details=details, handles=handles, at=at)
    opened = _opened(run)
    at_us = opened.at_us(at)
    if at_us is None:
        controller_view.show_controller(console(), *opened, options)
    else:
        controller_view.show_controller_at(console(), *opened, at_us)


@show.command("faults")
def show_faults(
    run: RunPath,
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, for other programs.")
    ] = False,
) -> None:
    """Print the cost of each fault: time until a new leader, work, outages.

    \b
    Examples:
      tidegauge show faults runs/rack-outage
      tidegauge show faults runs/rack-outage --json
    """
    opened = _opened(run)
    if as_json:
        print_json(fault_view.faults_for_programs(opened.folder, opened.tables))
    else:
        fault_view.show_faults(console(), opened.folder, opened.tables)


@show.command("cause")
def show_cause(
    run: RunPath,
    handle: Annotated[
        str,
        typer.Argument(
            metavar="PROCESS:SEQUENCE", help="The row; --handles prints this in lines of stories."
        ),
    ],
) -> None:
    """Print the chain of triggers of one row, back to the first fault.

    \b
    Examples:
      tidegauge show cause runs/rack-outage 2:17
    """
    folder, _, names = _opened(run)
    overview.show_cause(console(), folder, names, row_of_handle(handle, folder, names))


@show.command("zookeeper")
def show_zookeeper(run: RunPath, at: At = None) -> None:
    """List the znodes of ZooKeeper.

    \b
    Examples:
      tidegauge show zookeeper runs/rack-outage --at 12s
    """
    opened = _opened(run)
    _check_that_it_is_simulated(opened.folder, "zookeeper: logs do not tell ZooKeeper's tree")
    controller_view.show_zookeeper(console(), opened.folder, opened.at_us(at))


@show.command("quorum")
def show_quorum(run: RunPath, at: At = None) -> None:
    """Print the KRaft quorum: its leader, and how much of its log each node has.

    \b
    Examples:
      tidegauge show quorum runs/kraft-outage --at 12s
    """
    opened = _opened(run)
    _check_that_it_is_simulated(opened.folder, "quorum: logs do not tell the states of all voters")
    quorum_view.show_quorum(console(), opened.folder, opened.at_us(at))


def _check_that_it_is_simulated(run: RunFolder, why: str) -> None:
    if run.is_of_logs:
        raise TidegaugeError(f"show {why}; show controller has the active controllers")


@show.command("metadata-log")
def show_metadata_log(run: RunPath, begin: From = None, end: To = None) -> None:
    """List the committed records of the metadata log of KRaft.

    \b
    Examples:
      tidegauge show metadata-log runs/kraft-outage --from 10s --to 20s
    """
    span = parse_span(begin, end)
    folder, _, names = _opened(run)
    quorum_view.show_metadata_log(console(), folder, names, span)
