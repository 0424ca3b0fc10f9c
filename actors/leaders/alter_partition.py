"""AlterPartition at a broker: how what its leaders propose reaches the controller (KIP-497).

A proposal is queued, one per partition. At most one request is on its way, with all that is
queued; what is queued meanwhile goes into the next one. The request goes to the controller that
the metadata cache names. It is never given up: if its connection fails, if it is not answered
within controller.socket.timeout.ms or whom it asked is not controller (any more), it is sent
again as it is, to whom the cache names then; if the controller refuses it as a whole, a new
one is made after 50 ms. What the answer does to a partition stands in ``isr_changes.py``.

Simplified: after NOT_CONTROLLER 2.7 asks the same broker again at once, here after 50 ms, too.

Source: AlterIsrManagerImpl@2.7.0, DefaultAlterIsrManager@2.8.0, DefaultAlterPartitionManager
@3.8.0; BrokerToControllerRequestThread@2.8.0, NodeToControllerRequestThread@3.8.0.
"""

from __future__ import annotations

from tidegauge.actors.state.brokers import Broker, Brokers
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.replication.replica_list import EMPTY
from tidegauge.simulation.events import add_item, copy_event, free_event, new_event, set_timer
from tidegauge.simulation.kernel import NONE, Event, Kernel
from tidegauge.simulation.kinds import (
    ALTER_PARTITION,
    ALTER_PARTITION_DUE,
    ALTER_PARTITION_GIVES_UP,
)
from tidegauge.simulation.links import send
from tidegauge.simulation.metadata_log import is_known_alive
from tidegauge.simulation.row_kinds import ALTER_PARTITION_FAILED, ALTER_PARTITION_SENT
from tidegauge.simulation.rows import new_row, write_canonical
from tidegauge.simulation.topology import Topology, controller_process

#: After a request that was refused as a whole; in 2.7 also the period in which it looks.
_SEND_AGAIN_US = code(50_000)
#: NetworkClient's reconnect.backoff.ms to the controller.
_RECONNECT_US = code(50_000)
#: ... and how long it polls if the metadata cache names no controller that is alive.
_NO_CONTROLLER_US = code(100_000)


@inner_rule
def submit_isr(kernel: Kernel, topology: Topology, brokers: Brokers, row: int, isr: int) -> None:
    """Queue the ISR that a leader proposes; nothing of this partition is queued.

    Source: DefaultAlterPartitionManager.submit@3.8.0, AlterIsrManagerImpl.enqueue@2.7.0.
    """
    hosted = brokers.hosted[row]
    partition = brokers.replicas[row]
    hosted.submitted_isr = isr
    hosted.submitted_leader_epoch = partition.leader_epoch
    hosted.submitted_partition_epoch = partition.partition_epoch
    brokers.brokers[hosted.broker].submitted_isrs += 1
    propagate_isrs(kernel, topology, brokers, hosted.broker)


@inner_rule
def drop_submitted_isr(brokers: Brokers, row: int) -> None:
    """Take a proposal out of the queue: it is answered, or of no use any more.

    Source: DefaultAlterIsrManager.clearPending and handleAlterIsrResponse@2.8.0.
    """
    hosted = brokers.hosted[row]
    if hosted.submitted_isr != EMPTY:
        hosted.submitted_isr = EMPTY
        brokers.brokers[hosted.broker].submitted_isrs -= 1


@inner_rule
def propagate_isrs(kernel: Kernel, topology: Topology, brokers: Brokers, broker: int) -> None:
    """Send all that is queued, unless a request is on its way; in 2.7 every 50 ms only.

    Source: DefaultAlterPartitionManager.maybePropagateIsrChanges@3.8.0,
    AlterIsrManagerImpl.start@2.7.0.
    """
    state = brokers.brokers[broker]
    if state.submitted_isrs == 0 or state.alter_partition != NONE or state.ends:
        return
    if not brokers.rules[broker].isr_updates_sent_periodically:
        _make_request(kernel, topology, brokers, broker)
        return
    now_us = kernel.context[0].time_us
    if state.alter_partition_due_us <= now_us:
        passed_us = (now_us - kernel.processes[broker].up_since_us) % _SEND_AGAIN_US
        _look_later(kernel, brokers, broker, _SEND_AGAIN_US - passed_us)


@inner_rule
def _make_request(kernel: Kernel, topology: Topology, brokers: Brokers, broker: int) -> None:
    """Make one request of all that is queued; it is kept, and copies of it are sent.

    Source: DefaultAlterPartitionManager.buildRequest@3.8.0.
    """
    state = brokers.brokers[broker]
    request = new_event(kernel, broker, broker, ALTER_PARTITION)
    request.broker = broker
    request.version = state.broker_epoch
    row = state.first_log
    while row != NONE:
        hosted = brokers.hosted[row]
        if hosted.submitted_isr != EMPTY:
            item = add_item(kernel, request, hosted.partition)
            item.leader = brokers.replicas[row].local_replica
            item.leader_epoch = hosted.submitted_leader_epoch
            item.isr = hosted.submitted_isr
            item.version = hosted.submitted_partition_epoch
        row = hosted.next_log
    state.alter_partition = request.index
    state.alter_partition_sent_us = NONE
    _send(kernel, topology, brokers, broker)


