"""A generated scenario as YAML: the command that made it, what is assumed, faults to try."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidegauge.layouts.layout import Layout
from tidegauge.replication.release_versions import KRAFT_MODE
from tidegauge.scenario.text.errors import counted
from tidegauge.scenario.text.yaml_file import comment, lines_of
from tidegauge.simulation.quantities import format_duration, parse_duration

#: Parts that have a place of their own.
_APART = {"cluster", "controllers", "topics", "workload"}


def layout_text(layout: Layout, data: dict[str, Any], command: str) -> str:
    """The whole file."""
    lines = [*comment(f"Made by `{command}`.", "  "), "#", "# Assumed:"]
    for text in _assumed(layout, data):
        lines += comment(f"- {text}", "  ")
    lines.append("")
    for name, part in data.items():
        lines += [""] if name in _APART else []
        lines += lines_of({name: part})
    lines += _faults_to_try(layout)
    return "\n".join(lines) + "\n"


def _assumed(layout: Layout, data: dict[str, Any]) -> Iterator[str]:
    sizes = [topic["partitions"] for topic in data["topics"]]
    yield (
        f"partitions: by Zipf's law, --size-skew {layout.size_skew:g}: the largest topic has "
        f"{sizes[0]:,} of {layout.partitions:,}, the middle one {sizes[len(sizes) // 2]:,}, the "
        f"smallest {sizes[-1]:,}"
    )
    placed = (
        "StripedReplicaPlacer of a KRaft controller"
        if layout.mode_in_force == KRAFT_MODE
        else "AdminUtils, a round robin over racks from a drawn broker on"
    )
    yield (
        f"replicas: where Kafka puts those of a new topic ({placed}), drawn from the seed; a "
        "cluster that has lived, with brokers added and topics moved, is less even"
    )
    if "workload" not in data:
        yield "clients: none"
        return
    yield (
        f"rates: by Zipf's law, --rate-skew {layout.rate_skew:g}; which topics are busy is drawn "
        f"with the chances of their sizes; {layout.idle_topics:,} of "
        f"{counted(layout.topics, 'topic')} have no clients"
    )
    yield (
        "producers: one group for topics whose partitions have about the same rate (within a "
        "factor of 2), as a group shares its rate among all its partitions; batches of 50 records "
        "of 200 bytes; one client for 1,000 batches a second"
    )
    if layout.consumer_groups:
        yield "consumers: each group reads every topic that has producers, and commits no offsets"
    yield (
        f"start: clients begin at {data['workload']['producers'][0]['start']}, once the topics "
        "exist in either mode"
    )


def _faults_to_try(layout: Layout) -> Iterator[str]:
    """Example faults, commented out."""
    at = format_duration(parse_duration(layout.duration) // 2)
    yield ""
    yield "# Faults: none yet. Remove the # before `faults` and before the faults to add."
    yield "#faults:"
    yield f"#  - {{kind: crash, at: {at}, for: 1m, brokers: [1]}}"
    if layout.mode_in_force == KRAFT_MODE:
        yield f"#  - {{kind: crash, at: {at}, for: 1m, brokers: [controller:0]}}"
    if layout.racks > 1:
        yield f'#  - {{kind: power_loss, at: {at}, for: 1m, brokers: ["rack:r2"]}}'
