"""The content of a recording before it is packed: rows of result tables and of the trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types

from tidegauge.simulation.trace_rows.codes import BROKER_ABSENT
from tidegauge.traces.run_folder import RunFolder

#: Rows by which a broker registers, is gone, starts and stops.
_OF_BROKERS = ("broker_state", "broker_started", "broker_stopped")
_IDS = pa.list_(pa.int64())

#: The columns of ``RecordedRun.assignments``.
ASSIGNMENTS = pa.schema(
    [("time_us", pa.int64()), ("partition", pa.int64()), ("replicas", _IDS), ("adding", _IDS)]
)
#: The columns of ``RecordedRun.broker_changes``.
BROKER_CHANGES = pa.schema(
    [
        ("time_us", pa.int64()),
        ("broker", pa.int64()),
        ("registered", pa.bool_()),
        ("runs", pa.bool_()),
    ]
)
#: The columns of ``RecordedRun.steps``.
STEPS = pa.schema([("time_us", pa.int64()), ("step", pa.int64())])
#: The columns of ``RecordedRun.losses`` that are used.
LOSSES = pa.schema(
    [
        ("time_us", pa.int64()),
        ("partition", pa.int64()),
        ("records", pa.int64()),
        ("leader", pa.int64()),
        ("new_leader", pa.int64()),
        ("began_us", pa.int64()),
        ("permitted_by", pa.string()),
        ("fault_name", pa.string()),
    ]
)


class RecordedRun(NamedTuple):
    """Tables of one run; brokers are ids, times are microseconds of virtual time."""

    #: The result table ``partition_states``.
    states: pa.Table
    #: The result table ``faults``.
    faults: pa.Table
    #: Changes of brokers: ``registered`` with the control plane, the process ``runs``; null: as
    #: before. In the total order of their rows.
    broker_changes: pa.Table
    #: Changes of assignments, of the rows ``partition_replicas``. In the total order of their rows.
    assignments: pa.Table = ASSIGNMENTS.empty_table()
    #: Steps of the scenario that were taken.
    steps: pa.Table = STEPS.empty_table()
    #: The result table ``lost``.
    losses: pa.Table = LOSSES.empty_table()


def recorded_run(
    folder: RunFolder, states: pa.Table, faults: pa.Table, losses: pa.Table
) -> RecordedRun:
    """The tables of a run: three result tables, and what its trace has beside them.

    Args:
        folder: of the run.
        states: its result table ``partition_states``.
        faults: its result table ``faults``.
        losses: its result table ``lost``.

    Raises:
        TraceError: a trace file is damaged.
    """
    return RecordedRun(
        states,
        faults,
        pa.Table.from_pylist(list(_broker_changes(folder)), BROKER_CHANGES),
        pa.Table.from_pylist(list(_assignments(folder)), ASSIGNMENTS),
        pa.Table.from_pylist(
            [
                {"time_us": row["time_us"], "step": row["step"]}
                for row in folder.rows("step_taken")
                if row["time_us"] < folder.end_us
            ],
            STEPS,
        ),
        losses,
    )


def _broker_changes(folder: RunFolder) -> Iterator[dict[str, Any]]:
    rows = sorted(
        (row for kind in _OF_BROKERS for row in folder.rows(kind)), key=lambda row: row.place
    )
    for row in rows:
        if row["time_us"] >= folder.end_us:
            return
        is_state = row.kind == "broker_state"
        place = row["broker"] if is_state else folder.directory.broker_of_process(row["process"])
        yield {
            "time_us": row["time_us"],
            "broker": folder.directory.broker_id(place),
            "registered": row["state"] != BROKER_ABSENT if is_state else None,
            "runs": None if is_state else row.kind == "broker_started",
        }


def _assignments(folder: RunFolder) -> Iterator[dict[str, Any]]:
    for row in folder.rows("partition_replicas"):
        if row["time_us"] >= folder.end_us:
            return
        partition = row["partition"]
        yield {
            "time_us": row["time_us"],
            "partition": partition,
            "replicas": folder.directory.brokers_in(row["replicas"], partition),
            "adding": folder.directory.brokers_in(row["adding"], partition),
        }
