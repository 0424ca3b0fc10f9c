"""Running a scenario inline: all its processes in this interpreter, as one group or several.

:func:`simulate` is the whole run in one call: manifest, windows, liveness phase, trace, summary.
Several groups exchange frames as they would between actors, so that the contract (the same hash,
however the processes are grouped) is tested without Ray.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegauge import __version__
from tidegauge.group import Group, Progress, RowSink
from tidegauge.liveness import RESTART_US, Liveness, wait_until_well
from tidegauge.loop_sampler import LoopSampler
from tidegauge.row_stream import RowStream
from tidegauge.run_folder import FORMAT, MANIFEST, SUMMARY, TRACE, RunFolder, write_json_atomically
from tidegauge.simulation.cluster_plan import ClusterPlan
from tidegauge.simulation.kernel import CLIENT, CONTROLLER, ZOOKEEPER
from tidegauge.simulation.links import NETWORK_TABLES, RETRANSMISSION_AFTER_CUT
from tidegauge.simulation.random_streams import QUANTILES
from tidegauge.simulation.row_kinds import REASON_END, REASON_LIVENESS, SCHEMA_VERSION
from tidegauge.simulation.scenario import Scenario
from tidegauge.simulation.scenario_faults import fault_name
from tidegauge.simulation.trace_file import TraceWriter
from tidegauge.summary import LoopFigures, counted_by_processes, summary_of

_ROLES = {int(CONTROLLER): "controller", int(ZOOKEEPER): "zookeeper", int(CLIENT): "client"}


def simulate(
    scenario: Scenario,
    folder: Path,
    *,
    grouping: Sequence[Sequence[int]] | None = None,
    progress: Progress | None = None,
    switches: Mapping[str, int | bool] | None = None,
) -> RunFolder:
    """Run a scenario into ``folder``, which must not hold a run yet; the run, to be read.

    Args:
        scenario: what is run.
        folder: where to; it is made if it is not there.
        grouping: the processes of each group; by default one group has them all.
        progress: is called now and then with the virtual time.
        switches: fields of ``ReleaseRules`` that are other than the brokers' releases have them.
            No Kafka is like that: it shows what a rule is for. The manifest lists them.

    Raises:
        FileExistsError: there is something in the folder.
    """
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder}: is not empty, and a run never overwrites another")
    started = time.perf_counter()
    plan = ClusterPlan(scenario, switches or {})
    (folder / TRACE).mkdir(parents=True, exist_ok=True)
    write_json_atomically(folder / MANIFEST, manifest_of(plan))
    groups = [Group(plan, hosted, folder) for hosted in grouping or [range(len(plan.processes))]]
    writers = [
        TraceWriter(folder / TRACE / f"group-{number}.msgpack") for number in range(len(groups))
    ]
    loop = _Loop(plan, groups, [writer.write for writer in writers], progress)
    try:
        with LoopSampler(groups) as sampler:
            loop.run_to(scenario.duration_us)
        figures = LoopFigures(
            sum(int(group.kernel.context[0].handled) for group in groups),
            loop.seconds,
            loop.windows,
            sampler.seconds(loop.seconds),
            sampler.samples,
        )
        counted = counted_by_processes(groups)
        loop.close(scenario.duration_us, REASON_END)
        liveness = _liveness(plan, groups, loop) if scenario.liveness else None
    finally:
        for writer in writers:
            writer.close()
    loop.stream.end()
    summary = summary_of(plan, groups, loop.stream, figures, counted, liveness)
    summary["wall_seconds"] = round(time.perf_counter() - started, 3)
    write_json_atomically(folder / SUMMARY, summary)
    return RunFolder(folder)


def _liveness(plan: ClusterPlan, groups: Sequence[Group], loop: _Loop) -> Liveness:
    """Let all faults end, and see whether everything becomes well."""
    loop.heal(plan.scenario.duration_us)
    liveness = wait_until_well(plan, groups, loop.run_to)
    end_us = plan.scenario.duration_us + round(liveness.seconds * 1e6)
    loop.close(end_us, REASON_LIVENESS)
    return liveness


class _Loop:
    """Runs groups window by window, and hands their rows on."""

    def __init__(
        self,
        plan: ClusterPlan,
        groups: Sequence[Group],
        writers: Sequence[RowSink],
        progress: Progress | None,
    ) -> None:
        self._groups = groups
        self._progress = progress
        self._owners = [-1] * len(plan.processes)
        for number, group in enumerate(groups):
            for process in group.hosted:
                self._owners[process] = number
        self.stream = RowStream(plan)
        self._sinks = [self._sink(writer) for writer in writers]
        self.seconds = 0.0
        self.windows = 0

    def _sink(self, writer: RowSink) -> RowSink:
        """What takes the rows of one group."""

        def take(rows: NDArray[np.void]) -> None:
            writer(rows)
            self.stream.take(rows)
            if len(self._groups) == 1:
                # It writes rows in the order of time; there may be more of this very moment.
                self.stream.settle(int(rows[-1]["time_us"]))

        return take

    def run_to(self, end_us: int) -> None:
        """Handle every event earlier than ``end_us``.

        A group may go as far as the earliest event of all plus the shortest latency between two
        groups: nothing that it has not been told of can happen to it before.
        """
        started = time.perf_counter()
        if len(self._groups) == 1:
            self._groups[0].run(end_us, self._sinks[0], self._progress)
            self.windows += 1
        else:
            lookahead_us = lookahead_of(self._groups[0])
            next_us = self._next_event_us()
            while 0 <= next_us < end_us:
                horizon_us = min(next_us + lookahead_us, end_us)
                self._run_window(horizon_us)
                if self._progress is not None:
                    self._progress(horizon_us)
                next_us = self._next_event_us()
        self.seconds += time.perf_counter() - started

    def _next_event_us(self) -> int:
        """When the earliest event of all groups is due; -1 if there is none."""
        due_us = [group.next_event_us() for group in self._groups]
        return min((each for each in due_us if each >= 0), default=-1)

    def _run_window(self, horizon_us: int) -> None:
        for group, sink in zip(self._groups, self._sinks, strict=True):
            group.run(horizon_us, sink)
        exchange(self._groups, self._owners, self.windows)
        self.windows += 1
        self.stream.settle(horizon_us)

    def heal(self, time_us: int) -> None:
        """Begin the liveness phase in all processes."""
        for group, sink in zip(self._groups, self._sinks, strict=True):
            group.heal(time_us, RESTART_US, sink)
        if len(self._groups) > 1:
            # What this sets free at once goes out before anybody goes on.
            self._run_window(time_us + 1)

    def close(self, time_us: int, reason: int) -> None:
        """Have written down what can be judged only at the end."""
        for group, sink in zip(self._groups, self._sinks, strict=True):
            group.close(time_us, sink, reason)


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
        "switches": dict(plan.switches),
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
                "name": fault_name(plan.faults, number),
                "kind": fault.kind,
                "text": _fault_text(fault),
            }
            for number, fault in enumerate(plan.faults)
        ],
    }


def _fault_text(fault: Any) -> str:
    """A fault in a few words: what it hits."""
    if hasattr(fault, "between"):
        arrow = "->" if fault.one_way else "<->"
        one, other = (",".join(str(end) for end in ends) for ends in fault.between)
        return f"{fault.kind} {one} {arrow} {other}"
    if hasattr(fault, "brokers"):
        return f"{fault.kind} of {','.join(str(each) for each in fault.brokers) or 'all'}"
    return str(fault.kind)
