"""A controller's context: taken when it becomes controller, given back when it resigns."""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.partitions.partition_state_machine import NEW_PARTITION
from tidegauge.controller.partitions.replica_state_machine import NON_EXISTENT_REPLICA
from tidegauge.controller.state.control_plane import (
    ControlPlane,
    broker_at,
    partition_at,
    replica_at,
    topic_at,
)
from tidegauge.replication.replica_list import EMPTY
from tidegauge.simulation.kernel import NONE


@inner_rule
def take_context(world: ControlPlane, controller: int) -> None:
    """Take a context that is free; there is one, and will be one for the next."""
    world.context[0].needs_room = True
    for context in range(len(world.controller_contexts)):
        if world.controller_contexts[context].controller == NONE:
            world.controller_contexts[context].controller = controller
            world.controllers[controller].context = context
            return


@inner_rule
def give_back_context(world: ControlPlane, controller: int) -> None:
    """Leave the context to the next controller."""
    state = world.controllers[controller]
    world.controller_contexts[state.context].controller = NONE
    state.context = NONE


@inner_rule
def forget_everything(world: ControlPlane, controller: int) -> None:
    """Begin with an empty context."""
    sizes = world.sizes[0]
    state = world.controllers[controller]
    state.told = 0
    state.tells_all = False
    state.removing = NONE
    state.strategy = 0
    state.first_touched = NONE
    state.last_touched = NONE
    state.first_move = NONE
    state.last_move = NONE
    state.moves_refused = False
    for partition in range(sizes.partitions):
        known = partition_at(world, controller, partition)
        known.known = False
        known.replicas = EMPTY
        known.adding = EMPTY
        known.removing = EMPTY
        known.reassigned = False
        known.moves = False
        known.move_refused = False
        known.has_state = False
        known.is_new = False
        known.state = NEW_PARTITION
        known.touched = False
        known.led_anew = False
        known.row_sequence = NONE
        known.selected = False
        known.is_followed = False
        known.unclean_enabled = False
    for topic in range(sizes.topics):
        known_topic = topic_at(world, controller, topic)
        known_topic.deleted = False
        known_topic.ineligible = False
        known_topic.deletion_started = False
    for row in range(len(world.slots)):
        replica = replica_at(world, controller, row)
        replica.state = NON_EXISTENT_REPLICA
        replica.directory_offline = 0
    for broker in range(sizes.brokers):
        known_broker = broker_at(world, controller, broker)
        known_broker.alive = False
        known_broker.shutting_down = False
        known_broker.log_dir_failed = False
        known_broker.told_alive = NONE
        known_broker.deadline_timer = False
        known_broker.in_flight = NONE
