"""The voters of a quorum, as each controller knows them: the newest VotersRecord of its log counts.

A record is in force as soon as it is in the log, committed or not, and as long as it is there: a
truncation takes it back. A log without such a record has the voters with which its directory was
formatted, or those of controller.quorum.voters.

**A leader** makes one change of the voters after the other; the response to a request is sent when
its record is committed, or could not be in time (``voter_changes.py``).

Source: KRaftControlRecordStateMachine, VoterSetHistory, QuorumState.isVoter,
LeaderState.resetAddVoterHandlerState@4.1.0.
"""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.raft.measured import respond_when_written
from tidegauge.controller.raft.state import (
    Raft,
    VoterSetAt,
    name_of_voter,
    these_rules,
    this_voter,
    voter_of,
)
from tidegauge.replication import voter_set
from tidegauge.simulation.events import items_of, new_item, take_first
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.quorum_requests import (
    FetchedEpoch,
    FetchSnapshotResponse,
    RaftResponse,
)
from tidegauge.simulation.topology import controller_node
from tidegauge.simulation.trace_rows.controller_rows import QuorumVoters, VoterChangeAnswered


@inner_rule
def is_voter(world: Raft) -> bool:
    """Whether the controller that handles the event is a voter, by its own log.

    Source: QuorumState.isVoter@4.1.0.
    """
    voter = this_voter(world)
    own = voter_of(world, world.context[0].handling)
    return voter_set.is_voter(voter.voter_set, own, voter.directory)


@inner_rule
def may_stand(world: Raft) -> bool:
    """Whether it may stand for election: as a voter.

    Source: QuorumState.transitionToCandidate@4.1.0.
    """
    return is_voter(world) or these_rules(world).observer_stands


@inner_rule
def counted_voters(world: Raft) -> int:
    """The voters whose majority elects and commits: the newest of its log, committed or not."""
    voter = this_voter(world)
    if these_rules(world).uncommitted_voters_count:
        return voter.voter_set
    own = voter_of(world, world.context[0].handling)
    return newest_voters(world, own, voter.high_watermark).voters


@inner_rule
def is_only_voter(world: Raft) -> bool:
    """Whether it is the only voter. Source: QuorumState.isOnlyVoter@4.1.0."""
    return is_voter(world) and voter_set.voter_count(this_voter(world).voter_set) == 1


@inner_rule
def directory_of(world: Raft, other: int) -> int:
    """The directory of another voter, by this controller's log; 0: the other is no voter."""
    return voter_set.directory_of(this_voter(world).voter_set, other)


@inner_rule
def bootstrap_servers(world: Raft) -> int:
    """The controllers that this one asks for the leader if it does not know it, as bits; 0: none.

    Source: KafkaRaftClient.pollUnattachedAsVoter, pollUnattachedAsObserver@3.9.0.
    """
    voter = this_voter(world)
    return voter.bootstrap_servers if is_voter(world) else voter.servers_of_observer


@inner_rule
def newest_voters(world: Raft, controller: int, end_offset: int) -> VoterSetAt:
    """The newest voters of a log before an offset; their own offset is -1 if none are in it.

    Source: VoterSetHistory.valueAtOrBefore@4.1.0.
    """
    place = _place_of(world, controller, 0)
    number = world.voters[controller].voter_set_count - 1
    while number > 0 and world.voter_sets[place + number].offset >= end_offset:
        number -= 1
    return world.voter_sets[place + max(0, number)]


