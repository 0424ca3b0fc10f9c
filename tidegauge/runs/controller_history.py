"""The controllers of a run: their terms, their story, and their knowledge.

The events in their queues are in the table ``controller_events``.

A broker that loses its session believes to be controller until it learns of the loss. So a term
has two ends: the control plane has no active controller any more, and the broker has resigned.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tidegauge.runs.moments import FAULTS
from tidegauge.runs.quorum_history import VOTER_LOG
from tidegauge.runs.row_selection import Mask, selected
from tidegauge.runs.story import Names
from tidegauge.runs.topic_description import described_states
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.trace_rows.codes import BROKER_ABSENT, BROKER_FENCED
from tidegauge.traces.run_folder import RunFolder, TraceRow
from tidegauge.traces.trace_file import Table, TraceKind

if TYPE_CHECKING:
    from tidegauge.analysis.making.run_tables import RunTables

EVENT_DONE = "controller_event_done"
#: Another active controller, or none.
ACTIVE = "controller_active"

_TERMS = frozenset({"controller_elected", "controller_resigned", ACTIVE})
_KNOWN = frozenset(
    {"broker_failed", "broker_registered", "controller_elected", "broker_state", ACTIVE}
)


class ControllerTerm(NamedTuple):
    """One broker, or controller of a quorum, as the active controller, in one controller epoch."""

    #: Its number: index of the broker, or behind these that of the controller.
    broker: int
    #: The process of its controller.
    process: int
    epoch: int
    elected_us: int
    #: The time from which on there was no active controller; None: there was one to the end.
    gone_us: int | None
    #: The time when the broker itself resigned; None if it never did.
    resigned_us: int | None

    def is_active(self, time_us: int) -> bool:
        """Whether the broker believes to be controller at a time."""
        return self.elected_us <= time_us and (
            self.resigned_us is None or time_us < self.resigned_us
        )


class Knowledge(NamedTuple):
    """The controller at a time, and its knowledge."""

    #: The terms whose brokers believe to be controller, the newest one first.
    terms: list[ControllerTerm]
    #: Number of the active controller; None: there is none.
    active: int | None
    #: Indexes of the brokers that the newest of them knows as alive.
    alive: list[int]
    #: Partitions without a live leader, with the reason.
    leaderless: dict[int, str]


def controller_rows(run: RunFolder, *, details: bool = False) -> list[TraceRow]:
    """The rows of the controllers, of who is active, of sessions, and of faults that hit them.

    Faults of other brokers, and of links to them, are left out.

    Args:
        run: the run.
        details: include rows that are not canonical, and each growth of a metadata log.

    Raises:
        TraceError: a trace file is damaged.
    """
    quorum = run.directory.processes_with_role("quorum controller")
    controllers = [*run.directory.processes_with_role("controller"), *quorum]
    zookeepers = run.directory.processes_with_role("zookeeper")

    def wanted(kind: TraceKind, table: Table) -> Mask | None:
        if kind.name == EVENT_DONE or not (details or kind.canonical):
            return None
        mask: Mask = np.isin(table["process"], controllers)
        if kind.name in FAULTS or kind.name == "session_expired":
            mask |= np.isin(table["process"], zookeepers)
        if kind.name == VOTER_LOG and not details:
            mask &= table["truncated"] != 0
        return mask | (kind.name == ACTIVE)

    all_terms = terms(run)
    return [
        row
        for row in selected(run, wanted)
        if row.kind not in FAULTS
        or row["process"] in zookeepers
        or any(
            term.process == row["process"] and term.is_active(row["time_us"]) for term in all_terms
        )
    ]


def terms(run: RunFolder) -> list[ControllerTerm]:
    """Every term of a controller, in order.

    Raises:
        TraceError: a trace file is damaged.
    """
    found: list[ControllerTerm] = []
    for row in run.all_rows(wanted=lambda kind: kind.name in _TERMS):
        time_us = row["time_us"]
        if row.kind == "controller_elected":
            found.append(
                ControllerTerm(
                    row["broker"], row["process"], row["controller_epoch"], time_us, None, None
                )
            )
        elif row.kind == "controller_resigned":
            found = [_resigned(term, row) for term in found]
        elif row["broker"] == NONE and found and found[-1].gone_us is None:
            found[-1] = found[-1]._replace(gone_us=time_us)
        elif run.directory.controllers and row["broker"] != NONE:
            # One of a quorum writes nothing else as it becomes active.
            epoch = row["controller_epoch"]
            found.append(ControllerTerm(row["broker"], row["process"], epoch, time_us, None, None))
    return found


def _resigned(term: ControllerTerm, row: TraceRow) -> ControllerTerm:
    is_its = (term.process, term.epoch) == (row["process"], row["controller_epoch"])
    return term._replace(resigned_us=row["time_us"]) if is_its else term


def knowledge(
    run: RunFolder, tables: RunTables, names: Names, until_us: int | None = None
) -> Knowledge:
    """The controller at a time (by default the end of the run), and its knowledge.

    Raises:
        TraceError: a trace file is damaged.
    """
    active = [
        term
        for term in terms(run)
        if until_us is None or term.elected_us <= until_us
        if term.resigned_us is None or (until_us is not None and until_us < term.resigned_us)
    ]
    active.reverse()
    rows = [
        row
        for row in run.all_rows(wanted=lambda kind: kind.name in _KNOWN)
        if until_us is None or row["time_us"] <= until_us
    ]
    alive = set()
    if active:
        alive = _unfenced(rows) if run.directory.controllers else _alive(rows, active[0])
    leaderless = _leaderless(tables, names, until_us, alive) if active else {}
    return Knowledge(active, _holder(rows), sorted(alive), leaderless)


def _holder(rows: Iterable[TraceRow]) -> int | None:
    holder = None
    for row in rows:
        if row.kind == ACTIVE:
            holder = None if row["broker"] == NONE else row["broker"]
    return holder


def _alive(rows: Iterable[TraceRow], term: ControllerTerm) -> set[int]:
    """The brokers that the controller of a term knows as alive.

    They are those registered at its election, plus the changes that it saw later. (Its list
    arrives a round trip after the election: a broker that registers in between is missed here.)
    """
    alive: set[int] = set()
    registered: set[int] = set()
    for row in rows:
        if row.kind == "broker_state":
            (registered.discard if row["state"] == BROKER_ABSENT else registered.add)(row["broker"])
        elif row["process"] != term.process or row["time_us"] < term.elected_us:
            continue
        elif row.kind == "controller_elected":
            alive = set(registered)
        elif row.kind == "broker_registered":
            alive.add(row["broker"])
        elif row.kind == "broker_failed":
            alive.discard(row["broker"])
    return alive


def _unfenced(rows: Iterable[TraceRow]) -> set[int]:
    """The brokers that the controllers of a quorum do not fence."""
    unfenced: set[int] = set()
    for row in rows:
        if row.kind == "broker_state":
            is_gone = row["state"] in (BROKER_ABSENT, BROKER_FENCED)
            (unfenced.discard if is_gone else unfenced.add)(row["broker"])
    return unfenced


def _leaderless(
    tables: RunTables, names: Names, until_us: int | None, alive: set[int]
) -> dict[int, str]:
    """Partitions without a live leader, with the reason."""
    states = described_states(tables, until_us)
    alive_ids = {names.broker_id(broker) for broker in alive}
    why: dict[int, str] = {}
    for partition in names.partitions.values():
        state = states.get(partition)
        if state is None:
            why[partition] = "no leader was ever elected"
        elif state.leader is None:
            why[partition] = f"no leader in epoch {state.leader_epoch}"
        elif state.leader not in alive_ids:
            why[partition] = f"leader {state.leader} of epoch {state.leader_epoch} is not alive"
    return why
