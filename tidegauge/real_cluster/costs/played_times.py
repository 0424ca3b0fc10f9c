"""The moments of a run of a translated schedule."""

from __future__ import annotations

from collections.abc import Iterator

from tidegauge.laboratory.conformance.translation import Translation
from tidegauge.real_cluster.costs.moments import (
    ASKED,
    EXITED,
    KILLED,
    LOST,
    REGISTERED,
    STARTS,
    STATE,
    TOLD,
    UNFENCED,
    Moment,
)
from tidegauge.runs.trace_events import Names
from tidegauge.simulation.codes.occasions import (
    BROKER_REGISTERS,
    BROKER_SESSION_CLOSED,
    BROKER_SESSION_EXPIRED,
    BROKER_UNFENCED,
)
from tidegauge.traces.run_folder import RunFolder, TraceRow

_REASONS = {
    int(BROKER_REGISTERS): REGISTERED,
    int(BROKER_UNFENCED): UNFENCED,
    int(BROKER_SESSION_CLOSED): LOST,
    int(BROKER_SESSION_EXPIRED): LOST,
}
_BEGINS = {"crash": KILLED, "restart": TOLD}


def moments_of_run(translation: Translation, run: RunFolder) -> Iterator[Moment]:
    """The moments, in the order of the run."""
    names = Names.of(run)
    brokers = translation.schedule.brokers
    for row in run.all_rows():
        time_ms = row["time_us"] / 1000
        if row.kind == "step_taken":
            step = translation.scenario.steps[row["step"]]
            if step.do == "create_topic":
                yield Moment(time_ms, ASKED, about=step.topic)
        elif row.kind in ("fault_began", "fault_ended"):
            yield from _of_fault(row, names, time_ms, brokers)
        elif row.kind == "broker_stopped":
            yield Moment(time_ms, EXITED, brokers[row["broker"]])
        elif row.kind == "broker_state" and row["state_reason"] in _REASONS:
            yield Moment(time_ms, _REASONS[row["state_reason"]], brokers[row["broker"]])
        elif row.kind == "partition_state":
            leader = brokers[row["leader"]] if row["leader"] >= 0 else -1
            isr = names.brokers_in(row["isr"], row["partition"])
            members = tuple(broker for broker in isr if broker is not None)
            about = names.partition(row["partition"])
            yield Moment(time_ms, STATE, -1, about, leader, members)


def _of_fault(row: TraceRow, names: Names, time_ms: float, brokers: list[int]) -> Iterator[Moment]:
    process = names.processes[row["process"]]
    kind = _BEGINS.get(names.fault_kind(row["fault"]))
    if process.role == "broker" and kind is not None:
        kind = kind if row.kind == "fault_began" else STARTS
        yield Moment(time_ms, kind, brokers[process.number])
