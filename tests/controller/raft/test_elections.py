"""Elections among the voters of a quorum: who leads next, when, and who does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenario_runs import run_of
from tidegauge.controller.raft.elections import election_backoff_us
from tidegauge.controller.raft.transitions import may_enter
from tidegauge.simulation.messages.quorum_requests import BeginQuorumEpochRequest
from tidegauge.simulation.trace_rows.codes import (
    CANDIDATE,
    FOLLOWER,
    LEADER,
    PROSPECTIVE,
    RESIGNED,
    STOP_METADATA_TRUNCATED,
    UNATTACHED,
    VOTER_STATES,
    VOTER_STOPPED,
)
from voter_stories import SECOND, broken, claims, cut, fault, logs, requests, states, voters_story


def test_only_a_candidate_becomes_leader() -> None:
    """QuorumState.transitionToLeader@4.1.0: any other state is an IllegalStateException.

    A run that is laid out with its leader lets it lead from the beginning.
    """
    lead = {state for state in VOTER_STATES if may_enter(state, LEADER)}
    assert lead == {CANDIDATE, VOTER_STOPPED}
    assert not may_enter(LEADER, PROSPECTIVE)
    assert not may_enter(FOLLOWER, RESIGNED)


def test_the_next_leader_of_a_killed_one(tmp_path: Path) -> None:
    """KafkaRaftClient.pollFollowerAsVoter: its followers wait for their fetch time-out of 2 s.

    The killed one returns as the resigned leader of its epoch, and follows the new one.
    """
    run = run_of(voters_story([fault("crash", 0, at_s=3, for_s=5)]), tmp_path / "r")
    _, (at_us, voter, epoch) = claims(run)
    assert 1.4 * SECOND < at_us - 3 * SECOND < 4.5 * SECOND
    assert voter != 0
    assert epoch > 1
    returned = [each for each in states(run, 0) if each.time_us > 8 * SECOND]
    assert [(each.state, each.epoch) for each in returned] == [(RESIGNED, 1), (FOLLOWER, epoch)]


@pytest.mark.parametrize(("voters", "backoffs_ms"), [(3, [0, 500]), (5, [0, 125, 250, 500])])
def test_a_stopped_leader_names_its_successors(
    tmp_path: Path, voters: int, backoffs_ms: list[int]
) -> None:
    """endEpochElectionBackoff: who has fetched most begins at once, the others later.

    Those that have fetched refuse the first one's pre-vote, until so many ask themselves that they
    are a majority: recorded with three voters, after 0.4 to 0.8 s.
    """
    story = voters_story([fault("restart", 0, at_s=3, for_s=5)], voters=voters, duration="6s")
    run = run_of(story, tmp_path / "r")
    assert states(run, 0)[1].state == RESIGNED
    begun_ms = [
        (each.time_us - 3 * SECOND) // 1000 for each in states(run) if each.state == PROSPECTIVE
    ]
    assert all(any(0 <= ms - due < 10 for due in backoffs_ms) for ms in begun_ms)
    assert begun_ms[0] < 10
    at_us, voter, epoch = claims(run)[-1]
    assert 0.2 * SECOND < at_us - 3 * SECOND < 0.8 * SECOND
    assert voter != 0
    assert epoch == 2


def test_a_voter_with_a_stale_log_is_not_elected(tmp_path: Path) -> None:
    """EpochElection: a voter votes for no candidate whose log ends before its own.

    Voter 2 is cut off for 6 s, in which the log grows. The leader dies as the cut ends, so of the
    two that are left only voter 1 can lead, whatever voter 2 asks for.
    """
    faults = [cut(2, [0, 1], at_s=3, for_s=6), fault("crash", 0, at_s=8.9, for_s=20)]
    for seed in (1, 2, 3):
        run = run_of(voters_story(faults, seed=seed, duration="20s"), tmp_path / str(seed))
        assert [voter for _, voter, _ in claims(run)] == [0, 1]


@pytest.mark.parametrize(("release", "is_unseated"), [("3.9", True), ("4.1", False)])
def test_a_voter_that_comes_back(tmp_path: Path, release: str, is_unseated: bool) -> None:
    """KIP-996: a voter that was cut off unseats a healthy leader, unless there is a pre-vote."""
    story = voters_story([cut(2, [0, 1], at_s=3, for_s=8)], release=release, duration="20s")
    run = run_of(story, tmp_path / "r")
    assert (len(claims(run)) > 1) == is_unseated
    assert any(each.state == CANDIDATE for each in states(run, 2)) == is_unseated
    assert any(each.state == PROSPECTIVE for each in states(run, 2)) != is_unseated
    assert all(each.epoch == 1 for each in states(run)) != is_unseated


@pytest.mark.parametrize(("release", "resigns"), [("3.6", False), ("3.7", True)])
def test_an_isolated_leader(tmp_path: Path, release: str, resigns: bool) -> None:
    """KAFKA-15489: a leader without a majority resigns 3 s after the last fetches, from 3.7 on.

    Before, it remains the leader of its epoch beside that of the majority. What it has appended
    then was never committed, and is truncated once it follows.
    """
    story = voters_story([cut(0, [1, 2], at_s=3, for_s=9)], release=release, duration="25s")
    run = run_of(story, tmp_path / "r")
    resigned = [each.time_us for each in states(run, 0) if each.state == RESIGNED]
    assert [2.4 * SECOND < at - 3 * SECOND <= 3 * SECOND for at in resigned] == [True] * resigns
    _, (next_us, _, _) = claims(run)[:2]
    assert next_us < 12 * SECOND
    if not resigns:
        assert states(run, 0)[1].time_us > 12 * SECOND
    assert any(row["truncated"] for row in logs(run, 0))
    ends = {(logs(run, voter)[-1]["log_end_offset"]) for voter in range(3)}
    assert max(ends) - min(ends) <= 1


def test_a_paused_leader_hears_of_its_successor(tmp_path: Path) -> None:
    """Q12: once it runs again it is not the leader any more, and another one is."""
    run = run_of(voters_story([fault("pause", 0, at_s=3, for_s=5)]), tmp_path / "r")
    _, (at_us, voter, epoch) = claims(run)
    assert 1.4 * SECOND < at_us - 3 * SECOND < 4.5 * SECOND
    assert voter != 0
    last = states(run, 0)[-1]
    assert (last.state, last.epoch) == (FOLLOWER, epoch)


def test_a_voter_that_has_lost_its_disk_fetches_all_of_the_log(tmp_path: Path) -> None:
    """QuorumState.initialize: without quorum-state it knows no epoch, and has not voted."""
    story = voters_story([fault("disk_loss", 1, at_s=4, for_s=1)])
    run = run_of(story, tmp_path / "r")
    returned = [each for each in states(run, 1) if each.time_us > 5 * SECOND]
    assert [(each.state, each.epoch) for each in returned] == [(UNATTACHED, 0), (FOLLOWER, 1)]
    ends = [row["log_end_offset"] for row in logs(run, 1)]
    assert 0 in ends
    assert ends[-1] == logs(run, 0)[-1]["log_end_offset"]
    assert broken(run) == []


def test_a_voter_that_has_lost_its_disk_helps_a_stale_one_to_lead(tmp_path: Path) -> None:
    """KafkaMetadataLog.truncateTo@4.1.0: nobody truncates below its high watermark.

    Voter 2 misses records that 0 and 1 have committed. When 0 dies, 1 votes with an empty log for
    2, and the records are lost: the broker exits, and no controller becomes active. Voter 0 takes
    the records off its log when it is back.
    """
    faults = [
        cut(2, [0, 1], at_s=3, for_s=5),
        fault("crash", 0, at_s=7.9, for_s=12),
        fault("disk_loss", 1, at_s=7.9, for_s=0.1),
    ]
    run = run_of(voters_story(faults, duration="30s"), tmp_path / "r")
    assert {"committed_metadata_kept", "quorum_leader_complete"} <= set(broken(run))
    assert [voter for _, voter, _ in claims(run)] == [0]
    assert [row["stop"] for row in run.rows("broker_stopped")] == [STOP_METADATA_TRUNCATED]
    (cut_off,) = [row for row in logs(run, 0) if row["truncated"]]
    assert cut_off["time_us"] > 20 * SECOND


def test_the_only_voter_elects_itself(tmp_path: Path) -> None:
    """KafkaRaftClient.initialize: who is alone does not wait for a time-out."""
    story = voters_story([fault("crash", 0, at_s=3, for_s=2)], voters=1, duration="8s")
    run = run_of(story, tmp_path / "r")
    started = [each for each in states(run) if each.time_us >= 5 * SECOND]
    assert [(each.state, each.epoch) for each in started] == [(CANDIDATE, 2), (LEADER, 2)]
    assert started[1].time_us == started[0].time_us
    assert claims(run)[-1][2] == 2


def test_no_leader_without_a_majority(tmp_path: Path) -> None:
    """EpochElection.isVoteGranted: two of five voters do not elect; with a third they do."""
    faults = [
        fault("crash", 0, 1, at_s=3, for_s=20),
        fault("crash", 2, at_s=3, for_s=7),
    ]
    run = run_of(voters_story(faults, voters=5, duration="20s"), tmp_path / "r")
    (_, first, _), (at_us, voter, _) = claims(run)[:2]
    assert first == 0
    assert at_us > 10 * SECOND
    assert voter in (2, 3, 4)


def test_most_losses_of_a_leader_with_two_living_followers_split_the_vote(tmp_path: Path) -> None:
    """Recorded with 4.4.0: 9 of 15 losses split the vote, on a quiet machine 1 of 3.

    Both fetch timeouts begin with responses that the leader sent together, and have no random
    part; requests for votes take longer than they differ. Without a split the next leader came
    after 1.9 to 2.4 s, with one after 3.0 to 4.6 s; here the last fetch may lie up to half a second
    before the kill.
    """
    split = []
    for seed in range(1, 21):
        at_s = 3 + seed * 137 % 500 / 1000
        story = voters_story(
            [fault("crash", 0, at_s=at_s, for_s=5)], release="4.4", duration="8s", seed=seed
        )
        _, (at_us, _, epoch) = claims(run_of(story, tmp_path / str(seed)))[:2]
        lasted_s = at_us / SECOND - at_s
        assert (1.5 < lasted_s < 2.2) if epoch == 2 else (2.6 < lasted_s < 4.6)
        split.append(epoch > 2)
    assert 9 <= sum(split) <= 17


def test_the_backoff_after_a_lost_election() -> None:
    """KAFKA-18345, RaftUtil.binaryExponentialElectionBackoffMs@3.9.2.

    Up to 3.9.1 it may be nothing, and after some elections it is the same for all candidates, who
    split the vote again and again. Later it is 50 ms at least, and no two are equal.
    """
    max_us = SECOND

    def drawn(has_jitter: bool, retries: int) -> list[int]:
        return [
            election_backoff_us(has_jitter, retries, max_us, 1, owner, 0) for owner in range(400)
        ]

    assert set(drawn(False, 1)) == {0, 100_000}
    assert set(drawn(True, 1)) == {50_000, 100_000}
    assert set(drawn(True, 2)) == {50_000, 100_000, 150_000, 200_000}
    at_most = [each for each in drawn(False, 10) if each == max_us]
    assert len(at_most) > 380
    later = drawn(True, 10)
    beyond = [each for each in later if each >= max_us]
    assert len(beyond) > 380
    assert len(set(beyond)) > 0.95 * len(beyond)
    assert min(later) >= 50_000
    assert max(later) < max_us + 50_000


def test_candidates_that_lose_together(tmp_path: Path) -> None:
    """KAFKA-18345: with a maximum of 1 ms four candidates of 3.9.1 stand again within it.

    So they split one more vote, which those of 3.9.2 do not, whose jitter is 50 ms.
    """
    epochs: dict[str, int] = {"3.9.1": 0, "3.9.2": 0}
    for release in epochs:
        for seed in (1, 3, 7):
            story = voters_story(
                [fault("crash", 0, at_s=3, for_s=17)],
                voters=5,
                release=release,
                duration="8s",
                seed=seed,
                settings={"controller.quorum.election.backoff.max.ms": 1},
            )
            epochs[release] += claims(run_of(story, tmp_path / f"{release}-{seed}"))[1][2]
    assert epochs["3.9.1"] > epochs["3.9.2"]


@pytest.mark.parametrize(
    ("release", "each_second"), [("3.8", False), ("3.9", True), ("4.1", True), ("4.2", False)]
)
def test_which_voters_are_notified_of_an_epoch(
    tmp_path: Path, release: str, each_second: bool
) -> None:
    """KAFKA-16536, KAFKA-16926: as the request logs of 4.1.0 and 4.4.0 have BeginQuorumEpoch.

    From 3.9 to 4.1 the leader notifies all voters every second. Before, a voter that has
    acknowledged the epoch is not notified again, and later none that fetches: both fetch within
    the first second, and voter 2 as soon as it is back at 7.2 s.
    """
    story = voters_story(
        [fault("crash", 2, at_s=2.2, for_s=5)], release=release, duration="12s", trace="all"
    )
    notices = requests(run_of(story, tmp_path / "r"), BeginQuorumEpochRequest)
    seconds = {
        voter: [each.time_us // SECOND for each in notices if each.voter == voter]
        for voter in (1, 2)
    }
    assert seconds[1] == (list(range(12)) if each_second else [0])
    assert seconds[2] == ([0, 1, 2, 8, 9, 10, 11] if each_second else [0])
