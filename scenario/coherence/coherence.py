"""Coherence of a scenario's faults with its cluster, and with the steps that begin and end them.

Coherence of the parts of a scenario, with each other and with Kafka's rules.

Each function finds the problems of one part. A part that builds on others is checked only if those
are valid.
"""

from collections.abc import Callable, Collection, Iterator

from tidegauge.replication.records import SLOTS
from tidegauge.scenario.coherence.mode_coherence import (
    problems_of_cordons,
    problems_of_mode,
    problems_of_other_modes,
    problems_of_preexisting_states,
    problems_of_upgrades,
    problems_of_versions,
)
from tidegauge.scenario.coherence.quorum_coherence import problems_of_quorum
from tidegauge.scenario.coherence.size import (
    problems_of_cluster_size,
    problems_of_producer_settings,
    problems_of_workload_size,
    settings_that_kafka_refuses,
)
from tidegauge.scenario.model import references
from tidegauge.scenario.model.process_faults import RollingRestartFault
from tidegauge.scenario.model.request_steps import BeginFaultStep, EndFaultStep, ReleaseStep
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.model.settings import (
    broker_defaults,
    controllers_may_set,
    problems_of_consumer_settings,
    problems_of_settings,
    problems_of_topic_settings,
)
from tidegauge.scenario.model.step import NO_LEADER, AlteredMove, Condition
from tidegauge.scenario.model.topic_steps import CreateTopicStep, DeleteTopicStep
from tidegauge.scenario.model.workload import ClientGroup
from tidegauge.scenario.text.errors import Path, Problem
from tidegauge.simulation.messages.quorum_requests import MOST_RECORDS
from tidegauge.simulation.quantities import format_duration


def problems_of_faults(scenario: Scenario) -> Iterator[Problem]:
    """Check that each fault begins once, and that its targets exist."""
    yield from references.repeated_names("faults", (fault.name for fault in scenario.faults))
    begun = {step.fault for step in scenario.steps if isinstance(step, BeginFaultStep)}
    for place, fault in enumerate(scenario.faults):
        path = ("faults", place)
        if fault.at_us is not None:
            yield from references.too_late((*path, "at"), fault.at_us, scenario)
        elif fault.name not in begun:
            yield Problem(path, "never begins: it needs `at`, or a name and a step begin_fault")
        yield from fault.problems(path, scenario)


def problems_of_fault_rates(scenario: Scenario) -> Iterator[Problem]:
    """Check that the targets of rates exist, and that their faults can begin within the run."""
    for place, rate in enumerate(scenario.fault_rates):
        path = ("fault_rates", place)
        yield from references.too_late((*path, "start"), rate.start_us, scenario)
        if rate.stop_us is not None and rate.stop_us <= rate.start_us:
            start = format_duration(rate.start_us)
            yield Problem((*path, "stop"), f"must be after the start, which is at {start}")
        yield from rate.fault.problems(path, scenario)


def problems_of_fault_steps(scenario: Scenario) -> Iterator[Problem]:
    """Check that steps begin and end existing faults, in a valid order."""
    faults = {fault.name: fault for fault in scenario.faults if fault.name is not None}
    begun = {name for name, fault in faults.items() if fault.at_us is not None}
    rolls = [name for name, each in faults.items() if isinstance(each, RollingRestartFault)]
    for place, step in enumerate(scenario.steps):
        awaited = None if step.when is None else step.when.rolled
        if awaited is not None and awaited not in rolls:
            problem = references.no_such("rolling restart", awaited, rolls)
            yield Problem(("steps", place, "when", "rolled"), problem)
        if not isinstance(step, BeginFaultStep | EndFaultStep):
            continue
        path = ("steps", place, "fault")
        if step.fault not in faults:
            yield Problem(path, references.no_such("fault", step.fault, faults))
        elif isinstance(step, EndFaultStep):
            if faults[step.fault].is_over_at_once:
                what = faults[step.fault].kind.replace("_", " ")
                yield Problem(path, f"{step.fault} is a {what}, which is over at once")
            elif step.fault not in begun:
                yield Problem(path, f"{step.fault} has not begun: no step before begins it")
        elif faults[step.fault].at_us is not None:
            yield Problem(path, f"{step.fault} has `at`, so it begins by itself")
        elif step.fault in begun:
            yield Problem(path, f"{step.fault} was begun by an earlier step")
        else:
            begun.add(step.fault)


