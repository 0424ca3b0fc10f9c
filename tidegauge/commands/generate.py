"""``tidegauge generate``: a scenario of a cluster of which there are only numbers.

Sizes of topics and rates follow Zipf's law: that of rank r is proportional to 1 / r ** skew. A skew
of 0 makes all equal. With 1 the first is twice the second and ten times the tenth. Shares are whole
numbers, their sum is exact, and none is less than 1. The busy topics are drawn, with chances in
proportion to their sizes, so large topics tend to be busy. A group of producers writes to its
topics round robin over partitions. So one group writes to topics that have about the same rate for
each partition: within a factor of 2.
"""

import math
import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import typer

from tidegauge.commands.loading import check_new_file, time_in_scenario, write_new_file
from tidegauge.commands.scenario_options import GenerateOptions
from tidegauge.commands.shared_options import words_of
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.release_versions import KRAFT_MODE, MODE_NAMES, Release
from tidegauge.scenario.model.replica_placement import JavaRandom
from tidegauge.scenario.reading import ScenarioError, scenario_from_mapping
from tidegauge.scenario.text.errors import counted
from tidegauge.scenario.text.yaml_file import comment, lines_of
from tidegauge.simulation.quantities import format_duration, parse_duration
from tidegauge.views.progress import working

#: The default number of controllers of a KRaft cluster.
CONTROLLERS = 3


_Item = TypeVar("_Item")

_DRAWN = 2**30


def zipf_shares(total: int, ranks: int, skew: float) -> list[int]:
    """A whole number as a sum of shares by Zipf's law, the largest first.

    Ranks whose share would be less than 1 have 1. The others share the rest.
    """
    assert total >= ranks > 0
    weights = [rank**-skew for rank in range(1, ranks + 1)]
    sums = list(accumulate(weights))
    more = ranks
    while more and (total - (ranks - more)) * weights[more - 1] < sums[more - 1]:
        more -= 1
    return _in_proportion(total - (ranks - more), weights[:more]) + [1] * (ranks - more)


def _in_proportion(total: int, weights: Sequence[float]) -> list[int]:
    """Whole shares of these weights; the largest remainders are rounded up."""
    if not weights:
        return []
    whole = math.fsum(weights)
    exact = [total * weight / whole for weight in weights]
    shares = [math.floor(share) for share in exact]
    by_remainder = sorted(range(len(exact)), key=lambda rank: (shares[rank] - exact[rank], rank))
    for rank in by_remainder[: total - sum(shares)]:
        shares[rank] += 1
    return sorted(shares, reverse=True)


def drawn_order(items: Sequence[_Item], weights: Sequence[int], random: JavaRandom) -> list[_Item]:
    """All items in a drawn order: which is next has the chances of the weights that are left.

    Source: Efraimidis and Spirakis, Weighted random sampling with a reservoir, 2006.
    """
    keys = [-math.log((random.below(_DRAWN) + 1) / (_DRAWN + 1)) / weight for weight in weights]
    places = sorted(range(len(items)), key=lambda place: (keys[place], place))
    return [items[place] for place in places]


#: Rates are multiples of a thousandth of a batch per second.
_UNITS = 1000
#: A client of a group for each so many batches per second.
_BATCHES_OF_CLIENT = 1000
#: The rows of samples are at most about so many per second.
_SAMPLED_REPLICAS = 10_000
#: A cluster with ZooKeeper takes half a millisecond for each partition until it is up.
_UP_US, _UP_OF_PARTITION_US = 5_000_000, 600


def generated_scenario(layout: GenerateOptions) -> dict[str, Any]:
    """The scenario as a mapping, its fields in the order in which people read them.

    Raises:
        TidegaugeError: the numbers contradict each other, or make no scenario that can be run.
    """
    _check(layout)
    sizes = zipf_shares(layout.partitions, layout.topics, layout.size_skew)
    digits = len(str(layout.topics))
    names = [f"topic-{number:0{digits}}" for number in range(1, layout.topics + 1)]
    data = {
        "name": layout.name,
        "seed": layout.seed,
        "duration": layout.duration,
        "release": layout.release,
        "mode": layout.mode_in_force,
        "sample_every": f"{math.ceil(_replicas(layout) / _SAMPLED_REPLICAS)}s",
        "cluster": _cluster(layout),
        "controllers": _controllers(layout),
        "topics": [
            {"name": name, "partitions": size} for name, size in zip(names, sizes, strict=True)
        ],
        "workload": _workload(layout, dict(zip(names, sizes, strict=True))),
    }
    data = {name: part for name, part in data.items() if part not in ({}, [])}
    try:
        scenario_from_mapping(data, layout.name)
    except ScenarioError as error:
        raise TidegaugeError(str(error).splitlines()[0]) from error
    return data


