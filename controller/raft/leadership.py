"""A leader notifies the other voters that its epoch has begun, and that it resigns.

Source: KafkaRaftClient.maybeSendBeginQuorumEpochRequests, buildEndQuorumEpochRequest,
endEpochElectionBackoff@4.1.0.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.raft.follower import learn
from tidegauge.controller.raft.handlers import RAFT
from tidegauge.controller.raft.replication import append_leader_change
from tidegauge.controller.raft.responses import respond_when_written
from tidegauge.controller.raft.state import Raft
from tidegauge.controller.raft.transitions import (
    become_leader,
    become_resigned,
    send_when_written,
    wait_until,
)
from tidegauge.controller.raft.voters import this_voter, voter_of
from tidegauge.replication.errors import FENCED_LEADER_EPOCH
from tidegauge.simulation.codes.voter_states import FOLLOWER, LEADER
from tidegauge.simulation.events import new_event, new_response, set_timer
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.raft_requests import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
)
from tidegauge.simulation.messages.raft_timers import BeginQuorumEpochDue
from tidegauge.simulation.topology import quorum_process


@inner_rule
def lead(world: Raft) -> None:
    """Lead the epoch that the voter was elected for: append its first record, tell the others."""
    become_leader(world)
    append_leader_change(world)
    tell_epoch(world)


@inner_rule
def tell_epoch(world: Raft) -> None:
    """Tell each voter of the epoch that has not fetched for half a fetch time-out."""
    voter = this_voter(world)
    process = world.context[0].handling
    own = voter_of(world, process)
    count = len(world.voters)
    if count == 1:
        return
    now_us = world.context[0].time_us
    period_us = voter.fetch_timeout_us // 2
    for other in range(count):
        fetched_us = world.follower_progress[own * count + other].fetched_us
        if other == own or (fetched_us != NONE and fetched_us > now_us - period_us):
            continue
        request = new_event(world, process, quorum_process(world, other), BeginQuorumEpochRequest)
        request.leader = own
        request.epoch = voter.epoch
        send_when_written(world, request)
    timer = new_event(world, process, process, BeginQuorumEpochDue)
    timer.epoch = voter.epoch
    set_timer(world, timer, now_us + period_us)


@RAFT.handles(BeginQuorumEpochDue)
@inner_rule
def handle_begin_quorum_epoch_due(world: Raft, timer: BeginQuorumEpochDue) -> bool:
    """Tell those again that do not fetch, as long as the voter leads this epoch."""
    voter = this_voter(world)
    if voter.state == LEADER and voter.epoch == timer.epoch:
        tell_epoch(world)
    return False


@RAFT.handles(BeginQuorumEpochRequest)
@inner_rule
def handle_begin_quorum_epoch(world: Raft, request: BeginQuorumEpochRequest) -> bool:
    """Hear of a leader: follow it, unless its epoch is over."""
    voter = this_voter(world)
    learn(world, request.epoch, request.leader)
    response = new_response(world, request, BeginQuorumEpochResponse)
    response.error = FENCED_LEADER_EPOCH if request.epoch < voter.epoch else 0
    response.leader = voter.leader
    response.leader_epoch = voter.epoch
    respond_when_written(world, response)
    return False


@RAFT.handles(BeginQuorumEpochResponse)
@inner_rule
def handle_begin_quorum_epoch_response(world: Raft, response: BeginQuorumEpochResponse) -> bool:
    """Hear whether there is a later epoch."""
    learn(world, response.leader_epoch, response.leader)
    return False


@inner_rule
def resign(world: Raft) -> None:
    """Give up the leadership, and tell each of the others its place among the successors."""
    voter = this_voter(world)
    process = world.context[0].handling
    own = voter_of(world, process)
    become_resigned(world)
    for other in range(len(world.voters)):
        if other != own:
            request = new_event(world, process, quorum_process(world, other), EndQuorumEpochRequest)
            request.leader = own
            request.epoch = voter.epoch
            request.successor = _place_of(world, own, other)
            send_when_written(world, request)


@inner_rule
def _place_of(world: Raft, own: int, other: int) -> int:
    """The place of a voter among the successors of a leader: who has fetched most comes first."""
    count = len(world.voters)
    end_offset = world.follower_progress[own * count + other].end_offset
    place = 0
    for one in range(count):
        if one in (own, other):
            continue
        end_of_one = world.follower_progress[own * count + one].end_offset
        if end_of_one > end_offset or (end_of_one == end_offset and one < other):
            place += 1
    return place


@RAFT.handles(EndQuorumEpochRequest)
@inner_rule
def handle_end_quorum_epoch(world: Raft, request: EndQuorumEpochRequest) -> bool:
    """The leader resigns: the first of its successors begins an election at once.

    The one ``k`` places behind it waits (election.backoff.max >> (n - 1)) << (k - 1), of n.

    Source: KafkaRaftClient.strictExponentialElectionBackoffMs@4.1.0.
    """
    voter = this_voter(world)
    learn(world, request.epoch, request.leader)
    if voter.epoch == request.epoch and voter.state == FOLLOWER:
        delay_us = 0
        if request.successor > 0:
            listed = len(world.voters) - 1
            delay_us = voter.election_backoff_max_us >> (listed - 1) << (request.successor - 1)
        wait_until(world, world.context[0].time_us + delay_us)
    response = new_response(world, request, EndQuorumEpochResponse)
    response.error = FENCED_LEADER_EPOCH if request.epoch < voter.epoch else 0
    response.leader = voter.leader
    response.leader_epoch = voter.epoch
    respond_when_written(world, response)
    return False


@RAFT.handles(EndQuorumEpochResponse)
@inner_rule
def handle_end_quorum_epoch_response(world: Raft, response: EndQuorumEpochResponse) -> bool:
    """Hear whether there is a later epoch."""
    learn(world, response.leader_epoch, response.leader)
    return False
