"""The tables of ZooKeeper and the controllers, laid out for a scenario: an empty tree."""

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.records import Records, column, grown, new_records
from tidegauge.controller.state import control_plane
from tidegauge.engine.layout.by_name import new_tables, set_by_name, set_columns
from tidegauge.engine.layout.cluster_tables import FIRST_SLOTS, chain_free
from tidegauge.engine.layout.step_tables import throttled_replicas_of
from tidegauge.replication.replica_list import pack
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.settings import THROTTLED_RATES
from tidegauge.simulation import zookeeper_tree
from tidegauge.simulation.kernel import NONE

_NOTIFICATION_ROOM = 64
#: Fewer free watches than this are too few, for each broker: a controller sets seven at most.
_WATCHES_OF_BROKER = 8
#: The table of watches: it holds nothing that a scenario plans.
WATCHES = ("znode_watches",)


def new_control_plane(plan: ClusterPlan) -> control_plane.ControlPlane:
    """ZooKeeper without any znode but the parents, and controllers without a session."""
    brokers = len(plan.brokers)
    plane = new_tables(
        control_plane.ControlPlane,
        ensemble=1,
        znodes=plan.tree_ranges[zookeeper_tree.NOTIFICATIONS].start,
        znode_watches=0,
        topic_configs=len(plan.scenario.topics),
        replica_throttles=plan.partitions.slot_count,
        throttled_rates=brokers,
        assignments=new_assignments(plan),
        zookeeper_sessions=0,
        controllers=brokers,
        controller_contexts=0,
        controller_brokers=0,
        controller_partitions=0,
        controller_leader_and_isr=0,
        controller_topics=0,
        controller_replicas=0,
        proposal=1,
    )
    ensemble = plane.ensemble[0]
    # People count sessions from 1.
    ensemble.sessions = 1
    ensemble.tick_us = plan.scenario.zookeeper.tick_ms * 1000
    # As its last partition has them.
    last = [numbers[-1] for numbers in plan.numbers_of.values()]
    planned = plan.partitions.columns
    set_columns(
        plane.topic_configs,
        min_insync_replicas=planned.min_insync_replicas[last],
        unclean_leader_election=planned.unclean_leader_election[last],
    )
    _set_throttles(plan, plane)
    if not plan.is_kraft:
        _set_controllers(plan, plane)
    enlarge_control_plane(plan, plane)
    for parent in range(2, int(zookeeper_tree.NOTIFICATIONS_ZNODE) + 1):
        plane.znodes[parent].exists = True
    for parent in plan.tree_ranges[zookeeper_tree.LOG_DIR_EVENTS]:
        plane.znodes[parent].exists = True
    _set_preexisting_states(plan, plane)
    return plane


def _set_preexisting_states(plan: ClusterPlan, world: control_plane.ControlPlane) -> None:
    """Lay out ZooKeeper's content as the run begins (``controller/zookeeper/held_states.py``)."""
    if not plan.was_there_before:
        return
    world.znodes[zookeeper_tree.CONTROLLER_ZNODE].was_there = True
    planned, columns = plan.partitions, plan.partitions.columns
    existed = np.flatnonzero(columns.existed)
    topics = np.array(plan.tree_ranges[zookeeper_tree.TOPICS])[columns.topic_numbers[existed]]
    column(world.znodes, "was_there")[topics] = True
    states = plan.tree_ranges[zookeeper_tree.STATES]
    nodes = states.start + existed
    column(world.znodes, "was_there")[nodes] = True
    # The preferred leader leads, and all are in sync.
    column(world.znodes, "leader")[nodes] = 0
    column(world.znodes, "leader_epoch")[nodes] = planned.leader_epochs[existed]
    column(world.znodes, "isr")[nodes] = FIRST_SLOTS[columns.replica_counts[existed]]
    for number, state in planned.own_states.items():
        slots = {plan.brokers[broker]: slot for slot, broker in enumerate(planned[number].slots)}
        node = world.znodes[states[number]]
        node.leader = NONE if state.leader is None else slots[state.leader]
        node.isr = pack(slots[broker] for broker in state.isr)


