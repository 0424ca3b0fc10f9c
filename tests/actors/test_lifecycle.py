"""Brokers that are killed, stop and start: what is left, and when they are back.

The schedules o1, o2 and o4 are those of the runs of real brokers, and the writes theirs.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from life_stories import (
    all_writes,
    at,
    batches,
    begins,
    ends,
    fault,
    of_broker,
    starts_us,
    stops,
    story,
)
from partition_fates import NO_LEADER, Records, log_of
from scenario_runs import rows_of, run_of
from tidegauge.engine.group import Group
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.messages.client_requests import ProduceRequest
from tidegauge.simulation.messages.timers import IsrExpiration
from tidegauge.simulation.trace_rows.codes import STOP_KILLED, STOP_REGISTERED_ALREADY

SECOND = 1_000_000
#: The model's figure for a start without logs.
START_US = 700_000


def bounced(broker: int, replicas: list[list[int]], **parts: Any) -> Any:
    """A broker is killed and started at once, when five records are everywhere."""
    steps = [batches(range(len(replicas)), 5), begins("crash")]
    return story(
        replicas,
        steps,
        faults=[fault("crash", broker, **{"for": "100ms"})],
        duration="20s",
        **parts,
    )


# Killed and started at once.


def test_a_follower_that_is_killed_and_started_at_once_leaves_the_isr(tmp_path: Path) -> None:
    """Schedule o1: its old session's registration is still there, so it exits and comes later."""
    run = run_of(bounced(3, [[1, 2, 3]], controller=2), tmp_path / "run")
    assert all_writes(run) == [
        [(2, 1, [1, 2, 3], 0, 0), (2, 1, [1, 2], 1, 1), (1, 1, [1, 2, 3], 1, 2)]
    ]
    (killed_us, killed), (exited_us, exited) = stops(run, 3)
    assert (killed, exited) == (STOP_KILLED, STOP_REGISTERED_ALREADY)
    assert 0 < exited_us - killed_us - 100_000 - START_US < 30_000
    (expired,) = run.rows("session_expired")
    _, _, again_us = starts_us(run, 3)
    # The supervisor's five seconds outlast the session.
    assert exited_us < expired["time_us"] < again_us
    assert 0 < again_us - exited_us - 5 * SECOND - START_US < 30_000


def test_a_leader_that_is_killed_and_started_at_once_is_replaced(tmp_path: Path) -> None:
    """Schedule o2: broker 1 is also the only replica of another partition."""
    run = run_of(bounced(1, [[1, 2, 3], [1]]), tmp_path / "run")
    assert all_writes(run) == [
        [(3, 1, [1, 2, 3], 0, 0), (3, 2, [2, 3], 1, 1), (2, 2, [2, 3, 1], 1, 2)],
        [(3, 1, [1], 0, 0), (3, NO_LEADER, [1], 1, 1), (3, 1, [1], 2, 2)],
    ]
    assert log_of(run, 1, partition=1) == [Records(0, 0, 5)]


def test_it_is_started_again_and_again_until_its_old_session_has_expired(tmp_path: Path) -> None:
    """Schedule o4: a session of 8 s, and a supervisor that waits for 2."""
    scenario = bounced(
        1,
        [[1, 2, 3]],
        settings={"zookeeper.session.timeout.ms": 8000},
        cluster={"restart_after_exit": "2s"},
    )
    run = run_of(scenario, tmp_path / "run")
    assert all_writes(run)[0][1:] == [(3, 2, [2, 3], 1, 1), (2, 2, [2, 3, 1], 1, 2)]
    (expired, *_) = run.rows("session_expired")
    _, *exits = stops(run, 1)
    assert len(exits) >= 3
    assert {stop for _, stop in exits} == {STOP_REGISTERED_ALREADY}
    assert all(time_us < expired["time_us"] for time_us, _ in exits)
    for (earlier, _), (later, _) in pairwise(exits):
        assert 0 < later - earlier - 2 * SECOND - START_US < 30_000


def test_without_a_supervisor_it_stays_down(tmp_path: Path) -> None:
    """restart_after_exit: never."""
    scenario = bounced(3, [[1, 2, 3]], cluster={"restart_after_exit": "never"})
    run = run_of(scenario, tmp_path / "run")
    assert [stop for _, stop in stops(run, 3)] == [STOP_KILLED, STOP_REGISTERED_ALREADY]
    assert len(starts_us(run, 3)) == 2
    assert not any(3 in isr for _, _, isr, _, _ in all_writes(run)[0][1:])


# Faults that overlap.


