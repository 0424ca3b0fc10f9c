"""Which rows checks and figures look at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tidegauge.simulation.trace_rows.replica_rows import EpochAnswered, EpochAssigned, EpochsCut
from tidegauge.simulation.trace_rows.schema import ROW_KINDS
from tidegauge.simulation.trace_rows.zookeeper_rows import ZnodeCreated, ZnodeDeleted, ZnodeSet

#: Canonical rows that neither a check nor a figure asks for, and of which there are many.
_LEFT_OUT = (
    *(EpochAnswered.KIND, EpochAssigned.KIND, EpochsCut.KIND),
    *(ZnodeCreated.KIND, ZnodeSet.KIND, ZnodeDeleted.KIND),
)

_JUDGED = np.zeros(max(ROW_KINDS) + 1, np.bool_)
_JUDGED[[number for number, kind in ROW_KINDS.items() if kind.canonical]] = True
_JUDGED[list(_LEFT_OUT)] = False


def judged_rows(rows: NDArray[np.void]) -> NDArray[np.void]:
    """Of these rows a copy of those that checks and figures look at."""
    judged: NDArray[np.void] = rows[_JUDGED[rows["kind"]]]
    return judged
