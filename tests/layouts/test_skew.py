"""Sizes and rates by Zipf's law: exact sums, and a skew that can be measured."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegauge.commands.generate import drawn_order, zipf_shares
from tidegauge.scenario.model.replica_placement import JavaRandom


def rank_size_slope(sizes: list[int]) -> float:
    """The slope of a line through the logarithms of sizes over those of their ranks."""
    ranks = [math.log(rank) for rank in range(1, len(sizes) + 1)]
    logs = [math.log(size) for size in sizes]
    middle, level = math.fsum(ranks) / len(ranks), math.fsum(logs) / len(logs)
    along = math.fsum((x - middle) * (y - level) for x, y in zip(ranks, logs, strict=True))
    return along / math.fsum((x - middle) ** 2 for x in ranks)


@given(st.integers(1, 300), st.integers(0, 100_000), st.floats(0, 10))
def test_shares_are_at_least_1_and_add_up_exactly(ranks: int, more: int, skew: float) -> None:
    shares = zipf_shares(ranks + more, ranks, skew)
    assert sum(shares) == ranks + more
    assert len(shares) == ranks
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] >= 1


def test_without_skew_all_are_equal() -> None:
    assert zipf_shares(14, 4, 0) == [4, 4, 3, 3]


def test_with_a_skew_of_1_the_first_is_ten_times_the_tenth() -> None:
    shares = zipf_shares(1_000_000, 100, 1)
    assert shares[0] == pytest.approx(10 * shares[9], abs=10)
    harmonic = sum(1 / rank for rank in range(1, 101))
    assert shares[0] == pytest.approx(1_000_000 / harmonic, abs=1)


@pytest.mark.parametrize("skew", [0.4, 0.7, 1.1, 2.0])
def test_the_slope_of_sizes_over_ranks_is_the_skew(skew: float) -> None:
    assert rank_size_slope(zipf_shares(10**8, 200, skew)) == pytest.approx(-skew, abs=0.01)


def test_those_too_small_for_a_share_have_1_and_the_others_share_the_rest() -> None:
    shares = zipf_shares(120, 100, 2)
    assert shares[-90:] == [1] * 90
    assert sum(shares[:10]) == 30
    assert shares[0] > 2 * shares[1]


def test_a_drawn_order_begins_with_large_weights_more_often() -> None:
    first = [drawn_order("ab", [9, 1], JavaRandom.of(seed, "order"))[0] for seed in range(400)]
    assert first.count("a") == pytest.approx(0.9 * 400, abs=25)


@given(st.lists(st.integers(1, 1000), max_size=30), st.integers(0, 2**40))
def test_a_drawn_order_has_all_items(weights: list[int], seed: int) -> None:
    items = list(range(len(weights)))
    assert sorted(drawn_order(items, weights, JavaRandom(seed))) == items