def problems_of_pins(scenario: Scenario) -> Iterator[Problem]:
    """Check that pins name processes that exist, and that steps name pins that hold messages."""
    yield from references.repeated_names("pins", (pin.name for pin in scenario.pins))
    for place, pin in enumerate(scenario.pins):
        yield from pin.problems(("pins", place), scenario)
    holding = [pin.name for pin in scenario.pins if pin.name and pin.drop is None]
    for place, step in enumerate(scenario.steps):
        if isinstance(step, ReleaseStep) and step.pin not in holding:
            problem = references.no_such("pin that holds messages", step.pin, holding)
            yield Problem(("steps", place, "pin"), problem)


def problems_of(scenario: Scenario) -> list[Problem]:
    """The problems of a scenario whose parts are valid, each on its own."""
    for stage in _STAGES:
        problems = [problem for part in stage for problem in part(scenario)]
        if problems:
            return problems
    return []


def _cluster(scenario: Scenario) -> Iterator[Problem]:
    cluster = scenario.cluster
    # With several releases, each broker reads the settings that its own release knows.
    releases = {scenario.release, *(scenario.release_of(b).release for b in scenario.broker_ids())}
    known = {
        name: value
        for release in releases
        for name, value in broker_defaults(release, scenario.mode).items()
    }
    yield from problems_of_settings(("cluster", "settings"), cluster.settings, "brokers", known)
    for broker, settings in cluster.broker_settings.items():
        path = ("cluster", "broker_settings", broker)
        own = broker_defaults(scenario.release_of(broker).release, scenario.mode)
        yield from problems_of_settings(path, settings, "brokers", own)
    if scenario.has_kraft:
        yield from _controllers(scenario)
    if scenario.checkpoint_files and cluster.log_directories > 1:
        yield Problem(("checkpoint_files",), "are of brokers with one log directory each")
    rack = scenario.zookeeper.rack
    if rack is not None and rack not in cluster.racks:
        yield Problem(("zookeeper", "rack"), references.no_such("rack", rack, cluster.racks))


def _controllers(scenario: Scenario) -> Iterator[Problem]:
    controllers, racks = scenario.controllers, scenario.cluster.racks
    known = controllers_may_set(scenario.release)
    path = ("controllers", "settings")
    yield from problems_of_settings(path, controllers.settings, "controllers", known)
    for place, rack in enumerate(controllers.racks):
        if rack not in racks:
            yield Problem(("controllers", "racks", place), references.no_such("rack", rack, racks))


def _topics(scenario: Scenario) -> Iterator[Problem]:
    yield from references.repeated_names("topics", (topic.name for topic in scenario.topics))
    brokers = set(scenario.broker_ids())
    for place, topic in enumerate(scenario.topics):
        yield from problems_of_topic_settings(
            ("topics", place, "settings"), topic.settings, scenario.release, scenario.mode
        )
        factor = scenario.replication_factor(topic)
        if factor > len(brokers):
            yield Problem(
                ("topics", place, "replication_factor"),
                f"{factor} replicas need as many brokers, and there are {len(brokers)}",
            )
        elif factor > SLOTS:
            message = f"{factor} replicas are more than {SLOTS}, which are possible"
            yield Problem(("topics", place, "replication_factor"), message)
        for partition, replicas in (topic.assignment or {}).items():
            for index, broker in enumerate(replicas):
                if broker not in brokers:
                    path = ("topics", place, "assignment", partition, index)
                    yield Problem(path, scenario.cluster.no_such_broker(broker))


