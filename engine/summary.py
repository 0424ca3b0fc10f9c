"""``summary.json``: the figures of a run.

``traces/figures.yaml`` defines the name, unit and meaning of each figure, and
``tidegauge sweep --figures`` lists them. Figures are counted from canonical rows
(``traces/checks/figures.py``), except those that only a process has, as its JMX counters.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegauge.clients.latency_counts import percentile_us
from tidegauge.compiled.records import column
from tidegauge.engine.contract import LoopFigures
from tidegauge.engine.group_states import GroupCounts
from tidegauge.engine.liveness import Liveness
from tidegauge.engine.row_stream import RowStream
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.pins import pin_name
from tidegauge.scenario.model.scenario import ANY_VERDICT
from tidegauge.scenario.model.workload import ProducerGroup
from tidegauge.scenario.named_figures import has_racks
from tidegauge.simulation.rows import COST_NAMES
from tidegauge.traces.checks import CHECKS, LIVENESS
from tidegauge.traces.checks.histories import BY_LOSS_OF_POWER, PERMITS, RowPlace
from tidegauge.traces.quorum_checks.voter_sets import what_stops_quorum
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.summary_figures import FIGURES
from tidegauge.traces.trace_hash import named_hashes, trace_sha256


def summary_of(
    plan: ClusterPlan,
    stream: RowStream,
    loop: LoopFigures,
    counted: Sequence[GroupCounts],
    ended: Sequence[GroupCounts],
    liveness: Liveness | None,
) -> dict[str, Any]:
    """The summary of a run: hashes, checks, counts, and its speed.

    Args:
        plan: the scenario in numbers.
        stream: the stream that has judged and counted all rows.
        loop: the figures of the event loop at the end of the run.
        counted: the counts of the groups at the end of the run.
        ended: their counts at the end of the liveness phase; its hashes are those of the trace.
        liveness: the result of that phase; None: there was none.
    """
    hashes = {process: each for group in ended for process, each in group.hashes.items()}
    virtual_seconds = plan.scenario.duration_us / 1e6
    return {
        "trace_sha256": trace_sha256(hashes),
        "process_hashes": named_hashes(hashes, [each.name for each in plan.processes]),
        "seed": plan.scenario.seed,
        "virtual_seconds": virtual_seconds,
        **loop.part_of_summary(virtual_seconds),
        "checks": verdicts(plan, stream, liveness),
        "liveness": _liveness_part(liveness),
        **figures_of(plan, stream),
        "reassignments": stream.reassignments.figures(),
        "records_lost_by_topic": _lost_by_topic(plan, stream),
        "records_lost_by_partition": _lost_by_partition(plan, stream),
        **counted_by_processes(counted),
        **_of_producers(plan, counted),
        "messages_taken_by_pins": _taken_by_pins(plan, counted),
        "settings_not_modelled": plan.scenario.settings_not_modelled(),
    }


def sometimes_met(plan: ClusterPlan, summary: Mapping[str, Any], folder: Path) -> list[Any]:
    """The expectations of many runs, in the order of the scenario: whether this run meets each.

    Args:
        plan: the scenario in numbers.
        summary: the summary of the run without this part.
        folder: the folder of the run, with its whole trace; it is read if some are about events.
    """

    def partitions_of(kind: str) -> set[int | None]:
        table = RunFolder(folder).table(kind)
        found = table.get("partition", [None] * len(table.get("time_us", ())))
        return set(found.tolist() if isinstance(found, np.ndarray) else found)

    told = []
    for expected in plan.scenario.sometimes:
        named = expected.topic_and_number()
        partition = None if named is None else plan.numbers_of[named[0]][named[1]]
        is_met = expected.is_met(summary, partition, partitions_of)
        told.append({"expected": str(expected), "is_met": is_met})
    return told


def _lost_by_topic(plan: ClusterPlan, stream: RowStream) -> dict[str, int]:
    """The number of acknowledged records that each topic has lost, also if it is 0."""
    counted = column(stream.history.partitions, "records_lost")
    return {
        topic: int(counted[numbers.start : numbers.stop].sum())
        for topic, numbers in plan.numbers_of.items()
    }


def _lost_by_partition(plan: ClusterPlan, stream: RowStream) -> dict[str, int]:
    """The partitions that lost acknowledged records, those with most losses first."""
    lost = column(stream.history.partitions, "records_lost")
    return {
        plan.partitions.name(number): int(lost[number])
        for number in np.argsort(-lost, kind="stable")[: np.count_nonzero(lost)].tolist()
    }


def figures_of(plan: ClusterPlan, stream: RowStream) -> dict[str, Any]:
    """The figures that are counted from rows."""
    count = stream.figures.count[0]
    facts = stream.history.facts[0]
    queued_us = np.sort(
        np.asarray(stream.figures.queued)["value_us"][: int(count.controller_events)]
    )
    return {
        "figures_from_seconds": int(count.from_us) / 1e6,
        **_by_name(plan, stream),
        "records_acknowledged_lost": int(facts.records_lost),
        "records_acknowledged_lost_permitted": int(facts.records_lost_permitted),
        "records_acknowledged_unavailable": int(facts.records_unavailable),
        "partitions_stalled": int(count.writes.partitions),
        "partitions_stalled_most": int(count.writes.most),
        "partition_seconds_stalled": int(count.writes.stalled_us) / 1e6,
        "longest_stall_seconds": int(count.writes.longest_us) / 1e6,
        "partitions_reads_stalled": int(count.reads.partitions),
        "partitions_reads_stalled_most": int(count.reads.most),
        "partition_seconds_reads_stalled": int(count.reads.stalled_us) / 1e6,
        "longest_reads_stall_seconds": int(count.reads.longest_us) / 1e6,
        "most_leaders": _most_leaders(plan, stream),
        "controller_queue_ms": {
            name: nearest_rank(queued_us.tolist(), percent) / 1000
            for name, percent in (("p50", 50), ("p99", 99), ("max", 100))
        },
    }


def _by_name(plan: ClusterPlan, stream: RowStream) -> dict[str, float]:
    """The figures that are fields of the count: by their names, or of seconds ``..._us``."""
    count: Any = stream.figures.count[0]
    found: dict[str, float] = {}
    for figure in FIGURES.values():
        in_seconds = figure.name.removeprefix("partition_seconds_").removesuffix("_seconds")
        if figure.only_with == "racks" and not has_racks(plan.scenario):
            continue
        if figure.name in count.dtype.names:
            found[figure.name] = int(count[figure.name])
        elif f"{in_seconds}_us" in count.dtype.names:
            found[figure.name] = int(count[f"{in_seconds}_us"]) / 1e6
    return found


def _most_leaders(plan: ClusterPlan, stream: RowStream) -> dict[str, int | None]:
    """The most partitions that one broker led, and its id; None if there never was a leader."""
    count = stream.figures.count[0]
    broker = int(count.leaders_most_broker)
    return {
        "partitions": int(count.leaders_most),
        "broker": plan.brokers[broker] if broker >= 0 else None,
    }


def nearest_rank(values: Sequence[float], percent: int) -> float:
    """The smallest of sorted values that this percentage does not exceed; 0 without values."""
    if not values:
        return 0
    return values[-(-percent * len(values) // 100) - 1]


def verdicts(
    plan: ClusterPlan, stream: RowStream, liveness: Liveness | None
) -> dict[str, dict[str, Any]]:
    """The verdict of each check, the expected one, and whether they agree."""
    said = {
        check.name: _verdict(plan, stream, number)
        for number, check in CHECKS.items()
        if plan.scenario.is_judged_by(check)
    }
    if stream.history.facts[0].records_unavailable > 0:
        lost = said["acknowledged_records_lost"]
        lost["verdict"] = lost["verdict"] and "unknown"
    said[LIVENESS.name] = _liveness_verdict(stream, liveness)
    for name, found in said.items():
        declared = plan.scenario.checks.get(name)
        found["expected"] = True if declared is None else declared
        found["as_expected"] = declared in (ANY_VERDICT, found["verdict"])
        if declared is None:
            # A permitted break counts as if the check holds.
            found["as_expected"] = found["verdict"] is not False or found["broken"] == 0
    return said


def _verdict(plan: ClusterPlan, stream: RowStream, number: int) -> dict[str, Any]:
    finding = stream.history.findings[number]
    first = None
    if finding.broken or finding.permitted:
        first = _event(plan, finding.first if finding.broken else finding.first_permitted)
    return {
        "verdict": first is None,
        "broken": int(finding.broken),
        "permitted": int(finding.permitted),
        "permitted_by": PERMITS.get(int(finding.permitted_by)),
        "first_event": first,
    }


def _event(plan: ClusterPlan, place: RowPlace) -> dict[str, Any]:
    """A row by its names, and its handle for ``show cause``."""
    process, partition = int(place.process), int(place.partition)
    return {
        "time_us": int(place.time_us),
        "process": plan.processes[process].name,
        # A promise about the controllers of a quorum is about no partition.
        "partition": plan.partitions.name(partition) if partition >= 0 else None,
        "handle": f"{process}:{int(place.sequence)}",
    }


def _liveness_verdict(stream: RowStream, liveness: Liveness | None) -> dict[str, Any]:
    reached = liveness is None or liveness.reached
    permitted_by = 0
    if liveness is not None and not reached:
        permitted_by = int(what_stops_quorum(stream.history.view))
        if permitted_by == 0 and liveness.partition >= 0:
            # A leader that has lost power and keeps leading in its epoch writes other records.
            lost_power = bool(stream.history.partitions[liveness.partition].lost_power)
            permitted_by = int(BY_LOSS_OF_POWER) if lost_power else 0
    return {
        "verdict": "unknown" if liveness is None else reached,
        "broken": 0 if reached or permitted_by else 1,
        "permitted": 1 if permitted_by else 0,
        "permitted_by": PERMITS.get(permitted_by),
        "first_event": None,
    }


def _liveness_part(liveness: Liveness | None) -> dict[str, Any] | None:
    """The liveness phase; None if there was none."""
    if liveness is None:
        return None
    return {
        "reached": liveness.reached,
        "virtual_seconds": liveness.seconds,
        "bound_seconds": liveness.bound_seconds,
        "reasons": liveness.reasons,
    }


def counted_by_processes(groups: Sequence[GroupCounts]) -> dict[str, Any]:
    """The counts that only processes have, of all groups together."""
    counts: Counter[str] = Counter()
    for group in groups:
        # Not `update`: counts of 0 are kept.
        for name, count in group.counts.items():
            counts[name] += count
    return {**counts, "cost_model": _cost_model(groups)}


def _taken_by_pins(plan: ClusterPlan, groups: Sequence[GroupCounts]) -> dict[str, int]:
    """The number of messages that each pin has held, dropped or duplicated, by its name."""
    taken = np.sum([group.of_pins for group in groups], axis=0)
    pins = plan.scenario.pins
    return {pin_name(pins, place): int(taken[place]) for place in range(len(pins))}


def _of_producers(plan: ClusterPlan, groups: Sequence[GroupCounts]) -> dict[str, dict[str, Any]]:
    """The figures of each group of producers, by its name."""
    members: dict[str, list[int]] = {}
    for number, client in enumerate(plan.clients):
        if isinstance(client.group, ProducerGroup):
            members.setdefault(client.group.name, []).append(number)
    latencies = np.sum([group.latencies for group in groups], axis=0)
    counted = {
        name: np.sum([group.of_clients[name] for group in groups], axis=0)
        for name in groups[0].of_clients
    }
    return {
        "produce_ms": {
            name: _latencies(latencies[clients], counted["longest_us"][clients])
            for name, clients in members.items()
        },
        "records_unsent_by_group": {
            name: int(counted["records_unsent"][clients].sum()) for name, clients in members.items()
        },
        "blocked_seconds": {
            name: int(counted["blocked_us"][clients].sum()) / 1e6
            for name, clients in members.items()
        },
    }


def _latencies(counts: NDArray[np.int64], longest_us: NDArray[np.int64]) -> dict[str, float]:
    """Percentiles of the durations of batches that some clients were offered, in milliseconds."""
    together, longest = counts.sum(axis=0).tolist(), int(longest_us.max())
    return {
        word: percentile_us(together, percent, longest) / 1000
        for word, percent in (("p50", 50), ("p99", 99), ("max", 100))
    }


def _cost_model(groups: Sequence[GroupCounts]) -> dict[str, dict[str, float]]:
    """The parameters of ``costs`` that were used, those with the largest total first."""
    uses = []
    for name in COST_NAMES:
        times = sum(group.costs[name][0] for group in groups)
        total_us = sum(group.costs[name][1] for group in groups)
        if times:
            uses.append((total_us, times, f"costs.{name}"))
    return {
        name: {"times": times, "seconds": total_us / 1e6}
        for total_us, times, name in sorted(uses, reverse=True)
    }
