"""The origins of rows: the nearest cause in another process, and the fault behind it.

From each row one link is followed: its *because* if it has one, else its *cause*. A decision due to
a missing message thus leads to the fault that blocked the message. A consequence of the return of a
process leads to the end of the fault that had stopped it.

A link names one reason, and a consequence can have several. ``attribution.py`` has the faults with
a part in it.

A chain can have thousands of links, and no window of Spark looks along it. So all rows of a run
take ever longer steps at once: after the n-th round each has passed 2**n links (the pointer jumping
of Hillis and Steele, 1986). Of two million rows of a run that takes a second and some 300 MB.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.analysis.requests import CANONICAL, FoundRun, TraceRequest
from tidegauge.analysis.trace_parts import find_frames, frames_of
from tidegauge.simulation.trace_rows.process_rows import FaultBegan, FaultEnded, StepTaken
from tidegauge.simulation.trace_rows.schema import ROW_KINDS, STATE_KINDS

#: Kinds of rows whose origins are found.
FOLLOWED = (
    *("broker_state", "controller_active", "controller_elected"),
    *("leader_elected", "removed_from_isr", "isr_shrunk", "isr_expanded"),
    *("became_leader", "truncated", "log_lost", "produce_stalled", "consume_stalled"),
    "partition_state",
)

_FAULTS = (int(FaultBegan.KIND), int(FaultEnded.KIND))

#: Kinds of rows of which the attribution reads columns of their own, and which.
DETAILS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "fault_began": ("fault",),
        "fault_ended": ("fault",),
        "roll_progress": ("fault",),
        "session_expired": ("broker", "silent_us"),
        "broker_state": ("broker", "state"),
        "controller_active": ("broker",),
        "controller_elected": ("broker",),
        "partition_state": ("partition", "change", "leader", "isr"),
        "partition_replicas": ("partition", "replicas", "adding", "removing"),
        "leader_elected": ("partition", "leader", "leader_epoch", "old_leader", "isr"),
        "leader_epoch_raised": ("partition", "leader_epoch"),
        "removed_from_isr": ("partition", "leader_epoch", "replica", "isr"),
        "isr_shrunk": ("partition", "isr", "old_isr", "lag_ms"),
        "isr_expanded": ("partition", "isr", "old_isr"),
        "became_leader": ("partition", "leader_epoch"),
        "truncated": ("partition",),
        "log_lost": ("partition",),
        "produce_stalled": ("partition", "waited_us"),
        "consume_stalled": ("partition", "waited_us"),
    }
)

_COLUMNS = (
    *("time_us", "process", "sequence"),
    *("cause_process", "cause_sequence", "because_process", "because_sequence"),
)

#: More rows than any process writes: a handle as one number.
_SEQUENCES = 1 << 40

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Links(NamedTuple):
    """All canonical rows of a run, unordered: their places, and their causes."""

    kind: Numbers
    time_us: Numbers
    process: Numbers
    sequence: Numbers
    cause_process: Numbers
    cause_sequence: Numbers
    because_process: Numbers
    because_sequence: Numbers
    #: The columns of the kinds in :data:`DETAILS`, with the ``place`` of each among the rows.
    details: Mapping[str, Mapping[str, Numbers]] = MappingProxyType({})


class Causes(NamedTuple):
    """The origins of some rows; all are places among the rows of the run."""

    rows: Numbers
    #: The nearest row of another process, and whether there is one.
    trigger: Numbers
    has_trigger: Flags
    #: The last row of its chain; the chain is cut at the first fault.
    end: Numbers
    #: Whether it is the beginning or the end of a fault; or a step.
    has_fault: Flags
    has_step: Flags


def links_of(run: FoundRun) -> Links:
    """Read the rows that a run has recorded until now.

    Raises:
        TraceError, OSError: as :func:`tidegauge.analysis.trace_parts.find_frames`.
    """
    found = find_frames(TraceRequest([run], kinds=tuple(CANONICAL)))
    columns: list[list[Numbers]] = [[] for _ in ("kind", *_COLUMNS)]
    details: dict[str, dict[str, list[Numbers]]] = {
        kind: {name: [] for name in ("place", *names)} for kind, names in DETAILS.items()
    }
    count = 0
    for _, frame in frames_of(list(found)):
        columns[0].append(np.full(frame.rows, frame.kind.number))
        for values, name in zip(columns[1:], _COLUMNS, strict=True):
            values.append(frame.column(name))
        for name, own in details.get(frame.kind.name, {}).items():
            is_place = name == "place"
            own.append(np.arange(count, count + frame.rows) if is_place else frame.column(name))
        count += frame.rows
    joined = {
        kind: {name: _joined(values) for name, values in own.items()}
        for kind, own in details.items()
    }
    return Links._make([*map(_joined, columns), joined])


def _joined(values: list[Numbers]) -> Numbers:
    return np.concatenate([np.zeros(0, np.int64), *values])


def causes_of(links: Links) -> Causes:
    """The origins of the rows of the kinds in :data:`FOLLOWED`."""
    followed = [number for number, kind in ROW_KINDS.items() if kind.name in FOLLOWED]
    rows = np.flatnonzero(np.isin(links.kind, followed))
    leads_to = _targets(links)
    comes_from_outside = links.process[leads_to] != links.process
    first_here = _arrived(np.where(comes_from_outside, np.arange(len(leads_to)), leads_to))
    trigger = leads_to[first_here[rows]]
    end = _arrived(leads_to)[rows]
    return Causes(
        rows,
        trigger,
        links.process[trigger] != links.process[rows],
        end,
        np.isin(links.kind[end], _FAULTS),
        links.kind[end] == int(StepTaken.KIND),
    )


def _targets(links: Links) -> Numbers:
    """The row that each row leads to: itself for a fault, and where no cause is in the run."""
    if not len(links.kind):
        return np.zeros(0, np.int64)
    has_reason = links.because_process >= 0
    to_process = np.where(has_reason, links.because_process, links.cause_process)
    to_sequence = np.where(has_reason, links.because_sequence, links.cause_sequence)
    handle = links.process * _SEQUENCES + links.sequence
    wanted = to_process * _SEQUENCES + to_sequence
    in_order = np.argsort(handle)
    place = np.searchsorted(handle, wanted, sorter=in_order)
    leads_to = in_order[np.minimum(place, len(in_order) - 1)]
    is_there = (handle[leads_to] == wanted) & (to_process >= 0)
    is_there &= ~np.isin(links.kind, _FAULTS)
    leads_to = np.where(is_there, leads_to, np.arange(len(handle)))
    # A row that states the result of a change stands for the row of the change, right before it.
    is_state = np.isin(links.kind, STATE_KINDS) & (links.sequence[leads_to] == links.sequence - 1)
    is_state &= links.process[leads_to] == links.process
    return _arrived(np.where(is_state, leads_to, np.arange(len(handle))))[leads_to]


def _arrived(leads_to: Numbers) -> Numbers:
    """The last row of each row's chain: one that leads to itself."""
    while True:
        further = leads_to[leads_to]
        if np.array_equal(further, leads_to):
            return leads_to
        leads_to = further