def test_a_crash_while_loading_begins_the_load_anew(tmp_path: Path) -> None:
    """Neither start is up before the second one has loaded, and both recover."""
    faults = [
        fault("crash", 1, at="5s", **{"for": "3s"}),
        fault("crash", 1, at="8200ms", **{"for": "1s"}) | {"name": "again"},
    ]
    run = run_of(
        story([[1, 2]], [batches([0], 3)], faults=faults, duration="14s"), tmp_path / "run"
    )
    assert [stop for _, stop in stops(run, 1)] == [STOP_KILLED] * 2
    first, second = of_broker(run, "broker_loading", 1)
    assert (first["clean"], second["clean"]) == (0, 0)
    assert second["time_us"] == 9_200_000 < first["until_us"] + SECOND
    assert starts_us(run, 1)[1:] == [second["until_us"]]
    # What it had learned only to forget it: one checkpoint is read, by the second start.
    assert [row["time_us"] for row in of_broker(run, "checkpoint_read", 1)] == [second["until_us"]]


def test_a_kill_in_the_middle_of_a_stop_ends_it(tmp_path: Path) -> None:
    """The broker starts when both faults are over; the stop was not clean."""
    faults = [
        fault("restart", 1, at="5s", **{"for": "8s"}),
        fault("crash", 1, at="5500ms", **{"for": "1s"}),
    ]
    run = run_of(
        story([[1, 2]], [batches([0], 3)], faults=faults, duration="18s"), tmp_path / "run"
    )
    assert stops(run, 1) == [(5_500_000, STOP_KILLED)]
    (loading,) = of_broker(run, "broker_loading", 1)
    assert (loading["time_us"], loading["clean"]) == (13_000_000, 0)
    # Its session was not closed by itself.
    assert len(list(run.rows("session_expired"))) == 1


def test_a_broker_that_was_paused_when_it_was_killed_starts_unpaused(tmp_path: Path) -> None:
    """The pause was that of a process which is no more."""
    pause = fault("pause", 1, at="5s", **{"for": "15s"})
    death = fault("crash", 1, at="6s", **{"for": "6s"})
    run = run_of(story([[1, 2]], [], faults=[pause, death], duration="18s"), tmp_path / "run")
    assert stops(run, 1) == [(6 * SECOND, STOP_KILLED)]
    up_us = starts_us(run, 1)[1]
    assert 12 * SECOND < up_us < 13 * SECOND
    assert all_writes(run)[0][-1][2] == [2, 1]


# What a process does first when it goes on.


def test_a_broker_that_goes_on_runs_what_is_overdue_before_it_reads_its_sockets(
    tmp_path: Path,
) -> None:
    """isr-expiration first (up to 2.3 an idle follower lags, too), then the produce.

    The produce came when the pause had just begun, long before isr-expiration was due.
    """
    steps = [
        batches([0], 5),
        begins("pause"),
        [{"after": "10ms", "do": "produce", "acks": 1, "wait": False} | at(0)],
        ends("pause", {"after": "8s"}),
    ]
    run = run_of(
        story(
            [[1, 2]], steps,
            faults=[fault("pause", 1)], settings={"zookeeper.session.timeout.ms": 60_000},
            release="1.1", trace="all",
        ),
        tmp_path / "run",
    )  # fmt: skip
    (ended,) = rows_of(run, "fault_ended", process=0)
    sent = of_broker(run, "isr_update_sent", 1)[0]
    (shrunk,) = of_broker(run, "isr_shrunk", 1)
    appended = rows_of(run, "appended", process=0, base_offset=5)[-1]
    assert sent["time_us"] == ended["time_us"]
    # The write of the ISR holds the partition's lock.
    assert sent["time_us"] < shrunk["time_us"] <= appended["time_us"]


def test_an_overdue_task_of_a_fixed_rate_runs_as_often_as_it_has_missed_its_time(
    tmp_path: Path,
) -> None:
    """ScheduledThreadPoolExecutor: isr-expiration, every 2 s, four times in a pause of 8 s.

    All of them come before the produce that has waited in the socket, and one more is due only
    2 s after the last that was missed.
    """
    producer = {"name": "shop", "topics": ["t0"], "start": "5500ms", "stop": "5600ms"}
    scenario = story(
        [[1, 2]], [],
        faults=[fault("pause", 1, at="5s", **{"for": "8s"})],
        settings={"zookeeper.session.timeout.ms": 60_000},
        workload={"producers": [producer | {"batches_per_second": 10}]},
        duration="20s",
    )  # fmt: skip
    plan = ClusterPlan(scenario)
    group = Group(plan, range(len(plan.processes)), tmp_path)
    counts = group.world.kind_counts

    def handled_until(time_us: int) -> tuple[int, int]:
        """How many isr-expirations, of brokers 1 to 3, and produces have been handled so far."""
        group.run_to(time_us, lambda _: None)
        return int(counts[int(IsrExpiration.KIND)].handled), int(
            counts[int(ProduceRequest.KIND)].handled
        )

    # The produce has come, and been held back, once.
    before, came = handled_until(13_000_000)
    assert handled_until(13_000_001) == (before + 4, came)
    assert handled_until(13_000_002) == (before + 4, came + 1)
