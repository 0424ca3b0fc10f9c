"""What questions make of tables that tell a story in a few rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidegauge.analysis.questions.question import QuestionError
from written_rows import S
from written_tables import LAST_US, answer, written

Row = dict[str, Any]


def shrunk(leader: int, follower: int, partition: int, **more: object) -> Row:
    row = {"change": "shrink", "by_leader": leader, "brokers": [follower], "partition": partition}
    return row | {"time_us": 10 * S, **more}


def out_and_back(shrink: Row) -> list[Row]:
    """A member of an ISR that was out of it for five seconds."""
    member = {"partition": shrink["partition"], "broker": shrink["brokers"][0]}
    return [
        member | {"begin_us": 0, "end_us": 10 * S},
        member | {"begin_us": 15 * S, "end_us": LAST_US},
    ]


def flapping(tmp_path: Path, shrinks: list[Row]) -> dict[int, Row]:
    members = [each for row in shrinks for each in out_and_back(row)]
    partitions = {row["partition"] for row in shrinks}
    tables = written(
        tmp_path,
        {
            "isr_changes": shrinks,
            "isr_members": members,
            "isr_intervals": [
                {"partition": each, "begin_us": 0, "end_us": LAST_US} for each in partitions
            ],
        },
    )
    return {row["broker"]: row for row in answer("isr-flapping", tables)}


def test_a_leader_that_many_followers_leave_is_the_slow_one(tmp_path: Path) -> None:
    """KIP-501: followers fetch in time, but the leader's disk delays its answers."""
    found = flapping(tmp_path, [shrunk(1, 2, 0), shrunk(1, 3, 1), shrunk(1, 4, 2)])
    for follower in (2, 3, 4):
        assert found[follower]["likely_cause"] == (
            "leader 1 is slow, not this broker: 3 followers fell behind it"
        )
        assert found[follower]["times_left"] == found[follower]["times_back"] == 1
        assert found[follower]["out_longest_us"] == 5 * S


def test_a_follower_that_leaves_many_leaders_is_slow_itself(tmp_path: Path) -> None:
    found = flapping(tmp_path, [shrunk(1, 9, 0), shrunk(2, 9, 1), shrunk(3, 9, 2)])
    assert found.keys() == {9}
    assert found[9]["likely_cause"] == "this broker is slow: it fell behind 3 leaders"
    assert found[9]["partitions"] == 3


def test_between_one_leader_and_one_follower_nobody_can_tell(tmp_path: Path) -> None:
    found = flapping(tmp_path, [shrunk(1, 2, 0), shrunk(1, 2, 1)])
    assert found[2]["likely_cause"].startswith("only leader 1 saw it fall behind")


def test_a_fault_that_most_leaving_goes_back_to_is_the_cause(tmp_path: Path) -> None:
    """However it looks: a fault of the scenario is known, a picture is only likely."""
    faults = ["disk", "disk", None]
    found = flapping(
        tmp_path,
        [shrunk(1, 2 + place, place, fault_name=fault) for place, fault in enumerate(faults)]
        + [shrunk(1, 2, 7, fault_name="disk")],
    )
    assert found[2]["likely_cause"] == "fault disk: 2 of 2 go back to it"
    assert found[4]["likely_cause"].startswith("leader 1 is slow")


def state(partition: int, begin_s: int, end_s: int, in_sync: int, **more: object) -> Row:
    row = {"partition": partition, "topic": "orders", "leader": 1}
    row["topic_partition"] = f"orders-{partition}"
    times = {"begin_us": begin_s * S, "end_us": end_s * S}
    return row | times | {"in_sync": in_sync, "min_insync_replicas": 2, "offline": False} | more


def restart(name: str, begin_s: int, end_s: int) -> Row:
    times = {"begin_us": begin_s * S, "end_us": end_s * S}
    return {"fault": begin_s, "fault_name": name, "fault_kind": "restart", **times}


def headroom(tmp_path: Path, states: list[Row], *faults: Row) -> dict[str, Row]:
    tables = written(tmp_path, {"partition_states": states, "faults": faults})
    return {row["fault_name"]: row for row in answer("restart-headroom", tables)}


def test_a_restart_that_leaves_one_to_spare_never_lands_on_min_isr(tmp_path: Path) -> None:
    found = headroom(tmp_path, [state(0, 0, 100, 3)], restart("roll", 20, 30))
    assert found["roll"]["verdict"] == "never landed on min ISR"
    assert found["roll"]["least_headroom"] == 1


def test_a_restart_lands_on_min_isr_and_a_second_one_below_it(tmp_path: Path) -> None:
    """strimzi-kafka-operator #13031: the roll is allowed to land exactly on min ISR."""
    states = [
        *(state(0, 0, 22, 3), state(0, 22, 45, 2), state(0, 45, 100, 1)),
        *(state(1, 0, 25, 3), state(1, 25, 100, 2)),
    ]
    found = headroom(tmp_path, states, restart("first", 20, 30), restart("second", 40, 50))
    assert found["first"]["verdict"] == "landed on min ISR: 2 partitions, orders-0 first"
    assert found["first"]["partitions"] == "orders-0,1"
    assert found["first"]["to_us"] == 40 * S
    assert found["first"]["seconds_at"] == 18 + 15
    assert found["second"]["verdict"] == (
        "refused writes: 1 partitions below min ISR, 2 were there before"
    )
    assert found["second"]["seconds_below"] == 55