@inner_rule
def _place_of(world: Raft, controller: int, number: int) -> int:
    return controller * (len(world.voter_sets) // len(world.voters)) + number


@inner_rule
def _fill(entry: VoterSetAt, offset: int, voters: int, kraft_version: int) -> None:
    entry.offset = offset
    entry.voters = voters
    entry.kraft_version = kraft_version


@inner_rule
def note_voters(world: Raft, offset: int, voters: int, kraft_version: int) -> None:
    """A VotersRecord is in the log, behind all others.

    Source: VoterSetHistory.addAt@4.1.0.
    """
    voter = this_voter(world)
    own = voter_of(world, world.context[0].handling)
    place = _place_of(world, own, voter.voter_set_count)
    _fill(world.voter_sets[place], offset, voters, kraft_version)
    voter.voter_set_count += 1
    if 2 * voter.voter_set_count > len(world.voter_sets) // len(world.voters):
        world.context[0].needs_room = True
    use_newest_voters(world, False)


@inner_rule
def forget_voters_from(world: Raft, offset: int) -> None:
    """The log ends at an offset now: later voters are taken back.

    Source: VoterSetHistory.truncateNewEntries@4.1.0.
    """
    if not these_rules(world).truncated_voters_taken_back:
        return
    voter = this_voter(world)
    own = voter_of(world, world.context[0].handling)
    before = voter.voter_set_count
    while voter.voter_set_count > 1:
        newest = world.voter_sets[_place_of(world, own, voter.voter_set_count - 1)]
        if newest.offset < offset:
            break
        voter.voter_set_count -= 1
    if voter.voter_set_count < before:
        use_newest_voters(world, False)


@inner_rule
def forget_voters_before(world: Raft, offset: int) -> None:
    """The log begins at an offset now: of the earlier voters the newest stay, in a snapshot.

    Source: VoterSetHistory.truncateOldEntries@4.1.0.
    """
    voter = this_voter(world)
    own = voter_of(world, world.context[0].handling)
    first = _place_of(world, own, 0)
    gone = 0
    while gone + 2 < voter.voter_set_count and world.voter_sets[first + gone + 2].offset < offset:
        gone += 1
    if gone == 0:
        return
    voter.voter_set_count -= gone
    for number in range(1, voter.voter_set_count):
        moved = world.voter_sets[first + gone + number]
        _fill(world.voter_sets[first + number], moved.offset, moved.voters, moved.kraft_version)


@inner_rule
def name_voters(world: Raft, fetched: FetchedEpoch) -> None:
    """Let records that a follower fetches end with the first VotersRecord among them, named."""
    own = voter_of(world, world.context[0].handling)
    for number in range(1, this_voter(world).voter_set_count):
        known = world.voter_sets[_place_of(world, own, number)]
        if fetched.start_offset <= known.offset < fetched.end_offset:
            fetched.end_offset = known.offset + 1
            fetched.voters = known.voters
            fetched.kraft_version = known.kraft_version
            return


@inner_rule
def name_voters_of_snapshot(world: Raft, response: FetchSnapshotResponse) -> None:
    """Name the voters in a snapshot to a controller that has fetched all of it."""
    own = voter_of(world, world.context[0].handling)
    known = newest_voters(world, own, response.snapshot_offset)
    if known.offset != NONE:
        fetched = new_item(world, response, NONE, FetchedEpoch)
        fetched.epoch = response.snapshot_epoch
        fetched.start_offset = known.offset
        fetched.end_offset = known.offset + 1
        fetched.voters = known.voters
        fetched.kraft_version = known.kraft_version


@inner_rule
def load_voters(world: Raft, response: FetchSnapshotResponse) -> None:
    """The log begins behind a snapshot: the voters are those in it.

    Source: KRaftControlRecordStateMachine.maybeLoadSnapshot@4.1.0.
    """
    this_voter(world).voter_set_count = 1
    for fetched in items_of(world, response, FetchedEpoch):
        note_voters(world, fetched.start_offset, fetched.voters, fetched.kraft_version)
    use_newest_voters(world, False)


@inner_rule
def format_directory(world: Raft, voters: int, kraft_version: int) -> None:
    """The directory is formatted with these voters (0: --no-initial-controllers); the log is empty.

    Source: Formatter@4.1.0.
    """
    voter = this_voter(world)
    own = voter_of(world, world.context[0].handling)
    _fill(world.voter_sets[_place_of(world, own, 0)], NONE, voters, kraft_version)
    voter.voter_set_count = 1
    voter.voter_set = voters
    voter.kraft_version = kraft_version


@inner_rule
def found_voters(world: Raft, offset: int, voters: int, kraft_version: int) -> None:
    """The first leader has written the formatted voters into the log, before the run.

    Source: LeaderState.appendStartOfEpochControlRecords@3.9.0.
    """
    voter = this_voter(world)
    own = voter_of(world, world.context[0].handling)
    _fill(world.voter_sets[_place_of(world, own, 1)], offset, voters, kraft_version)
    voter.voter_set_count = 2


@inner_rule
def use_newest_voters(world: Raft, is_start: bool) -> None:
    """The voters in force are the newest of the log; that is a row if they were others before."""
    voter = this_voter(world)
    own = voter_of(world, world.context[0].handling)
    newest = world.voter_sets[_place_of(world, own, voter.voter_set_count - 1)]
    is_other = newest.voters != voter.voter_set or newest.kraft_version != voter.kraft_version
    voter.voter_set = newest.voters
    voter.kraft_version = newest.kraft_version
    if voter.voters_may_change and (is_other or is_start):
        write_voters_row(world, newest, False)


@inner_rule
def write_voters_row(world: Raft, known: VoterSetAt, is_committed: bool) -> None:
    """Write a row about the voters in force; the row causes nothing."""
    context = world.context[0]
    cause_process = context.cause_process
    cause_sequence = context.cause_sequence
    QuorumVoters.write(
        world,
        broker=name_of_voter(world, context.handling),
        voters=known.voters,
        voters_offset=known.offset,
        quorum_epoch=this_voter(world).epoch,
        kraft_version=known.kraft_version,
        voters_committed=1 if is_committed else 0,
    )
    context.cause_process = cause_process
    context.cause_sequence = cause_sequence


# The response to the change of the voters that a leader makes.


@inner_rule
def end_change(world: Raft, error: int, refusal: int) -> None:
    """Answer the change that the leader makes, if it is not yet; there is none any more.

    Source: LeaderState.resetAddVoterHandlerState, resetRemoveVoterHandlerState@4.1.0.
    """
    answer_pending_change(world, error, refusal)
    voter = this_voter(world)
    voter.change = 0
    voter.change_offset = NONE


@inner_rule
def answer_pending_change(world: Raft, error: int, refusal: int) -> None:
    """Answer the change that the leader makes, if there is one that is not answered."""
    voter = this_voter(world)
    if voter.change_responses.first != NONE:
        response = view_as(take_first(world, voter.change_responses), RaftResponse)
        answer_change(
            world,
            response,
            voter.change,
            voter.changed_voter,
            voter.changed_directory,
            error,
            refusal,
        )


@inner_rule
def answer_change(
    world: Raft,
    response: RaftResponse,
    change: int,
    controller: int,
    directory: int,
    error: int,
    refusal: int,
) -> None:
    """Answer a request for a change of the voters, which is a row."""
    voter = this_voter(world)
    response.error = error
    response.leader = voter.leader
    response.leader_epoch = voter.epoch
    VoterChangeAnswered.write(
        world,
        server=controller_node(world, controller),
        voter_directory=directory,
        voter_change=change,
        error=error,
        voter_refusal=refusal,
    )
    respond_when_written(world, response)
