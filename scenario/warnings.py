"""Warnings about a valid scenario before its run: probable mistakes, and draws that decide.

Every latency is drawn, so times differ a little from seed to seed. Another answer, not only other
times, comes from a draw at a branch of the run:

* faults of rates begin and end at drawn times;
* a loss of power keeps each log up to a drawn point;
* of KRaft's controllers the next active one is the first whose drawn timeout is over, and brokers
  ask drawn controllers for it; with ZooKeeper the first broker to register is the controller;
* brokers that are lost together are fenced in a drawn order (KRaft, from 4.0), which counts where a
  partition has several of them;
* an outage that is about as long as a timeout ends before it is noticed, or after;
* a rolling restart has come to one broker or to another when the next fault begins.

All of it follows from the scenario, so the list is the same for each seed.
"""

from collections.abc import Callable, Iterator

from tidegauge.replication.ablations import has_effect
from tidegauge.replication.kraft_releases import kraft_cells_of
from tidegauge.replication.release_versions import (
    KRAFT_MODE,
    ZOOKEEPER_MODE,
    ProtocolVersion,
    Release,
)
from tidegauge.scenario.model.component_faults import CutLinkFault, Fault, fault_name
from tidegauge.scenario.model.fault import Stop
from tidegauge.scenario.model.process_faults import (
    LeadershipAfter,
    PowerLossFault,
    RollingRestartFault,
)
from tidegauge.scenario.model.request_steps import ProduceStep
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.model.selectors import BROKER, CONTROLLER, ZOOKEEPER, LinkEnd
from tidegauge.scenario.model.settings import AUTO_JOIN, SESSION_TIMEOUTS
from tidegauge.scenario.text.errors import one_line
from tidegauge.scenario.used_resources import overloads
from tidegauge.simulation.quantities import format_duration


def warnings_of(scenario: Scenario) -> list[str]:
    """The warnings about a scenario, each in one line."""
    found = (
        *(newer_than_known, _ablations, _producers, _leadership_back),
        *(_auto_join, _late_controllers, overloads),
    )
    return [one_line(line) for part in found for line in part(scenario)]


def newer_than_known(scenario: Scenario) -> list[str]:
    """Versions that are newer than those that are known, each with the one that it is read as."""
    texts = [scenario.release, *(own.release for own in scenario.cluster.broker_releases.values())]
    versions: list[Release | ProtocolVersion] = [Release.parse(text) for text in texts if text]
    if scenario.metadata_version is not None:
        versions.append(ProtocolVersion.parse(scenario.metadata_version))
    return list(dict.fromkeys(line for each in versions if (line := each.newer_than_known)))


def _ablations(scenario: Scenario) -> Iterator[str]:
    versions = {scenario.release_of(broker) for broker in scenario.broker_ids()}
    for place, name in enumerate(scenario.ablations):
        if not any(has_effect(name, *each) for each in versions):
            yield f"ablations[{place}]: {name} changes nothing: no broker has the rule"


def _producers(scenario: Scenario) -> Iterator[str]:
    produces = any(isinstance(step, ProduceStep) for step in scenario.steps)
    if scenario.topics and not scenario.workload.producers and not produces:
        yield "no producers: no records are written, so none can be lost and no replica can lag"


def _leadership_back(scenario: Scenario) -> Iterator[str]:
    """Rolling restarts whose leadership the controller may give back before the operator."""
    if scenario.has_kraft:
        settings = scenario.controller_settings()
    else:
        settings = scenario.settings_of(scenario.broker_ids()[0])
    if not settings["auto.leader.rebalance.enable"]:
        return
    for place, fault in enumerate(scenario.faults):
        if isinstance(fault, RollingRestartFault) and (
            fault.leadership_back == "in_sync" or isinstance(fault.leadership_back, LeadershipAfter)
        ):
            seconds = settings["leader.imbalance.check.interval.seconds"]
            yield (
                f"faults[{place}].leadership_back: auto.leader.rebalance.enable is true, so the "
                f"controller may give leadership back earlier: it looks every {seconds} s "
                "(leader.imbalance.check.interval.seconds)"
            )


