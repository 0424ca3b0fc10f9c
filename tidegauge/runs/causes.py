"""The causes of a row: the faults that it is charged to, and the chain of triggers behind it.

The charges come from ``analysis/attribution.py``; kinds of rows without one have their *because*.

Every row has at most two links to earlier canonical rows. Its *cause* is the row in whose course it
was written, or the last row of the process whose message or timer led to it. Its *because* is the
reason for this very row: the fault for which something did not arrive, the broker that is gone, the
decision that a message with many of them has brought. A chain follows both: first the because of
each row or else its cause, as the analysis does, then the causes on the way that were passed by.
"""

import re
from collections import Counter, deque
from collections.abc import Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

from tidegauge.analysis.attribution import charges_of
from tidegauge.analysis.causes import causes_of, links_of
from tidegauge.analysis.cluster_course import BUSY_CONTROLLER, PREFERRED_ELECTION, STEP, Charge
from tidegauge.analysis.fault_reach import roles_of
from tidegauge.analysis.requests import runs_at
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.runs.run import Run
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.simulation.quantities import time_text
from tidegauge.traces.run_folder import RunFolder, TraceRow

FAULTS = frozenset({"fault_began", "fault_ended"})
#: Rows about messages that a pin has kept from their receiver, and what it did.
_TAKEN = {"message_held": "held", "message_dropped": "dropped"}
#: A story names no fault that is further away.
_STEPS = 20
#: The most digits of an integer in a trace.
_HANDLE = re.compile(r"([0-9]{1,18}):([0-9]{1,18})")

_REASONS = {
    PREFERRED_ELECTION: "a preferred election",
    STEP: "a step of the scenario",
    BUSY_CONTROLLER: "the controller was busy, and no heartbeat was handled in time",
}

#: The charges of rows, by their handles.
Charges = Mapping[tuple[int, int], Charge]


#: As long as the run is in use, whose tables are open.
_known: WeakKeyDictionary[RunFolder, Charges] = WeakKeyDictionary()


def charges_in(run: RunFolder) -> Charges:
    """The charges of the rows of a run.

    Raises:
        TraceError: a trace file is damaged.
    """
    if run not in _known:
        (found,) = runs_at(run.path)
        links = links_of(found)
        charges = charges_of(links, causes_of(links), roles_of(run.manifest))
        _known[run] = {
            (int(links.process[each.row]), int(links.sequence[each.row])): each.charge
            for each in charges
            if each.effect != "loss"
        }
    return _known[run]


def because(event: TraceEvent, run: Run) -> str | None:
    """The reason of a row in words, if it has one.

    Raises:
        TraceError: a trace file is damaged.
    """
    row = event.row
    charge = charges_in(run).get((row["process"], row["sequence"]), Charge())
    if row["minor"] == 0 and charge.faults:
        return charged_words(charge, row["time_us"], run)
    if row["minor"] == 0 and charge.reason in _REASONS:
        return _REASONS[charge.reason]
    return _because_nothing_came(row, run)


def charged_words(charge: Charge, time_us: int, run: RunFolder) -> str:
    """The faults of a charge, each with its last begin before a time."""
    began = run.table("fault_began")
    return " and ".join(
        f"{run.directory.fault(fault)} began at {time_text(int(began['time_us'][is_it].max()))}"
        for fault in sorted(charge.faults)
        for is_it in ((began["fault"] == fault) & (began["time_us"] <= time_us),)
    )


def _because_nothing_came(row: TraceRow, run: RunFolder) -> str | None:
    """The pin or the fault that a row's because leads to, else that row.

    A reason of the process itself that leads to no fault is not worth a line.
    """
    names = run.directory
    process, sequence = row["because_process"], row["because_sequence"]
    if process < 0:
        return None
    if sequence < 0:
        return f"no message of {names.process(process)} had arrived"
    reason = run.change_row(process, sequence)
    if reason is None:
        return f"row {sequence} of {names.process(process)}, which the trace does not have"
    told = _told_pin(reason, run) or _told_fault(reason, run)
    if told is not None:
        return told
    if process == row["process"]:
        return None
    at = time_text(reason["time_us"])
    about = reason.columns.get("partition", -1)
    which = reason.kind if about < 0 else f"{reason.kind} of {names.partition(about)}"
    return f"the last event of {names.process(process)} was {which} at {at}"


def _told_pin(reason: TraceRow, run: RunFolder) -> str | None:
    """The message that a pin has kept from its receiver, if the row is about that."""
    if reason.kind not in _TAKEN:
        return None
    names = run.directory
    message = run.enumerations["message_kind"][reason["message_kind"]]
    return (
        f"pin {names.pin(reason['pin'])} {_TAKEN[reason.kind]} {message} of "
        f"{names.process(reason['from_process'])} at {time_text(reason['time_us'])}"
    )


