"""Retention: leaders delete whole old segments, and nobody takes that for a loss.

A log has 100 MB of records of 1 kB in segments of 10 MB: 10,000 records each. It is looked at 30 s
after a broker's start, and then every 5 minutes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from both_modes import MODES, RELEASE
from plain_reader import PlainReader
from process_groups import groups_of
from scenario_runs import rows_of, run_of
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.runs.run import Run
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping
from tidegauge.simulation.trace_rows.codes import RAISED_BY_LEADER, RAISED_BY_RETENTION
from tidegauge.traces.run_folder import RunFolder

SEGMENT = 10_000_000
HOUR_MS = 3_600_000
#: Nothing happens but retention, so fetches that find nothing are few.
QUIET = {"replica.fetch.wait.max.ms": 5000}


def story(mode: str, settings: dict[str, Any], **parts: Any) -> Scenario:
    own = {"segment.bytes": SEGMENT} | settings
    whole = {
        "mode": mode,
        "release": RELEASE,
        "duration": "60s",
        "sample_every": "10s",
        "cluster": {"brokers": 4, "start_spread": "0s", "settings": QUIET},
        "topics": [{"name": "t", "assignment": {0: [1, 2, 3]}, "size": "100MB", "settings": own}],
    }
    return scenario_from_mapping(whole | parts, "retention")


def raised(run: RunFolder, broker: int) -> list[tuple[int, int]]:
    """Where a broker's log has come to begin, and by what."""
    rows = rows_of(run, "log_start_raised", process=broker - 1)
    return [(row["log_start_offset"], row["raised_by"]) for row in rows]


def summary(run: RunFolder) -> dict[str, Any]:
    assert run.summary is not None
    return run.summary


def all_hold(run: RunFolder) -> bool:
    return all(check["verdict"] is True for check in summary(run)["checks"].values())


@pytest.mark.parametrize("mode", MODES)
def test_by_size_as_many_segments_go_as_leave_retention_bytes_or_more(
    mode: str, tmp_path: Path
) -> None:
    """65 MB are to be kept: 3 of 10 segments go, for a fourth would leave only 60."""
    run = run_of(story(mode, {"retention.bytes": 65_000_000}), tmp_path / "run")
    assert raised(run, 1) == [(30_000, RAISED_BY_RETENTION)]
    assert raised(run, 2) == raised(run, 3) == [(30_000, RAISED_BY_LEADER)]
    assert all_hold(run)
    assert summary(run)["records_acknowledged_lost"] == 0
    counted = PlainReader(run).counted()
    assert counted["records_acknowledged_lost"] == 0
    assert counted["records_acknowledged_unavailable"] == 0
    pieces = Run(run.path).tables.rows(
        "select fate, sum(records) as n from acknowledged group by fate"
    )
    assert {each["fate"]: each["n"] for each in pieces} == {"deleted": 30_000, "held": 70_000}


def test_by_age_a_log_loses_its_share_of_the_time_in_whole_segments(tmp_path: Path) -> None:
    """It was written evenly over an hour: 0.8 % are expired after 30 s, 9.2 % after 330 s."""
    settings = {"segment.bytes": 1_000_000, "retention.ms": HOUR_MS}
    run = run_of(story("kraft", settings, duration="340s"), tmp_path / "run")
    assert raised(run, 1) == [(9_000, RAISED_BY_RETENTION)]
    # With Kafka's seven days nothing expires in minutes.
    other = run_of(story("kraft", {"segment.bytes": 1_000_000}, duration="340s"), tmp_path / "o")
    assert raised(other, 1) == []


@pytest.mark.parametrize(
    "settings",
    [
        {"retention.bytes": -1, "retention.ms": -1},
        {"retention.bytes": 65_000_000, "cleanup.policy": "compact"},
        {"retention.bytes": 95_000_000},
    ],
    ids=["without limit", "compacted", "less than a segment too much"],
)
def test_what_is_to_be_kept_is_kept(settings: dict[str, Any], tmp_path: Path) -> None:
    run = run_of(story("kraft", settings), tmp_path / "run")
    assert not list(run.rows("log_start_raised"))


