"""The laws of a quorum whose voters change: each is broken by an altered record of a history.

Controllers 0, 1 and 2 are the first voters, 3 observes and is added (KIP-853). Then 0, which leads,
dies with its disk; 1 is elected, removes it, and adds it with its new one.
"""

from __future__ import annotations

from typing import Any

import pytest

from tidegauge.engine.row_stream import RowStream
from tidegauge.engine.summary import verdicts
from tidegauge.replication.voter_set import pack
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.simulation.kernel import QUORUM_CONTROLLER
from tidegauge.simulation.trace_rows.codes import (
    CANDIDATE,
    FOLLOWER,
    LEADER,
    REMOVE_VOTER,
    RESIGNED,
    UNATTACHED,
)
from written_rows import S, WrittenRows, first_broken

LAWS = (
    *("one_quorum_leader", "quorum_leader_complete", "metadata_log_matching"),
    *("committed_metadata_kept", "one_voter_change", "voter_sets_overlap"),
    *("committed_voters_kept", "voters_follow_log", "roles_match_states", "elected_by_majority"),
)

STORY = {
    "duration": "60s",
    "release": "4.4",
    "cluster": {"brokers": 1},
    "controllers": {"count": 4, "voters": [0, 1, 2]},
    "topics": [{"name": "orders", "partitions": 1, "replication_factor": 1}],
    "faults": [{"kind": "disk_loss", "at": "20s", "for": "1s", "brokers": ["controller:0"]}],
}
PLAN = ClusterPlan(scenario_from_mapping(STORY, "laws"))
FIRST = PLAN.process_ranges[QUORUM_CONTROLLER].start
#: Rows name controllers behind the brokers.
BROKERS = 1

FOUNDERS = [(0, 1), (1, 1), (2, 1)]
WITH_3 = [*FOUNDERS, (3, 1)]
WITHOUT_0 = [(1, 1), (2, 1), (3, 1)]
WITH_NEW_0 = [(0, 2), *WITHOUT_0]


class History(WrittenRows):
    """Rows of the controllers, at times in seconds."""

    def state(
        self, at: int, controller: int, state: int, epoch: int, leader: int = -1, voted: int = -1
    ) -> None:
        """A controller is in a state."""
        self.write(
            "voter_state", at * S, FIRST + controller, broker=BROKERS + controller,
            voter_state=int(state), quorum_epoch=epoch,
            quorum_leader=leader if leader < 0 else BROKERS + leader,
            voted_for=voted if voted < 0 else BROKERS + voted,
        )  # fmt: skip

    def log(
        self, at: int, controllers: list[int], epoch: int, end: int, high_watermark: int
    ) -> None:
        """The logs of controllers end somewhere."""
        for controller in controllers:
            self.write(
                "voter_log", at * S, FIRST + controller, broker=BROKERS + controller,
                quorum_epoch=epoch, log_end_offset=end, high_watermark=high_watermark,
            )  # fmt: skip

    def voters(
        self, at: int, controller: int, epoch: int, offset: int, keys: list[tuple[int, int]],
        *, committed: bool = False,
    ) -> None:  # fmt: skip
        """Voters are in force on a controller, or it has committed them."""
        self.write(
            "quorum_voters", at * S, FIRST + controller, broker=BROKERS + controller,
            voters=pack(keys), voters_offset=offset, quorum_epoch=epoch, kraft_version=1,
            voters_committed=committed,
        )  # fmt: skip


def changed_voters(**altered: Any) -> History:
    """The history, with some values altered."""

    def value(name: str, right: Any) -> Any:
        return altered.get(name, right)

    rows = History()
    for controller in range(4):
        rows.log(1, [controller], 1, 1, 1 if controller == 0 else -1)
    rows.state(1, 0, LEADER, 1, leader=0)
    for controller in range(1, 4):
        rows.state(1, controller, FOLLOWER, 1, leader=0)
    # Controller 3 is added.
    rows.log(8, [0, 1, 2, 3], 1, 10, 1)
    rows.log(9, [0], 1, 10, 10)
    rows.voters(10, 0, 1, 10, WITH_3)
    rows.log(10, [0], 1, 11, 10)
    rows.log(11, [1, 3], 1, 11, 10)
    for controller in (1, 3):
        rows.voters(11, controller, 1, 10, WITH_3)
    rows.log(12, [0], 1, 11, 11)
    rows.voters(12, 0, 1, 10, value("committed", WITH_3), committed=True)
    # Its leader dies with its disk; 1 has the votes of 3 and 2, of which 2 does not know 3 yet.
    rows.write("fault_began", 20 * S, FIRST, fault=0)
    rows.log(20, [0], 1, 0, -1)
    candidate = value("candidate", 1)
    rows.state(22, candidate, CANDIDATE, 2, voted=candidate)
    for voter in value("votes", [2, 3]):
        rows.state(23, voter, UNATTACHED, 2, voted=candidate)
    rows.state(24, candidate, LEADER, 2, leader=candidate, voted=candidate)
    rows.log(25, [1], 2, 12, -1)
    rows.log(26, [2], 1, 11, 10)
    rows.voters(26, 2, 2, 10, WITH_3)
    rows.log(26, [2, 3], 2, 12, 10)
    if "no_commit" not in altered:
        rows.log(27, [1], 2, 12, 12)
    # It removes the voter with the lost disk, and adds it with the new one.
    rows.voters(30, 1, 2, 12, value("removes", WITHOUT_0))
    rows.log(30, [1], 2, 13, 12)
    rows.log(31, [2], 2, 13, 12)
    rows.voters(31, 2, 2, 12, WITHOUT_0)
    if "pending" not in altered:
        rows.log(32, [1], 2, 13, 13)
        rows.voters(32, 1, 2, 12, value("removes", WITHOUT_0), committed=True)
        rows.write(
            "voter_change_answered", 32 * S, FIRST + 1, server=BROKERS, error=0,
            voter_directory=value("answers", 1), voter_change=int(REMOVE_VOTER),
        )  # fmt: skip
    rows.voters(40, 1, 2, 13, WITH_NEW_0)
    rows.log(40, [1], 2, 14, 13)
    return rows


