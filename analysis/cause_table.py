"""The origins of rows as a table: what led to each, and the faults that it is charged to."""

from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types

from tidegauge.analysis.attribution import Charged, charges_of
from tidegauge.analysis.causes import Causes, Links, causes_of, links_of
from tidegauge.analysis.fault_reach import FaultReach, Faults, roles_of
from tidegauge.analysis.requests import FoundRun
from tidegauge.simulation.trace_rows.schema import ROW_KINDS
from tidegauge.traces.directory import Directory
from tidegauge.traces.run_files import read_manifest


def arrow_of_causes(run: FoundRun) -> Any:
    """The origins of rows of a run: an Arrow table, by the handles of the rows.

    ===================  ==========================================================================
    ``time_us``          its time, and the partition that it is about; null: none
    ``partition``
    ``effect``           its part: ``election``, ``expand``, ... (``attribution.py``); that of a
                         ``became_leader`` is a ``takeover``, and the ``loss`` of what it lacks
    ``trigger_process``  the nearest row of another process that led to it: its process,
    ``trigger_us``       its time,
    ``trigger_kind``     and its kind; null where there is none
    ``faults``           the numbers of all faults that have a part in it
    ``fault``            the one of them; null: there is none, or several share it
    ``fault_name``       its name; the names of all if several share it
    ``fault_us``         when a chain of causes enters it: it began there, or ended; null: no chain
    ``reason``           why it is there, where no fault has a part in it
    ===================  ==========================================================================

    Raises:
        TraceError, OSError: as :func:`links_of`.
        RunError: the manifest cannot be read.
    """
    manifest = read_manifest(run.folder)
    links, roles = links_of(run), roles_of(manifest)
    causes = causes_of(links)
    found = charges_of(links, causes, roles)
    rows = np.array([each.row for each in found], np.int64)
    at = np.searchsorted(causes.rows, rows)
    trigger, no_trigger = causes.trigger[at], ~causes.has_trigger[at]
    faults = [each.charge.faults for each in found]
    names = [name for name, *_ in Directory(manifest).faults]
    by_number = np.full(max(ROW_KINDS) + 1, "", object)
    by_number[[*ROW_KINDS]] = [kind.name for kind in ROW_KINDS.values()]
    entered = _entered(links, causes, at.tolist(), found, FaultReach(links, roles))
    columns = {
        "run": pa.array([run.name] * len(rows), pa.string()),
        "process": pa.array(links.process[rows]),
        "sequence": pa.array(links.sequence[rows]),
        "time_us": pa.array(links.time_us[rows]),
        "partition": pa.array([each.partition for each in found], pa.int64()),
        "effect": pa.array([each.effect for each in found], pa.string()),
        "trigger_process": pa.array(links.process[trigger], mask=no_trigger),
        "trigger_us": pa.array(links.time_us[trigger], mask=no_trigger),
        "trigger_kind": pa.array(by_number[links.kind[trigger]], pa.string(), mask=no_trigger),
        "faults": pa.array([sorted(each) for each in faults], pa.list_(pa.int64())),
        "fault": pa.array([_only(each) for each in faults], pa.int64()),
        "fault_name": pa.array([_name(each, names) for each in faults], pa.string()),
        "fault_us": pa.array(entered, pa.int64()),
        "reason": pa.array([each.charge.reason or None for each in found], pa.string()),
    }
    return pa.Table.from_pydict(columns)


def _only(faults: Faults) -> int | None:
    return next(iter(faults)) if len(faults) == 1 else None


def _name(faults: Faults, names: list[str]) -> str | None:
    return " + ".join(names[fault] for fault in sorted(faults)) or None


def _entered(
    links: Links, causes: Causes, at: list[int], found: list[Charged], reach: FaultReach
) -> list[int | None]:
    """When the chain of each row enters a fault that it is charged to."""
    ends, times_us = causes.end.tolist(), links.time_us[causes.end].tolist()
    return [
        times_us[nth] if reach.fault_at.get(ends[nth]) in each.charge.faults else None
        for nth, each in zip(at, found, strict=True)
    ]
