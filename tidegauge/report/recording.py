"""A recording: the rows that the replay of a run shows, and how they are packed in one text.

Base64 of what zlib made of these bytes: the length of the header in four (little-endian), the
header as JSON, then columns of numbers (:func:`varints`):

* of each partition the number of its slots; of each slot the broker's place in the header;
* of each change the time since the change before it, in microseconds; the difference of its
  partition's number to that of the change before it; the place of its state in the header.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
from numpy.typing import NDArray

from tidegauge.analysis.fault_lanes import fault_lanes
from tidegauge.report.partition_changes import PartitionChanges, partition_changes
from tidegauge.simulation.codes.occasions import BROKER_ABSENT
from tidegauge.traces.directory import Directory
from tidegauge.traces.run_folder import RunFolder

_BITS = 7
_MORE = 128


def varints(values: NDArray[np.int64]) -> bytes:
    """Numbers from 0 on, one after the other."""
    rest = values.astype(np.uint64)
    lengths = np.ones(len(rest), np.int64)
    beyond = rest >> np.uint64(_BITS)
    while beyond.any():
        lengths += beyond > 0
        beyond >>= np.uint64(_BITS)
    starts = np.cumsum(lengths) - lengths
    packed = np.zeros(int(lengths.sum()), np.uint8)
    for place in range(int(lengths.max(initial=0))):
        has = lengths > place
        low = (rest[has] & np.uint64(_MORE - 1)).astype(np.uint8)
        packed[starts[has] + place] = low | np.where(lengths[has] > place + 1, _MORE, 0)
        rest >>= np.uint64(_BITS)
    return packed.tobytes()


def unsigned(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of either sign as numbers from 0 on: 0, -1, 1, -2 become 0, 1, 2, 3."""
    return (values << 1) ^ (values >> 63)


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
        pa.Table.from_pylist(list(_rows_of_brokers(folder)), BROKER_CHANGES),
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


def _rows_of_brokers(folder: RunFolder) -> Iterator[dict[str, Any]]:
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


#: Faults have a lane each by name up to this number of names, else by kind.
_LANES = 8
_LENGTH_BYTES = 4


def recording_of(manifest: Mapping[str, Any], run: RecordedRun, end_us: int) -> str:
    """The recording of a run.

    Args:
        manifest: of the run.
        run: its rows.
        end_us: the end of the run.
    """
    directory = Directory(manifest)
    changes = partition_changes(directory, run.states, run.assignments, end_us)
    header = {
        "ends": end_us,
        "topics": list(_numbers_of_topics(directory)),
        "racks": _racks(directory, manifest["scenario"]),
        "brokers": directory.brokers,
        "brokerChanges": _broker_changes(directory, run),
        "lanes": _lanes(directory, run.faults.to_pylist()),
        "steps": _steps(manifest["scenario"], run),
        "losses": [list(_loss(each)) for each in run.losses.to_pylist()],
        "states": changes.states,
        "changes": len(changes.time_us),
    }
    return _packed(header, _slots(directory) + _columns(changes))


def _packed(header: Mapping[str, Any], columns: bytes) -> str:
    told = json.dumps(header, separators=(",", ":")).encode()
    length = len(told).to_bytes(_LENGTH_BYTES, "little")
    return b64encode(zlib.compress(length + told + columns, level=9)).decode()


def _columns(changes: PartitionChanges) -> bytes:
    return (
        varints(np.diff(changes.time_us, prepend=0))
        + varints(unsigned(np.diff(changes.partition, prepend=0)))
        + varints(changes.state)
    )


def _slots(directory: Directory) -> bytes:
    hosts = [each.hosts for each in directory.all_partitions]
    counts = np.array([len(each) for each in hosts], np.int64)
    return varints(counts) + varints(np.array([host for each in hosts for host in each], np.int64))


def _numbers_of_topics(directory: Directory) -> Iterator[tuple[str, int, int]]:
    """Partitions in their order: a topic, the number of the first one, and how many follow it."""
    partitions = enumerate(directory.all_partitions)
    for (topic, first), same in groupby(
        partitions, lambda each: (each[1].topic, each[1].number - each[0])
    ):
        members = list(same)
        yield topic, first + members[0][0], len(members)


def _racks(directory: Directory, scenario: Mapping[str, Any]) -> list[tuple[str, list[int]]]:
    """Racks by name, with the places of their brokers; those in no rack come last, in one of ""."""
    rack_of = {
        broker: rack
        for rack, brokers in (scenario["cluster"].get("racks") or {}).items()
        for broker in brokers
    }
    places: dict[str, list[int]] = {}
    for place, broker in enumerate(directory.brokers):
        places.setdefault(rack_of.get(broker, ""), []).append(place)
    return sorted(places.items(), key=lambda item: (item[0] == "", item[0]))


def _broker_changes(directory: Directory, run: RecordedRun) -> list[tuple[int, int, int, int]]:
    """Time, broker's place, whether it is registered then, and whether its process runs."""
    place_of = {broker: place for place, broker in enumerate(directory.brokers)}
    registered = [place in directory.registered_before for place in range(len(place_of))]
    runs = list(registered)
    changes = []
    for each in run.broker_changes.to_pylist():
        place = place_of[each["broker"]]
        for now, said in ((registered, each["registered"]), (runs, each["runs"])):
            if said is not None:
                now[place] = said
        changes.append((each["time_us"], place, int(registered[place]), int(runs[place])))
    before = [(0, place, 1, 1) for place in sorted(directory.registered_before)]
    return before + changes


def _lanes(
    directory: Directory, faults: Sequence[Mapping[str, Any]]
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Faults by their line, in the order in which they began."""
    in_order = sorted(faults, key=lambda each: (each["begin_us"], each["fault"]))
    lanes = fault_lanes(in_order, _LANES).items()
    return [(name, [_span(directory, each) for each in of_lane]) for name, of_lane in lanes]


def _span(directory: Directory, fault: Mapping[str, Any]) -> dict[str, Any]:
    hit = {directory.broker_of_process(process) for process in fault["processes"]}
    return {
        "name": fault["fault_name"],
        "text": fault["fault_text"],
        "begins": fault["begin_us"],
        "ends": fault["end_us"],
        "ended": fault["ended"],
        "brokers": sorted(hit - {-1}),
    }


def _steps(scenario: Mapping[str, Any], run: RecordedRun) -> list[tuple[int, str]]:
    """The time of each step that was taken, and its action."""
    steps = scenario.get("steps") or []
    return [
        (each["time_us"], f"step {each['step']}: {_action(steps, each['step'])}")
        for each in run.steps.to_pylist()
    ]


def _action(steps: Sequence[Mapping[str, Any]], number: int) -> str:
    known = steps[number] if 0 <= number < len(steps) else {}
    return str(known.get("do", "")).replace("_", " ")


def _loss(lost: Mapping[str, Any]) -> Iterator[Any]:
    """Time of the loss (when the new leader began), partition, and words."""
    yield lost["time_us"] if lost["began_us"] is None else lost["began_us"]
    yield lost["partition"]
    records = (
        "1 acknowledged record"
        if lost["records"] == 1
        else f"{lost['records']:,} acknowledged records"
    )
    leader = (
        "" if lost["new_leader"] is None else f": broker {lost['new_leader']} leads without them"
    )
    permitted = "" if lost["permitted_by"] is None else f" (permitted by {lost['permitted_by']})"
    yield f"{records} of broker {lost['leader']} lost{leader}{permitted}"
