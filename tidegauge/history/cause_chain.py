"""The causes of one row, back to the first one.

Every row has at most two links to earlier canonical rows. Its *cause* is the row in whose course
it was written, or the last row of the process whose message or timer led to it. A row has a
*because* if something did not arrive: it is a fault, or the last row known of the peer. Both are
followed: first from cause to cause, then each reason on the way.
"""

from __future__ import annotations

import re
from collections import deque
from typing import NamedTuple

from tidegauge.history.story import Names
from tidegauge.traces.run_folder import RunFolder, TraceRow

#: The most digits of an integer in a trace.
_HANDLE = re.compile(r"([0-9]{1,18}):([0-9]{1,18})")


class Strand(NamedTuple):
    """A row, its cause, the cause of that, and so on."""

    #: The row whose reason is the first row here; None for the first strand.
    reason_of: TraceRow | None
    rows: list[TraceRow]
    #: The row of an earlier strand that this one joins; None if it has its own beginning.
    joins: TraceRow | None


def handle_of(row: TraceRow) -> str:
    """A row's handle for ``--cause``: ``PROCESS:SEQUENCE``; empty for a row without number."""
    return f"{row['process']}:{row['sequence']}" if row["minor"] == 0 else ""


def row_of_handle(handle: str, run: RunFolder, names: Names) -> TraceRow:
    """The row with this handle.

    Raises:
        ValueError: the text is not a handle, or there is no such row; the message has the range.
        TraceError: a trace file is damaged.
    """
    numbers = _HANDLE.fullmatch(handle)
    if numbers is None:
        raise ValueError(
            f"--cause {handle}: must be PROCESS:SEQUENCE, such as 0:12; --handles shows them"
        )
    process, sequence = map(int, numbers.groups())
    row = run.change_row(process, sequence)
    if row is not None:
        return row
    processes = names.processes
    if process not in processes:
        raise ValueError(
            f"--cause {handle}: no such process; there are {min(processes)} "
            f"({names.process(min(processes))}) to {max(processes)} "
            f"({names.process(max(processes))})"
        )
    last = _last_sequence(run, process)
    there_is = "no rows" if last is None else f"rows {process}:0 to {process}:{last}"
    raise ValueError(f"--cause {handle}: no such row; {names.process(process)} has {there_is}")


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
    """The row and its causes; then the same for each reason of an earlier row.

    No row appears twice, so this ends even if a trace had a loop.

    Raises:
        TraceError: a trace file is damaged.
    """
    strands: list[Strand] = []
    told: set[tuple[int, int]] = set()
    beginnings: deque[tuple[TraceRow | None, TraceRow]] = deque([(None, row)])
    while beginnings:
        rows: list[TraceRow] = []
        reason_of, beginning = beginnings.popleft()
        now: TraceRow | None = beginning
        while now is not None and (now["process"], now["sequence"]) not in told:
            told.add((now["process"], now["sequence"]))
            rows.append(now)
            reason = run.change_row(now["because_process"], now["because_sequence"])
            if reason is not None:
                beginnings.append((now, reason))
            now = run.change_row(now["cause_process"], now["cause_sequence"])
        if rows:
            strands.append(Strand(reason_of, rows, now))
    return strands
