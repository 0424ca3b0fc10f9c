"""The one stream of canonical rows: those of all groups, merged in their total order.

Groups hand over their rows as they drain them. Once no group has rows left from before some
moment, the earlier rows are sorted and judged. So checks and figures see the same rows in the same
order, however the processes are grouped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.records import Records
from tidegauge.engine.layout.check_tables import enlarge, new_figures, new_history
from tidegauge.engine.reassignment_spans import ReassignmentSpans
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.trace_rows.row import RowSlot
from tidegauge.traces.checks.judged_rows import judged_rows
from tidegauge.traces.judging.judgement import judge, judge_end

#: The number of rows that are worth a call.
_MANY_ROWS = 4096


class RowStream:
    """Takes the rows of all groups, and judges and counts them in their order."""

    def __init__(self, plan: ClusterPlan) -> None:
        """Begin without rows."""
        self.history = new_history(plan)
        self.figures = new_figures(plan)
        self.reassignments = ReassignmentSpans(plan)
        self._waiting: list[NDArray[np.void]] = []
        self._waiting_rows = 0

    def take(self, rows: NDArray[np.void]) -> None:
        """Take rows of one group; they are copied."""
        wanted = judged_rows(rows)
        if len(wanted):
            self._waiting.append(wanted)
            self._waiting_rows += len(wanted)

    def settle(self, time_us: int) -> None:
        """Note that no group has more rows from before this time."""
        if self._waiting_rows >= _MANY_ROWS:
            self._judge_before(time_us)

    def end(self) -> None:
        """Note that there are no more rows."""
        self._judge_before(None)
        judge_end(self.history.view, self.figures.view)

    def _judge_before(self, time_us: int | None) -> None:
        if not self._waiting:
            return
        rows = np.concatenate(self._waiting)
        order = np.lexsort((rows["sequence"], rows["process"], rows["time_us"]))
        if time_us is not None:
            complete = int(np.searchsorted(rows["time_us"][order], time_us))
            order, later = order[:complete], order[complete:]
            self._waiting = [rows[later]] if len(later) else []
            self._waiting_rows = len(later)
        else:
            self._waiting = []
            self._waiting_rows = 0
        ordered = rows[order]
        self.reassignments.take(ordered)
        self._judge(ordered)

    def _judge(self, rows: Records[RowSlot]) -> None:
        done = 0
        while done < len(rows):
            enlarge(self.history, self.figures)
            done = int(judge(self.history.view, self.figures.view, rows, done))
