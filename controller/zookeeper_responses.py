"""Answers of ZooKeeper to a controller: what is listed and read goes to where it is needed."""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.event_queue import enqueue, forget_listing, go_on
from tidegauge.controller.events.alter_partition import take_altered_state
from tidegauge.controller.events.asked_moves import take_asked_moves
from tidegauge.controller.events.log_dir_changes import note_log_dir_event
from tidegauge.controller.events.notification_changes import note_notification
from tidegauge.controller.events.preferred_elections import note_preferred_election
from tidegauge.controller.events.topic_deletions import note_listed_deletions
from tidegauge.controller.partitions.partition_changes import take_state_answer
from tidegauge.controller.state.assignments import know_assignment
from tidegauge.controller.state.control_plane import ControlPlane, broker_at, partition_at
from tidegauge.controller.state.zookeeper_requests import issue_next
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.codes.controller_events import ALTER_PARTITION as ALTER
from tidegauge.simulation.codes.controller_events import (
    ELECT,
    ISR_CHANGE,
    LOG_DIR_CHANGE,
    PREFERRED_ELECTION,
    REASSIGNMENTS,
)
from tidegauge.simulation.codes.zookeeper_errors import CONTROLLER_MOVED, SESSION_EXPIRED
from tidegauge.simulation.events import free_event
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.kinds import ZK_CHILDREN, ZK_SET
from tidegauge.simulation.zookeeper_tree import (
    BROKER_IDS_ZNODE,
    LOG_DIR_EVENTS,
    NOTIFICATIONS_ZNODE,
    TOPICS_ZNODE,
    is_in,
)


@inner_rule
def take_answer(world: ControlPlane, controller: int, answer: Event) -> None:
    """Take an answer of ZooKeeper; the last of a phase lets the event go on.

    Source: ZooKeeperClient.handleRequests@2.6.3.
    """
    state = world.controllers[controller]
    if answer.request != state.generation or answer.error == SESSION_EXPIRED:
        free_event(world, answer)
        return
    if answer.value == ZK_CHILDREN and answer.wait_ms == 1:
        enqueue(world, controller, answer, ISR_CHANGE)
        return
    state.pending -= 1
    state.answers += 1
    state.answer_error = answer.error
    state.answer_version = answer.version
    state.answer_broker = answer.broker
    if answer.error == CONTROLLER_MOVED:
        state.moved = True
    issue_next(world, controller)
    if is_in(world, LOG_DIR_EVENTS, answer.znode):
        state.log_dir_listing = answer.index
        go_on(world, controller)
        return
    if answer.value == ZK_SET and state.event == ALTER:
        take_altered_state(world, controller, answer)
    elif answer.partition != UNDEFINED:
        take_state_answer(world, controller, answer)
    elif answer.value == ZK_CHILDREN and answer.znode == NOTIFICATIONS_ZNODE:
        forget_listing(world, state)
        state.listing = answer.index
        go_on(world, controller)
        return
    elif answer.value == ZK_CHILDREN:
        _note_listed(world, controller, answer)
    elif answer.item_count > 0:
        _note_content(world, controller, answer)
    free_event(world, answer)
    go_on(world, controller)


@inner_rule
def _note_listed(world: ControlPlane, controller: int, answer: Event) -> None:
    if answer.znode == BROKER_IDS_ZNODE:
        _note_listed_brokers(world, controller, answer)
    elif answer.znode == TOPICS_ZNODE:
        _note_listed_topics(world, controller, answer)
    else:
        note_listed_deletions(world, controller, answer)


@inner_rule
def _note_listed_brokers(world: ControlPlane, controller: int, answer: Event) -> None:
    for broker in range(world.sizes[0].brokers):
        broker_at(world, controller, broker).listed_epoch = UNDEFINED
    cursor = answer.first_item
    while cursor != NONE:
        item = world.items[cursor]
        cursor = item.next
        broker_at(world, controller, item.partition).listed_epoch = item.offset


@inner_rule
def _note_listed_topics(world: ControlPlane, controller: int, answer: Event) -> None:
    """Know the partitions of all topics that are listed; those not known before are new."""
    cursor = answer.first_item
    while cursor != NONE:
        item = world.items[cursor]
        cursor = item.next
        known = partition_at(world, controller, item.partition)
        if not known.known:
            know_assignment(known, item)


@inner_rule
def _note_content(world: ControlPlane, controller: int, answer: Event) -> None:
    """Take what a znode holds: the controller epoch, or the partitions of a notification."""
    state = world.controllers[controller]
    if state.event == ELECT:
        state.answer_epoch = world.items[answer.first_item].controller_epoch
        return
    if state.event == PREFERRED_ELECTION:
        note_preferred_election(world, controller, answer)
        return
    if state.event in REASSIGNMENTS:
        take_asked_moves(world, controller, answer)
        return
    if state.event == LOG_DIR_CHANGE:
        note_log_dir_event(world, controller, answer.broker)
        return
    note_notification(world, controller, answer)
