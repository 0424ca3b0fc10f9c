"""Area ``quorum_reconfiguration``: requests that change the voters of a quorum (KIP-853).

One controller is run alone, as Kafka's own tests run a single client.
"""

from __future__ import annotations

from lone_controller import LoneController, Sent
from tidegauge.compiled.records import new_record
from tidegauge.replication import errors
from tidegauge.replication.voter_set import ANY_DIRECTORY, directory_of, unpack
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import quorum_requests as requests
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.timers import Disconnected
from tidegauge.simulation.trace_rows.codes import VOTER_STATES
from vector_runner.area import (
    Area,
    Fields,
    Json,
    UnknownContentError,
    area,
    choice,
    error_code,
    none_if_absent,
)
from vector_runner.leader_state import observers_of, release_of
from vector_runner.voter_sets import key_of, listed_voters, set_of

#: Where requests of the operator come from: a process that is no controller.
_OPERATOR = -1
#: Kafka's name of each request that a controller sends of itself, fetches and announcements apart.
_REQUESTS: dict[type[Event], str] = {
    requests.AddRaftVoterRequest: "AddRaftVoter",
    requests.RemoveRaftVoterRequest: "RemoveRaftVoter",
    requests.UpdateRaftVoterRequest: "UpdateRaftVoter",
    requests.ApiVersionsRequest: "ApiVersions",
    requests.EndQuorumEpochRequest: "EndQuorumEpoch",
    requests.VoteRequest: "Vote",
}
#: Requests that a follower's leader answers.
_ANSWERED: dict[str, tuple[type[Event], type[requests.RaftResponse]]] = {
    "AddRaftVoter": (requests.AddRaftVoterRequest, requests.AddRaftVoterResponse),
    "RemoveRaftVoter": (requests.RemoveRaftVoterRequest, requests.RemoveRaftVoterResponse),
    "UpdateRaftVoter": (requests.UpdateRaftVoterRequest, requests.UpdateRaftVoterResponse),
}
_ANSWERS: dict[type[Event], str] = {
    requests.AddRaftVoterResponse: "add",
    requests.RemoveRaftVoterResponse: "remove",
    requests.UpdateRaftVoterResponse: "update",
    requests.AdminResponse: "features",
}
#: As many controllers as any vector has, if not all are voters.
_CONTROLLERS = 4
#: The leader answers a fetch of a follower after so long.
_FETCH_MS = 1000


