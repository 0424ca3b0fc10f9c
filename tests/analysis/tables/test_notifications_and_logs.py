"""Notifications, faults, high watermarks, acknowledged and lost records: row by row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from analysed_runs import RUNS
from recorded_tables import table
from sampled_replicas import samples_of
from small_clusters import SECOND
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.traces.run_folder import RunFolder


def test_a_notification_waits_for_a_rule_and_then_for_the_next_look(tables: RunTables) -> None:
    """KAFKA-2722: looks every 2.5 s; 5 s of quiet, or 60 s since the last one."""
    notifications = [row for run in RUNS for row in table(tables, "notifications", run)]
    assert notifications
    for row in notifications:
        assert row["rule_us"] + row["look_us"] == row["delay_us"]
        assert 0 <= row["look_us"] <= 2.6 * SECOND
        assert row["partition_count"] <= row["changes"]
        assert row["first_change_us"] <= row["last_change_us"] < row["time_us"]
        if row["rule"] == "quiet":
            assert row["rule_us"] >= 4.999 * SECOND
    assert {row["rule"] for row in notifications} == {"quiet", "long enough"}


def test_each_notification_is_read_once_by_the_controller(
    tables: RunTables, recorded: dict[str, RunFolder]
) -> None:
    notifications = table(tables, "notifications", "quickstart-zookeeper")
    read = [
        row["notification"] for row in recorded["quickstart-zookeeper"].rows("notification_read")
    ]
    assert sorted(row["notification"] for row in notifications) == sorted(read)
    assert all(row["to_read_us"] > 0 for row in notifications)
    assert all(row["controller_processing_us"] > 0 for row in notifications)
    assert all(row["states_read"] >= row["partition_count"] for row in notifications)


@pytest.mark.parametrize("run", RUNS)
def test_faults_are_on_as_the_front_door_tells(
    run: str, tables: RunTables, recorded: dict[str, RunFolder]
) -> None:
    summary = recorded[run].summary
    assert summary is not None
    ends_us = int(summary["virtual_seconds"] * 1e6)
    spans = sorted(spans_of(recorded[run], ends_us))
    found = sorted(
        (row["fault"], row["begin_us"], row["end_us"], row["processes"])
        for row in table(tables, "faults", run)
    )
    assert found == spans


def spans_of(run: RunFolder, ends_us: int) -> Iterator[tuple[int, int, int, list[int]]]:
    """Each time at which a fault is on anywhere, counted row by row."""
    begun: dict[int, tuple[int, set[int], set[int]]] = {}
    for row in run.all_rows(wanted=lambda kind: kind.name in {"fault_began", "fault_ended"}):
        time_us, fault, process = row["time_us"], row["fault"], row["process"]
        if row.kind == "fault_began" and time_us < ends_us:
            _, hit, still = begun.setdefault(fault, (time_us, set(), set()))
            hit.add(process)
            still.add(process)
        elif row.kind == "fault_ended" and fault in begun:
            begin_us, hit, still = begun[fault]
            still.discard(process)
            if not still:
                del begun[fault]
                yield fault, begin_us, min(time_us, ends_us), sorted(hit)
    for fault, (begin_us, hit, _) in begun.items():
        yield fault, begin_us, ends_us, sorted(hit)


def test_samples_of_leaders_say_how_far_the_high_watermark_lags(
    tables: RunTables, recorded: dict[str, RunFolder]
) -> None:
    run = recorded["quickstart-zookeeper"]
    assert run.summary is not None
    # The liveness phase is no part of the run.
    ends_us = run.summary["virtual_seconds"] * 1e6
    lags = [
        row["log_end_offset"] - row["high_watermark"]
        for row in samples_of(run, leads=1)
        if row["time_us"] < ends_us
    ]
    found = [row["lag"] for row in table(tables, "hw_lag", "quickstart-zookeeper")]
    assert sorted(found) == sorted(lags)
    assert sum(found) > 0


@pytest.mark.parametrize("run", RUNS)
def test_pieces_of_what_was_acknowledged_tile_its_ranges(
    run: str, tables: RunTables, recorded: dict[str, RunFolder]
) -> None:
    promised = recorded[run].table("acknowledged")
    pieces = table(tables, "acknowledged", run)
    assert sum(row["records"] for row in pieces) == int(
        (promised["end_offset"] - promised["first_offset"]).sum()
    )
    assert all(row["records"] == row["end_offset"] - row["first_offset"] > 0 for row in pieces)


def test_lost_records_have_a_reason_and_a_later_leader_without_them(
    tables: RunTables, recorded: dict[str, RunFolder]
) -> None:
    """A rack has lost its power, or acks=1 was asked for: each loss has its leader and reason."""
    lost = table(tables, "lost", "rack-power-loss")
    assert lost
    for row in lost:
        began = recorded["rack-power-loss"].canonical_row(
            row["began_process"], row["began_sequence"]
        )
        assert began is not None
        assert began.kind == "became_leader"
        assert began["partition"] == row["partition"]
        assert began["leader_epoch"] >= row["leader_epoch"]
        assert row["permitted_by"] is not None
    assert all(row["faults"] for row in lost)
