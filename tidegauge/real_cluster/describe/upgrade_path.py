"""The way of a cluster to a newer release of Kafka: steps, clients, removed settings, failover.

The facts are those of Kafka's upgrade notes, once each: :data:`REMOVED` has the settings that a
release no longer has, and constants the releases that a way leads through. A setting that a broker
does not know is ignored, with a warning in its log: so a removed one is not refused, and has no
effect.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from tidegauge.replication.release_defaults import defaults_of
from tidegauge.replication.release_versions import (
    DEFAULT_RELEASES,
    MODE_NAMES,
    ZOOKEEPER_MODE,
    Release,
)
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.model.settings import SESSION_TIMEOUTS


class RemovedSetting(NamedTuple):
    """A setting of brokers or topics that Kafka no longer has."""

    #: With a dot at its end: the beginning of several names.
    name: str
    #: The first release without it.
    since: str
    #: The setting or tool that takes its place; empty: none does.
    instead: str
    source: str

    def is_meant_by(self, name: str) -> bool:
        """Whether a setting of this name is the removed one."""
        return name.startswith(self.name) if self.name.endswith(".") else name == self.name


_KIP_500 = "KIP-500"
_PORTS = "KAFKA-12945"
_QUOTAS = "quotas of the default client, by kafka-configs.sh"
_TIMESTAMPS = "KIP-937"

#: The first one that is meant by a name counts.
REMOVED = (
    RemovedSetting("advertised.host.name", "3.0.0", "advertised.listeners", _PORTS),
    RemovedSetting("advertised.port", "3.0.0", "advertised.listeners", _PORTS),
    RemovedSetting("host.name", "3.0.0", "listeners", _PORTS),
    RemovedSetting("port", "3.0.0", "listeners", _PORTS),
    RemovedSetting("quota.producer.default", "3.0.0", _QUOTAS, "KAFKA-12591"),
    RemovedSetting("quota.consumer.default", "3.0.0", _QUOTAS, "KAFKA-12591"),
    RemovedSetting(
        "zookeeper.session.timeout.ms",
        "4.0.0",
        "broker.session.timeout.ms, of controllers",
        "KIP-631",
    ),
    RemovedSetting(
        "zookeeper.connect",
        "4.0.0",
        "process.roles, node.id, controller.listener.names and controller.quorum.voters",
        _KIP_500,
    ),
    RemovedSetting("zookeeper.", "4.0.0", "", _KIP_500),
    RemovedSetting(
        "inter.broker.protocol.version",
        "4.0.0",
        "metadata.version, by kafka-features.sh",
        "KIP-584, KIP-778",
    ),
    RemovedSetting("control.plane.listener.name", "4.0.0", "controller.listener.names", _KIP_500),
    RemovedSetting("controlled.shutdown.max.retries", "4.0.0", "", _KIP_500),
    RemovedSetting("controlled.shutdown.retry.backoff.ms", "4.0.0", "", _KIP_500),
    RemovedSetting("leader.imbalance.per.broker.percentage", "4.0.0", "", _KIP_500),
    RemovedSetting("broker.id.generation.enable", "4.0.0", "node.id", _KIP_500),
    RemovedSetting("reserved.broker.max.id", "4.0.0", "node.id", _KIP_500),
    RemovedSetting("password.encoder.", "4.0.0", "", _KIP_500),
    RemovedSetting(
        "delegation.token.master.key",
        "4.0.0",
        "delegation.token.secret.key",
        "DelegationTokenManagerConfigs@4.0.2",
    ),
    RemovedSetting("offsets.commit.required.acks", "4.0.0", "", "KIP-1041"),
    RemovedSetting("log.message.format.version", "4.0.0", "", "KIP-724"),
    RemovedSetting("message.format.version", "4.0.0", "", "KIP-724"),
    RemovedSetting(
        "log.message.timestamp.difference.max.ms",
        "4.0.0",
        "log.message.timestamp.before.max.ms and log.message.timestamp.after.max.ms",
        _TIMESTAMPS,
    ),
    RemovedSetting(
        "message.timestamp.difference.max.ms",
        "4.0.0",
        "message.timestamp.before.max.ms and message.timestamp.after.max.ms",
        _TIMESTAMPS,
    ),
    RemovedSetting("metrics.jmx.blacklist", "4.0.0", "metrics.jmx.exclude", "KIP-606"),
    RemovedSetting("metrics.jmx.whitelist", "4.0.0", "metrics.jmx.include", "KIP-606"),
    RemovedSetting("auto.include.jmx.reporter", "4.0.0", "metric.reporters", "KIP-830"),
    RemovedSetting("group.coordinator.new.enable", "4.1.0", "", "KIP-848"),
)

#: The last line of releases with ZooKeeper, in which clusters migrate to KRaft.
_BRIDGE = DEFAULT_RELEASES[ZOOKEEPER_MODE]
_WITHOUT_ZOOKEEPER = Release.parse("4.0.0")
#: Of clients before brokers are of 4.0, and of brokers before clients are.
_LEAST_OF_CLIENTS = "2.1"
_HEARTBEATS = "broker.heartbeat.interval.ms"


class UpgradePath(NamedTuple):
    """The steps and conditions of an upgrade."""

    #: One after the other.
    steps: list[str]
    #: Conditions besides: those of clients, and the time to a failover.
    conditions: list[str]
    #: The cluster's own settings that are gone, by name.
    removed: dict[str, RemovedSetting]


def upgrade_path(before: Scenario, after: Scenario, written: Collection[str] = ()) -> UpgradePath:
    """The way of a cluster to a newer release, or to KRaft; an older release has none.

    Args:
        before: the cluster as it is.
        after: the same in its later release and mode.
        written: names of further settings, of files that a scenario does not take all from.
    """
    old, new = Release.parse(before.release), Release.parse(after.release)
    if new < old:
        return UpgradePath([], [], {})
    return UpgradePath(
        list(_steps(before, after)),
        [*_of_clients(old, new), *_of_failover(before, after)],
        removed_settings(_own_settings(before) | set(written), old, new),
    )


def removed_settings(
    names: Collection[str], old: Release, new: Release
) -> dict[str, RemovedSetting]:
    """The settings that a release has and a newer one has not, by their names."""
    gone = [each for each in REMOVED if old < Release.parse(each.since) <= new]
    found = {
        name: next((each for each in gone if each.is_meant_by(name)), None)
        for name in sorted(names)
    }
    return {name: each for name, each in found.items() if each is not None}


def _own_settings(scenario: Scenario) -> set[str]:
    """The names of all settings of brokers, controllers and topics."""
    cluster = scenario.cluster
    names = {*cluster.settings, *scenario.controllers.settings}
    names.update(*cluster.broker_settings.values(), *(each.settings for each in scenario.topics))
    protocols = [scenario.protocol, *(each.protocol for each in cluster.broker_releases.values())]
    return names | ({"inter.broker.protocol.version"} if any(protocols) else set())


def _steps(before: Scenario, after: Scenario) -> Iterator[str]:
    release, target = Release.parse(before.release), Release.parse(after.release)
    line = ".".join(map(str, target.line))
    if not before.has_kraft:
        last = Release.parse(_BRIDGE) if after.has_kraft else target
        if release.line < last.line:
            yield from _rolled(before, ".".join(map(str, last.line)), leaves=after.has_kraft)
        if not after.has_kraft:
            return
        yield (
            f"Migrate to KRaft in {_BRIDGE} (KIP-866): start controllers of {_BRIDGE} on nodes of "
            "their own, with zookeeper.metadata.migration.enable=true; restart the brokers one by "
            "one with it, and again with process.roles=broker and without it; restart the "
            "controllers without it. Up to that last restart there is a way back to ZooKeeper"
        )
        if target.line <= last.line:
            return
    yield f"Upgrade the controllers and the brokers to {line}, one by one"
    feature = "--release-version" if target >= _WITHOUT_ZOOKEEPER else "--metadata"
    yield (
        f"Raise metadata.version: kafka-features.sh upgrade {feature} {line}. A downgrade over a "
        "version that changes metadata is not supported"
    )


def _rolled(before: Scenario, line: str, *, leaves: bool) -> Iterator[str]:
    """The upgrade of a cluster with ZooKeeper; ``leaves``: it is on its way to KRaft."""
    why = ", the last release with ZooKeeper" if leaves else ""
    protocol = before.protocol or ".".join(map(str, Release.parse(before.release).line))
    yield (
        f"Upgrade the brokers to {line}{why}, one by one, with "
        f"inter.broker.protocol.version={protocol}"
    )
    yield f"Set inter.broker.protocol.version={line}, and restart the brokers one by one"


def _of_clients(old: Release, new: Release) -> Iterator[str]:
    if not old < _WITHOUT_ZOOKEEPER <= new:
        return
    yield (
        f"Clients: {_LEAST_OF_CLIENTS} or later before the brokers are of 4.0; clients of 4.0 need "
        f"brokers of {_LEAST_OF_CLIENTS} or later (KIP-896)"
    )
    yield "Java: 17 or later for brokers and controllers (KIP-1013), 11 for clients (KIP-750)"


def _of_failover(before: Scenario, after: Scenario) -> Iterator[str]:
    """The setting with which a dead broker is noticed as late as before."""
    now_ms, later_ms = _session_ms(before), _session_ms(after)
    name, later = SESSION_TIMEOUTS[before.mode], SESSION_TIMEOUTS[after.mode]
    if now_ms == later_ms:
        return
    text = (
        f"Failover: {later}={now_ms}{' on the controllers' if after.has_kraft else ''} keeps the "
        f"time in which a dead broker is noticed ({MODE_NAMES[before.mode]} has {name}={now_ms}); "
        f"without it, it is {later_ms}"
    )
    heartbeat_ms = int(defaults_of(after.release, after.mode).get(_HEARTBEATS, 0))
    if 2 * heartbeat_ms > now_ms:
        # KafkaConfig.validateValues@3.9.0 demands two heartbeats in a session.
        text += f". It needs {_HEARTBEATS}={now_ms // 2} or less on the brokers"
    yield text


def _session_ms(scenario: Scenario) -> int:
    """The longest session of a broker, in force."""
    name = SESSION_TIMEOUTS[scenario.mode]
    if scenario.has_kraft:
        default = defaults_of(scenario.release, scenario.mode)[name]
        return int(scenario.controllers.settings.get(name, default))
    return max(scenario.settings_of(broker)[name] for broker in scenario.broker_ids())
