"""The operator's part: topics made and deleted, partitions moved, leaders sent back.

A leader that moves back to the first of its replicas, without a fault at the time, was elected by a
preferred election: by the tool, or by the controller's own check of the balance. Both are written
as a step at the time of the first such election.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from tidegauge.real_cluster.describe.input_file import named
from tidegauge.real_cluster.incident.absences import Absence
from tidegauge.real_cluster.incident.cluster_history import ClusterHistory, WrittenState
from tidegauge.scenario.text.errors import counted

#: Elections of one request follow each other within this time.
_TOGETHER_US = 2_000_000
#: More elections are one request, even if some leaders stayed.
_MOST_SINGLE = 50
#: From the operator's request to the first state.
REQUEST_US = 45_000


class OperatorStep(NamedTuple):
    """An action of the operator at a time of the run."""

    time_us: int
    #: As a scenario has it, without its time.
    step: dict[str, Any]
    evidence: str


def operator_steps(history: ClusterHistory, found: Sequence[Absence]) -> list[OperatorStep]:
    """All actions, in the order of their times."""
    steps = [
        *_of_topics(history),
        *_moves(history),
        *_preferred_elections(history, found),
    ]
    return sorted(steps, key=lambda step: step.time_us)


def is_created_in_run(states: Sequence[WrittenState]) -> bool:
    """Whether a partition did not exist before the run."""
    return bool(states) and states[0].is_created and not states[0].is_preexisting


def _of_topics(history: ClusterHistory) -> Iterator[OperatorStep]:
    created: dict[str, int] = {}
    deleted: dict[str, int] = {}
    grown: dict[str, list[int]] = {}
    for partition, states in history.states.items():
        topic = history.partitions[partition].topic
        for state in states:
            if state.is_created and not state.is_preexisting:
                created.setdefault(topic, state.time_us)
                if state.time_us > created[topic] + _TOGETHER_US:
                    grown.setdefault(topic, []).append(history.partitions[partition].number)
            elif state.is_deleted:
                deleted[topic] = min(state.time_us, deleted.get(topic, state.time_us))
    existed = {
        history.partitions[partition].topic
        for partition, states in history.states.items()
        if not is_created_in_run(states)
    }
    for topic, time_us in created.items():
        if topic in existed:
            continue
        evidence = f"the first partition of {topic} is created"
        if topic in grown:
            numbers = ", ".join(map(str, sorted(grown[topic])))
            evidence += f"; partitions {numbers} were added later: here they exist from then on"
        yield OperatorStep(time_us - REQUEST_US, {"do": "create_topic", "topic": topic}, evidence)
    for topic, time_us in deleted.items():
        evidence = f"the partitions of {topic} are deleted"
        yield OperatorStep(time_us - REQUEST_US, {"do": "delete_topic", "topic": topic}, evidence)


def _moves(history: ClusterHistory) -> Iterator[OperatorStep]:
    """Reassignments that begin together, as one request."""
    moves: list[tuple[int, dict[str, Any]]] = []
    for partition, assignments in history.assignments.items():
        its = history.partitions[partition]
        former = its.replicas
        for assignment in assignments:
            target = assignment.target
            if target != former:
                place = {"topic": its.topic, "partition": its.number}
                moves.append((assignment.time_us, place | {"replicas": list(target)}))
                former = target
    moves.sort(key=lambda move: move[0])
    for group in _together([time_us for time_us, _ in moves]):
        partitions = [moves[place][1] for place in group]
        at_us = moves[group[0]][0]
        evidence = f"the assignments of {len(partitions)} partitions change"
        step: dict[str, Any] = {"do": "reassign", "partitions": partitions}
        if history.has_kraft:
            step["do"] = "alter_reassignments"
        yield OperatorStep(at_us - REQUEST_US, step, evidence)


def _preferred_elections(
    history: ClusterHistory, found: Sequence[Absence]
) -> Iterator[OperatorStep]:
    elections = []
    for partition, before, after in history.changes():
        if before.leader == after.leader or after.is_deleted or after.is_created:
            continue
        preferred = _preferred(history, partition, after.time_us)
        if after.leader != preferred or before.leader is None or preferred not in before.isr:
            continue
        if before.leader not in after.isr or _is_moving(history, partition, after.time_us):
            continue
        gone = {absence.broker for absence in found if absence.may_last_at(after.time_us)}
        if before.leader in gone:
            continue
        elections.append((after.time_us, partition))
    elections.sort()
    for group in _together([time_us for time_us, _ in elections]):
        at_us = elections[group[0]][0]
        names = [elections[place][1] for place in group]
        evidence = f"{counted(len(names), 'leader')} of {named(names)} moved back to the first "
        evidence += "replica, by a request or by the controller's own check"
        last_us = elections[group[-1]][0]
        if _are_all(history, names, at_us, last_us) or len(names) > _MOST_SINGLE:
            step: dict[str, Any] = {"do": "preferred_election"}
            yield OperatorStep(at_us - REQUEST_US, step, evidence)
            continue
        for name in names:
            its = history.partitions[name]
            step = {"do": "preferred_election", "topic": its.topic, "partition": its.number}
            yield OperatorStep(at_us - REQUEST_US, step, evidence)


def _are_all(history: ClusterHistory, names: list[str], at_us: int, last_us: int) -> bool:
    """Whether no other leader could have moved back."""
    for partition in history.states.keys() - {*names}:
        state = history.state_at(partition, at_us)
        preferred = _preferred(history, partition, at_us)
        after = history.state_at(partition, last_us + 1)
        if state is None or after is None:
            continue
        if preferred in state.isr and preferred != state.leader and after.leader == state.leader:
            return False
    return True


def _preferred(history: ClusterHistory, partition: str, time_us: int) -> int:
    replicas = history.partitions[partition].replicas
    for assignment in history.assignments.get(partition, ()):
        if assignment.time_us <= time_us and assignment.replicas:
            replicas = assignment.replicas
    return replicas[0]


def _is_moving(history: ClusterHistory, partition: str, time_us: int) -> bool:
    """Whether the election belongs to a reassignment."""
    assignments = history.assignments.get(partition, ())
    last = [each for each in assignments if each.time_us <= time_us + REQUEST_US]
    if not last:
        return False
    near = any(abs(each.time_us - time_us) <= REQUEST_US for each in last)
    return bool(last[-1].adding or last[-1].removing) or (near and len(assignments) > 1)


def _together(times_us: Sequence[int]) -> Iterator[list[int]]:
    """The places of times that follow each other closely."""
    group = [0] if times_us else []
    for (_, before_us), (place, time_us) in pairwise(enumerate(times_us)):
        if time_us - before_us > _TOGETHER_US:
            yield group
            group = []
        group.append(place)
    if group:
        yield group