@area("quorum_reconfiguration")
class QuorumReconfiguration(Area):
    """A controller and what it is asked; what it has sent is that of the last operation."""

    def __init__(self, given: Fields, tag: str) -> None:
        voters = set_of(given.take("voters"))
        numbers = [number for number, _ in unpack(voters)]
        controllers: dict[str, Json] = {"count": len(numbers)}
        if directory_of(voters, 0) != ANY_DIRECTORY:
            controllers = {"count": _CONTROLLERS, "voters": numbers}
        if given.take("auto_join", False):
            controllers["settings"] = {"controller.quorum.auto.join.enable": True}
        self.controller = LoneController(given.take("local", 0), release_of(tag), controllers)
        self.voter = self.controller.voter
        self.voter.voters_may_change = True
        self.voter.directory = given.take("local_directory", 1)
        #: Of each kind the last request that it has sent, unless that is answered.
        self.awaited: dict[type[Event], Sent] = {}
        self._take_role(given.take("role"), voters)
        self._note_sent()

    def _take_role(self, role: str, voters: int) -> None:
        """Follow controller 0 of the first epoch; or know no leader of a later one, or lead it."""
        if role not in ("follower", "unattached", "leader"):
            raise UnknownContentError(f"unknown role {role!r}")
        if int(self.voter.voter_set) != voters:
            # It was formatted without voters, and has fetched none yet.
            self._answer_fetch_with(voters)
        others = [number for number, _ in unpack(voters) if number != self.controller.local]
        if role != "follower" and others:
            self.controller.lose_leadership(5, others[0])
            if role == "leader":
                self.controller.be_elected()

    def _note_sent(self) -> None:
        """What it has sent is of an operation before, and may still be answered."""
        self.awaited |= {sent.kind: sent for sent in self.controller.sent}
        self.controller.sent.clear()

    def _ask(self, source: int, kind: type[Event], **fields: int) -> None:
        self._note_sent()
        self.controller.get(source, kind, (), NONE, **fields)

    # Requests that it gets.

    def op_fetch(self, step: Fields) -> None:
        """Of a controller that has the whole log, or all before an offset."""
        follower, directory = key_of(step.take("from"))
        self._note_sent()
        offset = step.take("offset", int(self.voter.drained_offset))
        self.controller.fetch_from(follower, directory, offset)

    def op_add(self, step: Fields) -> None:
        self._change(
            step,
            requests.AddRaftVoterRequest,
            acks_when_committed=step.take("acks_when_committed", True),
        )

    def op_remove(self, step: Fields) -> None:
        self._change(step, requests.RemoveRaftVoterRequest)

    def op_update(self, step: Fields) -> None:
        newest = step.take("newest_kraft_version")
        self._change(step, requests.UpdateRaftVoterRequest, newest_kraft_version=newest)

    def _change(self, step: Fields, kind: type[requests.ChangedVoter], **fields: int) -> None:
        voter, directory = key_of(step.take("voter"))
        self._ask(_OPERATOR, kind, voter=voter, directory=directory, **fields)

    def op_upgrade_kraft_version(self) -> None:
        upgrade = int(requests.UPGRADE)
        self._ask(_OPERATOR, requests.UpdateFeaturesRequest, kraft_version=1, upgrade_type=upgrade)

    def op_begin_epoch(self, step: Fields) -> None:
        """A leader of a later epoch announces it."""
        leader = step.take("leader")
        self._ask(
            leader,
            requests.BeginQuorumEpochRequest,
            leader=leader,
            epoch=int(self.voter.epoch) + step.take("epochs_later", 0),
            voter_directory=step.take("to_directory", int(self.voter.directory)),
        )

    def op_vote(self, step: Fields) -> None:
        """A candidate asks for its vote, or whether it would get it."""
        candidate, directory = key_of(step.take("from"))
        has_all = step.take("is_log_up_to_date", True)
        self._ask(
            candidate,
            requests.VoteRequest,
            candidate=candidate,
            candidate_directory=directory,
            voter_directory=step.take("to_directory", int(self.voter.directory)),
            epoch=int(self.voter.epoch) + step.take("epochs_later", 0),
            last_epoch=int(self.voter.epoch) if has_all else 0,
            last_offset=int(self.voter.drained_offset) if has_all else 0,
            pre_vote=step.take("pre_vote", False),
        )

    # Responses to its own requests.

    def op_api_versions(self, step: Fields) -> None:
        """A new voter tells what it supports."""
        self._note_sent()
        request = self.awaited.pop(requests.ApiVersionsRequest)
        assert request.to == step.take("from"), f"{request.to} was asked"
        newest = step.take("newest_kraft_version")
        self.controller.answer(request, requests.ApiVersionsResponse, newest_kraft_version=newest)

    def op_lose_connection(self, step: Fields) -> None:
        """The connection to a controller is gone, and no response will come."""
        self._ask(step.take("to"), Disconnected, until_us=self.controller.now_us)

    def op_respond(self, step: Fields) -> None:
        """The leader answers a request of this controller; it may name a later leader."""
        request, response = choice(_ANSWERED, step.take("request"), "request")
        self._note_sent()
        self.controller.answer(
            self.awaited.pop(request),
            response,
            error=error_code(step.take("error")),
            leader=step.take("leader", int(self.voter.leader)),
            leader_epoch=int(self.voter.epoch) + step.take("epochs_later", 0),
        )

    def op_fetched(self, step: Fields) -> None:
        """The leader answers a fetch with a VotersRecord, which it has not committed yet."""
        self._note_sent()
        self._answer_fetch_with(set_of(step.take("voters")))

    def _answer_fetch_with(self, voters: int) -> None:
        end_offset = int(self.voter.drained_offset)
        record = new_record(requests.FetchedEpoch)
        record.epoch = int(self.voter.epoch)
        record.start_offset = end_offset
        record.end_offset = end_offset + 1
        record.voters = voters
        record.kraft_version = 1
        self._answer_fetch(end_offset + 1, record)

    def op_diverge(self, step: Fields) -> None:
        """The leader lacks the last records of its log, and tells it where."""
        self._note_sent()
        end_offset = int(self.voter.drained_offset) - step.take("records")
        self._answer_fetch(
            end_offset, diverging_epoch=int(self.voter.epoch), diverging_offset=end_offset
        )

    def op_follow(self, step: Fields) -> None:
        """The leader answers fetches with nothing new, until another request comes."""
        left_ms = step.take("ms")
        self._note_sent()
        while left_ms > 0 and not self.see_requests():
            passing_ms = min(left_ms, _FETCH_MS)
            self.controller.run(passing_ms)
            left_ms -= passing_ms
            self._note_fetch()
            if requests.RaftFetchRequest in self.awaited:
                self._answer_fetch(int(self.voter.drained_offset))

    def _note_fetch(self) -> None:
        for sent in self.controller.taken(requests.RaftFetchRequest):
            self.awaited[sent.kind] = sent

    def _answer_fetch(
        self, end_offset: int, *records: requests.FetchedEpoch, **fields: int
    ) -> None:
        self._note_fetch()
        request = self.awaited.pop(requests.RaftFetchRequest)
        known = {"log_end_offset": end_offset, "high_watermark": int(self.voter.high_watermark)}
        self.controller.answer(request, requests.RaftFetchResponse, records, **known, **fields)

    # What else happens.

    def op_pass(self, step: Fields) -> None:
        self._note_sent()
        self.controller.run(step.take("ms"))

    def op_resign(self) -> None:
        """The leader is asked to stop."""
        self._note_sent()
        self.controller.stop()

    # What is seen.

    def see_state(self) -> str:
        return VOTER_STATES[int(self.voter.state)]

    def see_voters(self) -> Json:
        """Those in force."""
        return listed_voters(self.voter.voter_set)

    def see_kraft_version(self) -> int:
        return self.voter.kraft_version

    def see_committed(self) -> bool:
        """Whether the VotersRecord of those in force is committed."""
        room = len(self.controller.world.voter_sets) // len(self.controller.world.voters)
        own = self.controller.world.voter_sets[self.controller.local * room :]
        newest = own[int(self.voter.voter_set_count) - 1]
        return bool(newest.offset < self.voter.high_watermark)

    def see_observers(self) -> Json:
        return observers_of(self.controller)

    def see_answers(self) -> Json:
        """To requests of a change: which, and the error."""
        return [
            [_ANSWERS[sent.kind], errors.NAMES[sent.fields["error"]]]
            for sent in self.controller.sent
            if sent.kind in _ANSWERS
        ]

    def see_requests(self) -> Json:
        """What it asks of others, with the voter if it is about one, by name and receiver."""
        return sorted(
            [_REQUESTS[sent.kind], sent.to, *_voter_of(sent)]
            for sent in self.controller.sent
            if sent.kind in _REQUESTS
        )

    def see_fetches_from(self) -> int | None:
        """The controller that it has sent a fetch to."""
        fetches = self._sent(requests.RaftFetchRequest)
        return fetches[-1].to if fetches else None

    def see_follows(self) -> int | None:
        return none_if_absent(self.voter.leader)

    def see_vote(self) -> Json:
        """The response to a candidate: its error, and whether the vote is given."""
        [response] = self._sent(requests.VoteResponse)
        return {
            "error": errors.NAMES[response.fields["error"]],
            "granted": bool(response.fields["granted"]),
        }

    def see_acknowledged(self) -> Json:
        """The error in the response to BeginQuorumEpoch."""
        [response] = self._sent(requests.BeginQuorumEpochResponse)
        return errors.NAMES[response.fields["error"]]

    def _sent(self, kind: type[Event]) -> list[Sent]:
        return [each for each in self.controller.sent if each.kind is kind]

    def see_fetched(self) -> Json:
        """The response to the last fetch: its error, and whether it asks to fetch a snapshot."""
        [response] = self._sent(requests.RaftFetchResponse)
        return {
            "error": errors.NAMES[response.fields["error"]],
            "snapshot": response.fields["snapshot_offset"] != NONE,
        }


def _voter_of(sent: Sent) -> Json:
    if not issubclass(sent.kind, requests.ChangedVoter):
        return []
    return [[sent.fields["voter"], sent.fields["directory"]]]
