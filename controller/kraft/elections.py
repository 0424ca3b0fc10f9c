"""Elections that are requested, or that the controller holds from time to time.

Every leader.imbalance.check.interval.seconds it elects preferred leaders, whatever
leader.imbalance.per.broker.percentage says. Every unclean.leader.election.interval.ms (from 3.9 on)
it tries partitions without a leader whose topic allows unclean election. A run makes at most 1000
elections; the next follows at once while there may be more.
"""

from __future__ import annotations

from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.kraft.handlers import WRITES
from tidegauge.controller.kraft.metadata_log import respond_when_committed
from tidegauge.controller.kraft.partition_records import (
    acceptable_leaders,
    append_change,
    begin_change,
)
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.kraft_partitions.partition_target import (
    PREFERRED,
    UNCLEAN,
    election_is_needed,
)
from tidegauge.replication import errors
from tidegauge.simulation.events import new_event, new_item, new_response, set_timer
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.quorum_requests import (
    AdminResponse,
    ElectLeadersRequest,
    PartitionOutcome,
)
from tidegauge.simulation.messages.quorum_timers import (
    PreferredLeaderBalance,
    UncleanElectionCheck,
)

#: ReplicationControlManager.MAX_ELECTIONS_PER_IMBALANCE
_MOST_ELECTIONS = code(1000)

#: A task that still has work runs again after so long.
AGAIN_US = code(10_000)


@WRITES.handles(ElectLeadersRequest)
@inner_rule
def handle_elect_leaders(world: Quorum, request: ElectLeadersRequest) -> None:
    """Hold the elections that an operator asks for.

    Source: ReplicationControlManager.electLeaders@4.1.0.
    """
    response = new_response(world, request, AdminResponse)
    election = UNCLEAN if request.is_unclean else PREFERRED
    cursor = request.first_item
    while cursor != NONE:
        asked = view_as(world.items[cursor], PartitionOutcome)
        cursor = asked.next
        outcome = new_item(world, response, asked.partition, PartitionOutcome)
        outcome.error = _elect(world, asked.partition, election)
    respond_when_committed(world, response)


@inner_rule
def _elect(world: Quorum, partition: int, election: int) -> int:
    """Hold an election of a kind; what came of it.

    Source: ReplicationControlManager.electLeader@4.1.0.
    """
    if not world.quorum_topics[world.partitions[partition].topic].exists:
        return errors.UNKNOWN_TOPIC_OR_PARTITION
    if not election_is_needed(world.registrations[partition], election):
        return errors.ELECTION_NOT_NEEDED
    begin_change(world, partition, election)
    if append_change(world, partition, acceptable_leaders(world, partition, NONE, NONE), 0):
        return errors.NONE
    if election == PREFERRED:
        return errors.PREFERRED_LEADER_NOT_AVAILABLE
    return errors.ELIGIBLE_LEADERS_NOT_AVAILABLE


@inner_rule
def plan_elections(world: Quorum) -> None:
    """Plan the next run of each task that is to run and has no timer.

    From 4.0 on they always run. Before, only while there is a reason for them.

    Source: QuorumController.registerElectPreferred, registerElectUnclean@4.1.0,
    maybeScheduleNextBalancePartitionLeaders, maybeScheduleNextElectUncleanLeaders@3.9.0.
    """
    state = world.active_controller[0]
    process = world.context[0].handling
    now_us = world.context[0].time_us
    always = state.has_heartbeat_tracker
    is_imbalanced = always or state.imbalanced_partitions > 0
    if state.auto_leader_rebalance_enable and is_imbalanced and not state.balances:
        state.balances = True
        timer = new_event(world, process, process, PreferredLeaderBalance)
        timer.epoch = state.epoch
        set_timer(world, timer, now_us + state.leader_imbalance_check_interval_us)
    interval_us = state.unclean_leader_election_interval_us
    is_leaderless = always or state.leaderless_partitions > 0
    if interval_us > 0 and is_leaderless and not state.elects_uncleanly:
        state.elects_uncleanly = True
        check = new_event(world, process, process, UncleanElectionCheck)
        check.epoch = state.epoch
        set_timer(world, check, now_us + interval_us)


@inner_rule
def _elects_as_many_as_it_may(world: Quorum, election: int) -> bool:
    """Hold elections of a kind, at most those of one run; whether the next run may find more."""
    held = 0
    for partition in range(world.sizes[0].partitions):
        if held >= _MOST_ELECTIONS:
            break
        topic = world.quorum_topics[world.partitions[partition].topic]
        if election == PREFERRED or topic.unclean_leader_election:
            held += 1 if _elect(world, partition, election) == errors.NONE else 0
    return held >= _MOST_ELECTIONS


@WRITES.handles(PreferredLeaderBalance)
@inner_rule
def handle_preferred_leader_balance(world: Quorum, _: PreferredLeaderBalance) -> None:
    """Let preferred replicas lead that can.

    Source: ReplicationControlManager.maybeBalancePartitionLeaders@4.1.0.
    """
    state = world.active_controller[0]
    state.balances = state.imbalanced_partitions > 0 and _elects_as_many_as_it_may(world, PREFERRED)
    if state.balances:
        process = world.context[0].handling
        again = new_event(world, process, process, PreferredLeaderBalance)
        again.epoch = state.epoch
        set_timer(world, again, world.context[0].time_us + AGAIN_US)


@WRITES.handles(UncleanElectionCheck)
@inner_rule
def handle_unclean_election_check(world: Quorum, _: UncleanElectionCheck) -> None:
    """Elect any replica for partitions without a leader whose topic allows it.

    Source: ReplicationControlManager.maybeElectUncleanLeaders@4.1.0.
    """
    state = world.active_controller[0]
    state.elects_uncleanly = state.leaderless_partitions > 0 and _elects_as_many_as_it_may(
        world, UNCLEAN
    )
    if state.elects_uncleanly:
        process = world.context[0].handling
        again = new_event(world, process, process, UncleanElectionCheck)
        again.epoch = state.epoch
        set_timer(world, again, world.context[0].time_us + AGAIN_US)
