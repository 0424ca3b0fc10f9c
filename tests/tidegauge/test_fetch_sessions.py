"""Fetch sessions (KIP-227) change what is looked at, never what happens.

Releases from 1.1 on fetch in sessions, and the leader looks only at partitions of which something
has changed. With the switch taken away every fetch names every partition, and the leader reads
them all. Both have to tell the same story: each row, with its time and its values. Only the order
of rows within one instant may differ, and with it what a row gives as its cause.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fault_schedules import schedule
from gates import assert_met
from life_stories import at, batches, fault, story
from scenario_runs import rows_of, run_of
from small_clusters import BROKER_2, topic_of
from tidegauge.engine.simulate import simulate
from tidegauge.replication.errors import FETCH_SESSION_ID_NOT_FOUND, KAFKA_STORAGE_ERROR
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.traces.run_folder import RunFolder

#: Where a row stands among those of its process, and what led to it.
PLACE = {
    *("sequence", "minor", "cause_process", "cause_sequence"),
    *("because_process", "because_sequence"),
}

WITHOUT = {"fetch_sessions": False}


def story_of(run: RunFolder) -> Counter[tuple[str, tuple[tuple[str, int], ...]]]:
    """All rows of a run, whatever their order within an instant."""
    return Counter(
        (row.kind, tuple((name, value) for name, value in row.columns.items() if name not in PLACE))
        for row in run.all_rows()
    )


# In the last two log directories fail in which quiet partitions lie.
@pytest.mark.parametrize("seed", [*range(6), 25, 99])
def test_without_sessions_everything_happens_at_the_same_time(seed: int, tmp_path: Path) -> None:
    drawn = schedule(seed)
    with_sessions = simulate(drawn, tmp_path / "with")
    without = simulate(drawn, tmp_path / "without", switches=WITHOUT)
    told = story_of(with_sessions)
    assert told == story_of(without)
    assert_met(with_sessions)


def test_another_seed_is_another_story(tmp_path: Path) -> None:
    """The twin: what is compared above is fine enough to see other latencies."""
    again = scenario_from_mapping(schedule(3).resolved() | {"seed": 4}, "again")
    stories = [
        story_of(simulate(each, tmp_path / name))
        for name, each in (("as-it-is", schedule(3)), ("again", again))
    ]
    assert stories[0] != stories[1]


def test_followers_at_rest_are_told_that_a_log_is_offline(tmp_path: Path) -> None:
    """t0 and t2 lie in a directory that is found to fail by a write to t0; nobody writes to t2.

    The fetches that wait bring it when their time is up. Without ZooKeeper nobody else is elected,
    so the followers ask again after each back-off.
    """
    failing = story(
        [[1, 2, 3]] * 4,
        [batches(range(4), 5), [{"at": "10100ms", "do": "produce", "to": 1} | at(0)]],
        trace="all",
        cluster={"log_directories": 2},
        faults=[
            {"kind": "zookeeper_outage", "at": "10s", "for": "3s"},
            fault("log_directory_failure", 1, directory=1, at="10s"),
        ],
    )
    told, without = [
        [
            (row["time_us"], row["partition"], row["to_process"], row["waited"])
            for row in rows_of(run, "fetch_answered", error=int(KAFKA_STORAGE_ERROR))
        ]
        for run in (
            simulate(failing, tmp_path / "with"),
            simulate(failing, tmp_path / "without", switches=WITHOUT),
        )
    ]
    assert told == without
    assert [answer[1:] for answer in told] == [
        (partition, follower, waited)
        for waited in (1, 0, 0)
        for follower in (1, 2)
        for partition in (0, 2)
    ]


def test_a_leader_that_has_started_again_does_not_know_the_session(tmp_path: Path) -> None:
    """FETCH_SESSION_ID_NOT_FOUND, and the follower names all of its partitions again.

    The last response of leader 1 takes until it leads again, in the same epoch, for it was also the
    controller, and its successor finds all brokers alive. The news of its end comes later still, so
    the follower has fetched in its session before.
    """
    scenario = scenario_from_mapping(
        {
            "seed": 1965091740,
            "duration": "2700ms",
            "release": "3.9",
            "mode": "zookeeper",
            "cluster": {
                "brokers": 3,
                "start_spread": "0s",
                "restart_after_exit": "200ms",
                "settings": {
                    "replica.lag.time.max.ms": 500,
                    "replica.fetch.wait.max.ms": 50,
                    "zookeeper.session.timeout.ms": 2000,
                },
            },
            "topics": [topic_of([1, 2])],
            "zookeeper": {"tick_ms": 400},
            "costs": {"broker_start": "20ms"},
            "network": {"between_racks": "20ms"},
            "faults": [
                {
                    "kind": "slow_link",
                    "between": [["broker:1"], ["broker:2"]],
                    "delay": "1900ms",
                    "at": "600ms",
                },
                {"kind": "crash", "brokers": [1], "at": "645ms", "for": "4ms"},
            ],
            "trace": "all",
        },
        "story",
    )
    run = run_of(scenario, tmp_path / "run")
    refused = rows_of(run, "message", error=int(FETCH_SESSION_ID_NOT_FOUND))
    assert [row["process"] for row in refused] == [BROKER_2]
    assert run.summary is not None
    assert run.summary["liveness"]["reached"], run.summary["liveness"]["reasons"]
