"""The chain of triggers of one row, back to the first fault or to the first row.

Every row has at most two links to earlier canonical rows. Its *cause* is the row in whose course
it was written, or the last row of the process whose message or timer led to it. Its *because* says
why just this was done: the fault for which something did not arrive, the broker that is gone, the
decision that a message with many of them has brought. Both are followed: first the because of each
row or else its cause, as the analysis does, then the causes on the way that were passed by. The
chain says which message led to what; which faults a row is charged to, ``analysis/attribution.py``
finds by meaning.
"""

from __future__ import annotations

import re
from collections import deque
from typing import NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.runs.moments import FAULTS
from tidegauge.runs.story import Names
from tidegauge.traces.run_folder import RunFolder, TraceRow

#: The most digits of an integer in a trace.
_HANDLE = re.compile(r"([0-9]{1,18}):([0-9]{1,18})")


class Strand(NamedTuple):
    """A row, what it goes back to, what that goes back to, and so on."""

    #: The row whose cause, beside its because, is the first row here; None for the first strand.
    cause_of: TraceRow | None
    rows: list[TraceRow]
    #: The row of an earlier strand that this one joins; None if it has its own beginning.
    joins: TraceRow | None


def handle_of(row: TraceRow) -> str:
    """A row's handle for ``show cause``: ``PROCESS:SEQUENCE``; empty for a row without number."""
    return f"{row['process']}:{row['sequence']}" if row["minor"] == 0 else ""


def row_of_handle(handle: str, run: RunFolder, names: Names) -> TraceRow:
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
        return row
    processes = names.processes
    if process not in processes:
        raise TidegaugeError(
            f"{handle}: no such process; there are {min(processes)} "
            f"({names.process(min(processes))}) to {max(processes)} "
            f"({names.process(max(processes))})"
        )
    last = _last_sequence(run, process)
    there_is = "no rows" if last is None else f"rows {process}:0 to {process}:{last}"
    raise TidegaugeError(f"{handle}: no such row; {names.process(process)} has {there_is}")


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


def cause_strands(run: RunFolder, row: TraceRow) -> list[Strand]:
    """The row and what it goes back to; then the same for each cause beside a because.

    No row appears twice, so this ends even if a trace had a loop.

    Raises:
        TraceError: a trace file is damaged.
    """
    strands: list[Strand] = []
    told: set[tuple[int, int]] = set()
    beginnings: deque[tuple[TraceRow | None, TraceRow]] = deque([(None, row)])
    while beginnings:
        rows: list[TraceRow] = []
        cause_of, beginning = beginnings.popleft()
        now: TraceRow | None = beginning
        while now is not None and (now["process"], now["sequence"]) not in told:
            told.add((now["process"], now["sequence"]))
            rows.append(now)
            if now.kind in FAULTS:
                now = None
                break
            cause = run.change_row(now["cause_process"], now["cause_sequence"])
            if now["because_process"] >= 0 and cause is not None:
                beginnings.append((now, cause))
            now = run.leads_to(now)
        if rows:
            strands.append(Strand(cause_of, rows, now))
    return strands
