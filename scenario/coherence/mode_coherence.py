"""Coherence of a scenario with its mode: ZooKeeper, or KRaft with its quorum of controllers.

A field that has no meaning in the mode is an error, which names an alternative if there is one.
"""

from collections.abc import Iterable, Iterator

from tidegauge.replication.ablations import needs_kraft
from tidegauge.replication.kraft_releases import KRAFT_CELLS, kraft_cells_of
from tidegauge.replication.release_versions import Release
from tidegauge.scenario.model.component_faults import (
    ControllerMoveFault,
    LinkFault,
    ZooKeeperOutageFault,
)
from tidegauge.scenario.model.costs import costs_of_other_modes
from tidegauge.scenario.model.fault import BrokerFault, FaultOfAnyKind
from tidegauge.scenario.model.process_faults import RollingRestartFault
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.model.selectors import CONTROLLER, CONTROLLERS, ZOOKEEPER, Selector
from tidegauge.scenario.model.settings import (
    CORDONED_LOG_DIRS,
    cordoned_log_dirs,
    problems_of_settings_with_kraft,
)
from tidegauge.scenario.text.errors import Path, Problem
from tidegauge.traces.checks import CHECKS

#: The cell with the first release and metadata.version that have eligible leader replicas.
_ELR = KRAFT_CELLS["eligible_leader_replicas_possible"][-1]
#: ... and that of cordoned log directories.
_CORDONS = KRAFT_CELLS["cordoned_directories_known"][-1]

_ALTERNATIVE_FAULTS = {
    ZooKeeperOutageFault: "a pause of controllers",
    ControllerMoveFault: "a crash or restart of a controller",
}


def problems_of_mode(scenario: Scenario) -> Iterator[Problem]:
    """Check that the releases have the mode."""
    for path, release in _releases(scenario):
        try:
            Release.parse(release).mode(scenario.mode)
        except ValueError as error:
            yield Problem(path, str(error))


def _releases(scenario: Scenario) -> Iterator[tuple[Path, str]]:
    yield ("mode",), scenario.release
    for broker, own in scenario.cluster.broker_releases.items():
        if own.release is not None:
            yield ("cluster", "broker_releases", broker, "release"), own.release


def problems_of_versions(scenario: Scenario) -> Iterator[Problem]:
    """Check that every broker supports its protocol version, or the cluster's metadata.version."""
    if scenario.has_kraft:
        yield from _problems_with_kraft(scenario)
        return
    if scenario.metadata_version is not None:
        yield Problem(("metadata_version",), _no_meaning(scenario, "protocol"))
    if scenario.eligible_leader_replicas is not None:
        yield Problem(("eligible_leader_replicas",), _no_meaning(scenario))
    for place, name in enumerate(scenario.ablations):
        if needs_kraft(name):
            yield Problem(("ablations", place), f"{name} is about KRaft: needs `mode: kraft`")
    try:
        Release.parse(scenario.release).protocol(scenario.protocol)
    except ValueError as error:
        yield Problem(("protocol",), str(error))
    for broker in scenario.cluster.broker_releases:
        release, protocol, _ = scenario.release_of(broker)
        try:
            Release.parse(release).protocol(protocol)
        except ValueError as error:
            yield Problem(("cluster", "broker_releases", broker), str(error))


def _problems_with_kraft(scenario: Scenario) -> Iterator[Problem]:
    if scenario.protocol is not None:
        yield Problem(("protocol",), _no_meaning(scenario, "metadata_version"))
    try:
        Release.parse(scenario.release).metadata_version(scenario.metadata_version)
    except ValueError as error:
        yield Problem(("metadata_version",), str(error))
        return
    version = scenario.version_in_force()
    for broker, own in scenario.cluster.broker_releases.items():
        path = ("cluster", "broker_releases", broker)
        if own.protocol is not None:
            yield Problem((*path, "protocol"), _no_meaning(scenario, "metadata_version"))
        try:
            Release.parse(own.release or scenario.release).metadata_version(version)
        except ValueError as error:
            yield Problem((*path, "release"), str(error))
    if scenario.eligible_leader_replicas:
        yield from _problems_of_elr(scenario, version)


