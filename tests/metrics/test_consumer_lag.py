"""kafka_consumer_lag_millis, as Grafana's fork of kafka_exporter estimates it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from cluster_snapshots import healthy, partition_label, plan_of, values_of
from tidegauge.metrics.samples.exposition import Exposition
from tidegauge.metrics.samples.successive_snapshots import (
    Health,
    SnapshotContext,
    SuccessiveSnapshots,
)
from tidegauge.metrics.samples.targets import EXPORTER, SIMULATION
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.cluster_plan import ClusterPlan

SECOND = 1_000_000
ORDERS_0 = EXPORTER, f'consumergroup="billing",{partition_label("orders", 0)}'


def lag_ms(high_watermarks: Iterable[int], committed: int) -> float | None:
    """The lag in a snapshot each second, the last of which knows this committed offset."""
    plan = plan_of()
    history = SuccessiveSnapshots(Exposition(plan).layout)
    for second, high_watermark in enumerate(high_watermarks, start=1):
        snapshot = snapshot_at(plan, second, high_watermark, committed)
        context = history.context(snapshot)
    return values_of(plan, snapshot, "kafka_consumer_lag_millis", context=context).get(ORDERS_0)


def snapshot_at(plan: ClusterPlan, second: int, high_watermark: int, committed: int) -> Snapshot:
    snapshot = healthy(plan, second * SECOND)
    snapshot.replicas["high_watermark"] = high_watermark
    snapshot.committed["offset"] = committed
    return snapshot


def test_a_group_that_has_read_everything_is_not_behind() -> None:
    assert lag_ms([100, 200, 300], committed=300) == 0


def test_between_two_snapshots_it_is_interpolated() -> None:
    # The high watermark passed 250 at 2.5 s, and it is 4 s now.
    assert lag_ms([100, 200, 300, 400], committed=250) == pytest.approx(1_500)


def test_before_the_oldest_it_goes_on_at_the_mean_rate() -> None:
    # 100 records a second: it was at 50 half a second before it was at 100, at 1 s.
    assert lag_ms([100, 200, 300], committed=50) == pytest.approx(2_500)


def test_it_does_not_go_back_to_before_the_run() -> None:
    assert lag_ms([1000, 1010], committed=10) == pytest.approx(2_000)


def test_a_record_waits_from_when_it_came_and_not_from_the_last_one_before() -> None:
    # Nothing comes for three seconds; then ten records, and now is a second later.
    assert lag_ms([100, 100, 100, 110, 110], committed=100) == pytest.approx(2_000)


def test_one_snapshot_is_not_enough() -> None:
    assert lag_ms([100], committed=50) is None


def test_a_high_watermark_that_never_moved_tells_no_rate() -> None:
    assert lag_ms([100, 100, 100], committed=50) is None


def test_what_was_lost_in_an_unclean_election_is_not_waited_for() -> None:
    # The log was at 300, was cut to 150 and has grown to 160: 155 was reached only just now.
    assert lag_ms([100, 300, 150, 160], committed=155) == pytest.approx(500)


def test_without_a_leader_the_wait_goes_on() -> None:
    plan = plan_of()
    history = SuccessiveSnapshots(Exposition(plan).layout)
    for second in (1, 2, 3, 4):
        snapshot = snapshot_at(plan, second, high_watermark=min(second, 2) * 100, committed=150)
        if second > 2:
            snapshot.brokers["answers"][0] = False
        context = history.context(snapshot)
    found = values_of(plan, snapshot, "kafka_consumer_lag_millis", context=context)
    assert found[ORDERS_0] == pytest.approx(2_500)
    assert ORDERS_0 not in values_of(plan, snapshot, "kafka_consumergroup_lag", context=context)


def test_old_snapshots_are_forgotten() -> None:
    # A thousand snapshots later the rate is that of the ones that are still known.
    steps = [*([100] * 1_000), *range(200, 200 + 300 * 10, 10)]
    assert lag_ms(steps, committed=steps[-1] - 100) == pytest.approx(10_000)


def test_speed_is_measured_between_two_snapshots() -> None:
    plan = plan_of()
    history = SuccessiveSnapshots(Exposition(plan).layout)
    context = SnapshotContext()
    for second in (1, 2):
        health = Health(100.0 + second, second * 5 * SECOND, 5.0, 250_000, 1, second * 50)
        snapshot = healthy(plan, second * 5 * SECOND)
        context = history.context(snapshot, health)
        if second == 1:
            assert not values_of(plan, snapshot, "tidegauge_speed_ratio", context=context)
    own = SIMULATION, ""
    for name, value in {
        "speed_ratio": 5.0,
        "wanted_speed_ratio": 5.0,
        "lag_seconds": 0.25,
        "window_virtual_seconds": 0.1,
        "windows_total": 100,
    }.items():
        assert values_of(plan, snapshot, f"tidegauge_{name}", context=context) == {own: value}


def test_a_run_that_is_not_paced_has_no_wanted_speed() -> None:
    plan = plan_of()
    context = SnapshotContext(Health(1.0, SECOND, None, 0, 1, 1))
    snapshot = healthy(plan)
    assert not values_of(plan, snapshot, "tidegauge_wanted_speed_ratio", context=context)
    assert values_of(plan, snapshot, "tidegauge_lag_seconds", context=context)