def _auto_join(scenario: Scenario) -> Iterator[str]:
    """Source: KafkaRaftClient.shouldSendAddOrRemoveVoterRequest@4.2.0."""
    if scenario.controllers.settings.get(AUTO_JOIN) and not scenario.voters_may_change():
        yield (
            f"controllers.settings.{AUTO_JOIN}: has no effect, as all controllers are voters by "
            "controller.quorum.voters; controllers.voters makes some of them the first voters"
        )


def _late_controllers(scenario: Scenario) -> Iterator[str]:
    for number, start_us in scenario.controllers.start_us.items():
        if start_us >= scenario.duration_us:
            yield (
                f"controllers.start.{number}: {format_duration(start_us)} is not before the end of "
                f"the run ({format_duration(scenario.duration_us)}): it has no part in the run"
            )


#: The active controller of a quorum at the start.
_FIRST = 0
_MOST_NAMED = 3
_HEARTBEATS = SESSION_TIMEOUTS[KRAFT_MODE]
_PINGS = SESSION_TIMEOUTS[ZOOKEEPER_MODE]
_LAG = "replica.lag.time.max.ms"


def left_to_chance(scenario: Scenario) -> list[str]:
    """The branches of a scenario that draws decide, in words; empty if they only change times."""
    decided = ["when the faults of rates begin and end"] if scenario.drawn_faults else []
    # The drawn ones are others with each seed.
    faults = scenario.faults[: len(scenario.faults) - scenario.drawn_faults]
    for text, is_decided in _RULES.items():
        names = [
            fault_name(faults, place)
            for place, fault in enumerate(faults)
            if is_decided(scenario, fault)
        ]
        if names:
            more = len(names) - _MOST_NAMED
            named = ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
            decided.append(text.format(named))
    return decided


def _leaves_drawn_logs(scenario: Scenario, fault: Fault) -> bool:
    if not isinstance(fault, PowerLossFault):
        return False
    hit = {*fault.hit_brokers(scenario)}
    kept = {(each.topic, each.partition, each.broker) for each in fault.keeps}
    return any(
        (topic.name, number, broker) not in kept
        for topic in scenario.topics
        for number, brokers in enumerate(scenario.assignments(topic))
        for broker in hit.intersection(brokers)
    )


def _unseats(scenario: Scenario, fault: Fault) -> bool:
    """Whether a fault may take the active controller from the others of a quorum."""
    lost = _lost_controllers(scenario, fault) if scenario.has_kraft else set()
    voters = scenario.controllers.first_voters
    lost = lost.intersection(voters)
    if not lost or len(voters) == 1:
        return False
    cells = kraft_cells_of(scenario.release, scenario.metadata_version)
    return _FIRST in lost or 2 * len(lost) > len(voters) or not cells["pre_vote"].value


def _lost_controllers(scenario: Scenario, fault: Fault) -> set[int]:
    """The controllers of a quorum that a fault silences, or cuts from others of the quorum."""
    if isinstance(fault, CutLinkFault):
        return _apart(scenario, fault, CONTROLLER, CONTROLLER)
    return _ids_of(CONTROLLER, fault.sides(scenario)[0]) if _silences(fault) else set()


def _may_hit_the_controller(scenario: Scenario, fault: Fault) -> bool:
    """Whether a fault silences the controller of a cluster with ZooKeeper, as far as is known."""
    if scenario.has_kraft:
        return False
    if isinstance(fault, CutLinkFault):
        hit = _apart(scenario, fault, CONTROLLER, ZOOKEEPER)
    else:
        hit = {*fault.hit_brokers(scenario)} if _silences(fault) else set()
    first = scenario.first_controller()
    return bool(hit) and (first is None or first in hit)


def _silences_several_of_a_partition(scenario: Scenario, fault: Fault) -> bool:
    """Source of the order: BrokerHeartbeatTracker.maybeRemoveExpired@4.1.0."""
    if not scenario.has_kraft or not _silences(fault):
        return False
    lost = _ids_of(BROKER, fault.sides(scenario)[0])
    return len(lost) > 1 and any(
        (scenario.assignments(topic).on_any(lost).sum(axis=1) > 1).any()
        for topic in scenario.topics
    )


