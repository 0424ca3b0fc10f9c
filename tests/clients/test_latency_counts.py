"""How long batches took: counts by duration, and percentiles read from them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isr_stories import retold
from scenario_runs import run_of
from small_clusters import cluster_of, producers_of
from tidegauge.clients.latency_counts import BUCKETS, bucket_of, least_us, percentile_us

DURATIONS = st.integers(0, 2**36 - 1)


@given(DURATIONS)
def test_a_duration_is_counted_where_durations_like_it_are(duration_us: int) -> None:
    bucket = bucket_of(duration_us)
    assert least_us(bucket) <= duration_us < least_us(bucket + 1) <= duration_us * 9 / 8 + 1


def test_longer_ones_than_there_are_counts_for_are_the_longest() -> None:
    assert bucket_of(2**62) == BUCKETS - 1
    assert bucket_of(-1) == 0


@given(st.lists(DURATIONS, min_size=1), st.sampled_from([50, 99, 100]))
def test_a_percentile_lies_within_its_step_and_the_longest_is_exact(
    durations_us: list[int], percent: int
) -> None:
    found = Counter(bucket_of(each) for each in durations_us)
    counts = [found[bucket] for bucket in range(int(BUCKETS))]
    true_us = sorted(durations_us)[-(-percent * len(durations_us) // 100) - 1]
    percentile = percentile_us(counts, percent, max(durations_us))
    assert bucket_of(percentile) == bucket_of(true_us)
    assert percent < 100 or percentile == true_us


def test_there_is_no_percentile_of_nothing() -> None:
    assert percentile_us([0] * int(BUCKETS), 99, 0) == 0


def test_a_batch_takes_its_way_and_that_of_followers(tmp_path: Path) -> None:
    """Each message takes 1 ms: to the leader and back, and with acks=all two fetches between."""
    shop = producers_of(2, "2s", "4s", acks="1") | {"name": "quick"}
    sure = producers_of(2, "2s", "4s", acks="all") | {"name": "sure"}
    run = run_of(cluster_of(workload={"producers": [shop, sure]}), tmp_path / "run")
    assert run.summary is not None
    quick, sure_ms = run.summary["produce_ms"]["quick"], run.summary["produce_ms"]["sure"]
    assert 2.0 < quick["p50"] < 2.0 * 9 / 8 + 0.2
    assert 4.0 < sure_ms["p50"] < 7.0


@pytest.mark.parametrize(("group", "least_ms"), [("to-led", 5_000), ("to-elsewhere", 0.5)])
def test_a_slow_disk_is_seen_by_who_writes_to_it(
    tmp_path: Path, group: str, least_ms: float
) -> None:
    """Question 6 of operators: what is seen first is the latency."""
    run = run_of(retold("slow-disk", liveness=False), tmp_path / "run")
    assert run.summary is not None
    slowest = run.summary["produce_ms"][group]["p99"]
    assert slowest > least_ms
    assert (slowest > 100) == (group == "to-led")
