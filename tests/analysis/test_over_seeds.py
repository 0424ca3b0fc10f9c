"""The interval of a mean over seeds: Student's t, as tables of it have it."""

from __future__ import annotations

import pytest

from tidegauge.analysis.over_seeds import over_seeds, students_t


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