def test_settings_of_brokers_hold_for_topics_without_their_own(tmp_path: Path) -> None:
    settings = {"log.retention.bytes": 65_000_000, "log.segment.bytes": SEGMENT}
    settings |= {"log.retention.check.interval.ms": 10_000}
    scenario = story("kraft", {}, cluster={"brokers": 3, "settings": QUIET | settings})
    assert scenario.settings_not_modelled() == []
    assert raised(run_of(scenario, tmp_path / "run"), 1) == [(30_000, RAISED_BY_RETENTION)]


@pytest.mark.parametrize("mode", MODES)
def test_a_new_replica_and_one_that_was_away_begin_where_the_leaders_log_begins(
    mode: str, tmp_path: Path
) -> None:
    """Broker 3 is down from the start and has an empty log, broker 4 gets a replica later."""
    topic = {
        "name": "t",
        "assignment": {0: [1, 2, 3]},
        "size": "100MB",
        "state": {0: {"leader": 1, "isr": [1, 2]}},
        "settings": {"segment.bytes": SEGMENT, "retention.bytes": 65_000_000},
    }
    move = {"topic": "t", "partition": 0, "replicas": [1, 3, 4]}
    run = run_of(
        story(
            mode,
            {},
            topics=[topic],
            faults=[{"kind": "crash", "at": "0s", "for": "40s", "brokers": [3]}],
            steps=[{"at": "45s", "do": "reassign", "partitions": [move]}],
            duration="80s",
        ),
        tmp_path / "run",
    )
    begins = {row["process"]: row["start_offset"] for row in run.rows("log_end")}
    assert begins[0] == begins[2] == begins[3] == 30_000
    ends = {row["process"]: row["log_end_offset"] for row in run.rows("sampled")}
    assert ends[2] == ends[3] == 100_000
    assert all_hold(run)


def test_a_restart_keeps_the_beginning_of_a_log(tmp_path: Path) -> None:
    crash = {"kind": "crash", "at": "35s", "for": "20s", "brokers": [1]}
    scenario = story("kraft", {"retention.bytes": 65_000_000}, faults=[crash], duration="80s")
    run = run_of(scenario, tmp_path / "run")
    (loading, *_) = rows_of(run, "broker_loading", process=0)
    assert loading["records_to_recover"] == 0
    assert [row["start_offset"] for row in rows_of(run, "log_end", process=0)][-1] == 30_000
    assert all_hold(run)


@pytest.mark.parametrize("mode", MODES)
def test_groups_of_processes_delete_the_same_segments(mode: str, tmp_path: Path) -> None:
    soon: dict[str, Any] = {
        "duration": "5s",
        "liveness": False,
        "cluster": {
            "brokers": 3,
            "start_spread": "0s",
            "settings": {"log.initial.task.delay.ms": 3_500},
        },
    }
    scenario = story(mode, {"retention.bytes": 65_000_000}, **soon)
    one = simulate(scenario, tmp_path / "one")
    three = simulate(scenario, tmp_path / "three", make_engine=inline(groups_of(scenario, 3)))
    less = simulate(story(mode, {"retention.bytes": 55_000_000}, **soon), tmp_path / "less")
    assert raised(one, 2) == [(30_000, RAISED_BY_LEADER)]
    hashes = [summary(run)["trace_sha256"] for run in (one, three, less)]
    assert hashes[0] == hashes[1]
    assert hashes[0] != hashes[2]


@pytest.mark.parametrize(
    "settings", [{"retention.bytes": -2}, {"segment.bytes": 5}, {"retention.ms": "7d"}]
)
def test_values_that_kafka_refuses_are_refused(settings: dict[str, Any]) -> None:
    (name,) = settings
    with pytest.raises(ScenarioError, match=rf"topics\[0\].settings\[{name}\]: must be a whole"):
        story("kraft", settings)
