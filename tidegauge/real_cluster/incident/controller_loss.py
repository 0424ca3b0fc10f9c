"""Active controllers that were lost: another one takes over.

With ZooKeeper the controller is one of the brokers. If that broker was gone at the time, its
absence explains the change; else it only lost its office, as after its session ended. With KRaft
the controllers are processes of their own, and only their logs show the length of an absence.
"""

from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from tidegauge.real_cluster.incident.absences import Absence
from tidegauge.real_cluster.incident.cluster_history import ClusterHistory
from tidegauge.real_cluster.incident.sightings import Sightings
from tidegauge.real_cluster.incident.topology import Span, Timings
from tidegauge.real_cluster.incident.voter_changes import has_left

#: The election of a controller with ZooKeeper.
_LOST_BEFORE_US = 10_000


class Loss(Enum):
    """The way in which a controller was lost; the kind of fault that a scenario has for it."""

    DEAD = "crash"
    HUNG = "pause"
    MOVED = "controller_move"


class ControllerLoss(NamedTuple):
    """An active controller that was lost."""

    controller: int
    manner: Loss
    begin: Span
    evidence: str
    #: The time at which another controller was active.
    replaced_us: int
    #: The time at which it showed activity again; None: not until the end of the run.
    back_us: int | None = None


def controller_losses(
    history: ClusterHistory,
    timings: Timings,
    found: Sequence[Absence],
    sightings: Sightings,
) -> list[ControllerLoss]:
    """The changes of the active controller that no absence of a broker explains."""
    losses = []
    terms = [term for term in history.terms if term.controller is not None]
    for before, after in pairwise(terms):
        assert before.controller is not None
        if after.controller == before.controller:
            continue
        if history.has_kraft and has_left(history, before.controller, after.time_us):
            continue
        if history.has_kraft:
            losses.append(_of_quorum(before.controller, after.time_us, history, timings, sightings))
        elif not _is_explained(before.controller, before.time_us, after.time_us, found):
            at_us = after.time_us - _LOST_BEFORE_US
            span = Span(at_us, before.time_us, after.time_us)
            evidence = f"broker {before.controller} stayed registered, and another is controller"
            losses.append(
                ControllerLoss(before.controller, Loss.MOVED, span, evidence, after.time_us)
            )
    return losses


def _is_explained(
    controller: int, since_us: int, replaced_us: int, found: Sequence[Absence]
) -> bool:
    return any(
        absence.broker == controller
        and since_us <= absence.begin.most_us
        and absence.may_last_at(replaced_us)
        for absence in found
    )


def _of_quorum(
    controller: int,
    replaced_us: int,
    history: ClusterHistory,
    timings: Timings,
    sightings: Sightings,
) -> ControllerLoss:
    span = timings.death_before_election(replaced_us)
    evidence = "the quorum's fetch and election timeouts before another one was active"
    none_us = [
        term.time_us
        for term in history.terms
        if term.controller is None and span.least_us < term.time_us < replaced_us
    ]
    span = span.narrowed(None, max(none_us, default=None))
    later = [term.time_us for term in history.terms if term.controller == controller]
    active_again_us = next((time_us for time_us in later if time_us > replaced_us), None)
    lost_us = sightings.death_us(controller, span.least_us, span.most_us)
    line_us = sightings.last_line_us(controller, span.most_us)
    if lost_us is None and line_us is not None and line_us > span.least_us:
        span = span.narrowed(line_us)
        evidence += ", after its own last line"
    if lost_us is not None:
        span, evidence = Span(lost_us, lost_us, lost_us), "its peers lost their connections"
    back_us = sightings.first_line_us(controller, max(replaced_us, span.most_us))
    back_us = active_again_us if back_us is None else back_us
    is_hung = lost_us is None and sightings.has_lines and back_us is not None
    if not sightings.has_lines and lost_us is None:
        evidence += "; by its states a dead controller is like one that hung or was cut off"
    manner = Loss.HUNG if is_hung else Loss.DEAD
    return ControllerLoss(controller, manner, span, evidence, replaced_us, back_us)