def _told_fault(reason: TraceRow, run: RunFolder) -> str | None:
    """The fault that the row leads to."""
    fault = _fault_behind(reason, run)
    if fault is None:
        return None
    at = time_text(fault["time_us"])
    return f"{run.directory.fault(fault['fault'])} {fault.kind.removeprefix('fault_')} at {at}"


def _fault_behind(reason: TraceRow, run: RunFolder) -> TraceRow | None:
    """The row of the fault that a reason leads to within a few steps."""
    now: TraceRow | None = reason
    for _ in range(_STEPS):
        if now is None or now.kind in FAULTS:
            return now
        now = run.leads_to(now)
    return None


def outcomes_of_steps(run: Run) -> dict[int, Counter[str]]:
    """By step: the leaders elected for its request, and the partitions that were refused, by error.

    Only a quorum's active controller responds to the request of a step for each partition.

    Raises:
        TraceError: a trace file is damaged.
    """
    found: dict[int, Counter[str]] = {}
    if len(run.table("step_answered").get("step", ())) == 0:
        return found
    for event in run.events_of("leader_elected", "step_partition_answered"):
        if event.kind == "step_partition_answered":
            found.setdefault(event.step, Counter())[event.error] += 1
            continue
        handled = run.change_row(event.row["cause_process"], event.row["cause_sequence"])
        if handled is None:
            continue
        asked = run.change_row(handled["cause_process"], handled["cause_sequence"])
        if asked is not None and asked.kind == "step_taken":
            found.setdefault(asked["step"], Counter())["elected"] += 1
    return found


class Strand(NamedTuple):
    """A row, its cause, the cause of that, and so on."""

    #: The row whose cause, beside its because, is the first row here; None for the first strand.
    cause_of: TraceEvent | None
    rows: list[TraceEvent]
    #: The row of an earlier strand that this one joins; None if it has its own beginning.
    joins: TraceEvent | None


def event_of_handle(handle: str, run: Run) -> TraceEvent:
    """The row with this handle.

    Raises:
        TidegaugeError: the text is no handle, or there is no such row; the message has the range.
        TraceError: a trace file is damaged.
    """
    numbers = _HANDLE.fullmatch(handle)
    if numbers is None:
        raise TidegaugeError(
            f"{handle}: must be PROCESS:SEQUENCE, such as 0:12; --handles shows them"
        )
    process, sequence = map(int, numbers.groups())
    row = run.change_row(process, sequence)
    if row is not None:
        return run.event(row)
    processes = run.directory.processes
    if process not in processes:
        first, last = min(processes), max(processes)
        raise TidegaugeError(
            f"{handle}: no such process; there are {first} "
            f"({run.directory.process(first)}) to {last} ({run.directory.process(last)})"
        )
    known = _last_sequence(run, process)
    there_is = "no rows" if known is None else f"rows {process}:0 to {process}:{known}"
    raise TidegaugeError(f"{handle}: no such row; {run.directory.process(process)} has {there_is}")


def _last_sequence(run: RunFolder, process: int) -> int | None:
    sequences = [
        int(table["sequence"][mine].max())
        for kind in run.kinds.values()
        if kind.canonical
        for table in (run.table(kind.name),)
        for mine in (table["process"] == process,)
        if mine.any()
    ]
    return max(sequences, default=None)


def cause_strands(run: Run, event: TraceEvent) -> list[Strand]:
    """The row and its causes; then the same for each cause beside a because.

    No row appears twice, so this ends even if a trace had a loop.

    Raises:
        TraceError: a trace file is damaged.
    """
    strands: list[Strand] = []
    seen: set[str] = set()
    beginnings: deque[tuple[TraceEvent | None, TraceRow]] = deque([(None, event.row)])
    while beginnings:
        rows: list[TraceEvent] = []
        cause_of, beginning = beginnings.popleft()
        now: TraceEvent | None = run.event(beginning)
        while now is not None and now.handle not in seen:
            seen.add(now.handle)
            rows.append(now)
            if now.kind in FAULTS:
                now = None
                break
            cause = run.change_row(now.row["cause_process"], now.row["cause_sequence"])
            if now.row["because_process"] >= 0 and cause is not None:
                beginnings.append((now, cause))
            reason = run.leads_to(now.row)
            now = None if reason is None else run.event(reason)
        if rows:
            strands.append(Strand(cause_of, rows, now))
    return strands
