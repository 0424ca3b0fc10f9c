"""References of a scenario: its brokers, controllers, racks, topics, times must exist."""

from collections.abc import Iterable, Iterator

from tidegauge.scenario.model.deployment import Deployment
from tidegauge.scenario.model.parts import OfPartition
from tidegauge.scenario.model.selectors import CLIENT_GROUP, CONTROLLER, RACK, Selector
from tidegauge.scenario.text.errors import Path, Problem, counted, did_you_mean
from tidegauge.simulation.quantities import format_duration


def selectors_are_there(
    path: Path, selectors: Iterable[Selector], scenario: Deployment
) -> Iterator[Problem]:
    """Check that the racks, groups and brokers of selectors exist."""
    groups = [group.name for group in scenario.workload.groups]
    racks = scenario.cluster.racks
    for place, selector in enumerate(selectors):
        if selector.kind == RACK and selector.name not in racks:
            yield Problem((*path, place), no_such("rack", selector.name, racks))
        elif selector.kind == CLIENT_GROUP and selector.name not in groups:
            yield Problem((*path, place), no_such("group of clients", selector.name, groups))
        elif selector.kind == CONTROLLER and scenario.has_kraft:
            yield from controller_is_there((*path, place), selector.broker, scenario)
        elif selector.broker >= 0 and selector.broker not in scenario.broker_ids():
            yield Problem((*path, place), scenario.cluster.no_such_broker(selector.broker))


def replicas_are_there(
    path: Path, part: OfPartition, named: Iterable[tuple[str, int]], scenario: Deployment
) -> Iterator[Problem]:
    """Check that the partition exists, and that the brokers of a field are its replicas."""
    problems = list(partition_is_there(path, part, scenario))
    yield from problems
    for field, broker in () if problems else named:
        message = no_replica(part, broker, scenario)
        if message:
            yield Problem((*path, field), message)


def broker_is_there(path: Path, broker: int, scenario: Deployment) -> Iterator[Problem]:
    """Check that a broker has this id."""
    if broker not in scenario.broker_ids():
        yield Problem(path, scenario.cluster.no_such_broker(broker))


def controller_is_there(path: Path, number: int, scenario: Deployment) -> Iterator[Problem]:
    """Check that a controller of the quorum has this number."""
    count = scenario.controllers.count
    if number >= count:
        message = f"the last of {counted(count, 'controller')} is controller:{count - 1}"
        yield Problem(path, message)


def topic_is_there(path: Path, name: str, scenario: Deployment) -> Iterator[Problem]:
    """Check that a topic has this name."""
    names = [topic.name for topic in scenario.topics]
    if name not in names:
        yield Problem(path, no_such("topic", name, names))


def partition_is_there(path: Path, part: OfPartition, scenario: Deployment) -> Iterator[Problem]:
    """Check that the partition of a part exists."""
    yield from partition_number_is_there(path, part.topic, part.partition, scenario)


def partition_number_is_there(
    path: Path, topic: str, number: int, scenario: Deployment
) -> Iterator[Problem]:
    """Check that the topic exists and has a partition of this number."""
    problems = list(topic_is_there((*path, "topic"), topic, scenario))
    yield from problems
    if problems:
        return
    last = scenario.topic(topic).partition_count - 1
    if number > last:
        yield Problem((*path, "partition"), f"the last partition of {topic} is {last}")


def no_replica(part: OfPartition, broker: int, scenario: Deployment) -> str | None:
    """The problem of a broker that must be a replica of an existing partition."""
    replicas = scenario.hosts_of(scenario.topic(part.topic))[part.partition]
    return None if broker in replicas else f"broker {broker} is no replica of it, only {replicas}"


def too_late(path: Path, time_us: int, scenario: Deployment) -> Iterator[Problem]:
    """Check that a time is within the run."""
    if time_us >= scenario.duration_us:
        end = format_duration(scenario.duration_us)
        yield Problem(path, f"{format_duration(time_us)} is too late: the run ends at {end}")


def repeated_names(part: str, names: Iterable[str | None]) -> Iterator[Problem]:
    """Check that names are unique; parts without a name are skipped."""
    seen = set()
    for place, name in enumerate(names):
        if name is not None and name in seen:
            yield Problem((part, place, "name"), f"{name} is the name of an earlier one, too")
        seen.add(name)


def no_such(what: str, name: str, known: Iterable[str]) -> str:
    """The message about an unknown name."""
    return f"there is no {what} {name}; {did_you_mean(name, known)}"
