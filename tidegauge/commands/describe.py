"""``tidegauge describe``: the cluster at a moment of a run, as ``kafka-topics.sh`` prints it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer

from tidegauge.commands import shared_options as options
from tidegauge.commands.loading import opened_run
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.runs.log_dirs_description import log_dirs_lines
from tidegauge.runs.result_tables import tables_of
from tidegauge.runs.topic_description import (
    PartitionDescription,
    TopicDescription,
    describe_topics,
    partition_line,
    topic_lines,
)
from tidegauge.views.story_lines import moment_of, print_notes


def describe_cluster(
    run: options.RunPath,
    *,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Virtual time: 0s, 12.345s, 4m. Default: the end, after all faults.",
        ),
    ] = None,
    topic: Annotated[str | None, typer.Option(help="Print this topic only.")] = None,
    under_replicated: Annotated[
        bool,
        typer.Option(
            "--under-replicated-partitions", help="Only partitions with a replica out of the ISR."
        ),
    ] = False,
    unavailable: Annotated[
        bool,
        typer.Option(
            "--unavailable-partitions", help="Only partitions without an available leader."
        ),
    ] = False,
    under_min_isr: Annotated[
        bool,
        typer.Option(
            "--under-min-isr-partitions",
            help="Only partitions with an ISR below min.insync.replicas, or without a leader.",
        ),
    ] = False,
    log_dirs: Annotated[
        bool,
        typer.Option(
            "--log-dirs", help="Print the sizes of logs, as kafka-log-dirs.sh --describe does."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the topics as JSON.")] = False,
) -> None:
    """Print topics and partitions at a moment of a run, as kafka-topics.sh --describe does.

    The layout is that of the scenario's release. Compare it with the output of a real cluster's
    tool, or import it with `tidegauge import`. The data are those of ZooKeeper, or of a quorum of
    controllers: a leader that has died is listed until its session expires.

    \b
    Examples:
      tidegauge describe runs/rack-outage
      tidegauge describe runs/rack-outage --at 4m --under-replicated-partitions
      tidegauge describe runs/rack-outage --at 30s --topic orders > orders.txt
      tidegauge describe runs/rack-outage --at 30s --json
      tidegauge describe runs/rack-outage --at 30s --log-dirs > log-dirs.txt
    """
    chosen = [
        name
        for name, wanted in (
            ("--under-replicated-partitions", under_replicated),
            ("--unavailable-partitions", unavailable),
            ("--under-min-isr-partitions", under_min_isr),
            ("--log-dirs", log_dirs),
        )
        if wanted
    ]
    if len(chosen) > 1:
        raise TidegaugeError(f"{chosen[0]} and {chosen[1]} exclude each other")

    if log_dirs and (topic is not None or as_json):
        raise TidegaugeError("--log-dirs prints all topics as JSON: leave out --topic and --json")

    folder = opened_run(run, "describe")
    print_notes(folder)
    at_us = None if at is None else moment_of(folder, at)
    if log_dirs:
        typer.echo("\n".join(log_dirs_lines(folder, at_us)))
        return
    topics = describe_topics(folder, tables_of(folder), at_us)
    if topic is not None:
        topics = [each for each in topics if each.topic == topic]
        if not topics:
            raise TidegaugeError(
                f"--topic {topic}: there is no such topic {'then' if at else 'at the end'}"
            )
    wanted = _WANTED[chosen[0]] if chosen else None
    if as_json:
        _print_json(topics, wanted, with_quorum=bool(folder.directory.controllers))
    else:
        _print_lines(topics, wanted, folder.manifest["scenario"]["release"])


_WANTED: dict[str, Callable[[PartitionDescription], bool]] = {
    "--under-replicated-partitions": lambda partition: partition.is_under_replicated,
    "--unavailable-partitions": lambda partition: partition.is_unavailable,
    "--under-min-isr-partitions": lambda partition: partition.is_under_min_isr,
}


def _print_lines(
    topics: list[TopicDescription],
    wanted: Callable[[PartitionDescription], bool] | None,
    release: str,
) -> None:
    if wanted is None:
        lines = list(topic_lines(topics, release))
    else:
        found = [each for topic in topics for each in topic.partitions if wanted(each)]
        lines = [partition_line(partition, release) for partition in found]
    if lines:
        typer.echo("\n".join(lines))


def _eligible(partition: PartitionDescription, *, with_quorum: bool) -> dict[str, Any]:
    """The fields that only a partition of a KRaft cluster has."""
    if not with_quorum:
        return {}
    return {
        "eligible_leaders": list(partition.eligible_leaders),
        "last_known_leader": partition.last_known_leader,
    }


def _print_json(
    topics: list[TopicDescription],
    wanted: Callable[[PartitionDescription], bool] | None,
    *,
    with_quorum: bool,
) -> None:
    said = [
        {
            "topic": topic.topic,
            "settings": dict(topic.settings),
            "partitions": [
                {
                    "partition": each.partition,
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
