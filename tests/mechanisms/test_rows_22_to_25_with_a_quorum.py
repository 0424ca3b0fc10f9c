"""Mechanisms 22 to 25, of the controllers of a quorum: lost, isolated, returning, busy.

Kafka's sources are the rule here; no recording of real controllers shows these (Q4, Q6, C3).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from scenario_runs import rows_of, run_of, shipped
from tidegauge.runs.quorum import quorum_terms
from tidegauge.runs.run import Run
from tidegauge.simulation.trace_rows.codes import BROKER_FENCED
from tidegauge.traces.run_folder import RunFolder

SECOND = 1_000_000


def fenced(run: RunFolder) -> list[tuple[int, int]]:
    """When which broker was fenced, after all had been unfenced: its index."""
    rows = rows_of(run, "broker_state", state=int(BROKER_FENCED))
    return [(row["time_us"], row["broker"]) for row in rows if row["time_us"] > 5 * SECOND]


def test_without_a_majority_nobody_is_fenced_until_a_session_after_the_next_claim(
    tmp_path: Path,
) -> None:
    """C3: sessions restart with the next active controller (ClusterControlManager.activate)."""
    run = run_of(shipped("22-quorum-lost"), tmp_path)
    first, second = quorum_terms(Run(run.path))
    assert first.ended_us == 10 * SECOND
    assert second.began_us > 40 * SECOND
    claimed = rows_of(run, "controller_active")[-1]["time_us"]
    # Once more it is fenced as it registers again.
    (time_us, broker), (returned_us, _) = fenced(run)
    assert (broker, returned_us > 75 * SECOND) == (2, True)
    # The session is 9 s, and looked at every eighth of that.
    assert claimed + 9 * SECOND <= time_us <= claimed + 10.2 * SECOND


@pytest.mark.parametrize(
    ("release", "resigns", "unseats"),
    [("4.1", True, False), ("4.0", True, False), ("3.7", True, True), ("3.6", False, False)],
)
def test_an_isolated_controller_resigns_from_3_7_on(
    release: str, resigns: bool, unseats: bool, tmp_path: Path
) -> None:
    """Q6: the leader checks its quorum (KAFKA-15489); before, it strands the brokers.

    Without pre-vote the one that has resigned stands for election until its link is back.
    """
    run = run_of(shipped("23-isolated-controller", {"release": release}), tmp_path)
    first, second, *later = quorum_terms(Run(run.path))
    assert bool(later) == unseats
    assert 11.5 * SECOND < second.began_us < 15 * SECOND
    assert first.ended_us is not None
    if resigns:
        assert 12 * SECOND < first.ended_us <= 13.1 * SECOND
        assert fenced(run) == []
    else:
        assert first.ended_us > 35 * SECOND
        assert {broker for _, broker in fenced(run)} == {0, 1, 2}


@pytest.mark.parametrize(("release", "leaders"), [("4.1", 1), ("4.0", 1), ("3.9", 2), ("3.6", 2)])
def test_a_returning_voter_unseats_a_leader_only_without_pre_vote(
    release: str, leaders: int, tmp_path: Path
) -> None:
    """Q4, KIP-996: up to 3.9 it returns with a higher epoch, which all others take over."""
    run = run_of(shipped("24-returning-voter", {"release": release}), tmp_path)
    terms = quorum_terms(Run(run.path))
    assert len(terms) >= leaders
    assert (len(terms) == 1) == (leaders == 1)
    assert terms[0].ended_us is None or terms[0].ended_us > 30 * SECOND


@pytest.mark.parametrize(("release", "is_fenced"), [("3.4", True), ("3.5", False), ("4.1", False)])
def test_a_busy_controller_fences_live_brokers_up_to_3_4(
    release: str, is_fenced: bool, tmp_path: Path
) -> None:
    """L3: a heartbeat that has expired in the queue is no contact (KAFKA-15019, KAFKA-17793)."""
    run = run_of(shipped("25-busy-controller", {"release": release}), tmp_path)
    ended = rows_of(run, "controller_event_done")
    assert max(row["processing_us"] for row in ended) > 8 * SECOND
    assert {broker for _, broker in fenced(run)} == (set(range(6)) if is_fenced else set())
    assert rows_of(run, "broker_stopped") == []
