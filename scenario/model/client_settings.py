"""Settings that producers and consumers share: how a client reaches brokers.

``client.rack`` is the field ``rack`` of a group, and ``bootstrap.servers`` its field ``bootstrap``.
"""

from __future__ import annotations

from tidegauge.replication.release_versions import Cell, Release, Table, cells_that_apply

#: The first release in which consumers fetch from the closest replica (KIP-392).
CLOSEST_REPLICA = Release.parse("2.4.0")
#: A setting of brokers whose values are classes of Kafka, and the one that selects by rack.
REPLICA_SELECTOR = "replica.selector.class"
BY_RACK = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
REPLICA_SELECTORS = ("org.apache.kafka.common.replica.LeaderSelector", BY_RACK)

REBOOTSTRAP = "rebootstrap"
STRATEGY = "metadata.recovery.strategy"

# fmt: off
CONNECTION_DEFAULTS: Table = {
    "reconnect.backoff.ms": (
        Cell("0.10.2.0", 50, "CommonClientConfigs.RECONNECT_BACKOFF_MS_CONFIG@0.10.2.0"),
    ),
    "reconnect.backoff.max.ms": (
        Cell("0.11.0.0", 1_000,
             "KIP-144, CommonClientConfigs.RECONNECT_BACKOFF_MAX_MS_CONFIG@0.11.0.0"),
    ),
    "socket.connection.setup.timeout.ms": (
        Cell("2.7.0", 10_000, "KIP-601, "
             "CommonClientConfigs.DEFAULT_SOCKET_CONNECTION_SETUP_TIMEOUT_MS@2.7.0"),
    ),
    "socket.connection.setup.timeout.max.ms": (
        Cell("2.7.0", 127_000, "KIP-601, "
             "CommonClientConfigs.DEFAULT_SOCKET_CONNECTION_SETUP_TIMEOUT_MAX_MS@2.7.0"),
        Cell("2.8.0", 30_000,
             "CommonClientConfigs.DEFAULT_SOCKET_CONNECTION_SETUP_TIMEOUT_MAX_MS@2.8.0"),
    ),
    STRATEGY: (
        Cell("3.8.0", "none", "KIP-899, "
             "CommonClientConfigs.DEFAULT_METADATA_RECOVERY_STRATEGY@3.8.0"),
        Cell("4.0.0", REBOOTSTRAP, "KIP-1102"),
    ),
    "metadata.recovery.rebootstrap.trigger.ms": (Cell("4.0.0", 300_000, "KIP-1102"),),
}
# fmt: on


def connection_defaults(release: str) -> dict[str, int | str]:
    """The defaults of a client of a release, of those of these settings that it has."""
    return {
        name: cell.value for name, cell in cells_that_apply(CONNECTION_DEFAULTS, release).items()
    }
