"""``tidegauge show`` and ``picture``: the events of a run and their causes, by question."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.commands.loading import opened_run
from tidegauge.commands.view_options import (
    PictureOptions,
    ShowBrokerOptions,
    ShowCauseOptions,
    ShowClientOptions,
    ShowControllerOptions,
    ShowFaultsOptions,
    ShowMetadataLogOptions,
    ShowPartitionOptions,
    ShowPartitionsOptions,
    ShowQuorumOptions,
    ShowZookeeperOptions,
)
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.runs.broker_history import broker_index
from tidegauge.runs.cause_chain import row_of_handle
from tidegauge.runs.result_tables import tables_of
from tidegauge.runs.story import Names
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views import (
    broker_view,
    client_view,
    cluster_picture,
    controller_view,
    fault_view,
    overview,
    partition_picture,
    partition_view,
    quorum_view,
)
from tidegauge.views.output import console, print_json
from tidegauge.views.story_lines import StoryOptions, moment_of, parse_span, print_notes
from tidegauge.views.time_axis import axis_of


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
    options: ShowPartitionOptions | ShowBrokerOptions | ShowClientOptions | ShowControllerOptions,
) -> StoryOptions:
    """The part of a story that is shown; there is none beside a moment."""
    part = (options.begin, options.end, options.details, options.handles)
    is_moment = isinstance(options, ShowBrokerOptions | ShowControllerOptions) and options.at
    if is_moment and part != (None, None, False, False):
        raise TidegaugeError("--at shows one moment: it excludes --from, --to, --all and --handles")
    return StoryOptions(parse_span(options.begin, options.end), options.details, options.handles)


def show_partitions(options: ShowPartitionsOptions) -> None:
    """Perform ``tidegauge show partitions``."""
    opened = _opened(options.run)
    overview.show_partitions(console(), opened.folder, opened.tables)
    overview.show_unreachable(console(), opened.folder, opened.names)


def show_partition(options: ShowPartitionOptions) -> None:
    """Perform ``tidegauge show partition``."""
    story, opened = _story(options), _opened(options.run)
    number = partition_view.partition_number(options.partition, opened.names)
    partition_view.show_partition(console(), *opened, number, story)


def show_broker(options: ShowBrokerOptions) -> None:
    """Perform ``tidegauge show broker``."""
    story, opened = _story(options), _opened(options.run)
    broker, at_us = broker_index(options.broker, opened.names), opened.at_us(options.at)
    if at_us is None:
        broker_view.show_broker(console(), *opened, broker, story)
    else:
        broker_view.show_broker_at(console(), *opened, broker, at_us)


def show_client(options: ShowClientOptions) -> None:
    """Perform ``tidegauge show client``."""
    story = _story(options)
    client_view.show_client(console(), *_opened(options.run), options.client, story)


def show_controller(options: ShowControllerOptions) -> None:
    """Perform ``tidegauge show controller``."""
    story, opened = _story(options), _opened(options.run)
    at_us = opened.at_us(options.at)
    if at_us is None:
        controller_view.show_controller(console(), *opened, story)
    else:
        controller_view.show_controller_at(console(), *opened, at_us)


def show_faults(options: ShowFaultsOptions) -> None:
    """Perform ``tidegauge show faults``."""
    opened = _opened(options.run)
    if options.as_json:
        print_json(fault_view.faults_for_programs(opened.folder, opened.tables))
    else:
        fault_view.show_faults(console(), opened.folder, opened.tables)


def show_cause(options: ShowCauseOptions) -> None:
    """Perform ``tidegauge show cause``."""
    folder, _, names = _opened(options.run)
    overview.show_cause(console(), folder, names, row_of_handle(options.handle, folder, names))


def show_zookeeper(options: ShowZookeeperOptions) -> None:
    """Perform ``tidegauge show zookeeper``."""
    opened = _opened(options.run)
    _check_that_it_is_simulated(opened.folder, "zookeeper: logs do not tell ZooKeeper's tree")
    controller_view.show_zookeeper(console(), opened.folder, opened.at_us(options.at))


def show_quorum(options: ShowQuorumOptions) -> None:
    """Perform ``tidegauge show quorum``."""
    opened = _opened(options.run)
    _check_that_it_is_simulated(opened.folder, "quorum: logs do not tell the states of all voters")
    quorum_view.show_quorum(console(), opened.folder, opened.at_us(options.at))


def _check_that_it_is_simulated(run: RunFolder, why: str) -> None:
    if run.is_of_logs:
        raise TidegaugeError(f"show {why}; show controller has the active controllers")


def show_metadata_log(options: ShowMetadataLogOptions) -> None:
    """Perform ``tidegauge show metadata-log``."""
    span = parse_span(options.begin, options.end)
    folder, _, names = _opened(options.run)
    quorum_view.show_metadata_log(console(), folder, names, span)


def picture(options: PictureOptions) -> None:
    """Perform ``tidegauge picture``."""
    folder = opened_run(options.run, "picture")
    names = Names.of(folder)
    out = console()
    axis = axis_of(folder, out, parse_span(options.begin, options.end))
    number = (
        None
        if options.partition is None
        else partition_view.partition_number(options.partition, names)
    )
    print_notes(folder)
    if number is None:
        cluster_picture.show_cluster(out, folder, tables_of(folder), names, axis)
    else:
        partition_picture.show_partition(out, folder, tables_of(folder), names, number, axis)
