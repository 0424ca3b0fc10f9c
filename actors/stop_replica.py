"""StopReplica at a broker: replicas that are not to fetch any more.

Source: ReplicaManager.stopReplicas@0.10.2.0 and @2.6.3.
"""

from __future__ import annotations

from tidegauge.actors.controller_requests import answer_controller, write_refused_partition
from tidegauge.actors.fetch_read import row_on
from tidegauge.actors.fetcher_thread import remove_from_fetcher, stop_idle_fetchers
from tidegauge.actors.state import Brokers
from tidegauge.replication import errors
from tidegauge.replication.compiled import inner_rule
from tidegauge.replication.controller_requests import controller_request_error, stop_replica_error
from tidegauge.simulation.kernel import NONE, Event, Kernel
from tidegauge.simulation.row_kinds import REPLICA_STOPPED
from tidegauge.simulation.rows import new_row, write_canonical
from tidegauge.simulation.topology import Topology


@inner_rule
def handle_stop_replica(
    kernel: Kernel, topology: Topology, brokers: Brokers, request: Event
) -> None:
    """Take replicas out of their fetchers; their logs stay."""
    broker = brokers.brokers[request.destination]
    rules = brokers.rules[request.destination]
    request.error = controller_request_error(
        rules,
        broker.controller_epoch,
        request.controller_epoch,
        broker.broker_epoch,
        request.version,
    )
    if request.error == errors.NONE:
        broker.controller_epoch = request.controller_epoch
        cursor = request.first_item
        while cursor != NONE:
            item = kernel.items[cursor]
            cursor = item.next
            row = row_on(topology, brokers, request.destination, item.partition)
            if row == NONE:
                continue
            known_epoch = brokers.replicas[row].leader_epoch
            item.error = stop_replica_error(rules, known_epoch, item.leader_epoch)
            if item.error != errors.NONE:
                write_refused_partition(kernel, request, item)
                continue
            remove_from_fetcher(brokers, row)
            written = new_row(kernel, request.destination, REPLICA_STOPPED)
            written.values[0] = item.partition
            written.values[1] = item.leader_epoch
            write_canonical(kernel, written)
        stop_idle_fetchers(topology, brokers, request.destination)
    answer_controller(kernel, request)