def broken(rows: WrittenRows, plan: ClusterPlan = PLAN) -> dict[str, int]:
    """The laws that rows break, and the time of the first event, in seconds."""
    return first_broken(rows, plan, LAWS)


def test_a_history_of_kip_853_keeps_all_laws() -> None:
    assert broken(changed_voters()) == {}


@pytest.mark.parametrize(
    ("altered", "breaks"),
    [
        pytest.param({"no_commit": True}, {"one_voter_change": 30}, id="nothing committed yet"),
        pytest.param({"pending": True}, {"one_voter_change": 40}, id="one is pending"),
        pytest.param(
            {"removes": [(2, 1), (3, 1)]}, {"voter_sets_overlap": 32}, id="two voters at once"
        ),
        pytest.param({"committed": FOUNDERS}, {"committed_voters_kept": 24}, id="another set"),
        pytest.param({"answers": 2}, {}, id="of a directory that is no voter"),
        pytest.param({"removes": WITH_3}, {"committed_voters_kept": 32}, id="answered, not done"),
        pytest.param({"votes": [2]}, {"elected_by_majority": 24}, id="two votes of four"),
        pytest.param(
            {"votes": [0, 2]}, {"elected_by_majority": 24}, id="the vote of an empty directory"
        ),
    ],
)
def test_an_altered_record_breaks_a_law(altered: dict[str, Any], breaks: dict[str, int]) -> None:
    assert broken(changed_voters(**altered)) == breaks


def test_a_voter_with_a_lost_disk_does_not_stand_for_election() -> None:
    """QuorumState.transitionToCandidate: its directory is in no set of voters."""
    found = broken(changed_voters(candidate=0))
    assert found["roles_match_states"] == 22
    # Its log lacks the voters, and all that was committed.
    assert {"voters_follow_log", "quorum_leader_complete"} <= found.keys()


def test_a_truncation_takes_the_voters_back() -> None:
    """VoterSetHistory.truncateNewEntries: the record is gone, and so its set."""
    rows = History()
    rows.log(1, [0, 1], 1, 5, 5)
    rows.voters(2, 1, 1, 5, WITH_3)
    rows.log(2, [1], 1, 6, 5)
    rows.log(3, [1], 1, 5, 5)
    kept = History()
    kept.rows, kept.hashes = [*rows.rows], {**rows.hashes}
    kept.state(4, 1, CANDIDATE, 2, voted=1)
    assert broken(kept) == {"voters_follow_log": 4}
    rows.voters(3, 1, 1, -1, FOUNDERS)
    rows.state(4, 1, CANDIDATE, 2, voted=1)
    assert broken(rows) == {}


def test_a_removed_leader_resigns_when_its_removal_is_committed() -> None:
    """KIP-853: until then it leads on without counting itself (LeaderState.requestResign)."""
    rows = History()
    rows.state(1, 0, LEADER, 1, leader=0)
    rows.log(1, [0, 1, 2], 1, 5, 5)
    rows.voters(2, 0, 1, 5, [(1, 1), (2, 1)])
    rows.log(2, [0, 1, 2], 1, 6, 5)
    rows.log(3, [0], 1, 6, 6)
    rows.voters(3, 0, 1, 5, [(1, 1), (2, 1)], committed=True)
    stays = History()
    stays.rows, stays.hashes = [*rows.rows], {**rows.hashes}
    for more in range(1, 10):
        stays.log(3 + more, [0, 1, 2], 1, 6 + more, 6 + more)
    assert broken(stays) == {"roles_match_states": 9}
    rows.state(3, 0, RESIGNED, 1, leader=0)
    for more in range(1, 10):
        rows.log(3 + more, [0, 1, 2], 1, 6 + more, 6 + more)
    assert broken(rows) == {}


def test_where_voters_do_not_change_their_laws_are_not_judged() -> None:
    plan = ClusterPlan(
        scenario_from_mapping(STORY | {"controllers": {"count": 3}}, "static voters")
    )
    about_voters = {*LAWS[4:]}
    assert not about_voters & {*verdicts(plan, RowStream(plan), None)}
    assert about_voters < {*verdicts(PLAN, RowStream(PLAN), None)}