def new_assignments(plan: ClusterPlan) -> Records[control_plane.Assignment]:
    """The properties of topics at their creation."""
    assignments = new_records(control_plane.Assignment, len(plan.partitions))
    counts = plan.partitions.columns.replica_counts
    column(assignments, "replicas")[:] = FIRST_SLOTS[counts]
    return assignments


def _set_throttles(plan: ClusterPlan, world: control_plane.ControlPlane) -> None:
    """Throttles of replication from the start on."""
    for index, broker in enumerate(plan.brokers):
        settings = plan.scenario.settings_of(broker)
        leader_rate, follower_rate = (settings[name] for name in THROTTLED_RATES)
        world.throttled_rates[index].leader_rate = leader_rate
        world.throttled_rates[index].follower_rate = follower_rate
    for each in throttled_replicas_of(plan):
        throttle = world.replica_throttles[each.row]
        throttle.leader = each.as_leader
        throttle.follower = each.as_follower


def _set_controllers(plan: ClusterPlan, world: control_plane.ControlPlane) -> None:
    """Copy the settings of each controller's broker; there is no controller yet."""
    for controller, broker in zip(world.controllers, plan.brokers, strict=True):
        settings = plan.scenario.settings_of(broker)
        set_by_name(controller, control_plane.ControllerSettings, settings)


def enlarge_control_plane(plan: ClusterPlan, world: control_plane.ControlPlane) -> None:
    """Make room for more notifications, watches, sessions and one more controller."""
    _enlarge_notifications(world)
    _enlarge_watches(plan, world)
    brokers = len(plan.brokers)
    if len(world.zookeeper_sessions) - world.ensemble[0].sessions < brokers:
        world.zookeeper_sessions = grown(
            world.zookeeper_sessions, 2 * len(world.zookeeper_sessions) + 2 * brokers
        )
    # With a quorum no broker becomes controller.
    if not plan.is_kraft and NONE not in column(world.controller_contexts, "controller"):
        add_context(plan, world)


def add_context(plan: ClusterPlan, world: control_plane.ControlPlane) -> None:
    """One more broker can be controller."""
    count = len(world.controller_contexts)
    brokers, partitions = len(plan.brokers), len(plan.partitions)
    replicas = plan.partitions.slot_count
    world.controller_contexts = grown(world.controller_contexts, count + 1)
    world.controller_brokers = grown(world.controller_brokers, (count + 1) * brokers)
    world.controller_partitions = grown(world.controller_partitions, (count + 1) * partitions)
    world.controller_leader_and_isr = grown(
        world.controller_leader_and_isr, (count + 1) * partitions
    )
    world.controller_topics = grown(
        world.controller_topics, (count + 1) * len(plan.scenario.topics)
    )
    world.controller_replicas = grown(world.controller_replicas, (count + 1) * replicas)


def _enlarge_notifications(world: control_plane.ControlPlane) -> None:
    ensemble = world.ensemble[0]
    enough = _NOTIFICATION_ROOM // 2
    if _has_free(column(world.znodes, "next"), int(ensemble.free_notification), enough):
        return
    count = len(world.znodes)
    world.znodes = grown(world.znodes, count + max(_NOTIFICATION_ROOM, count // 8))
    chain_free(column(world.znodes, "next"), count, int(ensemble.free_notification))
    ensemble.free_notification = count


def _has_free(following: NDArray[np.int64], first: int, enough: int) -> bool:
    """Whether so many slots are free; each names the next one."""
    free = 0
    while first != NONE and free < enough:
        free += 1
        first = int(following[first])
    return free == enough


def _enlarge_watches(plan: ClusterPlan, world: control_plane.ControlPlane) -> None:
    """Processes that have died leave their watches behind until their sessions end."""
    ensemble = world.ensemble[0]
    enough = _WATCHES_OF_BROKER * len(plan.brokers) + len(plan.scenario.steps) + 16
    if _has_free(column(world.znode_watches, "next"), int(ensemble.free_watch), enough):
        return
    count = len(world.znode_watches)
    world.znode_watches = grown(world.znode_watches, 2 * count + enough)
    chain_free(column(world.znode_watches, "next"), count, int(ensemble.free_watch))
    ensemble.free_watch = count
