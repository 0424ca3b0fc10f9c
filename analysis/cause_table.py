"""The origins of rows as a table: what led to each, and the faults that it is charged to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types

from tidegauge.analysis.attribution import charges_of
from tidegauge.analysis.causes import Causes, Links, causes_of, links_of
from tidegauge.analysis.fault_reach import FaultReach, Faults, roles_of
from tidegauge.analysis.run_paths import FoundRun
from tidegauge.simulation.trace_rows.schema import ROW_KINDS
from tidegauge.traces.directory import Directory
from tidegauge.traces.run_files import read_manifest


def arrow_of_causes(run: FoundRun) -> Any:
    """The origins of rows of a run: an Arrow table, by the handles of the rows.

    ===================  ==========================================================================
    ``trigger_process``  the nearest row of another process that led to it: its process,
    ``trigger_us``       its time,
    ``trigger_kind``     and its kind; null where there is none
    ``faults``           the numbers of all faults that have a part in it (``attribution.py``)
    ``fault``            the one of them; null: there is none, or several share it
    ``fault_name``       its name; the names of all if several share it
    ``fault_us``         when a chain of causes enters it: it began there, or ended; null: no chain
    ===================  ==========================================================================

    Raises:
        TraceError, OSError: as :func:`links_of`.
        RunError: the manifest cannot be read.
    """
    manifest = read_manifest(run.folder)
    links, roles = links_of(run), roles_of(manifest)
    causes = causes_of(links)
    faults = [each.faults for each in charges_of(links, causes, roles)]
    names = [name for name, *_ in Directory(manifest).faults]
    by_number = np.full(max(ROW_KINDS) + 1, "", object)
    by_number[[*ROW_KINDS]] = [kind.name for kind in ROW_KINDS.values()]
    no_trigger = ~causes.has_trigger
    columns = {
        "run": pa.array([run.name] * len(causes.rows), pa.string()),
        "process": pa.array(links.process[causes.rows]),
        "sequence": pa.array(links.sequence[causes.rows]),
        "trigger_process": pa.array(links.process[causes.trigger], mask=no_trigger),
        "trigger_us": pa.array(links.time_us[causes.trigger], mask=no_trigger),
        "trigger_kind": pa.array(
            by_number[links.kind[causes.trigger]], pa.string(), mask=no_trigger
        ),
        "faults": pa.array([sorted(each) for each in faults], pa.list_(pa.int64())),
        "fault": pa.array([_only(each) for each in faults], pa.int64()),
        "fault_name": pa.array([_name(each, names) for each in faults], pa.string()),
        "fault_us": pa.array(_entered(links, causes, faults, FaultReach(links, roles)), pa.int64()),
    }
    return pa.Table.from_pydict(columns)


def _only(faults: Faults) -> int | None:
    return next(iter(faults)) if len(faults) == 1 else None


def _name(faults: Faults, names: list[str]) -> str | None:
    return " + ".join(names[fault] for fault in sorted(faults)) or None


def _entered(
    links: Links, causes: Causes, faults: list[Faults], reach: FaultReach
) -> list[int | None]:
    """When the chain of each row enters a fault that it is charged to."""
    times_us = links.time_us[causes.fault].tolist()
    entered = zip(causes.fault.tolist(), causes.has_fault.tolist(), times_us, faults, strict=True)
    return [
        time_us if has_fault and reach.fault_at[row] in charged else None
        for row, has_fault, time_us, charged in entered
    ]
