"""All data for scrapes at one moment: columns, one array for each kind of object.

Every group takes a snapshot of its own rows, between two windows; the driver adds them up. The
endpoint renders from the last one that it was given, and never reads a run itself.
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
from tidegauge.metrics.families import all_families, brokers, controllers, requests
from tidegauge.metrics.snapshots import gauge_rules, quorum_gauges, request_gauges
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
    #: At ``2 * controller``: the waits of events for its thread, and their times in it.
    controller_event_times: NDArray[np.void]
    #: The brokers and controllers of a quorum, as clients of Raft: first all brokers.
    raft: NDArray[np.void]
    #: Requests, their errors and histograms of their times (``request_gauges.py``).
    requests: NDArray[np.void]
    request_errors: NDArray[np.void]
    request_times: NDArray[np.void]
    #: By broker's index: its ZooKeeper client, and the times of its requests.
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
    count = len(plan.brokers)
    nodes = len(plan.process_ranges[QUORUM_CONTROLLER])
    committed = sum(len(plan.committed_by(client)) for client in plan.clients)
    types = count * len(request_gauges.SERVED_TYPES)
    node_types = nodes * len(request_gauges.SERVED_CONTROLLER_TYPES)
    rows = plan.partitions.slot_count
    return Snapshot(
        time_us,
        brokers=_zeros(brokers.BrokerGauges, count),
        broker_topics=_zeros(brokers.BrokerTopicGauges, count * len(plan.scenario.topics)),
        replicas=_zeros(brokers.ReplicaGauges, rows),
        partitions=_zeros(all_families.PartitionGauges, len(plan.partitions)),
        cluster=_zeros(all_families.ClusterGauges, 1),
        committed=_zeros(all_families.CommittedGauges, committed),
        members=_zeros(all_families.MemberGauges, len(plan.clients) if plan.has_commits else 0),
        controllers=_zeros(controllers.QuorumControllerGauges, nodes),
        controller_event_times=_zeros(requests.HistogramGauges, 2 * nodes),
        raft=_zeros(controllers.RaftGauges, count + nodes if plan.is_kraft else 0),
        requests=_zeros(requests.RequestGauges, types),
        request_errors=_zeros(requests.ErrorGauges, count * int(ERROR_TYPES * ERROR_COUNT)),
        request_times=_zeros(requests.HistogramGauges, types * int(PARTS)),
        zookeeper_clients=_zeros(requests.ZooKeeperClientGauges, count),
        zookeeper_latencies=_zeros(requests.HistogramGauges, count),
        controller_requests=_zeros(requests.RequestGauges, node_types),
        controller_request_errors=_zeros(
            requests.ErrorGauges, nodes * int(CONTROLLER_TYPE_COUNT * ERROR_COUNT)
        ),
        controller_request_times=_zeros(requests.HistogramGauges, node_types * int(PARTS)),
    )


def _zeros(record: type[R], count: int) -> NDArray[np.void]:
    return np.asarray(new_records(record, count))


def take_snapshot(plan: ClusterPlan, time_us: int, state: MeasuredState) -> Snapshot:
    """The current rows of a group."""
    of_brokers, plane = state.view_as(Brokers), state.view_as(ControlPlane)
    quorum = state.view_as(Quorum)
    taken = new_snapshot(plan, time_us)
    # The same rows for rules; their dtype names the record.
    rows: Any = taken
    gauge_rules.read_brokers(of_brokers, time_us, rows.brokers, rows.broker_topics)
    gauge_rules.read_replicas(of_brokers, rows.replicas, rows.brokers, rows.broker_topics)
    gauge_rules.read_controllers(plane, rows.brokers)
    gauge_rules.read_zookeeper(plane, rows.partitions, rows.brokers, rows.cluster)
    quorum_gauges.read_quorum(quorum, rows.partitions, rows.brokers, rows.cluster)
    quorum_gauges.read_quorum_controllers(quorum, rows.controllers, rows.controller_event_times)
    quorum_gauges.read_voters(quorum, time_us, rows.raft)
    quorum_gauges.read_observers(of_brokers, time_us, rows.raft)
    gauge_rules.read_clients(state.view_as(Clients), rows.partitions, rows.cluster)
    gauge_rules.read_groups(of_brokers, rows.committed, rows.members)
    request_gauges.read_requests(
        of_brokers,
        rows.requests,
        rows.request_errors,
        rows.request_times,
        request_gauges.new_sums(),
    )
    request_gauges.read_controller_requests(
        quorum,
        rows.controller_requests,
        rows.controller_request_errors,
        rows.controller_request_times,
    )
    request_gauges.read_zookeeper_clients(
        of_brokers, rows.zookeeper_clients, rows.zookeeper_latencies
    )
    return taken


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
