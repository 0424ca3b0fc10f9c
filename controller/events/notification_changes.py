"""What a controller does with isr_change_notifications.

It reads the children of /isr_change_notification, reads the states of all partitions that
they name, tells every live broker of them and deletes the children. Leaders and epochs do
not change, and no replica gets a LeaderAndIsr: brokers learn of it for their metadata. The
watch fires for the deletion, too: that event finds nothing, and nobody is told anything.
"""

from __future__ import annotations

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.partitions.partition_changes import read_state
from tidegauge.controller.partitions.request_batch import (
    add_update_metadata_request,
    send_requests_to_brokers,
)
from tidegauge.controller.state.control_plane import ControlPlane, partition_at
from tidegauge.controller.state.zookeeper_requests import issue, issue_read, new_request
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.kinds import ZK_CHILDREN, ZK_DELETE, ZK_GET
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.topology import controller_process
from tidegauge.simulation.trace_rows.controller_rows import NotificationRead
from tidegauge.simulation.zookeeper_tree import NOTIFICATIONS_ZNODE

# Phases.
_LIST = code(0)
_READ = code(1)
_READ_STATES = code(2)
_TELL = code(3)

# PartitionData.version of a notification in a list.
_WAS_READ = code(1)

_TRUE = code(True)


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
            issue_read(world, controller, ZK_CHILDREN, NOTIFICATIONS_ZNODE, _TRUE)
    elif phase == _READ:
        issue_for_notifications(world, controller, ZK_GET)
    elif phase == _READ_STATES:
        _read_states(world, controller)
    elif phase == _TELL:
        send_requests_to_brokers(world, controller)
        issue_for_notifications(world, controller, ZK_DELETE)
    else:
        state.event = NONE


@inner_rule
def note_notification(world: ControlPlane, controller: int, answer: Event) -> None:
    """Take what a notification holds: the partitions whose ISRs have changed."""
    cursor = answer.first_item
    while cursor != NONE:
        item = world.items[cursor]
        cursor = item.next
        add_update_metadata_request(world, controller, item.partition)
    cursor = world.events[world.controllers[controller].listing].first_item
    while cursor != NONE:
        listed = world.items[cursor]
        cursor = listed.next
        if listed.partition == answer.znode:
            listed.version = _WAS_READ


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
        item = world.items[cursor]
        cursor = item.next
        if item.version == _WAS_READ:
            written = new_row(world, controller_process(world, controller), NotificationRead)
            written.notification = item.offset
            written.partition_count = count
            write_row(world, written)


@inner_rule
def issue_for_notifications(world: ControlPlane, controller: int, kind: int) -> None:
    """Read or delete all notifications that are listed, also those that are gone by now."""
    cursor = world.events[world.controllers[controller].listing].first_item
    while cursor != NONE:
        item = world.items[cursor]
        cursor = item.next
        request = new_request(world, controller, kind, item.partition)
        # A znode's place is taken again once it is deleted; its number tells which one is meant.
        request.offset = item.offset
        issue(world, controller, request)
