"""Whether the parts of a scenario fit together, and with Kafka's rules.

Each function finds the problems of one part. Parts that build on others are looked at only if
those are sound.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from tidegauge.replication.release_versions import Release
from tidegauge.replication.replica_list import SLOTS
from tidegauge.simulation.durations import format_duration
from tidegauge.simulation.scenario_errors import Path, Problem, did_you_mean
from tidegauge.simulation.scenario_faults import (
    CLIENT_GROUP,
    RACK,
    ControllerMoveFault,
    CrashFault,
    CutLinkFault,
    KeptLog,
    PauseFault,
    PowerLossFault,
    RestartFault,
    Selector,
    SlowDiskFault,
    SlowLinkFault,
)
from tidegauge.simulation.scenario_model import Scenario
from tidegauge.simulation.scenario_parts import OfPartition
from tidegauge.simulation.scenario_settings import (
    THROTTLED_RATES,
    broker_defaults,
    consumer_defaults,
    problems_of_settings,
)
from tidegauge.simulation.scenario_settings_coherence import (
    problems_of_producer_settings,
    problems_of_topic_settings,
    settings_that_kafka_refuses,
)
from tidegauge.simulation.scenario_steps import (
    NO_LEADER,
    AlteredMove,
    AlterReassignmentsStep,
    AskEpochStep,
    BeginFaultStep,
    Condition,
    ConfigureStep,
    CreateTopicStep,
    DeleteTopicStep,
    EndFaultStep,
    PreferredElectionStep,
    ReassignStep,
    RequestStep,
    RestartConsumersStep,
    StepOfAnyKind,
)

#: KIP-455: AlterPartitionReassignments. How topics are deleted was read there, too.
_FIRST_TO_REASSIGN = Release.parse("2.4.0")


def problems_of(scenario: Scenario) -> list[Problem]:
    """What is wrong with a scenario whose parts, each by itself, are right."""
    for stage in _STAGES:
        problems = [problem for part in stage for problem in part(scenario)]
        if problems:
            return problems
    return []


def _releases(scenario: Scenario) -> Iterator[Problem]:
    """Every broker knows the protocol that it is told to speak."""
    try:
        Release.parse(scenario.release).protocol(scenario.protocol)
    except ValueError as error:
        yield Problem(("protocol",), str(error))
    for broker in scenario.cluster.broker_releases:
        release, protocol = scenario.release_of(broker)
        try:
            Release.parse(release).protocol(protocol)
        except ValueError as error:
            yield Problem(("cluster", "broker_releases", broker), str(error))


def _cluster(scenario: Scenario) -> Iterator[Problem]:
    cluster = scenario.cluster
    # Of several releases, each broker reads what its own knows.
    releases = {scenario.release, *(scenario.release_of(b)[0] for b in scenario.broker_ids())}
    known = {
        name: value for release in releases for name, value in broker_defaults(release).items()
    }
    yield from problems_of_settings(("cluster", "settings"), cluster.settings, "brokers", known)
    for broker, settings in cluster.broker_settings.items():
        path = ("cluster", "broker_settings", broker)
        known = broker_defaults(scenario.release_of(broker)[0])
        yield from problems_of_settings(path, settings, "brokers", known)
    rack = scenario.zookeeper.rack
    if rack is not None and rack not in cluster.racks:
        yield Problem(("zookeeper", "rack"), _no_such("rack", rack, cluster.racks))


def _topics(scenario: Scenario) -> Iterator[Problem]:
    yield from _repeated_names("topics", (topic.name for topic in scenario.topics))
    brokers = set(scenario.broker_ids())
    for place, topic in enumerate(scenario.topics):
        yield from problems_of_topic_settings(
            ("topics", place, "settings"), topic.settings, scenario
        )
        factor = scenario.replication_factor(topic)
        if factor > len(brokers):
            yield Problem(
                ("topics", place, "replication_factor"),
                f"{factor} replicas need as many brokers, and there are {len(brokers)}",
            )
        for partition, replicas in (topic.assignment or {}).items():
            for index, broker in enumerate(replicas):
                if broker not in brokers:
                    path = ("topics", place, "assignment", partition, index)
                    yield Problem(path, scenario.cluster.no_such_broker(broker))


def _workload(scenario: Scenario) -> Iterator[Problem]:
    workload = scenario.workload
    names: dict[str, Path] = {}
    kinds = (("producers", workload.producers), ("consumers", workload.consumers))
    for kind, groups in kinds:
        for place, group in enumerate(groups):
            path = ("workload", kind, place)
            if group.name in names:
                yield Problem((*path, "name"), f"there is a group {group.name} already")
            names[group.name] = path
            topics = [topic.name for topic in scenario.topics]
            for index, topic in enumerate(group.topics):
                if topic not in topics:
                    yield Problem((*path, "topics", index), _no_such("topic", topic, topics))
            yield from _too_late((*path, "start"), group.start_us, scenario)
    for place, producers in enumerate(workload.producers):
        path = ("workload", "producers", place)
        if producers.stop_us is not None and producers.stop_us <= producers.start_us:
            start = format_duration(producers.start_us)
            yield Problem((*path, "stop"), f"must be after the start, which is at {start}")
        yield from problems_of_producer_settings((*path, "settings"), scenario, producers.settings)
    for place, consumers in enumerate(workload.consumers):
        yield from problems_of_settings(
            ("workload", "consumers", place, "settings"),
            consumers.settings,
            "consumers",
            consumer_defaults(scenario.release),
        )


def _faults(scenario: Scenario) -> Iterator[Problem]:
    yield from _repeated_names("faults", (fault.name for fault in scenario.faults))
    begun = {step.fault for step in scenario.steps if isinstance(step, BeginFaultStep)}
    for place, fault in enumerate(scenario.faults):
        path = ("faults", place)
        if fault.at_us is not None:
            yield from _too_late((*path, "at"), fault.at_us, scenario)
        elif fault.name not in begun:
            yield Problem(path, "never begins: it needs `at`, or a name and a step begin_fault")
        if isinstance(fault, PauseFault | CrashFault | RestartFault | SlowDiskFault):
            yield from _selectors((*path, "brokers"), fault.brokers, scenario)
        elif isinstance(fault, PowerLossFault):
            problems = list(_selectors((*path, "brokers"), fault.brokers, scenario))
            yield from problems or _kept_logs((*path, "keeps"), fault, scenario)
        elif isinstance(fault, SlowLinkFault | CutLinkFault):
            yield from _ends((*path, "between"), fault.between, scenario)


def _kept_logs(path: Path, fault: PowerLossFault, scenario: Scenario) -> Iterator[Problem]:
    """Whether there are these logs, each once, on brokers that lose power."""
    pinned = set()
    for place, kept in enumerate(fault.keeps):
        problems = list(_of_partition((*path, place), kept, scenario))
        yield from problems
        if problems:
            continue
        message = _not_kept(kept, fault, scenario)
        log = (kept.topic, kept.partition, kept.broker)
        if message is None and log in pinned:
            message = "the log of this partition on this broker is there twice"
        if message is not None:
            yield Problem((*path, place, "broker"), message)
        pinned.add(log)


def _not_kept(kept: KeptLog, fault: PowerLossFault, scenario: Scenario) -> str | None:
    """What is wrong with the broker whose log of a partition that there is should be kept."""
    hit = scenario.brokers_of(fault.brokers)
    if kept.broker not in scenario.broker_ids():
        return scenario.cluster.no_such_broker(kept.broker)
    if kept.broker not in hit:
        return f"broker {kept.broker} does not lose power here, only {hit}"
    return _no_replica(kept, kept.broker, scenario)


def _ends(
    path: Path, ends: tuple[tuple[Selector, ...], tuple[Selector, ...]], scenario: Scenario
) -> Iterator[Problem]:
    problems = [
        problem
        for side, selectors in enumerate(ends)
        for problem in _selectors((*path, side), selectors, scenario)
    ]
    yield from problems
    if problems:
        return
    for selector in ends[1]:
        if set(scenario.endpoints_of([selector])) & set(scenario.endpoints_of(ends[0])):
            yield Problem(path, f"{selector} is on both sides, and there is no link to oneself")


def _selectors(path: Path, selectors: Iterable[Selector], scenario: Scenario) -> Iterator[Problem]:
    groups = [group.name for group in scenario.workload.groups]
    racks = scenario.cluster.racks
    for place, selector in enumerate(selectors):
        if selector.kind == RACK and selector.name not in racks:
            yield Problem((*path, place), _no_such("rack", selector.name, racks))
        elif selector.kind == CLIENT_GROUP and selector.name not in groups:
            yield Problem((*path, place), _no_such("group of clients", selector.name, groups))
        elif selector.broker >= 0 and selector.broker not in scenario.broker_ids():
            yield Problem((*path, place), scenario.cluster.no_such_broker(selector.broker))


def _steps(scenario: Scenario) -> Iterator[Problem]:
    latest_us = 0
    created: set[str] = set()
    for place, step in enumerate(scenario.steps):
        path = ("steps", place)
        if step.at_us is not None:
            yield from _too_late((*path, "at"), step.at_us, scenario)
            if step.at_us < latest_us:
                before = format_duration(latest_us)
                yield Problem((*path, "at"), f"a step before this one waits until {before}")
            latest_us = max(latest_us, step.at_us)
        if step.when is not None:
            yield from _condition((*path, "when"), step.when, scenario)
        yield from _action(path, step, scenario)
        if isinstance(step, CreateTopicStep):
            if step.topic in created:
                yield Problem((*path, "topic"), f"{step.topic} was created by an earlier step")
            created.add(step.topic)
        elif isinstance(step, DeleteTopicStep):
            created.discard(step.topic)
    yield from _steps_of_faults(scenario)
    yield from _steps_that_reassign(scenario)


def _action(path: Path, step: StepOfAnyKind, scenario: Scenario) -> Iterator[Problem]:
    """Whether there is what a step acts on, unless that is a fault."""
    if isinstance(step, RequestStep):
        yield from _of_partition(path, step, scenario)
        if step.to is not None:
            yield from _broker((*path, "to"), step.to, scenario)
    elif isinstance(step, AskEpochStep):
        yield from _of_partition(path, step, scenario)
        if step.broker is not None:
            yield from _broker((*path, "broker"), step.broker, scenario)
    elif isinstance(step, RestartConsumersStep):
        yield from _committing_group((*path, "group"), step.group, scenario)
    elif isinstance(step, PreferredElectionStep):
        if step.topic is not None and step.partition is not None:
            yield from _partition(path, step.topic, step.partition, scenario)
    elif isinstance(step, CreateTopicStep | DeleteTopicStep):
        yield from _topic((*path, "topic"), step.topic, scenario)
    elif isinstance(step, ConfigureStep):
        yield from _changed_settings(path, step, scenario)


def _committing_group(path: Path, name: str, scenario: Scenario) -> Iterator[Problem]:
    groups = {group.name: group for group in scenario.workload.consumers}
    if name not in groups:
        yield Problem(path, _no_such("group of consumers", name, groups))
    elif not scenario.consumer_settings(groups[name])["enable.auto.commit"]:
        yield Problem(path, f"{name} commits nothing to begin with: it needs enable.auto.commit")


def _changed_settings(path: Path, step: ConfigureStep, scenario: Scenario) -> Iterator[Problem]:
    """Whether there is the topic, or are the brokers, and they have settings that can change."""
    if step.topic is not None:
        yield from _topic((*path, "topic"), step.topic, scenario)
        yield from problems_of_topic_settings((*path, "settings"), step.settings, scenario)
        return
    for broker in step.brokers or ():
        yield from _broker((*path, "brokers"), broker, scenario)
    defaults = broker_defaults(scenario.release)
    known = {name: defaults[name] for name in THROTTLED_RATES}
    for name, value in step.settings.items():
        if name in defaults and name not in known:
            yield Problem((*path, "settings", name), "is not changed here while a broker runs")
        else:
            yield from problems_of_settings((*path, "settings"), {name: value}, "brokers", known)


def _condition(path: Path, condition: Condition, scenario: Scenario) -> Iterator[Problem]:
    """Whether it can hold: there are the brokers and the partition, and these are its replicas."""
    for broker in condition.registered or ():
        yield from _broker((*path, "registered"), broker, scenario)
    for broker in condition.unregistered or ():
        yield from _broker((*path, "unregistered"), broker, scenario)
    if condition.controller is not None:
        yield from _broker((*path, "controller"), condition.controller, scenario)
    if condition.isr is not None:
        named = [("is", broker) for broker in condition.isr.members]
        yield from _replicas((*path, "isr"), condition.isr, named, scenario)
    if condition.leader is not None:
        leads, former = condition.leader.leader, condition.leader.former
        named = [("is", leads)] if leads not in (None, NO_LEADER) else []
        named += [("is_not", former)] if former is not None else []
        yield from _replicas((*path, "leader"), condition.leader, named, scenario)


def _replicas(
    path: Path, part: OfPartition, named: Iterable[tuple[str, int]], scenario: Scenario
) -> Iterator[Problem]:
    """Whether there is the partition, and the brokers that a field names are replicas of it."""
    problems = list(_of_partition(path, part, scenario))
    yield from problems
    for field, broker in () if problems else named:
        message = _no_replica(part, broker, scenario)
        if message:
            yield Problem((*path, field), message)


def _broker(path: Path, broker: int, scenario: Scenario) -> Iterator[Problem]:
    if broker not in scenario.broker_ids():
        yield Problem(path, scenario.cluster.no_such_broker(broker))


def _topic(path: Path, name: str, scenario: Scenario) -> Iterator[Problem]:
    names = [topic.name for topic in scenario.topics]
    if name not in names:
        yield Problem(path, _no_such("topic", name, names))


def _of_partition(path: Path, part: OfPartition, scenario: Scenario) -> Iterator[Problem]:
    yield from _partition(path, part.topic, part.partition, scenario)


def _partition(path: Path, topic: str, number: int, scenario: Scenario) -> Iterator[Problem]:
    problems = list(_topic((*path, "topic"), topic, scenario))
    yield from problems
    if problems:
        return
    last = scenario.topic(topic).partition_count - 1
    if number > last:
        yield Problem((*path, "partition"), f"the last partition of {topic} is {last}")


def _no_replica(part: OfPartition, broker: int, scenario: Scenario) -> str | None:
    """What is wrong with a broker that should be a replica of a partition that there is."""
    replicas = scenario.hosts_of(scenario.topic(part.topic))[part.partition]
    return None if broker in replicas else f"broker {broker} is no replica of it, only {replicas}"


def _steps_that_reassign(scenario: Scenario) -> Iterator[Problem]:
    """Whether there are the partitions that move, when they do, and the brokers they move to."""
    to_come = _topics_to_come(scenario)
    reassigns = False
    for place, step in enumerate(scenario.steps):
        path = ("steps", place)
        if isinstance(step, CreateTopicStep):
            to_come.discard(step.topic)
        elif isinstance(step, ReassignStep | AlterReassignmentsStep):
            reassigns = True
            if isinstance(step, AlterReassignmentsStep):
                yield from _old_controllers(path, scenario)
            for number, move in enumerate(step.partitions):
                yield from _move((*path, "partitions", number), move, to_come, scenario)
        elif isinstance(step, DeleteTopicStep):
            yield from _old_controllers(path, scenario)
            if step.topic in to_come:
                yield Problem((*path, "topic"), f"{step.topic} is created by a later step")
        if step.when is not None and step.when.reassigned and not reassigns:
            message = "nothing is reassigned: no step before does so"
            yield Problem((*path, "when", "reassigned"), message)


def _topics_to_come(scenario: Scenario) -> set[str]:
    """The topics that are not there from the start on: the first step about them creates them."""
    begins: dict[str, bool] = {}
    for step in scenario.steps:
        if isinstance(step, CreateTopicStep | DeleteTopicStep):
            begins.setdefault(step.topic, isinstance(step, CreateTopicStep))
    return {topic for topic, is_created in begins.items() if is_created}


def _old_controllers(path: Path, scenario: Scenario) -> Iterator[Problem]:
    """Any broker can become controller, and moves replicas as its release does."""
    releases = {scenario.release_of(broker)[0] for broker in scenario.broker_ids()}
    old = sorted(each for each in releases if Release.parse(each) < _FIRST_TO_REASSIGN)
    if old:
        message = f"is simulated from 2.4 on, and a broker has release {old[0]}"
        yield Problem((*path, "do"), message)


def _move(
    path: Path, move: AlteredMove, to_come: Collection[str], scenario: Scenario
) -> Iterator[Problem]:
    problems = list(_of_partition(path, move, scenario))
    yield from problems
    if not problems and move.topic in to_come:
        yield Problem((*path, "topic"), f"{move.topic} is created by a later step")
    for broker in move.replicas or ():
        yield from _broker((*path, "replicas"), broker, scenario)
    if problems:
        return
    hosts = scenario.hosts_of(scenario.topic(move.topic))[move.partition]
    if len(hosts) > SLOTS:
        message = f"the partition would have replicas on {len(hosts)} brokers; {SLOTS} are possible"
        yield Problem((*path, "replicas"), message)


def _steps_of_faults(scenario: Scenario) -> Iterator[Problem]:
    faults = {fault.name: fault for fault in scenario.faults if fault.name is not None}
    begun = {name for name, fault in faults.items() if fault.at_us is not None}
    for place, step in enumerate(scenario.steps):
        if not isinstance(step, BeginFaultStep | EndFaultStep):
            continue
        path = ("steps", place, "fault")
        if step.fault not in faults:
            yield Problem(path, _no_such("fault", step.fault, faults))
        elif isinstance(step, EndFaultStep):
            if isinstance(faults[step.fault], ControllerMoveFault):
                yield Problem(path, f"{step.fault} is a controller move: there is nothing to end")
            elif step.fault not in begun:
                yield Problem(path, f"{step.fault} has not begun: no step before begins it")
        elif faults[step.fault].at_us is not None:
            yield Problem(path, f"{step.fault} has `at`, so it begins by itself")
        elif step.fault in begun:
            yield Problem(path, f"{step.fault} was begun by an earlier step")
        else:
            begun.add(step.fault)


def _too_late(path: Path, time_us: int, scenario: Scenario) -> Iterator[Problem]:
    if time_us >= scenario.duration_us:
        end = format_duration(scenario.duration_us)
        yield Problem(path, f"{format_duration(time_us)} is too late: the run ends at {end}")


def _repeated_names(part: str, names: Iterable[str | None]) -> Iterator[Problem]:
    seen = set()
    for place, name in enumerate(names):
        if name is not None and name in seen:
            yield Problem((part, place, "name"), f"{name} is the name of an earlier one, too")
        seen.add(name)


def _no_such(what: str, name: str, known: Iterable[str]) -> str:
    return f"there is no {what} {name}; {did_you_mean(name, known)}"


_STAGES: tuple[tuple[Callable[[Scenario], Iterator[Problem]], ...], ...] = (
    (_releases,),
    (_cluster,),
    (settings_that_kafka_refuses,),
    (_topics,),
    (_workload, _faults, _steps),
)
