"""The controllers of a run: their terms, their story, and their knowledge.

The events in their queues are in the table ``controller_events``.

A broker that loses its session counts itself as controller until it learns of the loss. So a term
has two ends: the control plane has no active controller any more, and the broker has resigned.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tidegauge.runs.causes import FAULTS
from tidegauge.runs.partitions import described_states
from tidegauge.runs.quorum import VOTER_LOG, VOTER_STATE
from tidegauge.runs.run import Mask, Run
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.simulation.trace_rows.codes import BROKER_ABSENT, BROKER_FENCED, RESIGNED
from tidegauge.traces.trace_file import Table, TraceKind

EVENT_DONE = "controller_event_done"
#: Another active controller, or none.
ACTIVE = "controller_active"


class ActiveController(NamedTuple):
    """The active controller from a time on, as the control plane has it; None: there is none."""

    time_us: int
    controller: int | None


class ControllerTerm(NamedTuple):
    """One broker, or controller of a quorum, as the active controller, in one controller epoch."""

    #: The id of the broker, or of the controller of a quorum.
    controller: int
    #: The process of its controller, such as ``controller of broker 2``.
    process: str
    epoch: int
    elected_us: int
    #: The time from which on there was no active controller; None: there was one to the end.
    gone_us: int | None = None
    #: The time when the broker itself resigned; None if it never did.
    resigned_us: int | None = None

    def is_active(self, time_us: int) -> bool:
        """Whether the broker counts itself as controller at a time."""
        return self.elected_us <= time_us and (
            self.resigned_us is None or time_us < self.resigned_us
        )


class Knowledge(NamedTuple):
    """The controller at a time, and its knowledge."""

    #: The terms whose brokers count themselves as controller, the newest one first.
    terms: list[ControllerTerm]
    #: Id of the active controller; None: there is none.
    active: int | None
    #: Ids of the brokers that are alive in the state of the newest of them.
    alive: list[int]
    #: Partitions without a live leader, with the reason.
    leaderless: dict[str, str]


def controller_events(run: Run, *, details: bool = False) -> list[TraceEvent]:
    """The rows of the controllers, of the active one, of sessions, and of faults that hit them.

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

    all_terms = controller_terms(run)
    return [
        event
        for event in run.selected(wanted)
        if event.kind not in FAULTS
        or event.row["process"] in zookeepers
        or any(
            term.process == event.process and term.is_active(event.time_us) for term in all_terms
        )
    ]


def active_controllers(run: Run, until_us: int | None = None) -> list[ActiveController]:
    """Each change of the active controller up to a time, in order.

    Raises:
        TraceError: a trace file is damaged.
    """
    events = run.events_of(ACTIVE, until_us=until_us)
    return [ActiveController(event.time_us, event.broker) for event in events]


def controller_terms(run: Run) -> list[ControllerTerm]:
    """Every term of a controller, in order.

    Raises:
        TraceError: a trace file is damaged.
    """
    found: list[ControllerTerm] = []
    kinds = ("controller_elected", "controller_resigned", ACTIVE, VOTER_STATE)
    for event in run.events_of(*kinds):
        if event.kind == VOTER_STATE:
            # KafkaRaftClient.transitionToResigned: a leader without the fetches of a majority.
            if event.row["voter_state"] != RESIGNED:
                continue
            its = (event.process, event.quorum_epoch)
        elif event.kind == "controller_resigned":
            its = (event.process, event.controller_epoch)
        else:
            its = None
        if its is not None:
            found = [
                term._replace(resigned_us=event.time_us)
                if (term.process, term.epoch) == its
                else term
                for term in found
            ]
        elif event.broker is None:
            if found and found[-1].gone_us is None:
                found[-1] = found[-1]._replace(gone_us=event.time_us)
        # One of a quorum writes nothing else as it becomes active.
        elif event.kind != ACTIVE or run.directory.controllers:
            epoch = event.controller_epoch
            found.append(ControllerTerm(event.broker, event.process, epoch, event.time_us))
    return found


def controller_knowledge(run: Run, until_us: int | None = None) -> Knowledge:
    """The controller at a time (by default the end of the run), and its knowledge.

    Raises:
        TraceError: a trace file is damaged.
    """
    terms = [
        term
        for term in controller_terms(run)
        if until_us is None or term.elected_us <= until_us
        if term.resigned_us is None or (until_us is not None and until_us < term.resigned_us)
    ]
    terms.reverse()
    kinds = ("broker_failed", "broker_registered", "controller_elected", "broker_state")
    events = list(run.events_of(*kinds, until_us=until_us))
    alive = set()
    if terms:
        alive = _unfenced(events) if run.directory.controllers else _alive(events, terms[0])
    leaderless = _leaderless(run, until_us, alive) if terms else {}
    active = active_controllers(run, until_us)
    holder = active[-1].controller if active else None
    return Knowledge(terms, holder, sorted(alive, key=run.directory.brokers.index), leaderless)


def _alive(events: Iterable[TraceEvent], term: ControllerTerm) -> set[int]:
    """The brokers that are alive in the state of a term's controller.

    They are those registered at its election, plus the changes that it saw later. (Its list
    arrives a round trip after the election: a broker that registers in between is missed here.)
    """
    alive: set[int] = set()
    registered: set[int] = set()
    for event in events:
        if event.kind == "broker_state":
            (registered.discard if event.row["state"] == BROKER_ABSENT else registered.add)(
                event.broker
            )
        elif event.process != term.process or event.time_us < term.elected_us:
            continue
        elif event.kind == "controller_elected":
            alive = set(registered)
        else:
            (alive.discard if event.kind == "broker_failed" else alive.add)(event.broker)
    return alive


def _unfenced(events: Iterable[TraceEvent]) -> set[int]:
    """The brokers that the controllers of a quorum do not fence."""
    unfenced: set[int] = set()
    for event in events:
        if event.kind == "broker_state":
            is_gone = event.row["state"] in (BROKER_ABSENT, BROKER_FENCED)
            (unfenced.discard if is_gone else unfenced.add)(event.broker)
    return unfenced


def _leaderless(run: Run, until_us: int | None, alive: set[int]) -> dict[str, str]:
    """Partitions without a live leader, with the reason."""
    states = described_states(run, until_us)
    why: dict[str, str] = {}
    for partition in run.directory.partitions:
        state = states.get(partition)
        if state is None:
            why[partition] = "no leader was ever elected"
        elif state.leader is None:
            why[partition] = f"no leader in epoch {state.leader_epoch}"
        elif state.leader not in alive:
            why[partition] = f"leader {state.leader} of epoch {state.leader_epoch} is not alive"
    return why