def _lasts_as_long_as(setting: str, peer: str) -> Callable[[Scenario, Fault], bool]:
    """Whether brokers and such peers are without each other for about the time of a setting."""

    def is_decided(scenario: Scenario, fault: Fault) -> bool:
        is_of_mode = setting == _LAG or scenario.has_kraft == (setting == _HEARTBEATS)
        if fault.for_us is None or not is_of_mode:
            return False
        if isinstance(fault, CutLinkFault):
            hit = _apart(scenario, fault, BROKER, peer)
        else:
            hit = {*fault.hit_brokers(scenario)} if fault.suspends else set()
        shortest_us, longest_us = _noticed_us(scenario, setting)
        return bool(hit) and shortest_us <= fault.for_us <= longest_us

    return is_decided


def session_kept_us(scenario: Scenario) -> int:
    """The longest time that a broker can be cut off and keep its session for sure."""
    return _noticed_us(scenario, SESSION_TIMEOUTS[scenario.mode])[0]


def session_expired_us(scenario: Scenario) -> int:
    """The longest time until the session of a dead broker has expired."""
    return _noticed_us(scenario, SESSION_TIMEOUTS[scenario.mode])[1]


def _noticed_us(scenario: Scenario, setting: str) -> tuple[int, int]:
    """The shortest outage that can be noticed by a timeout, and the longest that need not be.

    A session counts from the last heartbeat or ping, and its end is found at a check: an eighth of
    it later at most (from 4.0), or at a tick of ZooKeeper. A lag is checked every half of
    replica.lag.time.max.ms.
    """
    settings = scenario.settings_of(scenario.broker_ids()[0])
    if setting == _HEARTBEATS:
        timeout_us = scenario.controller_settings()[setting] * 1000
        return timeout_us - settings["broker.heartbeat.interval.ms"] * 1000, timeout_us * 9 // 8
    timeout_us = settings[setting] * 1000
    if setting == _PINGS:
        return timeout_us * 2 // 3, timeout_us + scenario.zookeeper.tick_ms * 1000
    return timeout_us, timeout_us * 3 // 2


def _begins_during_a_roll(scenario: Scenario, fault: Fault) -> bool:
    return fault.at_us is not None and any(
        roll.at_us < fault.at_us < roll.at_us + (roll.for_us or scenario.duration_us)
        for roll in scenario.faults
        if isinstance(roll, RollingRestartFault) and roll.at_us is not None
    )


def _apart(scenario: Scenario, fault: Fault, kind: str, peer: str) -> set[int]:
    """The ids of processes of a kind that a cut separates from some of another kind."""
    one, other = fault.sides(scenario)
    sides = ((one, other), (other, one))
    return {id_ for a, b in sides if _ids_of(peer, b) for id_ in _ids_of(kind, a)}


def _silences(fault: Fault) -> bool:
    return fault.stop is not Stop.NEVER or fault.suspends


def _ids_of(kind: str, ends: list[LinkEnd]) -> set[int]:
    return {end.broker for end in ends if end.kind == kind}


#: The branches that a fault can leave to chance, in words, and whether it does.
_RULES: dict[str, Callable[[Scenario, Fault], bool]] = {
    "the part of each log that survives {}": _leaves_drawn_logs,
    "which controller is active once {} has begun, and when each broker is notified": _unseats,
    "which broker is controller as {} begins, and once it has begun": _may_hit_the_controller,
    "in which order brokers are fenced that are lost together in {}": (
        _silences_several_of_a_partition
    ),
    f"whether {_HEARTBEATS} notices {{}}": _lasts_as_long_as(_HEARTBEATS, CONTROLLER),
    f"whether {_PINGS} notices {{}}": _lasts_as_long_as(_PINGS, ZOOKEEPER),
    f"whether {_LAG} notices {{}}": _lasts_as_long_as(_LAG, BROKER),
    "which broker a roll is restarting as {} begins": _begins_during_a_roll,
}
