"""Running a scenario inline: all its processes in this interpreter, as one group or several.

:func:`simulate` is the whole run in one call: manifest, windows, trace, summary. Several
groups exchange frames as they would between actors, so that the contract (the same hash,
however the processes are grouped) is tested without Ray.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tidegauge import __version__
from tidegauge.group import Group, Progress, RowSink
from tidegauge.run_folder import FORMAT, MANIFEST, SUMMARY, TRACE, RunFolder, write_json_atomically
from tidegauge.simulation.cluster_plan import ClusterPlan
from tidegauge.simulation.kernel import CLIENT, CONTROLLER, ZOOKEEPER
from tidegauge.simulation.links import NETWORK_TABLES, RETRANSMISSION_AFTER_CUT
from tidegauge.simulation.random_streams import QUANTILES
from tidegauge.simulation.row_kinds import SCHEMA_VERSION
from tidegauge.simulation.scenario import Scenario
from tidegauge.simulation.trace_file import TraceWriter
from tidegauge.simulation.trace_hash import trace_sha256

_ROLES = {int(CONTROLLER): "controller", int(ZOOKEEPER): "zookeeper", int(CLIENT): "client"}


class LoopFigures(NamedTuple):
    """What the event loop has done."""

    events: int
    #: Wall time of the loop, without tables being made and files being closed.
    seconds: float
    windows: int


def simulate(
    scenario: Scenario,
    folder: Path,
    *,
    grouping: Sequence[Sequence[int]] | None = None,
    progress: Progress | None = None,
) -> RunFolder:
    """Run a scenario into ``folder``, which must not hold a run yet; the run, to be read.

    ``grouping`` lists the processes of each group; by default one group has them all.

    Raises:
        FileExistsError: there is something in the folder.
    """
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder}: is not empty, and a run never overwrites another")
    plan = ClusterPlan(scenario)
    (folder / TRACE).mkdir(parents=True, exist_ok=True)
    write_json_atomically(folder / MANIFEST, manifest_of(plan))
    groups = [Group(plan, hosted, folder) for hosted in grouping or [range(len(plan.processes))]]
    writers = [
        TraceWriter(folder / TRACE / f"group-{number}.msgpack") for number in range(len(groups))
    ]
    try:
        figures = run_groups(
            plan, groups, [writer.write for writer in writers], scenario.duration_us, progress
        )
        for group, writer in zip(groups, writers, strict=True):
            group.close(scenario.duration_us, writer.write)
    finally:
        for writer in writers:
            writer.close()
    write_json_atomically(folder / SUMMARY, summary_of(plan, groups, figures))
    return RunFolder(folder)


def run_groups(
    plan: ClusterPlan,
    groups: Sequence[Group],
    sinks: Sequence[RowSink],
    end_us: int,
    progress: Progress | None = None,
) -> LoopFigures:
    """Run groups to ``end_us``, window by window.

    A group may go as far as the earliest event of all plus the shortest latency between two
    groups: nothing that it has not been told of can happen to it before.
    """
    started = time.perf_counter()
    windows = 0
    if len(groups) == 1:
        groups[0].run(end_us, sinks[0], progress)
        windows = 1
    else:
        owners = [-1] * len(plan.processes)
        for number, group in enumerate(groups):
            for process in group.hosted:
                owners[process] = number
        lookahead_us = lookahead_of(groups[0])
        next_us = min((due for group in groups if (due := group.next_event_us()) >= 0), default=-1)
        while 0 <= next_us < end_us:
            horizon_us = min(next_us + lookahead_us, end_us)
            for group, sink in zip(groups, sinks, strict=True):
                group.run(horizon_us, sink)
            exchange(groups, owners, windows)
            windows += 1
            if progress is not None:
                progress(horizon_us)
            next_us = min(
                (due for group in groups if (due := group.next_event_us()) >= 0), default=-1
            )
    events = sum(int(group.kernel.context[0].handled) for group in groups)
    return LoopFigures(events, time.perf_counter() - started, windows)


def exchange(groups: Sequence[Group], owners: list[int], window: int) -> None:
    """Let every group have the frames of all others."""
    numbers = range(len(groups))
    frames = [
        group.frames(owners, [other for other in numbers if other != number], window)
        for number, group in enumerate(groups)
    ]
    for number, group in enumerate(groups):
        for other in numbers:
            if other != number:
                group.take_frame(frames[other][number])


def lookahead_of(group: Group) -> int:
    """The shortest latency that a message between two processes can have."""
    quantiles = group.kernel.quantiles
    return min(
        int(quantiles[table * int(QUANTILES)].value_us)
        for table in range(int(NETWORK_TABLES))
        if table != RETRANSMISSION_AFTER_CUT
    )


def manifest_of(plan: ClusterPlan) -> dict[str, Any]:
    """What is known before the run: the resolved scenario, and what its numbers stand for."""
    scenario = plan.scenario
    return {
        "format": FORMAT,
        "tidegauge": __version__,
        "schema_version": SCHEMA_VERSION,
        "scenario": scenario.resolved(),
        "seed": scenario.seed,
        "trace": scenario.trace,
        "processes": [
            {"process": number, "name": each.name, "role": _ROLES.get(each.role, "broker")}
            for number, each in enumerate(plan.processes)
        ],
        "brokers": list(plan.brokers),
        "partitions": [
            {
                "topic": partition.topic,
                "partition": partition.number,
                "replicas": [plan.brokers[broker] for broker in partition.replicas],
                "slots": [plan.brokers[broker] for broker in partition.slots],
            }
            for partition in plan.partitions
        ],
        "faults": [
            {
                "name": fault.name or f"{fault.kind}-{number + 1}",
                "kind": fault.kind,
                "text": _fault_text(fault),
            }
            for number, fault in enumerate(scenario.faults)
        ],
    }


def _fault_text(fault: Any) -> str:
    """A fault in a few words: what it hits."""
    if hasattr(fault, "between"):
        arrow = "->" if fault.one_way else "<->"
        one, other = (",".join(str(end) for end in ends) for ends in fault.between)
        return f"{fault.kind} {one} {arrow} {other}"
    if hasattr(fault, "brokers"):
        return f"{fault.kind} of {','.join(str(broker) for broker in fault.brokers)}"
    return str(fault.kind)


def summary_of(plan: ClusterPlan, groups: Sequence[Group], figures: LoopFigures) -> dict[str, Any]:
    """What came of the run: hashes, counts, and how fast it was."""
    hashes: dict[int, tuple[int, int]] = {}
    for group in groups:
        hashes |= group.hashes()
    virtual_seconds = plan.scenario.duration_us / 1e6
    return {
        "trace_sha256": trace_sha256(hashes),
        "process_hashes": [[process, *hashes[process]] for process in sorted(hashes)],
        "virtual_seconds": virtual_seconds,
        "settings_not_modelled": plan.scenario.settings_not_modelled(),
        **_broker_counts(groups),
        **_controller_counts(groups),
        **_client_counts(groups),
        "loop": {
            "events": figures.events,
            "seconds": round(figures.seconds, 3),
            "windows_per_virtual_second": round(figures.windows / virtual_seconds, 3),
            "times_real_time": round(virtual_seconds / max(figures.seconds, 1e-9), 1),
        },
    }


def _broker_counts(groups: Sequence[Group]) -> dict[str, int]:
    """Counted by brokers, as JMX counts."""
    fields = ("isr_shrinks", "isr_expands", "failed_isr_updates", "notifications", "starts")
    return {
        field: sum(
            int(getattr(group.brokers.brokers[broker], field))
            for group in groups
            for broker in range(len(group.brokers.brokers))
        )
        for field in fields
    }


def _controller_counts(groups: Sequence[Group]) -> dict[str, int]:
    """Of all brokers that have been controller."""
    fields = ("failovers", "leader_elections", "unclean_elections")
    return {
        field: sum(
            int(getattr(group.plane.controllers[controller], field))
            for group in groups
            for controller in range(len(group.plane.controllers))
        )
        for field in fields
    }


def _client_counts(groups: Sequence[Group]) -> dict[str, int]:
    fields = (
        *("records_sent", "records_acknowledged", "records_failed"),
        *("records_duplicated", "records_consumed", "steps_taken", "steps_timed_out"),
    )
    return {
        field: sum(
            int(getattr(group.clients.clients[client], field))
            for group in groups
            for client in range(len(group.clients.clients))
        )
        for field in fields
    }
