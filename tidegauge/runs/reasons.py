"""Why a row is there, in words: the faults that it is charged to, else what had not arrived.

Which faults have a part in a row is a question of meaning, which ``analysis/attribution.py`` asks.
It asks none of some kinds of rows; these have their *because*.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tidegauge.analysis.attribution import charges_of
from tidegauge.analysis.causes import causes_of, links_of
from tidegauge.analysis.cluster_course import BUSY_CONTROLLER, PREFERRED_ELECTION, STEP, Charge
from tidegauge.analysis.fault_reach import roles_of
from tidegauge.analysis.requests import runs_at
from tidegauge.runs.story import Names
from tidegauge.simulation.quantities import time_text
from tidegauge.traces.run_folder import RunFolder, TraceRow

#: A story names no fault that is further away.
_STEPS = 20

_REASONS = {
    PREFERRED_ELECTION: "a preferred election",
    STEP: "a step of the scenario",
    BUSY_CONTROLLER: "the controller was busy, and no heartbeat was handled in time",
}

#: The charges of rows, by their handles.
Charges = Mapping[tuple[int, int], Charge]


@lru_cache(maxsize=2)
def charges_in(run: RunFolder, *, losses: bool = False) -> Charges:
    """The charges of the rows of a run; or those of losses as leaders take over.

    Raises:
        TraceError: a trace file is damaged.
    """
    (found,) = runs_at(run.path)
    links = links_of(found)
    charges = charges_of(links, causes_of(links), roles_of(run.manifest))
    return {
        (int(links.process[each.row]), int(links.sequence[each.row])): each.charge
        for each in charges
        if (each.effect == "loss") == losses
    }


def because(row: TraceRow, run: RunFolder, names: Names) -> str | None:
    """The reason of a row in words, if it has one.

    Raises:
        TraceError: a trace file is damaged.
    """
    charge = charges_in(run).get((row["process"], row["sequence"]), Charge())
    if row["minor"] == 0 and charge.faults:
        return charged_words(charge, row["time_us"], run, names)
    if row["minor"] == 0 and charge.reason in _REASONS:
        return _REASONS[charge.reason]
    return _because_nothing_came(row, run, names)


def charged_words(charge: Charge, time_us: int, run: RunFolder, names: Names) -> str:
    """The faults of a charge, each with its last begin before a time."""
    began = run.table("fault_began")
    return " and ".join(
        f"{names.fault(fault)} began at {time_text(int(began['time_us'][is_it].max()))}"
        for fault in sorted(charge.faults)
        for is_it in ((began["fault"] == fault) & (began["time_us"] <= time_us),)
    )


def _because_nothing_came(row: TraceRow, run: RunFolder, names: Names) -> str | None:
    """The fault that a row's because leads to, else that row.

    A reason of the process itself that leads to no fault is not worth a line.
    """
    process, sequence = row["because_process"], row["because_sequence"]
    if process < 0:
        return None
    if sequence < 0:
        return f"no message of {names.process(process)} had arrived"
    reason = run.change_row(process, sequence)
    if reason is None:
        return f"row {sequence} of {names.process(process)}, which the trace does not have"
    fault = _fault_behind(reason, run)
    if fault is not None:
        at = time_text(fault["time_us"])
        return f"{names.fault(fault['fault'])} {fault.kind.removeprefix('fault_')} at {at}"
    if process == row["process"]:
        return None
    at = time_text(reason["time_us"])
    about = reason.columns.get("partition", -1)
    which = reason.kind if about < 0 else f"{reason.kind} of {names.partition(about)}"
    return f"the last event of {names.process(process)} was {which} at {at}"


def _fault_behind(reason: TraceRow, run: RunFolder) -> TraceRow | None:
    """The row of the fault that a reason leads to within a few steps (``cause_chain.py``)."""
    now: TraceRow | None = reason
    for _ in range(_STEPS):
        if now is None or now.kind in ("fault_began", "fault_ended"):
            return now
        now = run.leads_to(now)
    return None
