"""Gaps of logs that begin in the middle of a cluster's life, and their inferred content.

A partition is first logged when something happens to it, and by then its state may be another one;
with ZooKeeper its assignment is logged nowhere. The controller of the begin is named when it is
replaced, if at all. Each inference has its notice.
"""

from collections.abc import Sequence
from itertools import pairwise

from tidegauge.real_cluster.describe.input_file import Notice, named
from tidegauge.real_cluster.incident.absences import Absence
from tidegauge.real_cluster.incident.cluster_history import ClusterHistory, WrittenState
from tidegauge.real_cluster.incident.sightings import Sightings
from tidegauge.real_cluster.incident.topology import Timings
from tidegauge.runs.controllers import ActiveController

#: States that logs have with one time.
_AT_ONCE_US = 1000
#: The changes by a lost broker are logged within this time.
_CHANGES_WITHIN_US = 3_000_000
#: A controller that is active so soon was so before.
_SOON_US = 3_000_000


def infer_assignments(history: ClusterHistory) -> list[Notice]:
    """Put the first replicas in front that a preferred election shows; of ZooKeeper's logs."""
    if not history.is_from_logs or history.has_kraft:
        return []
    inferred = []
    for partition, states in history.states.items():
        if not states[0].is_preexisting or partition in history.assignments:
            continue
        preferred = _elected_without_need(states)
        topic = history.partitions[partition]
        if preferred in topic.replicas and preferred != topic.replicas[0]:
            others = (broker for broker in topic.replicas if broker != preferred)
            replicas = (preferred, *others)
            history.partitions[partition] = topic._replace(replicas=replicas)
            inferred.append(partition)
    if not inferred:
        return []
    text = f"the first replica is inferred from a preferred election: {named(inferred)}"
    return [Notice("partitions", text)]


def _elected_without_need(states: Sequence[WrittenState]) -> int | None:
    """The leader that was elected while the one before it was in the ISR."""
    for before, after in pairwise(states):
        if after.leader not in (before.leader, None) and before.leader in after.isr:
            return after.leader
    return None


def infer_preexisting_controller(
    history: ClusterHistory, timings: Timings, found: Sequence[Absence], sightings: Sightings
) -> list[Notice]:
    """Name the controller of the start: the one that was lost before the first that is logged."""
    first = next(iter(history.terms), None)
    if not history.is_from_logs or first is None:
        return []
    if first.time_us <= history.begin_us + _SOON_US:
        return []
    if history.has_kraft:
        span = timings.death_before_election(first.time_us)
        lost = [
            node
            for node in history.directory.controllers
            if node != first.controller
            and sightings.death_us(node, span.least_us, span.most_us) is not None
        ]
    else:
        lost = [
            absence.broker
            for absence in found
            if absence.begin.least_us <= first.time_us
            and (absence.back_us is None or absence.back_us > first.time_us)
            and absence.broker != first.controller
        ]
    if len(lost) != 1:
        return []
    history.terms.insert(0, ActiveController(history.begin_us, lost[0]))
    text = f"{lost[0]} was controller at the start: it was lost before {first.controller} took over"
    return [Notice("controllers", text)]


def is_first_logged_after_loss(
    history: ClusterHistory, states: Sequence[WrittenState], found: Sequence[Absence]
) -> bool:
    """Whether the first state of a partition is one that a lost broker brought about."""
    first = states[0]
    if not history.is_from_logs or not first.is_preexisting:
        return False
    # A state that another one replaces at the same time is that of before.
    if any(state.time_us - first.time_us < _AT_ONCE_US for state in states[1:2]):
        return False
    return any(
        absence.noticed_us is not None
        and absence.broker not in first.isr
        and abs(first.time_us - absence.noticed_us) <= _CHANGES_WITHIN_US
        for absence in found
    )
