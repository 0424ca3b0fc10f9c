"""``tidegauge show``, ``picture`` and ``describe``: the events of a run, its states, and causes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from tidegauge.commands import view_options
from tidegauge.commands.loading import opened_run
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.runs.brokers import broker_index, log_dirs_lines
from tidegauge.runs.causes import event_of_handle
from tidegauge.runs.histories import PartitionState
from tidegauge.runs.partitions import (
    TopicDescription,
    describe_topics,
    partition_line,
    partition_number,
    topic_lines,
)
from tidegauge.runs.run import Run
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


def _opened(run: Path) -> Run:
    opened = opened_run(run, "show partitions")
    print_notes(opened)
    return opened


def _at_us(run: Run, at: str | None) -> int | None:
    return None if at is None else moment_of(run, at)


def _story(
    options: view_options.ShowPartitionOptions
    | view_options.ShowBrokerOptions
    | view_options.ShowClientOptions
    | view_options.ShowControllerOptions,
) -> StoryOptions:
    """The part of a story that is shown; there is none beside a moment."""
    part = (options.begin, options.end, options.details, options.handles)
    is_moment = (
        isinstance(options, view_options.ShowBrokerOptions | view_options.ShowControllerOptions)
        and options.at
    )
    if is_moment and part != (None, None, False, False):
        raise TidegaugeError("--at shows one moment: it excludes --from, --to, --all and --handles")
    return StoryOptions(parse_span(options.begin, options.end), options.details, options.handles)


def show_partitions(options: view_options.ShowPartitionsOptions) -> None:
    """Perform ``tidegauge show partitions``."""
    run = _opened(options.run)
    if options.as_json:
        print_json(overview.partitions_for_programs(run))
        return
    overview.show_partitions(console(), run)
    overview.show_unreachable(console(), run)


def show_partition(options: view_options.ShowPartitionOptions) -> None:
    """Perform ``tidegauge show partition``."""
    run, story = _opened(options.run), _story(options)
    name = overview.worst_partition(run) if options.partition is None else options.partition
    number = partition_number(name, run.names)
    if options.partition is None:
        several = len(run.names.partitions) > 1
        which = "the worst, the first one of show partitions" if several else "the only partition"
        typer.echo(f"note: {name} is {which}", err=True)
    if options.as_json:
        print_json(partition_view.partition_for_programs(run, number, story))
    else:
        partition_view.show_partition(console(), run, number, story)


def show_broker(options: view_options.ShowBrokerOptions) -> None:
    """Perform ``tidegauge show broker``."""
    run, story = _opened(options.run), _story(options)
    broker, at_us = broker_index(options.broker, run.names), _at_us(run, options.at)
    if options.as_json:
        print_json(broker_view.broker_for_programs(run, broker, story, at_us))
    elif at_us is None:
        broker_view.show_broker(console(), run, broker, story)
    else:
        broker_view.show_broker_at(console(), run, broker, at_us)


def show_client(options: view_options.ShowClientOptions) -> None:
    """Perform ``tidegauge show client``."""
    run, story = _opened(options.run), _story(options)
    if options.as_json:
        print_json(client_view.client_for_programs(run, options.client, story))
    else:
        client_view.show_client(console(), run, options.client, story)


def show_controller(options: view_options.ShowControllerOptions) -> None:
    """Perform ``tidegauge show controller``."""
    run, story = _opened(options.run), _story(options)
    at_us = _at_us(run, options.at)
    if options.as_json:
        print_json(controller_view.controller_for_programs(run, story, at_us))
    elif at_us is None:
        controller_view.show_controller(console(), run, story)
    else:
        controller_view.show_controller_at(console(), run, at_us)


def show_faults(options: view_options.ShowFaultsOptions) -> None:
    """Perform ``tidegauge show faults``."""
    run = _opened(options.run)
    if options.as_json:
        print_json(fault_view.faults_for_programs(run, run.tables))
    else:
        fault_view.show_faults(console(), run, run.tables)


def show_cause(options: view_options.ShowCauseOptions) -> None:
    """Perform ``tidegauge show cause``."""
    run = _opened(options.run)
    event = event_of_handle(options.handle, run)
    if options.as_json:
        print_json(overview.cause_for_programs(run, event))
    else:
        overview.show_cause(console(), run, event)


def show_zookeeper(options: view_options.ShowZookeeperOptions) -> None:
    """Perform ``tidegauge show zookeeper``."""
    run = _opened_simulated(options.run, "zookeeper: logs do not have ZooKeeper's tree")
    at_us = _at_us(run, options.at)
    if options.as_json:
        print_json(controller_view.zookeeper_for_programs(run, at_us))
    else:
        controller_view.show_zookeeper(console(), run, at_us)


def show_quorum(options: view_options.ShowQuorumOptions) -> None:
    """Perform ``tidegauge show quorum``."""
    run = _opened_simulated(options.run, "quorum: logs do not have the states of all voters")
    at_us = _at_us(run, options.at)
    if options.as_json:
        print_json(quorum_view.quorum_for_programs(run, at_us))
    else:
        quorum_view.show_quorum(console(), run, at_us)


def _opened_simulated(run: Path, why: str) -> Run:
    opened = opened_run(run, "show partitions")
    if opened.is_of_logs:
        raise TidegaugeError(f"show {why}; show controller has the active controllers")
    print_notes(opened)
    return opened


def show_metadata_log(options: view_options.ShowMetadataLogOptions) -> None:
    """Perform ``tidegauge show metadata-log``."""
    run, span = _opened(options.run), parse_span(options.begin, options.end)
    if options.as_json:
        print_json(quorum_view.metadata_log_for_programs(run, span))
    else:
        quorum_view.show_metadata_log(console(), run, span)


def picture(options: view_options.PictureOptions) -> None:
    """Perform ``tidegauge picture``."""
    run = opened_run(options.run, "picture")
    out = console()
    axis = axis_of(run, out, parse_span(options.begin, options.end))
    number = None if options.partition is None else partition_number(options.partition, run.names)
    print_notes(run)
    if options.as_json and number is None:
        print_json(cluster_picture.cluster_for_programs(run.tables, run.names, axis))
    elif options.as_json and number is not None:
        print_json(partition_picture.partition_for_programs(run, number, axis))
    elif number is None:
        cluster_picture.show_cluster(out, run, run.tables, run.names, axis)
    else:
        partition_picture.show_partition(out, run, number, axis)


def describe_cluster(options: view_options.DescribeOptions) -> None:
    """Perform ``tidegauge describe``."""
    chosen = [
        name
        for name, wanted in (
            ("--under-replicated-partitions", options.under_replicated),
            ("--unavailable-partitions", options.unavailable),
            ("--under-min-isr-partitions", options.under_min_isr),
            ("--log-dirs", options.log_dirs),
        )
        if wanted
    ]
    if len(chosen) > 1:
        raise TidegaugeError(f"{chosen[0]} and {chosen[1]} exclude each other")

    if options.log_dirs and (options.topic is not None or options.as_json):
        raise TidegaugeError("--log-dirs prints all topics as JSON: leave out --topic and --json")

    run = opened_run(options.run, "describe")
    print_notes(run)
    at_us = _at_us(run, options.at)
    if options.log_dirs:
        typer.echo("\n".join(log_dirs_lines(run, at_us)))
        return
    topics = describe_topics(run, at_us)
    if options.topic is not None:
        topics = [each for each in topics if each.topic == options.topic]
        if not topics:
            when = "then" if options.at else "at the end"
            raise TidegaugeError(f"--topic {options.topic}: there is no such topic {when}")
    wanted = _WANTED[chosen[0]] if chosen else None
    if options.as_json:
        _print_json(topics, wanted, with_quorum=bool(run.directory.controllers))
    else:
        _print_lines(topics, wanted, run.manifest["scenario"]["release"])


_WANTED: dict[str, Callable[[PartitionState], bool]] = {
    "--under-replicated-partitions": lambda partition: partition.is_under_replicated,
    "--unavailable-partitions": lambda partition: partition.is_unavailable,
    "--under-min-isr-partitions": lambda partition: partition.is_under_min_isr,
}


def _print_lines(
    topics: list[TopicDescription],
    wanted: Callable[[PartitionState], bool] | None,
    release: str,
) -> None:
    if wanted is None:
        lines = list(topic_lines(topics, release))
    else:
        found = [each for topic in topics for each in topic.partitions if wanted(each)]
        lines = [partition_line(partition, release) for partition in found]
    if lines:
        typer.echo("\n".join(lines))


def _eligible(partition: PartitionState, *, with_quorum: bool) -> dict[str, Any]:
    """The fields that only a partition of a KRaft cluster has."""
    if not with_quorum:
        return {}
    return {
        "eligible_leaders": list(partition.eligible_leaders),
        "last_known_leader": partition.last_known_leader,
    }


def _print_json(
    topics: list[TopicDescription],
    wanted: Callable[[PartitionState], bool] | None,
    *,
    with_quorum: bool,
) -> None:
    said = [
        {
            "topic": topic.topic,
            "settings": dict(topic.settings),
            "partitions": [
                {
                    "partition": each.number,
                    "leader": each.leader,
                    "replicas": list(each.replicas),
                    "isr": list(each.isr),
                    "adding": list(each.adding),
                    "removing": list(each.removing),
                    **_eligible(each, with_quorum=with_quorum),
                }
                for each in topic.partitions
                if wanted is None or wanted(each)
            ],
        }
        for topic in topics
    ]
    typer.echo(json.dumps(said, indent=2))
