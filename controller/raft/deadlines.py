"""What a voter does when its time in a state is over (Kafka: KafkaRaftClient.pollCurrentState)."""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.raft.elections import (
    begin_election,
    end_candidacy,
    end_pre_vote,
    end_resignation,
)
from tidegauge.controller.raft.follower import tell_stopped
from tidegauge.controller.raft.handlers import RAFT
from tidegauge.controller.raft.leadership import resign
from tidegauge.controller.raft.state import Raft
from tidegauge.controller.raft.transitions import wait_until
from tidegauge.controller.raft.voters import this_voter
from tidegauge.simulation.codes.voter_states import (
    CANDIDATE,
    FOLLOWER,
    LEADER,
    PROSPECTIVE,
    RESIGNED,
    UNATTACHED,
)
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.raft_timers import VoterDeadline


@RAFT.handles(VoterDeadline)
@inner_rule
def handle_voter_deadline(world: Raft, timer: VoterDeadline) -> bool:
    """Do what is due, or wait on if the time in the state was prolonged."""
    voter = this_voter(world)
    if timer.number != voter.deadline_number:
        return False
    voter.deadline_timer_us = NONE
    deadline_us = voter.deadline_us
    if deadline_us == NONE:
        return False
    if deadline_us > world.context[0].time_us:
        wait_until(world, deadline_us)
        return False
    voter.deadline_us = NONE
    if voter.stops:
        tell_stopped(world)
    elif voter.state in (UNATTACHED, FOLLOWER):
        begin_election(world)
    elif voter.state == PROSPECTIVE:
        end_pre_vote(world)
    elif voter.state == CANDIDATE:
        end_candidacy(world)
    elif voter.state == LEADER:
        resign(world)
    elif voter.state == RESIGNED:
        end_resignation(world)
    return False
