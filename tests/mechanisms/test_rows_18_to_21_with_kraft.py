"""Mechanisms 18 to 21, of KRaft: eligible leader replicas, fencing, a registration that is refused.

States are those of the runs of real brokers of 4.1.0: leader, ISR, eligible leader replicas, last
known leader, leader epoch, partition epoch, recovering.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from isr_stories import process_named
from partition_fates import NO_LEADER, Records, State, log_of, lost, states
from scenario_runs import rows_of, run_of, shipped
from tidegauge.replication import errors
from tidegauge.simulation.trace_rows.codes import (
    BROKER_REGISTERS,
    BROKER_SESSION_EXPIRED,
    REASON_OBSERVED,
)
from tidegauge.traces.run_folder import RunFolder

SECOND = 1_000_000


def fenced_us(run: RunFolder, broker: int, reason: int) -> int:
    """When a broker was taken for fenced for a reason, for the last time."""
    index = run.manifest["brokers"].index(broker)
    return int(rows_of(run, "broker_state", broker=index, state_reason=reason)[-1]["time_us"])


# 18. The last replica standing.


def test_with_elr_the_last_known_leader_is_waited_for(tmp_path: Path) -> None:
    """Schedule f4_rf3_mi2_kill_ret123, all 9 records of the partition."""
    run = run_of(shipped("18-last-replica-standing"), tmp_path / "run")
    assert states(run)[:7] == [
        State(1, [1, 2, 3], [], NO_LEADER, 0, 0, 0),
        State(2, [2, 3], [], NO_LEADER, 1, 1, 0),
        State(3, [3], [2], NO_LEADER, 2, 2, 0),
        State(NO_LEADER, [], [2, 3], 3, 3, 3, 0),
        State(NO_LEADER, [], [3], 3, 3, 4, 0),
        State(NO_LEADER, [], [], 3, 3, 5, 0),
        State(3, [3], [], NO_LEADER, 4, 6, 1),
    ]
    # Followers re-enter in any order; the first one ends the recovery.
    last = states(run)[7:]
    assert [(each.leader_epoch, each.partition_epoch) for each in last] == [(4, 7), (4, 8)]
    assert [each.recovering for each in last] == [0, 0]
    for acks in (-1, 1):
        assert lost(run, acks, leader=3) == []
    assert log_of(run, 3)[:3] == [Records(0, 0, 5), Records(1, 5, 8), Records(2, 8, 10)]


def test_without_elr_an_unclean_election_loses_what_the_first_one_never_had(tmp_path: Path) -> None:
    """The ISR keeps its last member; broker 1 leads uncleanly at once, with 5 of 10 records."""
    run = run_of(shipped("18-last-replica-without-elr"), tmp_path / "run")
    assert states(run)[:5] == [
        State(1, [1, 2, 3], [], NO_LEADER, 0, 0, 0),
        State(2, [2, 3], [], NO_LEADER, 1, 1, 0),
        State(3, [3], [], NO_LEADER, 2, 2, 0),
        State(NO_LEADER, [3], [], NO_LEADER, 3, 3, 0),
        State(1, [1], [], NO_LEADER, 4, 4, 1),
    ]
    assert lost(run, -1, leader=1) == [5, 6, 7]
    assert lost(run, 1, leader=1) == [8, 9]
    assert run.summary is not None
    assert run.summary["records_acknowledged_lost_permitted"] == 5


# 19. Both are needed.


def test_a_last_leader_waits_for_the_replica_that_is_still_eligible(tmp_path: Path) -> None:
    """Schedules f1_rf2_mi2_kill: two registrations after a kill, then an election."""
    run = run_of(shipped("19-both-are-needed"), tmp_path / "run")
    assert states(run) == [
        State(1, [1, 2], [], NO_LEADER, 0, 0, 0),
        State(2, [2], [1], NO_LEADER, 1, 1, 0),
        State(NO_LEADER, [], [1, 2], 2, 2, 2, 0),
        State(NO_LEADER, [], [1], 2, 2, 3, 0),
        State(2, [2], [], NO_LEADER, 3, 4, 1),
        State(2, [2, 1], [], NO_LEADER, 3, 5, 0),
    ]
    assert lost(run, -1, leader=2) == []


# 20. Heartbeats cut.


def test_a_broker_without_controllers_is_fenced_and_goes_on_fetching(tmp_path: Path) -> None:
    """Schedules u3, u7: it never stops, and learns of its fencing when the link is back."""
    run = run_of(shipped("20-heartbeats-cut"), tmp_path / "run")
    assert states(run, 0)[:2] == [
        State(1, [1, 2, 3], [], NO_LEADER, 0, 0, 0),
        State(2, [2, 3], [], NO_LEADER, 1, 1, 0),
    ]
    cut, healed = (rows_of(run, kind)[0]["time_us"] for kind in ("fault_began", "fault_ended"))
    fenced = fenced_us(run, 1, BROKER_SESSION_EXPIRED)
    # broker.session.timeout.ms after the last heartbeat, and an eighth of it until it is seen.
    assert 7 * SECOND <= fenced - cut <= 10.2 * SECOND
    assert fenced < healed
    # While it was out of the ISR of partition 1 it has fetched what was written after that.
    assert log_of(run, 1, 1, REASON_OBSERVED) == [Records(0, 0, 7)]
    assert len(rows_of(run, "broker_started", process=process_named(run, "broker 1"))) == 1
    assert [each.isr for each in states(run, 1)] == [[2, 3, 1], [2, 3], [2, 3, 1]]
    assert states(run, 0)[-1].isr == [2, 3, 1]


# 21. A quick restart is not quick.


@pytest.mark.parametrize(("release", "is_quick"), [("4.1", False), ("4.0", False), ("3.9", True)])
def test_a_registration_is_refused_while_the_session_before_lasts(
    release: str, is_quick: bool, tmp_path: Path
) -> None:
    """Schedules o1, o2: BrokerHeartbeatTracker keeps the contact of a broker that has stopped."""
    scenario = shipped("21-quick-restart", {"release": release, "mode": "kraft"})
    run = run_of(scenario, tmp_path / "run")
    (begun,) = rows_of(run, "fault_began")
    registered_us = fenced_us(run, 1, BROKER_REGISTERS)
    refused = rows_of(run, "request_refused", error=int(errors.DUPLICATE_BROKER_REGISTRATION))
    if is_quick:
        assert refused == []
        assert registered_us - begun["time_us"] < 7 * SECOND
    else:
        # It asks every 2 s, up to 4.0.0 later and later; the last contact was on its way out.
        assert 1 <= len(refused) <= 5
        assert 9 * SECOND <= registered_us - begun["time_us"] <= 14 * SECOND
