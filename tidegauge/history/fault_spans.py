"""The times at which each fault of a run was active, over all processes that it hit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tidegauge.history.moments import FAULTS
from tidegauge.traces.run_folder import RunFolder


class FaultSpan(NamedTuple):
    """The time from the start of a fault in its first process to its end in the last one."""

    #: Its number in the run's manifest.
    fault: int
    begin_us: int
    #: None if it has not ended.
    end_us: int | None
    #: The processes that it hit.
    processes: frozenset[int]


def fault_spans(run: RunFolder) -> list[FaultSpan]:
    """All times at which faults were active; a step can begin a fault again.

    Raises:
        TraceError: a trace file is damaged.
    """
    return sorted(_spans(run), key=lambda span: (span.begin_us, span.fault))


def _spans(run: RunFolder) -> Iterator[FaultSpan]:
    #: By fault: its start, the processes that it has hit, and those in which it is still active.
    open_spans: dict[int, tuple[int, set[int], set[int]]] = {}
    for row in run.all_rows(wanted=lambda kind: kind.name in FAULTS):
        fault = row["fault"]
        if row.kind == "fault_began":
            _, hit, still = open_spans.setdefault(fault, (row["time_us"], set(), set()))
            hit.add(row["process"])
            still.add(row["process"])
        elif fault in open_spans:
            begin_us, hit, still = open_spans[fault]
            still.discard(row["process"])
            if not still:
                del open_spans[fault]
                yield FaultSpan(fault, begin_us, row["time_us"], frozenset(hit))
    for fault, (begin_us, hit, _) in open_spans.items():
        yield FaultSpan(fault, begin_us, None, frozenset(hit))
