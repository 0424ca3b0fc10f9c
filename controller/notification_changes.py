"""What a controller does with isr_change_notifications.

It reads the children of /isr_change_notification, reads the states of all partitions that
they name, tells every live broker of them and deletes the children. Leaders and epochs do
not change, and no replica gets a LeaderAndIsr: brokers learn of it for their metadata.
"""

from __future__ import annotations

from tidegauge.controller.channels import send_requests
from tidegauge.controller.partition_changes import read_state
from tidegauge.controller.state import ControlPlane
from tidegauge.controller.zookeeper_requests import issue, issue_read, new_request
from tidegauge.replication.compiled import code, inner_rule
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.kinds import ZK_CHILDREN, ZK_DELETE, ZK_GET
from tidegauge.simulation.row_kinds import NOTIFICATION_READ
from tidegauge.simulation.rows import new_row, write_canonical
from tidegauge.simulation.topology import NOTIFICATIONS_ZNODE, Topology, controller_process

# Phases.
_LIST = code(0)
_READ = code(1)
_READ_STATES = code(2)
_TELL = code(3)

_TRUE = code(True)
_FALSE = code(False)


@inner_rule
def advance_isr_change(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int
) -> None:
    """One phase of an ISR change.

    Source: KafkaController.processIsrChangeNotification@2.4.0, IsrChangeNotification@1.0.0.
    """
    state = plane.controllers[controller]
    phase = state.phase
    state.phase += 1
    if phase == _LIST:
        # Up to 1.0 the event has brought the list of children with it.
        if state.listing == NONE:
            issue_read(kernel, topology, plane, controller, ZK_CHILDREN, NOTIFICATIONS_ZNODE, _TRUE)
    elif phase == _READ:
        cursor = kernel.events[state.listing].first_item
        while cursor != NONE:
            item = kernel.items[cursor]
            cursor = item.next
            issue_read(kernel, topology, plane, controller, ZK_GET, item.partition, _FALSE)
    elif phase == _READ_STATES:
        _read_states(kernel, topology, plane, controller)
    elif phase == _TELL:
        send_requests(kernel, topology, plane, controller)
        _delete(kernel, topology, plane, controller)
    else:
        state.event = NONE


@inner_rule
def _read_states(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    sizes = topology.sizes[0]
    count = 0
    for partition in range(sizes.partitions):
        if plane.partitions[controller * sizes.partitions + partition].touched:
            count += 1
            read_state(kernel, topology, plane, controller, partition)
    cursor = kernel.events[plane.controllers[controller].listing].first_item
    while cursor != NONE:
        item = kernel.items[cursor]
        cursor = item.next
        written = new_row(kernel, controller_process(topology, controller), NOTIFICATION_READ)
        written.values[0] = item.offset
        written.values[1] = count
        write_canonical(kernel, written)


@inner_rule
def _delete(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    cursor = kernel.events[plane.controllers[controller].listing].first_item
    while cursor != NONE:
        item = kernel.items[cursor]
        cursor = item.next
        request = new_request(kernel, topology, plane, controller, ZK_DELETE, item.partition)
        issue(kernel, plane, controller, request)