def test_who_was_at_min_isr_before_did_not_land_there(tmp_path: Path) -> None:
    """Also if something else about the partition changes as the restart begins."""
    states = [state(0, 0, 20, 2), state(0, 20, 100, 2), state(1, 0, 21, 3), state(1, 21, 100, 2)]
    found = headroom(tmp_path, states, restart("roll", 20, 30))
    assert found["roll"]["first_partition"] == "orders-1"
    assert found["roll"]["partitions"] == "orders-1"
    assert found["roll"]["partitions_before"] == 1


def test_an_offline_partition_is_told_though_it_has_no_headroom(tmp_path: Path) -> None:
    states = [state(0, 0, 25, 3), state(0, 25, 35, 1, leader=None, offline=True)]
    found = headroom(tmp_path, states, restart("roll", 20, 30))
    assert found["roll"]["verdict"] == "never landed on min ISR; 1 partitions went offline"
    assert found["roll"]["partitions"] == "orders-0"


def test_all_elections_of_one_event_are_one_failover(tmp_path: Path) -> None:
    """70 s until a new leader although the session timeout is 18 s: every second of it."""

    def elected(partition: int, led_s: int) -> Row:
        parts = {"detection_us": 18 * S, "notice_us": 2 * S, "queue_us": 35 * S}
        parts |= {"election_us": 5 * S, "takeover_us": (led_s - 60) * S}
        whole = {"is_new": True, "leader_epoch": 4, "leader": 2, "process": 7, "taken_us": 55 * S}
        names = {"partition": partition, "topic_partition": f"orders-{partition}"}
        times = {"begin_us": 0, "led_us": led_s * S, "total_us": led_s * S}
        return whole | names | parts | times | {"fault_name": "crash"}

    event = {"process": 7, "time_us": 55 * S, "sequence": 3, "event": "BrokerChange"}
    first_leader = elected(9, 90) | {"leader_epoch": 0}
    tables = written(
        tmp_path,
        {
            "elections": [elected(0, 62), elected(1, 70), first_leader],
            "controller_events": [event],
        },
    )
    (failover,) = answer("failover-budget", tables)
    assert (failover["partitions"], failover["topic_partition"]) == (2, "orders-1")
    assert failover["event"] == "BrokerChange"
    assert failover["total_us"] == 70 * S
    assert failover["queue_us"] == 35 * S
    parts = ("detection_us", "notice_us", "queue_us", "election_us", "takeover_us")
    assert sum(failover[part] for part in parts) == failover["total_us"]
    assert failover["first_use_us"] is None


def test_each_change_alone_would_be_a_notification(tmp_path: Path) -> None:
    """KAFKA-2722: 30 changes of a bounce are gathered into two notifications."""
    changes = [shrunk(1, 2, place, time_us=20 * S + place) for place in range(30)]
    notification = {"first_change_us": 20 * S, "partition_count": 15, "rule": "quiet"}
    delays = {"delay_us": 7 * S, "look_us": 2 * S}
    event = {"event": "IsrChange", "time_us": 28 * S, "processing_us": 40_000}
    tables = written(
        tmp_path,
        {
            "faults": [restart("bounce", 20, 30)],
            "isr_changes": changes,
            "notifications": [notification | delays] * 2,
            "controller_events": [event, event | {"processing_us": 50_000}],
        },
        isr_change_notification_batching=True,
        isr_change_notification_quiet_ms=5_000,
        isr_change_notification_max_delay_ms=60_000,
    )
    before, bounce = answer("notification-batching", tables)
    assert (before["fault_name"], before["changes"]) == ("(before any)", 0)
    assert (bounce["changes"], bounce["notifications"], bounce["changes_each"]) == (30, 2, 15)
    assert bounce["gathering"] == "5000 ms quiet, 60000 ms at most"
    assert bounce["controller_us"] == 90_000
    assert bounce["controller_us_without"] == 30 * 40_000
    assert (bounce["by_quiet"], bounce["delay_longest_us"]) == (2, 7 * S)


def test_divergence_is_between_two_runs(tmp_path: Path) -> None:
    with pytest.raises(QuestionError, match="compares two runs, not 1"):
        answer("first-divergence", written(tmp_path, {}))


def test_start_up_is_not_unavailability(tmp_path: Path) -> None:
    """Topics are created 10 s after the run begins: only the 9 s of a crash count, of 90 s."""
    states = [
        state(0, 0, 12, 0, accepting=False, under_min_isr=False),
        state(0, 12, 50, 3, accepting=True, under_min_isr=False),
        state(0, 50, 57, 1, accepting=True, under_min_isr=True),
        state(0, 57, 100, 3, accepting=True, under_min_isr=False),
    ]
    figures = {"partition_seconds_offline": 1.8, "records_acknowledged": 10_000}
    figures |= {"records_acknowledged_lost": 5, "figures_from_seconds": 10.0}
    tables = written(tmp_path, {"partition_states": states, "run_figures": [figures]})
    (found,) = answer("availability", tables)
    assert found["writable_percent"] == pytest.approx(100 * (1 - 9 / 90))
    assert found["online_percent"] == pytest.approx(98)
    assert found["lost_per_million"] == 500
