"""Area ``voter_set_history``: the voters in the log of one controller, and what becomes of them.

Kafka: VoterSetHistory, KRaftControlRecordStateMachine.
"""

from __future__ import annotations

from lone_controller import LoneController, free_entry, free_message
from tidegauge.compiled.records import blank, view_as
from tidegauge.compiled.rules import rule
from tidegauge.controller.raft.state import Raft
from tidegauge.controller.raft.voters import (
    forget_voters_before,
    forget_voters_from,
    format_directory,
    load_voters,
    newest_voters,
    note_voters,
)
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.quorum_requests import FetchedEpoch, FetchSnapshotResponse
from vector_runner.area import Area, Fields, Json, area
from vector_runner.leader_state import release_of
from vector_runner.voter_sets import listed_voters, set_of


@rule
def format_with(world: Raft, voters: int, kraft_version: int) -> None:
    """The controller has an empty log, and these voters by its settings or its directory."""
    format_directory(world, voters, kraft_version)


@rule
def append(world: Raft, offset: int, voters: int, kraft_version: int) -> None:
    """A VotersRecord is appended to its log."""
    note_voters(world, offset, voters, kraft_version)


@rule
def truncate_to(world: Raft, end_offset: int) -> None:
    """Its log ends there now."""
    forget_voters_from(world, end_offset)


@rule
def forget_before(world: Raft, offset: int) -> None:
    """Its log begins there now."""
    forget_voters_before(world, offset)


@rule
def load_snapshot(world: Raft, message: int) -> None:
    """It has fetched all of a snapshot."""
    load_voters(world, view_as(world.events[message], FetchSnapshotResponse))


@rule
def offset_of_newest(world: Raft, end_offset: int) -> int:
    """The offset of the newest VotersRecord before another one."""
    return newest_voters(world, 0, end_offset).offset


@rule
def newest_before(world: Raft, end_offset: int) -> int:
    """The newest voters before an offset."""
    return newest_voters(world, 0, end_offset).voters


@area("voter_set_history")
class VoterSetHistory(Area):
    """The log of controller 0, without its other records."""

    def __init__(self, given: Fields, tag: str) -> None:
        self.controller = LoneController(0, release_of(tag), {"count": 1, "voters": [0]})
        self.world = self.controller.group.view
        self.controller.world.context[0].handling = self.controller.first
        format_with(self.world, set_of(given.take("static_voters")), 0)

    def op_append(self, step: Fields) -> None:
        voters = set_of(step.take("voters"))
        append(self.world, step.take("offset"), voters, step.take("kraft_version", 1))

    def op_truncate_to(self, step: Fields) -> None:
        truncate_to(self.world, step.take("end_offset"))

    def op_forget_before(self, step: Fields) -> None:
        """Kafka keeps the newest at the log's start or before it, here it is before a snapshot."""
        forget_before(self.world, step.take("log_start_offset") + 1)

    def op_load_snapshot(self, step: Fields) -> None:
        """The log begins at the end of a snapshot, which has these voters."""
        kernel = self.controller.group.kernel_view
        message = free_message(
            kernel, self.controller.first, self.controller.first, FetchSnapshotResponse.KIND
        )
        blank(self.controller.world.events[message], FetchSnapshotResponse)
        entry = self.controller.world.items[free_entry(kernel, message)]
        fetched = blank(entry, FetchedEpoch)
        fetched.start_offset = step.take("end_offset") - 1
        fetched.voters = set_of(step.take("voters"))
        fetched.kraft_version = step.take("kraft_version")
        load_snapshot(self.world, message)

    def see_last(self) -> Json:
        return listed_voters(self.controller.voter.voter_set)

    def see_kraft_version(self) -> int:
        return self.controller.voter.kraft_version

    def see_records(self) -> int:
        """The VotersRecords that are still known: not those of settings."""
        return self.controller.voter.voter_set_count - 1

    def see_at_or_before(self, asked: Json) -> Json:
        """The voters of the newest VotersRecord at an offset or before; null: there is none."""
        found = []
        for each in asked:
            end_offset = each["offset"] + 1
            is_known = offset_of_newest(self.world, end_offset) != NONE
            voters = listed_voters(newest_before(self.world, end_offset)) if is_known else None
            found.append({**each, "result": voters})
        return found