def _workload(scenario: Scenario) -> Iterator[Problem]:
    workload = scenario.workload
    names: dict[str, Path] = {}
    topics = dict.fromkeys(topic.name for topic in scenario.topics)
    kinds = (("producers", workload.producers), ("consumers", workload.consumers))
    for kind, groups in kinds:
        for place, group in enumerate(groups):
            path = ("workload", kind, place)
            if group.name in names:
                yield Problem(
                    (*path, "name"), (f"the name {group.name} is already that of another group")
                )
            names[group.name] = path
            for index, topic in enumerate(group.topics):
                if topic not in topics:
                    yield Problem(
                        (*path, "topics", index), references.no_such("topic", topic, topics)
                    )
            yield from _problems_of_place(path, scenario, group)
    for place, producers in enumerate(workload.producers):
        path = ("workload", "producers", place)
        if producers.stop_us is not None and producers.stop_us <= producers.start_us:
            start = format_duration(producers.start_us)
            yield Problem((*path, "stop"), f"must be after the start, which is at {start}")
        yield from problems_of_producer_settings((*path, "settings"), scenario, producers.settings)
    for place, consumers in enumerate(workload.consumers):
        path = ("workload", "consumers", place)
        yield from problems_of_consumer_settings(
            (*path, "settings"), consumers.settings, scenario.release
        )


def _problems_of_place(path: Path, scenario: Scenario, group: ClientGroup) -> Iterator[Problem]:
    racks = scenario.cluster.racks
    if group.rack is not None and group.rack not in racks:
        yield Problem((*path, "rack"), references.no_such("rack", group.rack, racks))
    for index, broker in enumerate(group.bootstrap or ()):
        if broker not in scenario.broker_ids():
            yield Problem((*path, "bootstrap", index), scenario.cluster.no_such_broker(broker))


def _steps(scenario: Scenario) -> Iterator[Problem]:
    latest_us = 0
    created: set[str] = set()
    for place, step in enumerate(scenario.steps):
        path = ("steps", place)
        if step.at_us is not None:
            yield from references.too_late((*path, "at"), step.at_us, scenario)
            if step.at_us < latest_us:
                before = format_duration(latest_us)
                yield Problem((*path, "at"), f"a step before this one waits until {before}")
            latest_us = max(latest_us, step.at_us)
        if step.when is not None:
            yield from _condition((*path, "when"), step.when, scenario)
        yield from step.problems(path, scenario)
        if isinstance(step, CreateTopicStep):
            if step.topic in created:
                yield Problem((*path, "topic"), f"{step.topic} was created by an earlier step")
            if not _is_too_large(scenario, step):
                created.add(step.topic)
        elif isinstance(step, DeleteTopicStep):
            created.discard(step.topic)
    yield from problems_of_fault_steps(scenario)
    yield from _steps_that_reassign(scenario)


def _is_too_large(scenario: Scenario, step: CreateTopicStep) -> bool:
    """Whether a quorum's controller fails to create the topic, as a batch has not so many records.

    One record is that of the topic itself.
    """
    counts = (each.partition_count for each in scenario.topics if each.name == step.topic)
    return scenario.has_kraft and next(counts, 0) + 1 > MOST_RECORDS


def _condition(path: Path, condition: Condition, scenario: Scenario) -> Iterator[Problem]:
    """Check that a condition can hold: its brokers, partition and replicas exist."""
    for broker in condition.registered or ():
        yield from references.broker_is_there((*path, "registered"), broker, scenario)
    for broker in condition.unregistered or ():
        yield from references.broker_is_there((*path, "unregistered"), broker, scenario)
    if condition.controller is not None:
        yield from references.broker_is_there((*path, "controller"), condition.controller, scenario)
    if condition.observes is not None:
        yield from references.controller_is_there((*path, "observes"), condition.observes, scenario)
    for field in ("voters", "leads"):
        for place, number in enumerate(getattr(condition, field) or ()):
            yield from references.controller_is_there((*path, field, place), number, scenario)
    if condition.isr is not None:
        named = [("is", broker) for broker in condition.isr.members]
        yield from references.replicas_are_there((*path, "isr"), condition.isr, named, scenario)
    if condition.leader is not None:
        leads, former = condition.leader.leader, condition.leader.former
        named = [("is", leads)] if leads not in (None, NO_LEADER) else []
        named += [("is_not", former)] if former is not None else []
        yield from references.replicas_are_there(
            (*path, "leader"), condition.leader, named, scenario
        )


