"""Area ``leader_state``: what a leader of a quorum knows of the others (Kafka: LeaderState)."""

from __future__ import annotations

from lone_controller import LoneController, Sent
from tidegauge.compiled.rules import rule
from tidegauge.controller.raft.replication import append_voters
from tidegauge.controller.raft.state import FollowerProgress, Raft
from tidegauge.replication.voter_set import ANY_DIRECTORY, directory_of, is_key, unpack
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import controller_timers, quorum_requests
from tidegauge.simulation.messages.timers import FaultBegin
from tidegauge.simulation.trace_rows.codes import LEADER
from vector_runner.area import Area, Fields, Json, area, none_if_absent
from vector_runner.voter_sets import key_of, set_of

#: As many controllers as any vector has, observers included.
_CONTROLLERS = 6
_FETCH_TIMEOUT_MS = 2000
#: What a leader does beside: its records, and its part as the active controller, are left out.
_HANDLED = (
    *(controller_timers.QuorumStart, controller_timers.RaftFlushed),
    *(controller_timers.VoterDeadline, controller_timers.BeginQuorumEpochDue),
    *(controller_timers.VoteTaken, controller_timers.VoterFetchExpires),
    *(quorum_requests.RaftFetchRequest, quorum_requests.BeginQuorumEpochResponse),
    *(quorum_requests.AddRaftVoterRequest, quorum_requests.ApiVersionsResponse),
    *(quorum_requests.VoteRequest, FaultBegin),
)
_OPERATOR = -1


def release_of(tag: str) -> str:
    """The release that plays what was read at a tag: ``trunk`` is the newest one."""
    return "4.4" if tag == "trunk" else tag.partition("-rc")[0]


@rule
def append_voters_record(world: Raft, process: int, voters: int, kraft_version: int) -> None:
    """Have a leader append a VotersRecord."""
    world.context[0].handling = process
    append_voters(world, voters, kraft_version)


