"""The history of a partition: its states, assignments, truncations and roles, over a time."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tidegauge.real_cluster.logs import partition_rows
from tidegauge.real_cluster.logs.log_window import states_within
from tidegauge.real_cluster.logs.partition_states import (
    AnnouncedIsr,
    Line,
    State,
    announced_isrs,
    joined,
)
from tidegauge.simulation.wall_clock import WallClock


class TopicPartition(NamedTuple):
    """A partition."""

    topic: str
    number: int


class AssignmentChange(NamedTuple):
    """An assignment, from the time of the line that has it."""

    time_ms: int
    assignment: partition_rows.Assignment


class Truncation(NamedTuple):
    """A replica has taken records off its log."""

    time_ms: int
    broker: int
    offset: int


class Role(NamedTuple):
    """A broker leads a partition, or follows, from a time on."""

    time_ms: int
    broker: int
    leads: bool
    #: The leader; -1: none, or no line names that of the epoch.
    leader: int
    leader_epoch: int
    #: Unknown below 0.
    version: int
    isr: tuple[int, ...] | None
    log_end_offset: int


class PartitionHistory(NamedTuple):
    """The history of a partition."""

    partition: TopicPartition
    states: list[State]
    assignments: list[AssignmentChange]
    truncations: list[Truncation]
    roles: list[Role]
    #: ISRs that leaders announced and that no line confirms: they are no states.
    announced: list[AnnouncedIsr]


def partition_history(
    name: TopicPartition, states: list[State], lines: list[Line], roles: list[Role]
) -> PartitionHistory:
    """The history of a partition.

    Args:
        name: the partition.
        states: its states, in order.
        lines: all lines about it.
        roles: the roles of brokers; a leader that no line names is that of the epoch.
    """
    assigned = [
        AssignmentChange(line.time_ms, line.assignment)
        for line in lines
        if line.kind == partition_rows.LineKind.ASSIGNED and line.assignment is not None
    ]
    assigned += [
        AssignmentChange(state.time_ms, state.assignment)
        for state in states
        if state.assignment is not None
    ]
    assigned.sort(key=lambda each: each.time_ms)
    truncations = [
        Truncation(line.time_ms, line.node, line.offset)
        for line in lines
        if line.kind == partition_rows.LineKind.TRUNCATED
    ]
    announced = announced_isrs(lines, states)
    of_epoch = {state.leader_epoch: state.leader for state in reversed(states)}
    roles = [
        role._replace(leader=of_epoch.get(role.leader_epoch, -1))
        if role.leader == partition_rows.MISSING
        else role
        for role in roles
    ]
    return PartitionHistory(name, states, assigned, truncations, roles, announced)


def partition_within(
    history: PartitionHistory, ends_ms: dict[int, int], span: WallClock
) -> PartitionHistory:
    """The history of a partition in a window: first its state, assignment and roles at the begin.

    A role ends with the process that has it.

    Args:
        history: of all the time.
        ends_ms: by node, the last end of a process before the window.
        span: the window.
    """
    states = states_within(history.states, span)
    before = [state for state in history.states if state.time_ms < span.first_ms]
    exists = bool(before) and not before[-1].deleted
    assignment: list[AssignmentChange] = []
    roles: dict[int, Role] = {}
    if exists:
        assignment = [
            each._replace(time_ms=span.first_ms)
            for each in known_assignments(history.assignments)
            if each.time_ms < span.first_ms
        ][-1:]
        for role in history.roles:
            if ends_ms.get(role.broker, -1) < role.time_ms < span.first_ms:
                roles[role.broker] = role._replace(time_ms=span.first_ms)

    def is_within(time_ms: int) -> bool:
        return span.first_ms <= time_ms <= span.last_ms

    return PartitionHistory(
        history.partition,
        states,
        [*assignment, *(each for each in history.assignments if is_within(each.time_ms))],
        [each for each in history.truncations if is_within(each.time_ms)],
        [*roles.values(), *(each for each in history.roles if is_within(each.time_ms))],
        [each for each in history.announced if is_within(each.time_ms)],
    )


def known_assignments(changes: Iterable[AssignmentChange]) -> Iterator[AssignmentChange]:
    """The whole assignment after each change, as far as lines have it."""
    known = partition_rows.Assignment()
    for time_ms, change in changes:
        if change.replicas is None and change.removing == () and known.removing:
            # Only the leader's line shows that a reassignment is done.
            left = tuple(each for each in known.replicas or () if each not in known.removing)
            change = change._replace(replicas=left or None)  # noqa: PLW2901
        known = joined(change, known) or change
        yield AssignmentChange(time_ms, known)