def problems_of_upgrades(scenario: Scenario) -> Iterator[Problem]:
    """Check that upgraded servers support the mode, and the version that they have then."""
    for place, fault in enumerate(scenario.faults):
        if isinstance(fault, RollingRestartFault) and fault.to_protocol and scenario.has_kraft:
            yield Problem(("faults", place, "to_protocol"), _no_meaning(scenario))
            return
    for place, server, before, after in scenario.versions_after_rolls():
        release = Release.parse(after.release)
        try:
            release.version(after.mode, after.protocol)
        except ValueError as error:
            yield Problem(("faults", place), str(error))
            return
        if server.kind == CONTROLLER and release < Release.parse(before.release):
            message = f"must be {before.release} or later: controllers are not downgraded"
            yield Problem(("faults", place, "to_release"), message)
            return


def problems_of_cordons(scenario: Scenario) -> Iterator[Problem]:
    """Cordoned log directories that the release does not know, or that brokers do not have."""
    count = scenario.cluster.log_directories
    for path, settings, kind, _ in scenario.said_settings():
        if kind != "brokers" or CORDONED_LOG_DIRS not in settings:
            continue
        path = (*path, CORDONED_LOG_DIRS)  # noqa: PLW2901 - the path of the setting
        value = settings[CORDONED_LOG_DIRS]
        if value != "*" and cordoned_log_dirs(value) >> count:
            yield Problem(path, f"each broker has {count} (log_directories), not {value}")
        if not scenario.has_kraft:
            yield Problem(path, f"{_no_meaning(scenario)}; it needs mode kraft")
            continue
        cells = kraft_cells_of(scenario.release, scenario.metadata_version)
        if not cells["cordoned_directories_known"].value:
            yield Problem(
                path,
                f"needs release {_CORDONS.since} with metadata_version {_CORDONS.protocol}, not "
                f"{scenario.release} with {scenario.version_in_force()}",
            )


def _problems_of_elr(scenario: Scenario, version: str) -> Iterator[Problem]:
    path = ("eligible_leader_replicas",)
    if Release.parse(scenario.release) < Release.parse(_ELR.since):
        message = f"release {scenario.release} does not have them: they were added in"
        yield Problem(path, f"{message} {_ELR.since}")
    elif not kraft_cells_of(scenario.release, version)["eligible_leader_replicas_possible"].value:
        yield Problem(path, f"need metadata_version {_ELR.protocol} or newer, not {version}")


def problems_of_other_modes(scenario: Scenario) -> Iterator[Problem]:
    """The parts, costs, settings, faults and steps that have no meaning in the mode."""
    part = scenario.part_of_other_mode
    if part in scenario.model_fields_set:
        instead = "controllers" if scenario.has_kraft else "zookeeper"
        yield Problem((part,), _no_meaning(scenario, instead))
    for cost in costs_of_other_modes(scenario.mode):
        if cost in scenario.costs.model_fields_set:
            yield Problem(("costs", cost), _no_meaning(scenario))
    if scenario.has_kraft:
        yield from _settings_and_steps_with_kraft(scenario)
    else:
        yield from _conditions_with_zookeeper(scenario)
    for check in CHECKS.values():
        if check.name in scenario.checks and not scenario.is_judged_by(check):
            yield Problem(("checks", check.name), _why_not_judged(scenario))
    for place, fault in enumerate(scenario.faults):
        yield from _problems_of_fault(("faults", place), fault, scenario)
    for place, rate in enumerate(scenario.fault_rates):
        yield from _problems_of_fault(("fault_rates", place), rate.fault, scenario)


