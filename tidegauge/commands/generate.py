"""``tidegauge generate``: a scenario of a cluster of which there are only numbers.

A generated scenario as YAML: the command that made it, what is assumed, faults to try.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from tidegauge.commands import shared_options as options
from tidegauge.commands.generated_layout import CONTROLLERS, Layout, generated_scenario
from tidegauge.commands.loading import check_new_file, time_in_scenario, write_new_file
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.release_versions import KRAFT_MODE, MODE_NAMES
from tidegauge.scenario.text.counted import counted
from tidegauge.scenario.text.written_yaml import comment, lines_of
from tidegauge.simulation.durations import format_duration, parse_duration
from tidegauge.views.progress import working

_MODES = ("zookeeper", "kraft")


def generate_scenario(
    out: options.NewFile,
    brokers: Annotated[int, typer.Option(min=1, help="Number of brokers.")] = Layout.brokers,
    racks: Annotated[
        int, typer.Option(min=1, help="Number of racks, to which brokers are assigned in turn.")
    ] = Layout.racks,
    controllers: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"Controllers of a KRaft cluster: 1, 3 or 5. Default: {CONTROLLERS}."
        ),
    ] = None,
    topics: Annotated[int, typer.Option(min=1, help="Number of topics.")] = Layout.topics,
    partitions: Annotated[
        int, typer.Option(min=1, help="Number of partitions of all topics together.")
    ] = Layout.partitions,
    replication_factor: Annotated[
        int, typer.Option(min=1, help="Replicas of each partition.")
    ] = Layout.replication_factor,
    min_insync_replicas: Annotated[
        int | None,
        typer.Option(
            min=1, help="min.insync.replicas of all topics. Default: one less than the replicas."
        ),
    ] = None,
    size_skew: Annotated[
        float,
        typer.Option(
            min=0,
            max=10,
            help="Exponent of Zipf's law for the partitions of topics; 0: all have the same.",
        ),
    ] = Layout.size_skew,
    rate_skew: Annotated[
        float,
        typer.Option(
            min=0, max=10, help="Exponent of Zipf's law for their rates; 0: all have the same."
        ),
    ] = Layout.rate_skew,
    idle: Annotated[
        float, typer.Option(min=0, max=1, help="Share of topics that have no clients.")
    ] = Layout.idle,
    batches_per_second: Annotated[
        float,
        typer.Option(
            min=0, max=1_000_000, help="Rate of all producers together; 0: there are no clients."
        ),
    ] = Layout.batches_per_second,
    consumer_groups: Annotated[
        int, typer.Option(min=0, help="Groups of consumers that read each topic with producers.")
    ] = Layout.consumer_groups,
    release: Annotated[
        str, typer.Option(metavar="RELEASE", help="Release of Kafka.")
    ] = Layout.release,
    mode: Annotated[
        str | None,
        typer.Option(
            metavar="MODE", help="zookeeper or kraft. Default: zookeeper up to 3.9, kraft from 4.0."
        ),
    ] = None,
    duration: Annotated[
        str, typer.Option(metavar="TIME", help="Duration of the run, in virtual time.")
    ] = Layout.duration,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the layout, and of all random draws of the run.")
    ] = Layout.seed,
    *,
    force: options.Force = False,
) -> None:
    """Make a scenario of a cluster of which there are only numbers.

    Sizes and rates of topics are skewed by Zipf's law: that of rank r is proportional to
    1 / r ** skew. Their sums are those of the options. The replicas go where Kafka puts those of a
    new topic, over racks, with ZooKeeper and with KRaft by its own algorithm. The scenario is YAML
    with the assumptions at its top: add faults to it, and run it. For a cluster that exists,
    `tidegauge import` has its real layout.

    \b
    Examples:
      tidegauge generate -o mine.yaml
      tidegauge generate --brokers 12 --topics 80 --partitions 1500 --release 3.9 -o mine.yaml
      tidegauge generate --brokers 100 --racks 3 --topics 2000 --partitions 200000 \\
          --size-skew 0.7 --rate-skew 1.2 --batches-per-second 20000 --seed 1 -o big.yaml
      tidegauge generate --release 3.9 --mode kraft --batches-per-second 0 -o idle.yaml
    """
    check_new_file(out, force=force)
    layout = Layout(
        name=out.stem,
        brokers=brokers,
        racks=racks,
        controllers=controllers,
        topics=topics,
        partitions=partitions,
        replication_factor=replication_factor,
        min_insync_replicas=min_insync_replicas,
        size_skew=size_skew,
        rate_skew=rate_skew,
        idle=idle,
        batches_per_second=batches_per_second,
        consumer_groups=consumer_groups,
        release=release,
        mode=_mode_of(mode),
        duration=time_in_scenario("--duration", duration),
        seed=seed,
    )
    with working(f"generating {out}"):
        data = generated_scenario(layout)
    command = shlex.join(["tidegauge", "generate", *layout.options(), "-o", out.name])
    write_new_file(out, layout_text(layout, data, command))
    _show(layout, data, out)


def _mode_of(mode: str | None) -> Any:
    if mode is not None and mode not in _MODES:
        raise TidegaugeError(f"--mode {mode}: must be one of {', '.join(_MODES)}")
    return mode


def _show(layout: Layout, data: dict[str, Any], out: Path) -> None:
    """Print the generated cluster, and the next commands."""
    sizes = [topic["partitions"] for topic in data["topics"]]
    kind = MODE_NAMES[layout.mode_in_force]
    typer.echo(
        f"{layout.name}: Kafka {layout.release} with {kind}, {layout.duration} of virtual time"
    )
    typer.echo(f"brokers: {layout.brokers} in {counted(layout.racks, 'rack')}")
    typer.echo(
        f"topics: {layout.topics:,}; partitions: {layout.partitions:,} of "
        f"{counted(layout.replication_factor, 'replica')}, {sizes[-1]:,} to {sizes[0]:,} a topic"
    )
    for group in data.get("workload", {}).get("producers", []):
        typer.echo(
            f"  {group['name']}: {group['batches_per_second']:g} batches/s to "
            f"{counted(len(group['topics']), 'topic')}"
        )
    scenario = shlex.quote(str(out))
    typer.echo(f"Next: tidegauge validate {scenario}")
    typer.echo(f"      tidegauge run {scenario} --out DIR")


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