def _steps_that_reassign(scenario: Scenario) -> Iterator[Problem]:
    """Check that the moving partitions exist at that time, and the brokers that they move to."""
    to_come = scenario.topics_to_come()
    reassigns = False
    for place, step in enumerate(scenario.steps):
        path = ("steps", place)
        if isinstance(step, CreateTopicStep):
            to_come.discard(step.topic)
        elif isinstance(step, DeleteTopicStep) and step.topic in to_come:
            yield Problem((*path, "topic"), f"{step.topic} is created by a later step")
        for number, move in enumerate(step.moves()):
            reassigns = True
            yield from _move((*path, "partitions", number), move, to_come, scenario)
        if step.when is not None and step.when.reassigned and not reassigns:
            message = "nothing is reassigned: no step before does so"
            yield Problem((*path, "when", "reassigned"), message)


def _move(
    path: Path, move: AlteredMove, to_come: Collection[str], scenario: Scenario
) -> Iterator[Problem]:
    problems = list(references.partition_is_there(path, move, scenario))
    yield from problems
    if not problems and move.topic in to_come:
        yield Problem((*path, "topic"), f"{move.topic} is created by a later step")
    for broker in move.replicas or ():
        yield from references.broker_is_there((*path, "replicas"), broker, scenario)
    if problems:
        return
    hosts = scenario.hosts_of(scenario.topic(move.topic))[move.partition]
    if len(hosts) > SLOTS:
        message = f"the partition would have replicas on {len(hosts)} brokers; {SLOTS} are possible"
        yield Problem((*path, "replicas"), message)


def _sometimes(scenario: Scenario) -> Iterator[Problem]:
    for place, expected in enumerate(scenario.sometimes):
        yield from expected.problems(("sometimes", place), scenario)


def _alerts(scenario: Scenario) -> Iterator[Problem]:
    """Check that the expected alerts can fire and resolve within the run."""
    alerts = scenario.alerts
    if alerts is None:
        return
    for field, at_us in (("after", alerts.after_us), ("repaired", alerts.repaired_us)):
        if at_us is not None:
            yield from references.too_late(("alerts", field), at_us, scenario)
    spans = (
        ("fire", "after", alerts.fire, scenario.trouble_begins_us()),
        ("clear", "repaired", alerts.clear, scenario.trouble_ends_us()),
    )
    for field, since, expected, since_us in spans:
        if expected and since_us is None:
            message = f"is missing: no fault marks the time from which `{field}` counts"
            yield Problem(("alerts", since), message)
            continue
        for name, within_us in expected.items():
            if since_us is not None and since_us + within_us > scenario.duration_us:
                due, end = format_duration(since_us + within_us), scenario.duration_us
                message = f"is due by {due}, and the run ends at {format_duration(end)}"
                yield Problem(("alerts", field, name), message)


def _drawn_faults(scenario: Scenario) -> Iterator[Problem]:
    if scenario.fault_rates:
        # Only here: drawing is compiled code, whose import takes longer than all of this.
        from tidegauge.scenario.coherence.drawn_faults import problems_of_rates  # noqa: PLC0415

        yield from problems_of_rates(scenario)


_STAGES: tuple[tuple[Callable[[Scenario], Iterator[Problem]], ...], ...] = (
    (problems_of_mode,),
    (problems_of_versions,),
    (problems_of_other_modes, problems_of_cordons),
    (_cluster,),
    (settings_that_kafka_refuses,),
    (_topics,),
    (problems_of_preexisting_states,),
    (problems_of_cluster_size,),
    (_workload, problems_of_faults, problems_of_fault_rates, problems_of_pins, _steps),
    (_sometimes, _alerts),
    (problems_of_workload_size, _drawn_faults, problems_of_upgrades, problems_of_quorum),
)
