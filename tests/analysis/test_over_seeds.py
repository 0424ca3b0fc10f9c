"""The interval of a mean over seeds: Student's t, as tables of it have it."""

from __future__ import annotations

import pytest

from tidegauge.analysis.over_seeds import over_seeds, percentile, share_interval, students_t


@pytest.mark.parametrize(
    ("freedom", "value"),
    [(1, 12.706205), (2, 4.302653), (3, 3.182446), (10, 2.228139), (99, 1.984217)],
)
def test_values_of_t_are_those_of_a_table(freedom: int, value: float) -> None:
    """NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, the column of 0.975."""
    assert students_t(freedom) == pytest.approx(value, abs=1e-6)


def test_of_thousands_of_seeds_it_is_that_of_the_normal_distribution() -> None:
    assert students_t(100_000) == pytest.approx(1.959964, abs=5e-5)


def test_the_interval_of_a_mean_is_never_below_0() -> None:
    found = over_seeds([1.0, 3.0])
    assert (found.mean, found.low) == (2.0, 0.0)
    assert found.high == pytest.approx(2.0 + 12.706205, abs=1e-5)


@pytest.mark.parametrize(
    ("count", "seeds", "low", "high"),
    [
        (1, 10, 0.002529, 0.445016),
        (5, 10, 0.187086, 0.812914),
        (9, 10, 0.554984, 0.997471),
        (3, 10_000, 0.000061871, 0.000876475),
        (5_000, 10_000, 0.490151, 0.509849),
    ],
)
def test_the_interval_of_a_share_is_exact(count: int, seeds: int, low: float, high: float) -> None:
    """The quantiles of beta distributions, as SciPy's binomtest(...).proportion_ci() has them."""
    assert share_interval(count, seeds) == pytest.approx((low, high), rel=1e-3)


def test_of_a_share_that_was_never_seen_the_rule_of_three_is_the_bound() -> None:
    low, high = share_interval(0, 10_000)
    assert low == 0
    assert high == pytest.approx(3 / 10_000, rel=2e-3)
    assert share_interval(10_000, 10_000) == pytest.approx((1 - high, 1))


def test_a_percentile_is_a_value_and_not_the_smallest_or_largest_of_too_few() -> None:
    assert [percentile([1, 2, 3, 4], each) for each in (5, 25, 50, 75, 95)] == [None, 1, 2, 3, None]
    assert percentile([7], 50) == 7
