"""Giving leadership back to preferred replicas: on demand, and automatically.

A tool writes the partitions to /admin/preferred_replica_election, which the controller watches,
reads, carries out and deletes, whatever the outcome. And every
leader.imbalance.check.interval.seconds, and first 5 s after it has become controller, the
controller looks, broker by broker, whether more than leader.imbalance.per.broker.percentage of the
partitions that a broker should lead are led by others.

Source: KafkaController.processZkPreferredReplicaLeaderElection, onReplicaElection,
checkAndTriggerAutoLeaderRebalance@2.6.3, PreferredReplicaPartitionLeaderSelector@1.0.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.partitions.channels import send_requests_to_brokers
from tidegauge.controller.partitions.leader_and_isr import PREFERRED, needs_preferred_election
from tidegauge.controller.partitions.partition_changes import elect_selected, live_replicas
from tidegauge.controller.state.assignments import (
    is_anything_reassigned,
    issue_delete,
    issue_exists,
    issue_get,
)
from tidegauge.controller.state.control_plane import ControlPlane, partition_at, state_at
from tidegauge.replication.replica_list import contains, first
from tidegauge.simulation.events import items_of
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_timers import AutoLeaderRebalance
from tidegauge.simulation.messages.event import PartitionData
from tidegauge.simulation.messages.zookeeper_requests import ZkResponse
from tidegauge.simulation.topology import broker_of
from tidegauge.simulation.trace_rows.codes import OK
from tidegauge.simulation.zookeeper_tree import PREFERRED_ELECTION_ZNODE

#: The delay of a controller's first check after its election.
_FIRST_REBALANCE_US = code(5_000_000)

# Phases of PREFERRED_ELECTION.
_READ = code(0)
_ELECT = code(1)
_TELL = code(2)
_DELETE = code(3)

_TRUE = code(True)
_FALSE = code(False)


@inner_rule
def advance_preferred_election(world: ControlPlane, controller: int) -> None:
    """One phase of a requested preferred election."""
    state = world.controllers[controller]
    phase = state.phase
    state.phase += 1
    znode = PREFERRED_ELECTION_ZNODE
    if phase == _READ:
        issue_get(world, controller, znode)
    elif phase == _ELECT:
        elect_selected(world, controller, PREFERRED)
    elif phase == _TELL:
        send_requests_to_brokers(world, controller)
        issue_delete(world, controller, znode)
    elif phase == _DELETE:
        # Watch for the next one, which may be there already.
        issue_exists(world, controller, znode, _TRUE)
    elif state.answer_error == OK:
        state.phase = _READ
    else:
        state.event = NONE


@inner_rule
def note_preferred_election(world: ControlPlane, controller: int, response: ZkResponse) -> None:
    """Take the partitions in /admin/preferred_replica_election; the others stay."""
    for named in items_of(world, response, PartitionData):
        known = partition_at(world, controller, named.partition)
        known.selected = known.has_state and _can_be_given_back(world, controller, named.partition)


@inner_rule
def _can_be_given_back(world: ControlPlane, controller: int, partition: int) -> bool:
    """Whether the preferred replica may lead, and does not, as far as is known."""
    state = state_at(world, controller, partition)
    assignment = partition_at(world, controller, partition).replicas
    preferred = first(assignment)
    live = live_replicas(world, controller, partition)
    needed = needs_preferred_election(world.rules[controller], state, assignment)
    return needed and contains(live, preferred)


@inner_rule
def rebalance_later(world: ControlPlane, controller: int, is_first: bool) -> None:
    """Schedule the next check of the balance of leaders."""
    state = world.controllers[controller]
    if not state.auto_leader_rebalance_enable:
        return
    delay_us = state.leader_imbalance_check_interval_seconds * 1_000_000
    if is_first:
        delay_us = _FIRST_REBALANCE_US
    AutoLeaderRebalance.after(world, delay_us, state)


@inner_rule
def advance_auto_rebalance(world: ControlPlane, controller: int) -> None:
    """One phase of an automatic rebalance: choose and elect, then send the requests.

    Nothing is chosen as long as replicas are being moved.
    """
    state = world.controllers[controller]
    phase = state.phase
    state.phase += 1
    if phase == 0:
        for broker in range(world.sizes[0].brokers):
            if is_anything_reassigned(world, controller):
                break
            _select_if_imbalanced(world, controller, broker)
        elect_selected(world, controller, PREFERRED)
    else:
        send_requests_to_brokers(world, controller)
        rebalance_later(world, controller, _FALSE)
        state.event = NONE


@inner_rule
def _select_if_imbalanced(world: ControlPlane, controller: int, broker: int) -> None:
    """Select the partitions that a broker should lead, does not and could, if they are too many."""
    preferred = 0
    elsewhere = 0
    for partition in range(world.sizes[0].partitions):
        known = partition_at(world, controller, partition)
        slot = first(known.replicas)
        if known.known and broker_of(world, partition, slot) == broker:
            preferred += 1
            elsewhere += 1 if _is_elsewhere(world, controller, partition) else 0
    percentage = world.controllers[controller].leader_imbalance_per_broker_percentage
    if preferred == 0 or elsewhere * 100 <= percentage * preferred:
        return
    for partition in range(world.sizes[0].partitions):
        known = partition_at(world, controller, partition)
        slot = first(known.replicas)
        if not known.known or broker_of(world, partition, slot) != broker:
            continue
        known.selected = _could_lead(world, controller, partition, slot) and _is_elsewhere(
            world, controller, partition
        )


@inner_rule
def _could_lead(world: ControlPlane, controller: int, partition: int, slot: int) -> bool:
    """Whether it is worth while to try: before 2.6 only whether the replica is live.

    Source: KafkaController.canPreferredReplicaBeLeader@2.6.3.
    """
    if not contains(live_replicas(world, controller, partition), slot):
        return False
    state = state_at(world, controller, partition)
    return not world.rules[controller].rebalance_asks_known_isr or contains(state.isr, slot)


@inner_rule
def _is_elsewhere(world: ControlPlane, controller: int, partition: int) -> bool:
    """Whether another than the preferred replica leads, or none."""
    known = partition_at(world, controller, partition)
    leader = state_at(world, controller, partition).leader
    return known.has_state and leader != first(known.replicas)
