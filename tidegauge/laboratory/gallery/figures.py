"""Figures that tell whether a run shows a bug of KRaft, measured in its trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from tidegauge.runs.trace_events import Names, TraceEvent, event_of
from tidegauge.traces.run_folder import RunFolder


class Figure(NamedTuple):
    """A figure of a run: its words, with the unit, and how it is measured."""

    words: str
    of: Callable[[RunFolder], float]


def _events(run: RunFolder, kind: str) -> Iterator[TraceEvent]:
    names = Names.of(run)
    return (event_of(row, names) for row in run.rows(kind))


# Controllers.


def _two_controllers_s(run: RunFolder) -> float:
    """For how long more than one voter led the quorum, as each of them believed."""
    leaders: dict[str, bool] = {}
    total_us = 0
    began_us: int | None = None
    for event in _events(run, "voter_state"):
        leaders[event.process] = event["voter_state"] == "leader"
        if began_us is not None:
            total_us += event.time_us - began_us
        began_us = event.time_us if sum(leaders.values()) > 1 else None
    if began_us is not None:
        total_us += run.end_us - began_us
    return total_us / 1e6


def _new_controllers(run: RunFolder) -> float:
    """The number of times that a controller became active, without the first one of the run."""
    return sum(int(event["controller_epoch"]) > 1 for event in _claims(run))


def _claims(run: RunFolder) -> Iterator[TraceEvent]:
    return (event for event in _events(run, "controller_active") if event.row["broker"] >= 0)


def _quorum_epochs(run: RunFolder) -> float:
    """Epochs of the quorum that were begun during the run, with a leader or without one."""
    return max(int(event["quorum_epoch"]) for event in _events(run, "voter_state")) - 1


# Brokers.


def _live_brokers_fenced(run: RunFolder) -> float:
    """Brokers whose session expired although their processes ran all the time."""
    stopped = {event["broker"] for event in _events(run, "broker_stopped")}
    expired = {
        event["broker"]
        for event in _events(run, "broker_state")
        if (event["state"], event["state_reason"]) == ("fenced", "session expired")
    }
    return len(expired - stopped)


def _stop_of(run: RunFolder) -> TraceEvent:
    """The first SIGTERM of a broker: it asks for leave at once."""
    return next(_events(run, "controlled_shutdown_sent"))


def _shutdown_s(run: RunFolder) -> float:
    """From the first SIGTERM of a broker to the end of its process."""
    return (next(_events(run, "broker_stopped")).time_us - _stop_of(run).time_us) / 1e6


def _until_fenced_s(run: RunFolder) -> float:
    """From the death of the first broker that dies to the end of its session."""
    died = next(_events(run, "broker_stopped"))
    fenced = next(
        event
        for event in _events(run, "broker_state")
        if event.time_us >= died.time_us and event["broker"] == died["broker"]
    )
    return (fenced.time_us - died.time_us) / 1e6


def _back_s(run: RunFolder) -> float:
    """From the first SIGTERM of a broker until it is unfenced again."""
    stop = _stop_of(run)
    unfenced = next(
        event
        for event in _events(run, "broker_state")
        if event.time_us > stop.time_us
        and (event["broker"], event["state"]) == (stop["broker"], "active")
    )
    return (unfenced.time_us - stop.time_us) / 1e6


def _registrations_refused(run: RunFolder) -> float:
    """Registrations refused because the session of the process before was not over."""
    refused = _events(run, "request_refused")
    return sum(str(event["error"]) == "DUPLICATE_BROKER_REGISTRATION" for event in refused)


# Partitions.


def _leader_epochs(run: RunFolder) -> float:
    """Leader epochs that were begun after the creation of the partitions, all partitions added."""
    return sum(
        int(after["leader_epoch"]) - int(before["leader_epoch"])
        for states in _states(run).values()
        for before, after in pairwise(states)
    )


def _states(run: RunFolder) -> Mapping[str | None, list[TraceEvent]]:
    """The states of each partition in their order."""
    states: dict[str | None, list[TraceEvent]] = {}
    for event in _events(run, "partition_state"):
        states.setdefault(event.partition, []).append(event)
    return states


def _fenced_leader_s(run: RunFolder) -> float:
    """For how long elected leaders were fenced, all partitions added."""
    fenced: set[Any] = set()
    leaders: dict[str | None, Any] = {}
    changes = [*_events(run, "broker_state"), *_events(run, "partition_state")]
    changes.sort(key=lambda event: event.row.place)
    total_us = 0
    before_us = 0
    for event in changes:
        count = sum(leader in fenced for leader in leaders.values())
        total_us += count * (event.time_us - before_us)
        before_us = event.time_us
        if event.kind == "partition_state":
            leaders[event.partition] = event["leader"]
        elif event["state"] == "fenced":
            fenced.add(event["broker"])
        else:
            fenced.discard(event["broker"])
    return total_us / 1e6


def _acknowledged_lost(run: RunFolder) -> float:
    """Acknowledged records that no leader has at the end."""
    assert run.summary is not None
    return float(run.summary["records_acknowledged_lost"])


TWO_CONTROLLERS = Figure("seconds with two active controllers", _two_controllers_s)
NEW_CONTROLLERS = Figure("new active controllers", _new_controllers)
QUORUM_EPOCHS = Figure("epochs of the quorum used", _quorum_epochs)
LIVE_BROKERS_FENCED = Figure("brokers fenced that never stopped", _live_brokers_fenced)
SHUTDOWN = Figure("seconds from SIGTERM to exit", _shutdown_s)
UNTIL_FENCED = Figure("seconds until a dead broker is fenced", _until_fenced_s)
BACK = Figure("seconds from SIGTERM until unfenced again", _back_s)
REGISTRATIONS_REFUSED = Figure("registrations refused", _registrations_refused)
LEADER_EPOCHS = Figure("leader epochs used", _leader_epochs)
FENCED_LEADER = Figure("seconds with a fenced leader", _fenced_leader_s)
ACKNOWLEDGED_LOST = Figure("acknowledged records lost", _acknowledged_lost)
