"""Moving replicas through their states (``ReplicaStateMachine.handleStateChanges``)."""

from __future__ import annotations

from tidegauge.controller.replica_state_machine import (
    NEW_REPLICA,
    NON_EXISTENT_REPLICA,
    ONLINE_REPLICA,
    may_enter,
)
from tidegauge.controller.state import ControlPlane, replica_at
from tidegauge.replication.compiled import inner_rule
from tidegauge.simulation.topology import Topology


@inner_rule
def enter_replica_state(
    topology: Topology, plane: ControlPlane, controller: int, row: int, target: int
) -> bool:
    """Move a replica to a state; False, and nothing happens, if the table does not allow it.

    Source: ControllerContext.checkValidReplicaStateChange@2.4.0.
    """
    replica = replica_at(topology, plane, controller, row)
    if not may_enter(plane.rules[controller], replica.state, target):
        return False
    replica.state = target
    return True


@inner_rule
def bring_replica_online(
    topology: Topology, plane: ControlPlane, controller: int, row: int
) -> bool:
    """A replica is online: one of a new partition is new before; False if it may not be.

    Source: KafkaController.onNewPartitionCreation@2.4.0.
    """
    if replica_at(topology, plane, controller, row).state == NON_EXISTENT_REPLICA:
        enter_replica_state(topology, plane, controller, row, NEW_REPLICA)
    return enter_replica_state(topology, plane, controller, row, ONLINE_REPLICA)
