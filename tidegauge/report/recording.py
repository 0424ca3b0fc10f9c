"""A recording: the rows that the replay of a run shows, and how they are packed in one text.

Base64 of these bytes compressed by zlib: the length of the header in four (little-endian), the
header as JSON, then columns of numbers (:func:`varints`):

* of each partition the number of its slots; of each slot the broker's place in the header;
* of each change the time since the change before it, in microseconds; the difference of its
  partition's number to that of the change before it; the place of its state in the header.
"""

import json
import zlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
from numpy.typing import NDArray

from tidegauge.analysis.fault_reach import fault_lanes
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.report.partition_changes import STATES, PartitionChanges, partition_changes
from tidegauge.runs.run import Run
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.simulation.trace_rows.codes import BROKER_ABSENT
from tidegauge.traces.directory import Directory

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


class BrokerChange(NamedTuple):
    """A broker registers, is gone, starts or stops; None: as before."""

    time_us: int
    broker: int
    registered: bool | None
    runs: bool | None


class TakenStep(NamedTuple):
    """A step of the scenario that was taken, by its place there."""

    time_us: int
    step: int


class RecordedRun(NamedTuple):
    """Tables of one run; brokers are ids, times are microseconds of virtual time."""

    #: As ``partition_changes.STATES`` finds them.
    states: pa.Table
    #: Rows of the result table ``faults``.
    faults: Sequence[Mapping[str, Any]] = ()
    #: In the total order of their rows.
    broker_changes: Sequence[BrokerChange] = ()
    steps: Sequence[TakenStep] = ()
    #: Rows of the result table ``lost``.
    losses: Sequence[Mapping[str, Any]] = ()


def recorded_run(run: Run, tables: RunTables) -> RecordedRun:
    """The tables of a run: those in SQL, and those that only its trace has.

    Raises:
        TraceError: a trace file is damaged.
    """
    return RecordedRun(
        tables.arrow(STATES),
        tables.rows("select * from faults order by all"),
        list(_changes_of_brokers(run)),
        [TakenStep(event.time_us, event.step) for event in _events(run, "step_taken")],
        tables.rows("select * from lost order by all"),
    )


def _events(run: Run, *kinds: str) -> Iterator[TraceEvent]:
    """The events of the run itself, without its liveness phase."""
    return run.events_of(*kinds, until_us=run.end_us - 1)


def _changes_of_brokers(run: Run) -> Iterator[BrokerChange]:
    for event in _events(run, *_OF_BROKERS):
        if event.kind == "broker_state":
            registered = bool(event.row["state"] != BROKER_ABSENT)
            yield BrokerChange(event.time_us, event.broker, registered, None)
        else:
            broker = run.directory.broker_of_process(event.row["process"])
            runs = event.kind == "broker_started"
            yield BrokerChange(event.time_us, run.directory.brokers[broker], None, runs)


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
    changes = partition_changes(directory, run.states, end_us)
    header = {
        **({"firstMs": manifest["logs"]["first_line_ms"]} if "logs" in manifest else {}),
        "ends": end_us,
        "topics": list(_numbers_of_topics(directory)),
        "racks": _racks(directory, manifest["scenario"]),
        "brokers": directory.brokers,
        "brokerChanges": _broker_changes(directory, run),
        "lanes": _lanes(directory, run.faults),
        "steps": _steps(manifest["scenario"], run),
        "losses": [list(_loss(each)) for each in run.losses],
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
    """The topics, each with the number of its first partition and of those after it."""
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
    for each in run.broker_changes:
        place = place_of[each.broker]
        for now, said in ((registered, each.registered), (runs, each.runs)):
            if said is not None:
                now[place] = said
        changes.append((each.time_us, place, int(registered[place]), int(runs[place])))
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
    return [(each.time_us, f"step {each.step}: {_action(steps, each.step)}") for each in run.steps]


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
