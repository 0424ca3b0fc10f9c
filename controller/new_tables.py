"""The tables of ZooKeeper and the controllers, laid out for a scenario: an empty tree."""

from __future__ import annotations

from tidegauge.controller.state import (
    Controller,
    ControllerBroker,
    ControllerPartition,
    ControlPlane,
    Ensemble,
    Session,
    Znode,
    ZnodeWatch,
)
from tidegauge.replication.records import LeaderAndIsr, Records, column, grown, new_records
from tidegauge.simulation.cluster_plan import ClusterPlan
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.new_tables import chain_free, empty_lists, new_rules
from tidegauge.simulation.topology import FIXED_ZNODES, NOTIFICATIONS_ZNODE

_NOTIFICATION_ROOM = 64


def new_control_plane(plan: ClusterPlan) -> ControlPlane:
    """ZooKeeper without any znode but the parents, and controllers without a session."""
    brokers = len(plan.brokers)
    partitions = len(plan.partitions)
    fixed = int(FIXED_ZNODES) + brokers + len(plan.scenario.topics) + partitions
    plane = ControlPlane(
        ensemble=new_records(Ensemble, 1),
        znodes=new_records(Znode, fixed),
        # Of each controller those of the parents, of the operator one for each step at most.
        znode_watches=new_records(ZnodeWatch, 8 * brokers + len(plan.scenario.steps) + 16),
        sessions=new_records(Session, brokers),
        controllers=new_records(Controller, brokers),
        rules=new_rules(plan),
        brokers=new_records(ControllerBroker, brokers * brokers),
        partitions=new_records(ControllerPartition, brokers * partitions),
        leader_and_isr=new_records(LeaderAndIsr, brokers * partitions),
        proposal=new_records(LeaderAndIsr, 1),
    )
    ensemble = plane.ensemble[0]
    ensemble.tick_us = plan.scenario.zookeeper.tick_ms * 1000
    ensemble.first_notification = NONE
    ensemble.last_notification = NONE
    ensemble.free_notification = NONE
    _blank(plane)
    chain_free(column(plane.znode_watches, "next"), 0, int(NONE))
    enlarge_control_plane(plane)
    for parent in range(2, int(NOTIFICATIONS_ZNODE) + 1):
        plane.znodes[parent].exists = True
    return plane


def _blank(plane: ControlPlane) -> None:
    """Set what is absent to -1."""
    _blank_znodes(plane.znodes, 0)
    empty_lists(plane.controllers, "queue")
    empty_lists(plane.controllers, "unsent")
    empty_lists(plane.brokers, "queue")
    absent: dict[str, tuple[str, ...]] = {
        "controllers": (*("session", "event", "listing", "removing"),),
        "brokers": (*("broker_epoch", "listed_epoch", "building", "in_flight"),),
    }
    for table, fields in absent.items():
        for field in fields:
            column(getattr(plane, table), field)[:] = NONE


def _blank_znodes(znodes: Records[Znode], first: int) -> None:
    for field in ("session", "first_watch", "first_child_watch", "next", "first_item", "leader"):
        column(znodes, field)[first:] = NONE


def enlarge_control_plane(plane: ControlPlane) -> None:
    """Have room for more notifications where little is left."""
    ensemble = plane.ensemble[0]
    free = 0
    znode = int(ensemble.free_notification)
    while znode != NONE and free < _NOTIFICATION_ROOM // 2:
        free += 1
        znode = int(plane.znodes[znode].next)
    if free == _NOTIFICATION_ROOM // 2:
        return
    count = len(plane.znodes)
    plane.znodes = grown(plane.znodes, count + max(_NOTIFICATION_ROOM, count // 8))
    _blank_znodes(plane.znodes, count)
    chain_free(column(plane.znodes, "next"), count, int(ensemble.free_notification))
    ensemble.free_notification = count
