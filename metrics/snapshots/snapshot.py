"""The state that metrics are read from.

All data for scrapes at one moment: columns, one array for each kind of object.

Every group takes a snapshot of its own rows, between two windows; the driver adds them up. The
endpoint renders from the last one that it was given, and never looks at a run itself.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.request_stats import PARTS
from tidegauge.clients.client_state import Clients
from tidegauge.compiled.records import R, new_records
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.metrics.snapshots import gauge_rules, gauges, quorum_gauges, request_gauges
from tidegauge.replication.errors import ERROR_COUNT
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.kernel import QUORUM_CONTROLLER
from tidegauge.simulation.messages.kinds import CONTROLLER_TYPE_COUNT, ERROR_TYPES


class MeasuredState(Brokers, ControlPlane, Quorum, Clients):
    """Brokers, control planes and clients of one group."""


class Snapshot(NamedTuple):
    """The cluster at one moment; missing rows are all zeros."""

    time_us: int
    #: By broker's index.
    brokers: NDArray[np.void]
    #: At ``broker * topics + topic``.
    broker_topics: NDArray[np.void]
    #: By row (``Topology.slots``: the slots of all partitions, one partition after the other).
    replicas: NDArray[np.void]
    #: By number of the partition.
    partitions: NDArray[np.void]
    #: One record.
    cluster: NDArray[np.void]
    #: One for each partition that a client of a group that commits reads, client by client.
    committed: NDArray[np.void]
    #: By client (``ClusterPlan.clients``).
    members: NDArray[np.void]
    #: The controllers of a quorum (``ClusterPlan.controllers``).
    controllers: NDArray[np.void]
    #: At ``2 * controller``: how long events wait for its thread, and how long they take it.
    controller_event_times: NDArray[np.void]
    #: The brokers and controllers of a quorum, as clients of Raft: first all brokers.
    raft: NDArray[np.void]
    #: Requests, their errors and histograms of their times (``request_gauges.py``).
    requests: NDArray[np.void]
    request_errors: NDArray[np.void]
    request_times: NDArray[np.void]
    #: By broker's index: its ZooKeeper client, and how long its requests take.
    zookeeper_clients: NDArray[np.void]
    zookeeper_latencies: NDArray[np.void]
    #: Requests to the controllers of a quorum, their errors and histograms of their times.
    controller_requests: NDArray[np.void]
    controller_request_errors: NDArray[np.void]
    controller_request_times: NDArray[np.void]


class Columns(NamedTuple):
    """The rows of one array that have anything in them, and which they are."""

    places: NDArray[np.int64]
    rows: NDArray[np.void]


#: The part of a snapshot that a group sends: for each array the rows that it hosts.
SnapshotPart = tuple[Columns, ...]


def new_snapshot(plan: ClusterPlan, time_us: int = 0) -> Snapshot:
    """A snapshot with nothing in it."""
    brokers = len(plan.brokers)
    controllers = len(plan.process_ranges[QUORUM_CONTROLLER])
    committed = 0
    if plan.has_commits:
        committed = sum(len(plan.partitions_of(client)) for client in plan.clients)
    return Snapshot(
        time_us,
        _zeros(gauges.BrokerGauges, brokers),
        _zeros(gauges.BrokerTopicGauges, brokers * len(plan.scenario.topics)),
        _zeros(gauges.ReplicaGauges, sum(len(partition.slots) for partition in plan.partitions)),
        _zeros(gauges.PartitionGauges, len(plan.partitions)),
        _zeros(gauges.ClusterGauges, 1),
        _zeros(gauges.CommittedGauges, committed),
        _zeros(gauges.MemberGauges, len(plan.clients) if plan.has_commits else 0),
        _zeros(gauges.ControllerGauges, controllers),
        _zeros(gauges.HistogramGauges, 2 * controllers),
        _zeros(quorum_gauges.RaftGauges, brokers + controllers if plan.is_kraft else 0),
        _zeros(request_gauges.RequestGauges, brokers * len(request_gauges.SERVED_TYPES)),
        _zeros(request_gauges.ErrorGauges, brokers * int(ERROR_TYPES * ERROR_COUNT)),
        _zeros(gauges.HistogramGauges, brokers * len(request_gauges.SERVED_TYPES) * int(PARTS)),
        _zeros(request_gauges.ZooKeeperClientGauges, brokers),
        _zeros(gauges.HistogramGauges, brokers),
        _zeros(
            request_gauges.RequestGauges, controllers * len(request_gauges.SERVED_CONTROLLER_TYPES)
        ),
        _zeros(request_gauges.ErrorGauges, controllers * int(CONTROLLER_TYPE_COUNT * ERROR_COUNT)),
        _zeros(
            gauges.HistogramGauges,
            controllers * len(request_gauges.SERVED_CONTROLLER_TYPES) * int(PARTS),
        ),
    )


def _zeros(record: type[R], count: int) -> NDArray[np.void]:
    return np.asarray(new_records(record, count))


def take_snapshot(
    plan: ClusterPlan,
    time_us: int,
    state: MeasuredState,
) -> Snapshot:
    """The current rows of a group."""
    brokers, plane = state.view_as(Brokers), state.view_as(ControlPlane)
    taken = new_snapshot(plan, time_us)
    of_brokers = _records(taken.brokers)
    of_topics = _records(taken.broker_topics)
    gauge_rules.read_brokers(brokers, time_us, of_brokers, of_topics)
    replicas = _records(taken.replicas)
    gauge_rules.read_replicas(brokers, replicas, of_brokers, of_topics)
    gauge_rules.read_controllers(plane, of_brokers)
    partitions = _records(taken.partitions)
    gauge_rules.read_zookeeper(plane, partitions, of_brokers, _records(taken.cluster))
    quorum = state.view_as(Quorum)
    quorum_gauges.read_quorum(quorum, partitions, of_brokers, _records(taken.cluster))
    quorum_gauges.read_quorum_controllers(
        quorum, _records(taken.controllers), _records(taken.controller_event_times)
    )
    quorum_gauges.read_voters(quorum, time_us, _records(taken.raft))
    quorum_gauges.read_observers(brokers, time_us, _records(taken.raft))
    gauge_rules.read_clients(state.view_as(Clients), partitions, _records(taken.cluster))
    committed = _records(taken.committed)
    gauge_rules.read_groups(brokers, committed, _records(taken.members))
    request_gauges.read_requests(
        brokers,
        _records(taken.requests),
        _records(taken.request_errors),
        _records(taken.request_times),
        request_gauges.new_sums(),
    )
    request_gauges.read_controller_requests(
        quorum,
        _records(taken.controller_requests),
        _records(taken.controller_request_errors),
        _records(taken.controller_request_times),
    )
    request_gauges.read_zookeeper_clients(
        brokers, _records(taken.zookeeper_clients), _records(taken.zookeeper_latencies)
    )
    return taken


def _records(rows: NDArray[np.void]) -> Any:
    """The same rows, as rules take them: which record they are says their dtype."""
    return rows


def part_of(snapshot: Snapshot) -> SnapshotPart:
    """The part of a snapshot to send: rows that are not all zeros."""
    part = []
    for rows in snapshot[1:]:
        content = rows.view(np.uint8).reshape(len(rows), rows.dtype.itemsize)
        places = np.flatnonzero(content.any(axis=1))
        part.append(Columns(places, rows[places]))
    return tuple(part)


def merged(plan: ClusterPlan, time_us: int, parts: Iterable[SnapshotPart]) -> Snapshot:
    """The snapshot that the parts of all groups make.

    A row that several know of is their sum; of several coordinators the newest counts.
    """
    whole = new_snapshot(plan, time_us)
    for part in parts:
        for rows, columns in zip(whole[1:], part, strict=True):
            names = rows.dtype.names or ()
            if "coordinator_epoch" in names:
                epochs = rows["coordinator_epoch"][columns.places]
                newer = columns.rows["coordinator_epoch"] > epochs
                rows[columns.places[newer]] = columns.rows[newer]
                continue
            for name in names:
                rows[name][columns.places] += columns.rows[name]
    return whole