def _settings_and_steps_with_kraft(scenario: Scenario) -> Iterator[Problem]:
    for path, settings, kind, _ in scenario.said_settings():
        if kind in ("brokers", "controllers"):
            yield from problems_of_settings_with_kraft(path, settings)
    for place, step in enumerate(scenario.steps):
        if step.when is not None and step.when.controller is not None:
            message = f"{_no_meaning(scenario)}: no broker is controller"
            yield Problem(("steps", place, "when", "controller"), message)


def _conditions_with_zookeeper(scenario: Scenario) -> Iterator[Problem]:
    for place, step in enumerate(scenario.steps):
        for field in ("observes", "voters", "leads"):
            if step.when is not None and getattr(step.when, field) is not None:
                yield Problem(("steps", place, "when", field), _no_meaning(scenario))


def problems_of_preexisting_states(scenario: Scenario) -> Iterator[Problem]:
    """Parts that only KRaft has, and eligible leader replicas where Kafka has none.

    It empties them with a sufficient ISR.

    Source: PartitionChangeBuilder.maybePopulateTargetElr@4.1.0.
    """
    settings = scenario.settings_of(scenario.broker_ids()[0])
    for place, topic in enumerate(scenario.topics):
        for number, state in (topic.state or {}).items():
            path = ("topics", place, "state", number)
            if not scenario.has_kraft:
                for field in ("elr", "last_known_leader", "adding", "removing"):
                    if getattr(state, field) not in ((), None):
                        yield Problem((*path, field), _no_meaning(scenario))
                continue
            if not state.elr:
                continue
            replicas = (topic.assignment or {})[number]
            least = min(topic.effective(settings)["min.insync.replicas"], len(replicas))
            if not scenario.has_eligible_leader_replicas():
                yield Problem((*path, "elr"), "eligible_leader_replicas are off")
            elif len(state.isr) >= least:
                message = f"must be empty: the ISR has min.insync.replicas ({least}) members"
                yield Problem((*path, "elr"), message)


def _problems_of_fault(path: Path, fault: FaultOfAnyKind, scenario: Scenario) -> Iterator[Problem]:
    if scenario.has_kraft and type(fault) in _ALTERNATIVE_FAULTS:
        message = _no_meaning(scenario, _ALTERNATIVE_FAULTS[type(fault)])
        yield Problem((*path, "kind"), message)
    elif isinstance(fault, LinkFault):
        for side, selectors in enumerate(fault.between):
            yield from _problems_of_selectors((*path, "between", side), selectors, scenario)
    elif isinstance(fault, BrokerFault):
        yield from _problems_of_selectors((*path, "brokers"), fault.brokers, scenario)
        for selector_place, selector in enumerate(fault.brokers):
            if selector.kind == CONTROLLER and not scenario.has_kraft:
                message = f"must be a broker's id, broker:ID or rack:NAME, not {selector}"
                yield Problem((*path, "brokers", selector_place), message)


def _problems_of_selectors(
    path: Path, selectors: Iterable[Selector], scenario: Scenario
) -> Iterator[Problem]:
    others = (ZOOKEEPER,) if scenario.has_kraft else (CONTROLLERS,)
    instead = CONTROLLERS if scenario.has_kraft else f"{ZOOKEEPER}, or controller:ID"
    for place, selector in enumerate(selectors):
        if selector.kind in others:
            yield Problem((*path, place), f"{selector} {_no_meaning(scenario, instead)}")


def _why_not_judged(scenario: Scenario) -> str:
    if scenario.has_kraft:
        return (
            "has no meaning while the voters do not change: it needs controllers.voters, or a step "
            "update_features that raises kraft_version to 1"
        )
    return _no_meaning(scenario)


def _no_meaning(scenario: Scenario, instead: str = "") -> str:
    message = f"has no meaning in mode {scenario.mode} (release {scenario.release})"
    return f"{message}; use {instead}" if instead else message
