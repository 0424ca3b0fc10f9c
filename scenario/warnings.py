"""Warnings about a valid scenario that is probably not intended, printed before the run."""

from __future__ import annotations

from collections.abc import Iterator

from tidegauge.replication.releases import rules_of
from tidegauge.scenario.model.process_faults import LeadershipAfter, RollingRestartFault
from tidegauge.scenario.model.request_steps import ProduceStep
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.model.settings import is_of_no_release
from tidegauge.scenario.network_load import overloads
from tidegauge.scenario.text.counted import counted
from tidegauge.scenario.text.errors import one_line, path_text

#: Settings of brokers that have an effect with KRaft only (KIP-500, KIP-631), and the text about
#: each in a cluster with ZooKeeper.
_KRAFT_ONLY = {
    "process.roles": "is a setting of KRaft brokers, but brokers here use ZooKeeper",
    "broker.session.timeout.ms": (
        "is a setting of KRaft and is ignored: the timeout of ZooKeeper sessions is "
        "zookeeper.session.timeout.ms"
    ),
    "broker.heartbeat.interval.ms": (
        "is a setting of KRaft and is ignored: brokers here use ZooKeeper"
    ),
    "initial.broker.registration.timeout.ms": (
        "is a setting of KRaft and is ignored: brokers here use ZooKeeper"
    ),
}
_IMBALANCE = "leader.imbalance.per.broker.percentage"


def warnings_of(scenario: Scenario) -> list[str]:
    """The warnings about a scenario, each in one line."""
    found = (
        _unknown_settings,
        _settings_of_kraft,
        _min_insync_replicas,
        _producers,
        _leadership_back,
        overloads,
    )
    return [one_line(line) for part in found for line in part(scenario)]


def _unknown_settings(scenario: Scenario) -> Iterator[str]:
    for path, settings, kind, _ in scenario.said_settings():
        for name in settings:
            if is_of_no_release(name, kind):
                yield f"{path_text(path)}.{name}: Kafka has no setting of this name for {kind}"


def _settings_of_kraft(scenario: Scenario) -> Iterator[str]:
    if scenario.has_kraft:
        # Source: ReplicationControlManager.maybeBalancePartitionLeaders@4.1.0.
        if _IMBALANCE in scenario.controllers.settings:
            yield (
                f"controllers.settings.{_IMBALANCE}: Kafka accepts and ignores it in mode kraft: "
                "each partition is led by its preferred leader again"
            )
        return
    said = set()
    for path, settings, kind, _ in scenario.said_settings():
        for name in settings:
            if kind == "brokers" and name in _KRAFT_ONLY and name not in said:
                said.add(name)
                yield f"{path_text(path)}.{name}: {_KRAFT_ONLY[name]}"


def _min_insync_replicas(scenario: Scenario) -> Iterator[str]:
    """Topics with fewer replicas than min.insync.replicas requires."""
    broker = scenario.broker_ids()[0]
    settings = scenario.settings_of(broker)
    is_capped = rules_of(*scenario.release_of(broker)).min_isr_capped_by_replicas
    for topic in scenario.topics:
        wanted = topic.effective(settings)["min.insync.replicas"]
        fewest = min(len(replicas) for replicas in scenario.assignments(topic))
        if wanted > fewest:
            outcome = (
                f"this release treats it as {fewest} (KAFKA-15583)"
                if is_capped
                else "acks=all is never accepted"
            )
            yield (
                f"topic {topic.name}: min.insync.replicas is {wanted}, above the replication "
                f"factor: partitions with {counted(fewest, 'replica')}, so {outcome}"
            )


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