@area("leader_state")
class LeaderState(Area):
    """Controller 0 at the beginning of its epoch; what it writes is on its disk at once."""

    def __init__(self, given: Fields, tag: str) -> None:
        voters = set_of(given.take("voters"))
        self.controller = LoneController(
            0,
            release_of(tag),
            {
                "count": _CONTROLLERS,
                "voters": [number for number, _ in unpack(voters)],
                "settings": {"controller.quorum.fetch.timeout.ms": _FETCH_TIMEOUT_MS},
            },
            settle_ms=0,
            handled=_HANDLED,
        )
        self.leader = self.controller.voter
        self._be_static_if(voters)
        self.leader.high_watermark = NONE
        self.leader.epoch_start_offset = given.take("epoch_start_offset")
        self._write_up_to(self.leader.epoch_start_offset)
        self.controller.sent.clear()

    def _be_static_if(self, voters: int) -> None:
        """The voters are those of controller.quorum.voters if they have no directories."""
        if directory_of(voters, 0) == ANY_DIRECTORY:
            self.leader.voter_set = voters
            self.leader.kraft_version = 0
            self.leader.voter_set_count = 1
            self.controller.world.voter_sets[0].voters = voters

    def _write_up_to(self, end_offset: int) -> None:
        self.leader.log_end_offset = end_offset
        self.leader.drained_offset = end_offset
        self.leader.flushed_offset = end_offset

    def op_local(self, step: Fields) -> None:
        """The leader's log ends there now; with voters its last record is a VotersRecord."""
        end_offset, voters = step.take("end_offset"), step.take("voters", None)
        if voters is not None:
            self.leader.log_end_offset = end_offset - 1
            process = self.controller.first
            append_voters_record(self.controller.group.view, process, set_of(voters), 1)
        self._write_up_to(end_offset)
        self.controller.get(
            0,
            controller_timers.RaftFlushed,
            offset=end_offset,
            truncations=int(self.leader.truncations),
        )

    def op_fetch(self, step: Fields) -> None:
        follower, directory = key_of(step.take("from"))
        known = 1 if directory == ANY_DIRECTORY else directory
        self.controller.fetch_from(follower, known, step.take("offset"))
        # LeaderState alone, whose tests these are, has no purgatory.
        self.controller.forget_waiting_fetches()

    def op_acknowledge(self, step: Fields) -> None:
        """A voter answers BeginQuorumEpoch."""
        follower = step.take("from")
        self.controller.get(
            follower,
            quorum_requests.BeginQuorumEpochResponse,
            voter=follower,
            leader=0,
            leader_epoch=int(self.leader.epoch),
        )

    def op_pass(self, step: Fields) -> None:
        self.controller.run(step.take("ms"))

    def op_ask_vote(self, step: Fields) -> None:
        """A voter asks for a vote in the leader's own epoch."""
        has_all = step.take("is_log_up_to_date")
        self.controller.get(
            step.take("from"),
            quorum_requests.VoteRequest,
            candidate_directory=1,
            voter_directory=1,
            epoch=int(self.leader.epoch),
            last_epoch=int(self.leader.epoch) if has_all else 0,
            last_offset=int(self.leader.drained_offset) if has_all else 0,
        )
        self.controller.run(100)

    def _progress(self, controller: int) -> FollowerProgress:
        world = self.controller.world
        named = directory_of(int(self.leader.voter_set), controller)
        if is_key(named, 1):
            return world.follower_progress[controller]
        return world.observer_progress[controller]

    def see_high_watermark(self) -> int | None:
        return none_if_absent(self.leader.high_watermark)

    def see_not_acknowledging(self) -> Json:
        return [
            number
            for number, _ in unpack(int(self.leader.voter_set))
            if number != 0 and not self._progress(number).has_acknowledged
        ]

    def see_end_of(self, asked: Json) -> Json:
        return [{**each, "result": self._progress(each["controller"]).end_offset} for each in asked]

    def see_observers(self) -> Json:
        """Controllers that have fetched, and are no voters."""
        return observers_of(self.controller)

    def see_check_quorum_ms(self) -> int | None:
        """Until the leader resigns, if no majority fetches."""
        deadline_us = int(self.leader.deadline_us)
        return None if deadline_us == NONE else (deadline_us - self.controller.now_us) // 1000

    def see_leads(self) -> bool:
        return bool(self.leader.state == LEADER)

    def see_successors(self) -> Json:
        """The voters in the order in which they are to succeed the leader, which stops."""
        self.controller.stop()
        self.controller.run(100)
        asked = self.controller.taken(quorum_requests.EndQuorumEpochRequest)
        return [request.to for request in sorted(asked, key=_successor)]

    def see_added(self) -> Json:
        """Whether controller 1 is added as a voter, which supports the kraft.version."""
        self.controller.get(_OPERATOR, quorum_requests.AddRaftVoterRequest, voter=1, directory=1)
        self.controller.run(100)
        [request] = self.controller.taken(quorum_requests.ApiVersionsRequest)
        self.controller.answer(request, quorum_requests.ApiVersionsResponse, newest_kraft_version=1)
        return directory_of(int(self.leader.voter_set), 1) == 1

    def see_granted(self) -> bool:
        """Whether the leader has voted."""
        [response] = self.controller.taken(quorum_requests.VoteResponse)
        return bool(response.fields["granted"])

    def see_epoch_announced_to(self) -> Json:
        """The voters that have got BeginQuorumEpoch since it was seen last."""
        asked = self.controller.taken(quorum_requests.BeginQuorumEpochRequest)
        return sorted(request.to for request in asked)


def observers_of(leader: LoneController) -> Json:
    """The controllers that a leader knows as observers, in its epoch."""
    count = len(leader.world.voters)
    known = leader.world.observer_progress[leader.local * count :][:count]
    return [number for number, each in enumerate(known) if each.fetched_us != NONE]


def _successor(request: Sent) -> int:
    return request.fields["successor"]
