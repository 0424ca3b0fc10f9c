"""The origins of rows as a table: what led to each, and the faults that it is charged to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types

from tidegauge.analysis.attribution import charges_of
from tidegauge.analysis.causes import Numbers, causes_of, links_of
from tidegauge.analysis.fault_reach import roles_of
from tidegauge.analysis.run_paths import FoundRun
from tidegauge.simulation.trace_rows.schema import ROW_KINDS
from tidegauge.traces.run_files import read_manifest


def arrow_of_causes(run: FoundRun) -> Any:
    """The origins of rows of a run: an Arrow table, by the handles of the rows.

    ``trigger_*`` is the nearest row of another process that led to it, ``fault_us``,
    ``fault_process`` and ``fault_sequence`` the beginning, or end, of the fault that it all leads
    to; null where there is none. ``faults`` are the numbers of all faults that have a part in it
    (``attribution.py``): none, exactly one, or several that share it.

    Raises:
        TraceError, OSError: as :func:`links_of`.
    """
    links = links_of(run)
    found = causes_of(links)
    charged = charges_of(links, found, roles_of(read_manifest(run.folder)))
    has_none = {"trigger": ~found.has_trigger, "fault": ~found.has_fault}
    places = {"trigger": found.trigger, "fault": found.fault}

    def told(column: Numbers, of: str) -> Any:
        return pa.array(column[places[of]], mask=has_none[of])

    by_number = np.full(max(ROW_KINDS) + 1, "", object)
    by_number[[*ROW_KINDS]] = [kind.name for kind in ROW_KINDS.values()]
    columns = {
        "run": pa.array([run.name] * len(found.rows), pa.string()),
        "process": pa.array(links.process[found.rows]),
        "sequence": pa.array(links.sequence[found.rows]),
        "trigger_process": told(links.process, "trigger"),
        "trigger_us": told(links.time_us, "trigger"),
        "trigger_kind": pa.array(
            by_number[links.kind[found.trigger]], pa.string(), mask=has_none["trigger"]
        ),
        "fault_us": told(links.time_us, "fault"),
        "fault_process": told(links.process, "fault"),
        "fault_sequence": told(links.sequence, "fault"),
        "faults": pa.array([sorted(each.faults) for each in charged], pa.list_(pa.int64())),
    }
    return pa.Table.from_pydict(columns)
