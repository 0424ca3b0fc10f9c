"""The process of a voter: its start, its end, and the state that survives.

Its room ``kraft`` calls these when a controller is started, stopped, killed, or loses its power. A
stopping voter ends with the timer ``VoterStopped``.

Source: QuorumState.initialize, KafkaRaftClient.initialize, shutdown@4.1.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.raft import transitions, voters
from tidegauge.controller.raft.elections import ask_for_votes, stand_for_election
from tidegauge.controller.raft.follower import follow, tell_stopped
from tidegauge.controller.raft.leadership import resign, tell_epoch
from tidegauge.controller.raft.measured import forget_measurements, forget_request_times
from tidegauge.controller.raft.replication import claim
from tidegauge.controller.raft.snapshots import truncate_to, write_log_row
from tidegauge.controller.raft.state import Raft, this_voter, voter_of
from tidegauge.replication.records import MOST_DIRECTORIES
from tidegauge.replication.voter_set import NO_VOTERS
from tidegauge.simulation.events import free_all
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.metadata_log import servers_to_ask
from tidegauge.simulation.topology import controller_node, place_of_versions
from tidegauge.simulation.trace_rows.codes import FOLLOWER, LEADER, VOTER_STOPPED

#: Kafka: raft.graceful.shutdown of KafkaRaftManager.
_GRACE_US = code(5_000_000)


@inner_rule
def follow_release(world: Raft, number: int) -> None:
    """A voter follows the rules of its release, and of the metadata.version that it has read."""
    voter = world.voters[number]
    rules = world.kraft_rules[place_of_versions(world, controller_node(world, number))]
    voter.fetch_carries_high_watermark = rules.metadata_fetch_carries_high_watermark
    voter.checks_quorum = rules.leader_checks_quorum
    voter.has_pre_vote = rules.pre_vote
    voter.election_loss_rule = rules.election_loss_rule
    voter.begin_quorum_epoch_rule = rules.begin_quorum_epoch_rule
    voter.newest_kraft_version = rules.newest_kraft_version
    voter.can_join = rules.observer_can_join
    voter.kraft_version_upgradable = rules.kraft_version_upgradable
    voter.returns_to_leader = rules.observer_returns_to_leader
    servers = servers_to_ask(rules, voter.configured_servers, len(world.voters))
    voter.servers_of_observer = servers
    voter.bootstrap_servers = servers if rules.voter_asks_bootstrap_servers else 0


@inner_rule
def found_quorum(world: Raft) -> None:
    """The run begins: the quorum has a leader, and all voters have its log."""
    follow_release(world, voter_of(world, world.context[0].handling))
    voter = this_voter(world)
    voter.runs = True
    write_log_row(world, False)
    voters.use_newest_voters(world, True)
    if voter.leader == voter_of(world, world.context[0].handling):
        transitions.found_epoch(world)
        voter.high_watermark = voter.log_end_offset
        claim(world)
        tell_epoch(world)
    else:
        follow(world, voter.epoch, voter.leader)


@inner_rule
def start_voter(world: Raft) -> None:
    """The process has begun: the voter has the state on its disk.

    A former leader may not lead the same epoch again. One that is no voter by the log has no known
    endpoint: its follower looks for it.
    """
    voter = this_voter(world)
    own = voter_of(world, world.context[0].handling)
    follow_release(world, own)
    voter.runs = True
    voter.flushed_offset = voter.drained_offset
    voter.snapshot_from_us = world.context[0].time_us
    write_log_row(world, False)
    voters.use_newest_voters(world, True)
    if voters.is_only_voter(world):
        stand_for_election(world)
    elif voter.leader == own:
        transitions.become_resigned(world)
    elif voter.leader != NONE and voters.directory_of(world, voter.leader) != 0:
        follow(world, voter.epoch, voter.leader)
    elif voter.voted_for == own and voters.is_voter(world):
        transitions.resume_candidacy(world)
        ask_for_votes(world)
    else:
        transitions.become_unattached(world, voter.epoch, voter.voted_for)


@inner_rule
def stop_voter(world: Raft) -> None:
    """The process is being stopped: a leader hands over, and waits for another leader.

    A follower or an observer stops at once; all others wait for a leader, too, for 5 s at most.
    """
    voter = this_voter(world)
    voter.stops = True
    if voter.state == LEADER:
        resign(world)
    if voter.state == FOLLOWER or not voters.is_voter(world) or voters.is_only_voter(world):
        tell_stopped(world)
    else:
        transitions.wait_until(world, world.context[0].time_us + _GRACE_US)


@inner_rule
def end_voter(world: Raft) -> None:
    """The process is gone: on its disk are its epoch, leader and vote, and its log."""
    voter = this_voter(world)
    is_leader = voter.state == LEADER
    voter.log_end_offset = voter.drained_offset
    voters.forget_voters_from(world, voter.drained_offset)
    voter.change = 0
    voter.change_offset = NONE
    free_all(world, voter.change_responses)
    if is_leader and voter.epoch_start_offset == voter.drained_offset:
        voter.epoch_count -= 1
    voter.state = VOTER_STOPPED
    voter.runs = False
    voter.high_watermark = NONE
    voter.stops = False
    voter.backs_off = False
    voter.retries = 0
    voter.claimed = False
    voter.drains = False
    voter.has_fetched = False
    voter.fetch_sent_us = NONE
    voter.fetch_due = False
    voter.fetch_watch = False
    voter.fetch_timer = False
    voter.voter_fetch_timer = False
    voter.deadline_us = NONE
    voter.deadline_timer_us = NONE
    voter.writes_until_us = 0
    voter.snapshot_from_offset = NONE
    free_all(world, voter.fetches)
    free_all(world, voter.voter_fetches)
    free_all(world, voter.votes)
    forget_request_times(world)
    forget_measurements(world)
    transitions.write_state_row(world)


@inner_rule
def lose_power_of_voter(world: Raft) -> None:
    """The machine has lost its power, and the log all that was not flushed; the process is gone."""
    voter = this_voter(world)
    if voter.flushed_offset < voter.drained_offset:
        truncate_to(world, voter.flushed_offset)
        write_log_row(world, True)


@inner_rule
def lose_disk_of_voter(world: Raft) -> None:
    """The file quorum-state, the log and the snapshots are gone; the process has ended.

    The new directory has another id. A quorum that began with voters that may change formats it
    with --no-initial-controllers, so the controller is an observer. Else controller.quorum.voters
    still names it, so it is a static voter until it has read the log, also at kraft.version 1.
    """
    voter = this_voter(world)
    own = voter_of(world, world.context[0].handling)
    voter.directory = min(voter.directory + 1, MOST_DIRECTORIES)
    voter.epoch = 0
    voter.leader = NONE
    voter.voted_for = NONE
    voter.log_start_offset = 0
    voter.snapshot_count = 0
    formatted = voters.newest_voters(world, own, 0)
    if formatted.kraft_version > 0:
        voters.format_directory(world, NO_VOTERS, formatted.kraft_version)
    truncate_to(world, 0)
    write_log_row(world, True)
