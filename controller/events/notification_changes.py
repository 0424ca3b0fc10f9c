"""What a controller does with isr_change_notifications.

It reads the children of /isr_change_notification, reads the states of all partitions that
they name, tells every live broker of them and deletes the children. Leaders and epochs do
not change, and no replica gets a LeaderAndIsr: brokers learn of it for their metadata. The
watch fires for the deletion, too: that event finds nothing, and nobody is told anything.
"""

from __future__ import annotations

from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.partitions.partition_changes import read_state
from tidegauge.controller.partitions.request_batch import (
    add_update_metadata_request,
    send_requests_to_brokers,
)
from tidegauge.controller.state.control_plane import ControlPlane, partition_at
from tidegauge.controller.state.zookeeper_requests import issue_children, issue_for_children
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.zookeeper_requests import Child, ZkResponse
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.topology import controller_process
from tidegauge.simulation.trace_rows.controller_rows import NotificationRead
from tidegauge.simulation.zookeeper_tree import NOTIFICATIONS_ZNODE

# Phases.
_LIST = code(0)
_READ = code(1)
_READ_STATES = code(2)
_TELL = code(3)

_READ_THEM = code(False)
_DELETE_THEM = code(True)


@inner_rule
def advance_isr_change(world: ControlPlane, controller: int) -> None:
    """One phase of an ISR change.

    Source: KafkaController.processIsrChangeNotification@2.4.0, IsrChangeNotification@1.0.0.
    """
    state = world.controllers[controller]
    phase = state.phase
    state.phase += 1
    if phase == _LIST:
        # Up to 1.0 the event has brought the list of children with it.
        if state.listing == NONE:
            issue_children(world, controller, NOTIFICATIONS_ZNODE)
    elif phase == _READ:
        issue_for_children(world, controller, state.listing, _READ_THEM)
    elif phase == _READ_STATES:
        _read_states(world, controller)
    elif phase == _TELL:
        send_requests_to_brokers(world, controller)
        issue_for_children(world, controller, state.listing, _DELETE_THEM)
    else:
        state.event = NONE


@inner_rule
def note_notification(world: ControlPlane, controller: int, response: ZkResponse) -> None:
    """Take what a notification holds: the partitions whose ISRs have changed."""
    cursor = response.first_item
    while cursor != NONE:
        item = world.items[cursor]
        cursor = item.next
        add_update_metadata_request(world, controller, item.partition)
    cursor = world.events[world.controllers[controller].listing].first_item
    while cursor != NONE:
        child = view_as(world.items[cursor], Child)
        cursor = child.next
        if child.znode == response.znode:
            child.was_read = True


@inner_rule
def _read_states(world: ControlPlane, controller: int) -> None:
    """Read the states of all partitions that the notifications name."""
    count = 0
    partition = world.controllers[controller].first_touched
    while partition != NONE:
        count += 1
        read_state(world, controller, partition)
        partition = partition_at(world, controller, partition).next_touched
    cursor = world.events[world.controllers[controller].listing].first_item
    while cursor != NONE:
        child = view_as(world.items[cursor], Child)
        cursor = child.next
        if child.was_read:
            written = new_row(world, controller_process(world, controller), NotificationRead)
            written.notification = child.sequence_number
            written.partition_count = count
            write_row(world, written)
