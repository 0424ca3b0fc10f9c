"""``tidegauge generate``: a scenario of a cluster of which there are only numbers."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.layouts.generated_layout import generated_scenario
from tidegauge.layouts.layout import CONTROLLERS, Layout
from tidegauge.layouts.layout_text import layout_text
from tidegauge.options.new_file import check_new_file, time_in_scenario, write_new_file
from tidegauge.replication.release_versions import MODE_NAMES
from tidegauge.scenario.text.counted import counted
from tidegauge.views.working import working

_MODES = ("zookeeper", "kraft")


def generate_scenario(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The scenario to write.")
    ],
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
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
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