def _check(layout: GenerateOptions) -> None:
    """Refuse numbers that contradict each other; all others are limits of scenarios."""
    try:
        Release.parse(layout.release).mode(layout.mode)
    except ValueError as error:
        raise TidegaugeError(f"--release {layout.release}: {error}") from error
    if layout.controllers is not None and layout.mode_in_force != KRAFT_MODE:
        raise TidegaugeError("--controllers: with ZooKeeper the controller is one of the brokers")
    if layout.partitions < layout.topics:
        topics = counted(layout.topics, "topic")
        raise TidegaugeError(f"--partitions {layout.partitions}: {topics} have one each at least")
    if layout.racks > layout.brokers:
        brokers = counted(layout.brokers, "broker")
        raise TidegaugeError(f"--racks {layout.racks}: there are only {brokers} to stand in them")
    if layout.replication_factor > layout.brokers:
        brokers = counted(layout.brokers, "broker")
        factor = layout.replication_factor
        raise TidegaugeError(f"--replication-factor {factor}: there are only {brokers}")
    if layout.least_in_sync > layout.replication_factor:
        least, replicas = layout.least_in_sync, counted(layout.replication_factor, "replica")
        message = f"no write could be acknowledged by {replicas}"
        raise TidegaugeError(f"--min-insync-replicas {least}: {message}")
    busy = layout.topics - layout.idle_topics
    if layout.batches_per_second and round(layout.batches_per_second * _UNITS) < busy:
        message = f"too few for {counted(busy, 'topic')} with producers"
        raise TidegaugeError(f"--batches-per-second {layout.batches_per_second:g}: {message}")


def _replicas(layout: GenerateOptions) -> int:
    return layout.partitions * layout.replication_factor


def _racks(layout: GenerateOptions) -> list[str]:
    return [f"r{number}" for number in range(1, layout.racks + 1)]


def _cluster(layout: GenerateOptions) -> dict[str, Any]:
    return {
        "brokers": layout.brokers,
        "racks": _racks(layout),
        "placement": "drawn",
        "settings": {
            "default.replication.factor": layout.replication_factor,
            "min.insync.replicas": layout.least_in_sync,
        },
    }


def _controllers(layout: GenerateOptions) -> dict[str, Any]:
    if layout.mode_in_force != KRAFT_MODE:
        return {}
    count = CONTROLLERS if layout.controllers is None else layout.controllers
    return {"count": count, "racks": _racks(layout)[:count]}


def _workload(layout: GenerateOptions, sizes: dict[str, int]) -> dict[str, Any]:
    """The clients, which begin once all topics can be there."""
    units = round(layout.batches_per_second * _UNITS)
    if not units:
        return {}
    start = _start(layout)
    names = list(sizes)
    random = JavaRandom.of(layout.seed, "busy topics")
    order = drawn_order(names, list(sizes.values()), random)
    busy = order[: layout.topics - layout.idle_topics]
    rates = dict(zip(busy, zipf_shares(units, len(busy), layout.rate_skew), strict=True))
    producers = [
        {
            "name": f"producers-{number}",
            "clients": _clients(sum(rates[topic] for topic in group)),
            "start": start,
            "batches_per_second": _per_second(sum(rates[topic] for topic in group)),
            "records_per_batch": 50,
            "record_bytes": 200,
            "settings": {"acks": "all"},
            "topics": group,
        }
        for number, group in enumerate(_groups(rates, sizes), start=1)
    ]
    readers = [
        {
            "name": f"consumers-{number}",
            "clients": _clients(units),
            "start": start,
            "topics": sorted(busy),
        }
        for number in range(1, layout.consumer_groups + 1)
    ]
    return {"producers": producers} | ({"consumers": readers} if readers else {})


def _start(layout: GenerateOptions) -> str:
    """The time at which clients begin."""
    after_us = _UP_US + layout.partitions * _UP_OF_PARTITION_US
    start_us = math.ceil(after_us / 1e6) * 1_000_000
    if start_us >= parse_duration(layout.duration):
        raise TidegaugeError(
            f"--duration {layout.duration}: clients of {counted(layout.partitions, 'partition')} "
            f"begin at {format_duration(start_us)}, so it must be more"
        )
    return format_duration(start_us)


def _groups(rates: dict[str, int], sizes: dict[str, int]) -> list[list[str]]:
    """The topics by their rate for each partition, the busiest group first.

    The rates of partitions in one group are within a factor of 2.
    """
    groups = defaultdict(list)
    for topic, rate in rates.items():
        # The bits of the rate of 2**20 partitions: whole numbers, so the same on any machine.
        groups[((rate << 20) // sizes[topic]).bit_length()].append(topic)
    return [sorted(groups[bits]) for bits in sorted(groups, reverse=True)]


def _clients(units: int) -> int:
    return max(1, round(units / _UNITS / _BATCHES_OF_CLIENT))


def _per_second(units: int) -> int | float:
    return units // _UNITS if units % _UNITS == 0 else units / _UNITS


def generate_scenario(options: GenerateOptions) -> None:
    """Perform ``tidegauge generate``."""
    check_new_file(options.out, force=options.force)
    if options.mode not in {None, *MODE_NAMES}:
        raise TidegaugeError(f"--mode {options.mode}: must be one of {', '.join(MODE_NAMES)}")
    layout = options._replace(duration=time_in_scenario("--duration", options.duration))
    with working(f"generating {options.out}"):
        data = generated_scenario(layout)
    named = layout._replace(out=Path(options.out.name))
    command = shlex.join(["tidegauge", "generate", *words_of(named._replace(force=False))])
    write_new_file(options.out, layout_text(layout, data, command))
    _show(layout, data, options.out)


def _show(layout: GenerateOptions, data: dict[str, Any], out: Path) -> None:
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


def layout_text(layout: GenerateOptions, data: dict[str, Any], command: str) -> str:
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


def _assumed(layout: GenerateOptions, data: dict[str, Any]) -> Iterator[str]:
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


def _faults_to_try(layout: GenerateOptions) -> Iterator[str]:
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