@inner_rule
def _send(kernel: Kernel, topology: Topology, brokers: Brokers, broker: int) -> None:
    """Send the request to the controller, if the metadata cache names one that is alive.

    Source: NodeToControllerRequestThread.doWork@3.8.0.
    """
    state = brokers.brokers[broker]
    if not is_known_alive(kernel, brokers.metadata[broker], state.known_controller):
        _look_later(kernel, brokers, broker, _NO_CONTROLLER_US)
        return
    request = kernel.events[state.alter_partition]
    state.alter_partition_controller = controller_process(topology, state.known_controller)
    state.alter_partition_sends += 1
    state.alter_partition_sent_us = kernel.context[0].time_us
    written = new_row(kernel, broker, ALTER_PARTITION_SENT)
    written.values[0] = state.alter_partition_controller
    written.values[1] = state.alter_partition_sends
    written.values[2] = request.item_count
    write_canonical(kernel, written)
    request.destination = state.alter_partition_controller
    request.request = state.alter_partition_sends
    send(kernel, copy_event(kernel, request), state.alter_partition_sent_us)
    if not state.alter_partition_deadline:
        _watch_deadline(kernel, state, broker)


@inner_rule
def _look_later(kernel: Kernel, brokers: Brokers, broker: int, delay_us: int) -> None:
    due_us = kernel.context[0].time_us + delay_us
    brokers.brokers[broker].alter_partition_due_us = due_us
    set_timer(kernel, new_event(kernel, broker, broker, ALTER_PARTITION_DUE), due_us)


@inner_rule
def handle_alter_partition_timer(
    kernel: Kernel, topology: Topology, brokers: Brokers, timer: Event
) -> None:
    """Send what waits to be sent (again), or look whether the answer is overdue."""
    if brokers.brokers[timer.destination].ends:
        return
    if timer.kind == ALTER_PARTITION_DUE:
        _send_what_is_due(kernel, topology, brokers, timer.destination)
    else:
        _look_at_deadline(kernel, topology, brokers, timer.destination)


@inner_rule
def _send_what_is_due(kernel: Kernel, topology: Topology, brokers: Brokers, broker: int) -> None:
    state = brokers.brokers[broker]
    if kernel.context[0].time_us < state.alter_partition_due_us:
        # Another timer is set.
        return
    if state.alter_partition == NONE:
        if state.submitted_isrs > 0:
            _make_request(kernel, topology, brokers, broker)
    elif state.alter_partition_sent_us == NONE:
        _send(kernel, topology, brokers, broker)


@inner_rule
def _watch_deadline(kernel: Kernel, state: Broker, broker: int) -> None:
    state.alter_partition_deadline = True
    timer = new_event(kernel, broker, broker, ALTER_PARTITION_GIVES_UP)
    timeout_us = state.controller_socket_timeout_ms * 1000
    set_timer(kernel, timer, state.alter_partition_sent_us + timeout_us)


@inner_rule
def _look_at_deadline(kernel: Kernel, topology: Topology, brokers: Brokers, broker: int) -> None:
    """The controller may not have answered within controller.socket.timeout.ms."""
    state = brokers.brokers[broker]
    state.alter_partition_deadline = False
    if not _is_in_flight(state):
        return
    now_us = kernel.context[0].time_us
    if now_us < state.alter_partition_sent_us + state.controller_socket_timeout_ms * 1000:
        _watch_deadline(kernel, state, broker)
    else:
        lose_alter_partition(kernel, topology, brokers, broker, now_us)


@inner_rule
def _is_in_flight(state: Broker) -> bool:
    return state.alter_partition != NONE and state.alter_partition_sent_us != NONE


@inner_rule
def answers_request_in_flight(state: Broker, answer: Event) -> bool:
    """Whether this is the answer to the request as it was sent last."""
    return _is_in_flight(state) and answer.request == state.alter_partition_sends


@inner_rule
def lose_alter_partition(
    kernel: Kernel, topology: Topology, brokers: Brokers, broker: int, until_us: int
) -> None:
    """The connection to the controller is gone: what was sent up to ``until_us`` is lost."""
    state = brokers.brokers[broker]
    if _is_in_flight(state) and state.alter_partition_sent_us <= until_us and not state.ends:
        send_again(kernel, topology, brokers, broker, errors.NETWORK_EXCEPTION)


@inner_rule
def send_again(
    kernel: Kernel, topology: Topology, brokers: Brokers, broker: int, error: int
) -> None:
    """The same request once more: at once to another controller, else after the back-off.

    Source: NodeToControllerRequestThread.handleResponse@3.8.0.
    """
    state = brokers.brokers[broker]
    _write_failure(kernel, state, broker, error)
    state.alter_partition_sent_us = NONE
    known = state.known_controller
    if known != NONE and controller_process(topology, known) != state.alter_partition_controller:
        _send(kernel, topology, brokers, broker)
    else:
        _look_later(kernel, brokers, broker, _RECONNECT_US)


@inner_rule
def make_again(
    kernel: Kernel, topology: Topology, brokers: Brokers, broker: int, error: int
) -> None:
    """The controller has refused the request as a whole: make another one later.

    Source: DefaultAlterPartitionManager.sendRequest@3.8.0.
    """
    _write_failure(kernel, brokers.brokers[broker], broker, error)
    forget_request(kernel, brokers, broker)
    if brokers.rules[broker].isr_updates_sent_periodically:
        propagate_isrs(kernel, topology, brokers, broker)
    else:
        _look_later(kernel, brokers, broker, _SEND_AGAIN_US)


@inner_rule
def forget_request(kernel: Kernel, brokers: Brokers, broker: int) -> None:
    """No request is on its way any more."""
    state = brokers.brokers[broker]
    if state.alter_partition != NONE:
        free_event(kernel, kernel.events[state.alter_partition])
        state.alter_partition = NONE


@inner_rule
def _write_failure(kernel: Kernel, state: Broker, broker: int, error: int) -> None:
    failed = new_row(kernel, broker, ALTER_PARTITION_FAILED)
    failed.values[0] = state.alter_partition_controller
    failed.values[1] = state.alter_partition_sends
    failed.values[2] = error
    write_canonical(kernel, failed)
