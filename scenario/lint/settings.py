"""Faults of settings: those that have no effect, in Kafka or in the simulation."""

from collections.abc import Callable, Iterator

from tidegauge.replication.release_defaults import DEFAULTS
from tidegauge.replication.release_versions import Release
from tidegauge.scenario.lint.finding import Concerned, Finding, Simulation
from tidegauge.scenario.lint.linted_cluster import LintedCluster, check, mistake
from tidegauge.scenario.model.kafka_setting_names import is_in_line
from tidegauge.scenario.model.settings import ONLY_WITH_KRAFT, is_of_no_release
from tidegauge.scenario.text.errors import path_text

_KRAFT_ONLY = {*ONLY_WITH_KRAFT, "process.roles"}
_BROKERS = "brokers"
#: It lists the settings without effect.
_LISTED = Simulation("validate")

#: Whether a setting has a fault: its name, its kind, and the release that reads it.
_IsFaulty = Callable[[str, str, str], bool]


@mistake
def settings_unknown_to_kafka(cluster: LintedCluster) -> Finding | None:
    """Settings of a name that no release of Kafka knows.

    Kafka logs a warning and ignores them.

    Source: AbstractConfig.logUnused@2.6.0.
    """
    return _finding(
        [*_settings_where(cluster, _is_unknown)],
        "Kafka has no setting of this name here, and ignores it",
        "the right name, or no setting",
    )


def _is_unknown(name: str, kind: str, _release: str) -> bool:
    return is_of_no_release(name, kind)


@mistake
def settings_of_kraft_with_zookeeper(cluster: LintedCluster) -> Finding | None:
    """Settings of KRaft given to brokers with ZooKeeper.

    Source: KafkaConfig@3.3.0; KIP-500, KIP-631.
    """
    return _finding(
        [*_settings_where(cluster, _is_of_kraft)] if not cluster.scenario.has_kraft else [],
        "brokers with ZooKeeper ignore settings of KRaft: their sessions have the timeout "
        "zookeeper.session.timeout.ms",
        "zookeeper.session.timeout.ms, or mode kraft",
    )


def _is_of_kraft(name: str, kind: str, _release: str) -> bool:
    return kind == _BROKERS and name in _KRAFT_ONLY


@check
def settings_of_other_releases(cluster: LintedCluster) -> Finding | None:
    """Settings that the release does not know: it removed them, or a later one added them.

    A setting that the simulation reads is an error in a release that does not have it, unless only
    some brokers have that release.

    Source: the ConfigDefs of the last patches of all lines from 0.10.2 to 4.4.
    """
    named = [*_settings_where(cluster, _is_of_another_release), *_of_older_brokers(cluster)]
    return _finding(
        named,
        "the release, or that of some brokers, does not know them, and ignores them",
        "the settings that took their places, or none",
    )


def _is_of_another_release(name: str, kind: str, release: str) -> bool:
    return not is_in_line(name, kind, Release.parse(release).line)


def _of_older_brokers(cluster: LintedCluster) -> Iterator[str]:
    """Settings of all brokers that the older ones of a mixed cluster do not have yet."""
    scenario = cluster.scenario
    releases = {scenario.release_of(broker).release for broker in scenario.broker_ids()}
    oldest = min(map(Release.parse, releases))
    for name in scenario.cluster.settings:
        cells = DEFAULTS.get(name, ())
        if cells and name not in _KRAFT_ONLY and oldest < Release.parse(cells[0].since):
            yield f"{path_text(('cluster', 'settings'))}.{name}"


@check
def settings_not_simulated(cluster: LintedCluster) -> Finding | None:
    """Settings that have an effect in Kafka and none in the simulation.

    A run answers as if they had their defaults; ``tidegauge validate`` lists all of them.

    Source: ``docs/limits.md``.
    """
    scenario = cluster.scenario
    faults = [_is_unknown, _is_of_another_release, *([] if scenario.has_kraft else [_is_of_kraft])]
    said = {path for is_faulty in faults for path in _settings_where(cluster, is_faulty)}
    left = (line for line in scenario.settings_not_modelled() if line.split(": ")[0] not in said)
    return _finding(
        [*left],
        "they have an effect in Kafka, and none in the simulation",
        "nothing in the cluster; do not take an answer that depends on them",
    )


def _settings_where(cluster: LintedCluster, is_faulty: _IsFaulty) -> Iterator[str]:
    """The paths of settings with a fault."""
    for path, settings, kind, release in cluster.scenario.said_settings():
        for name in settings:
            if is_faulty(name, kind, release):
                yield f"{path_text(path)}.{name}"


def _finding(named: list[str], risk: str, remedy: str) -> Finding | None:
    if not named:
        return None
    return Finding(Concerned.of("setting", named), risk, remedy, _LISTED)
