"""Elections: where the time went, to the microsecond, and which fault it was for."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysed_runs import RUNS
from recorded_tables import bent, table
from small_clusters import SECOND, cluster_of, producers_of, topic_of
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.tables.elections import PARTS
from tidegauge.engine.simulate import simulate
from tidegauge.runs.causes import cause_strands
from tidegauge.runs.run import Run
from tidegauge.traces.run_folder import RunFolder


@pytest.mark.parametrize("run", RUNS)
def test_the_parts_of_every_budget_sum_to_the_whole(run: str, tables: RunTables) -> None:
    elections = table(tables, "elections", run)
    assert elections
    for row in elections:
        known = [row[part] for part in PARTS if row[part] is not None]
        assert min(known) >= 0, row
        assert sum(known) == row["total_us"], row
        last = row["used_us"] or row["led_us"] or row["time_us"]
        assert row["begin_us"] + row["total_us"] == last


def test_a_crash_is_detected_when_its_session_expires(tables: RunTables) -> None:
    """Broker 2 crashes at 30 s: nearly all of its failover is waiting for ZooKeeper."""
    failovers = [
        row for row in table(tables, "elections", "quickstart-zookeeper") if row["fault"] == 0
    ]
    assert {row["fault_name"] for row in failovers} == {"crash"}
    assert {row["old_leader"] for row in failovers} == {2}
    assert {row["begin_us"] for row in failovers} == {30 * SECOND}
    assert {row["trigger_kind"] for row in failovers} == {"znode_deleted"}
    expired = {row["told_us"] for row in failovers}
    assert len(expired) == 1
    assert all(row["detection_us"] > 100 * row["election_us"] for row in failovers)


def test_what_waits_in_the_queue_is_no_notice(
    tables: RunTables, recorded: dict[str, RunFolder], tmp_path: Path
) -> None:
    """A budget depends on its rows: a millisecond more in the queue is one less on the way."""
    later = "select * replace (queued_us + 1000 as queued_us) from rows"
    longer = bent(recorded["quickstart-zookeeper"], tmp_path, {"controller_event": later})
    pairs = zip(
        table(tables, "elections", "quickstart-zookeeper"), table(longer, "elections"), strict=True
    )
    moved = [(one, other) for one, other in pairs if one["fault"] is not None]
    assert moved
    for one, other in moved:
        assert other["queue_us"] == one["queue_us"] + 1000
        assert other["notice_us"] == one["notice_us"] - 1000
        assert other["total_us"] == one["total_us"]


@pytest.mark.parametrize("run", RUNS)
def test_the_fault_of_a_row_is_among_its_causes(
    run: str, tables: RunTables, recorded: dict[str, RunFolder]
) -> None:
    """Held against the causes that ``tidegauge show cause`` tells: its beginning, or its end."""
    found = 0
    opened = Run(recorded[run].path)
    for name in ("elections", "isr_changes", "truncations"):
        for row in table(tables, name, run)[::7]:
            start = opened.canonical_row(row["process"], row["sequence"])
            assert start is not None
            faults = {
                (each.row["fault"], each.time_us)
                for strand in cause_strands(opened, opened.event(start))
                for each in strand.rows
                if each.kind in {"fault_began", "fault_ended"}
            }
            if row["fault"] is None or row["fault_us"] is None:
                continue
            found += 1
            assert (row["fault"], row["fault_us"]) in faults
    assert found


def test_a_run_that_records_requests_knows_the_first_use(tmp_path: Path) -> None:
    """At trace level ``all``, somebody produces to the new leader, or a follower fetches."""
    crash = {"kind": "crash", "brokers": [1], "at": "2s", "for": "2s"}
    workload = {"producers": [producers_of(10, "1s", "20s")]}
    scenario = cluster_of(
        {"zookeeper.session.timeout.ms": 4000},
        faults=[crash | {"for": "10s"}],
        workload=workload,
        duration="20s",
    )
    run = simulate(scenario, tmp_path / "run")
    tables = RunTables(run.path, tmp_path / "tables")
    (failover,) = [row for row in table(tables, "elections") if row["old_leader"] == 1]
    new_leader = failover["leader"]
    appends = [
        row["time_us"]
        for row in run.rows("appended")
        if row["leads"] and row["epoch"] == failover["leader_epoch"]
    ]
    assert new_leader != 1
    assert failover["led_us"] <= failover["used_us"] <= appends[0]
    assert sum(failover[part] for part in PARTS) == failover["total_us"]
    assert failover["begin_us"] == 2 * SECOND


@pytest.mark.parametrize("plane", [{}, {"mode": "kraft", "release": "4.1"}])
def test_nobody_detects_anything_while_no_replica_may_lead(
    plane: dict[str, object], tmp_path: Path
) -> None:
    """The whole ISR is dead for 40 s: detection is the session, the rest has a part of its own."""
    settings = {"zookeeper.session.timeout.ms": 4000} if not plane else {}
    dead = {"kind": "crash", "brokers": [1, 2], "at": "5s", "for": "40s"}
    scenario = cluster_of(
        settings, topics=[topic_of([1, 2])], faults=[dead], duration="60s", **plane
    )
    run = simulate(scenario, tmp_path / "run")
    elections = table(RunTables(run.path, tmp_path / "tables"), "elections")
    (back,) = [row for row in elections if row["time_us"] > 45 * SECOND]
    assert 5 * SECOND <= back["begin_us"] <= back["none_us"] < 15 * SECOND
    assert back["none_us"] + back["no_replica_us"] == back["told_us"] >= 45 * SECOND
    assert sum(back[part] for part in PARTS if back[part]) == back["total_us"]
