"""The scopes of metrics: the page of each, and its rows at one moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tidegauge.metrics.families.family import Scope
from tidegauge.metrics.samples import (
    broker_tables,
    controller_tables,
    exporter_tables,
    own_tables,
    raft_tables,
    request_tables,
)
from tidegauge.metrics.samples.table import Sources, Table
from tidegauge.metrics.samples.targets import CONTROL_PLANE, EXPORTER, SIMULATION, is_node


class _Place(NamedTuple):
    #: The target of a scope; None: each broker, or each controller, has its own rows.
    target: int | None
    table: Callable[[Sources], Table]


_PLACES = {
    Scope.BROKER: _Place(None, broker_tables.brokers),
    Scope.BROKER_TOPIC: _Place(None, broker_tables.broker_topics),
    Scope.REQUEST: _Place(None, request_tables.requests),
    Scope.REQUEST_ERROR: _Place(None, request_tables.request_errors),
    Scope.CONTROLLER_REQUEST: _Place(None, request_tables.controller_requests),
    Scope.CONTROLLER_REQUEST_ERROR: _Place(None, request_tables.controller_request_errors),
    Scope.ZOOKEEPER_CLIENT: _Place(None, request_tables.zookeeper_clients),
    Scope.REPLICA: _Place(None, broker_tables.replicas),
    Scope.FETCHED_REPLICA: _Place(None, broker_tables.fetched_replicas),
    Scope.ZOOKEEPER_BROKER: _Place(None, broker_tables.brokers_with_zookeeper),
    Scope.QUORUM_BROKER: _Place(None, broker_tables.brokers_of_quorum),
    Scope.CONTROLLER: _Place(None, controller_tables.controllers),
    Scope.QUORUM_CONTROLLER: _Place(None, controller_tables.quorum_controllers),
    Scope.RAFT: _Place(None, raft_tables.raft),
    Scope.RAFT_STATE: _Place(None, raft_tables.raft_states),
    Scope.CLUSTER: _Place(EXPORTER, exporter_tables.cluster),
    Scope.REGISTERED_BROKER: _Place(EXPORTER, exporter_tables.registered_brokers),
    Scope.TOPIC: _Place(EXPORTER, exporter_tables.topics),
    Scope.PARTITION: _Place(EXPORTER, exporter_tables.partitions),
    Scope.GROUP: _Place(EXPORTER, exporter_tables.groups),
    Scope.GROUP_TOPIC: _Place(EXPORTER, exporter_tables.group_topics),
    Scope.GROUP_PARTITION: _Place(EXPORTER, exporter_tables.group_partitions),
    Scope.METADATA: _Place(CONTROL_PLANE, own_tables.metadata),
    Scope.ZOOKEEPER: _Place(CONTROL_PLANE, own_tables.zookeeper),
    Scope.CLIENTS: _Place(SIMULATION, own_tables.clients),
    Scope.SIMULATION: _Place(SIMULATION, own_tables.simulation),
    Scope.METRICS_LEVEL: _Place(SIMULATION, own_tables.metrics_level),
    Scope.ACTOR: _Place(SIMULATION, own_tables.actors),
    Scope.SCRAPED_TARGET: _Place(SIMULATION, own_tables.scraped_targets),
}


def is_on_page(scope: Scope, target: int | None) -> bool:
    """Whether a target's page has metrics of this scope; None is the page of all targets."""
    place = _PLACES[scope]
    if target is None:
        return True
    return is_node(target) if place.target is None else target == place.target


def table_of(scope: Scope, sources: Sources) -> Table:
    """The rows of a scope."""
    return _PLACES[scope].table(sources)
