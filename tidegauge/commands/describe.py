"""``tidegauge describe``: the cluster at a moment of a run, as ``kafka-topics.sh`` prints it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import typer

from tidegauge.commands.loading import opened_run
from tidegauge.commands.view_options import DescribeOptions
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


def describe_cluster(options: DescribeOptions) -> None:
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

    folder = opened_run(options.run, "describe")
    print_notes(folder)
    at_us = None if options.at is None else moment_of(folder, options.at)
    if options.log_dirs:
        typer.echo("\n".join(log_dirs_lines(folder, at_us)))
        return
    topics = describe_topics(folder, tables_of(folder), at_us)
    if options.topic is not None:
        topics = [each for each in topics if each.topic == options.topic]
        if not topics:
            when = "then" if options.at else "at the end"
            raise TidegaugeError(f"--topic {options.topic}: there is no such topic {when}")
    wanted = _WANTED[chosen[0]] if chosen else None
    if options.as_json:
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
