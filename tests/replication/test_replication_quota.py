"""Throttled replication: the rate that a broker's quotas measure (KIP-73)."""

from __future__ import annotations

import pytest

from tidegauge.compiled.records import Records, new_record, new_records
from tidegauge.replication.records import QuotaSample, ReplicationQuota
from tidegauge.replication.replication_quota import (
    UNLIMITED,
    count_idle_windows,
    forget_samples,
    is_quota_exceeded,
    record_bytes,
)

Quota = tuple[ReplicationQuota, Records[QuotaSample]]


def quota_of(bytes_per_second: int) -> Quota:
    """A quota with Kafka's 11 windows of a second."""
    quota = new_record(ReplicationQuota)
    quota.bytes_per_second = bytes_per_second
    quota.window_count = 11
    quota.window_ms = 1000
    return quota, new_records(QuotaSample, 11)


def passes(quota: Quota, first_ms: int, last_ms: int, size_bytes: int) -> int:
    """How many bytes pass when so many are asked for every 100 ms, and held back when too many."""
    passed = 0
    for now_ms in range(first_ms, last_ms, 100):
        if not is_quota_exceeded(*quota, now_ms):
            record_bytes(*quota, size_bytes, now_ms)
            passed += size_bytes
    return passed


def test_the_first_window_counts_as_a_whole_one() -> None:
    """SimpleRate.windowSize: or the first bytes of all would be at an endless rate."""
    quota = quota_of(1000)
    record_bytes(*quota, 1000, 5000)
    assert not is_quota_exceeded(*quota, 5001)
    record_bytes(*quota, 1, 5002)
    assert is_quota_exceeded(*quota, 5003)
    assert not is_quota_exceeded(*quota, 6001)


def test_what_was_sent_too_much_at_once_is_waited_for() -> None:
    """The rate is bytes over time since the oldest window: ten times too much takes ten seconds."""
    quota = quota_of(1000)
    record_bytes(*quota, 10_000, 0)
    assert is_quota_exceeded(*quota, 9_999)
    assert not is_quota_exceeded(*quota, 10_000)


@pytest.mark.parametrize("rate", [10_000, 50_000])
def test_in_the_long_run_as_much_passes_as_was_set(rate: int) -> None:
    assert passes(quota_of(rate), 0, 60_000, 5_000) == pytest.approx(60 * rate, rel=0.03)


def test_a_quota_that_has_been_idle_lets_ten_windows_pass_at_once() -> None:
    """A leader closes its windows with each answer, whether it brings anything throttled or not."""
    quota = quota_of(10_000)
    count_idle_windows(*quota, 0)
    count_idle_windows(*quota, 60_000)
    at_once = 0
    while not is_quota_exceeded(*quota, 60_500):
        record_bytes(*quota, 1000, 60_500)
        at_once += 1000
    assert at_once == pytest.approx(105_000, abs=1000)
    others = quota_of(10_000)
    assert passes(others, 60_500, 60_600, 1_000_000) == 1_000_000
    assert is_quota_exceeded(*others, 60_600)


def test_windows_that_are_too_old_do_not_count() -> None:
    """SampledStat.purgeObsoleteSamples."""
    quota = quota_of(1000)
    record_bytes(*quota, 100_000, 0)
    assert is_quota_exceeded(*quota, 10_999)
    assert not is_quota_exceeded(*quota, 11_000)


def test_without_a_limit_nothing_is_too_much() -> None:
    quota = quota_of(UNLIMITED)
    record_bytes(*quota, 2**50, 0)
    assert not is_quota_exceeded(*quota, 1)


def test_a_process_that_begins_has_counted_nothing() -> None:
    quota = quota_of(1000)
    record_bytes(*quota, 100_000, 0)
    forget_samples(quota[0])
    assert not is_quota_exceeded(*quota, 1)
