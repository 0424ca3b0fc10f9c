"""Random draws: the same however they are computed, and independent of one another."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegauge.compiled.records import Records, new_records
from tidegauge.simulation.random_streams import (
    COST,
    LATENCY,
    QUANTILES,
    RETRANSMISSION,
    START,
    Quantile,
    draw,
    draw_below,
    mix,
    quantile_us,
)

MASK = (1 << 64) - 1

signed = st.integers(-(2**63), 2**63 - 1)
seeds = st.integers(0, 2**63 - 1)
owners = st.integers(0, 2**40)
counters = st.integers(0, 2**40)
uniforms = st.integers(0, 2**32 - 1)
latencies_us = st.lists(st.integers(1, 2**31), min_size=QUANTILES, max_size=QUANTILES)


def masked_mix(state: int, value: int) -> int:
    """SplitMix64's finalizer as its authors wrote it, over unsigned integers."""
    mixed = ((state ^ value) + 0x9E3779B97F4A7C15) & MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
    return mixed ^ (mixed >> 31)


def masked_draw(seed: int, domain: int, owner: int, counter: int) -> int:
    of_owner = masked_mix(seed & MASK, (domain << 48) ^ owner)
    return masked_mix(of_owner, counter) & 0xFFFFFFFF


def table_of(values_us: list[int]) -> Records[Quantile]:
    table = new_records(Quantile, len(values_us))
    for place, value_us in enumerate(values_us):
        table[place].value_us = value_us
    return table


def test_mix_is_splitmix64() -> None:
    """The first outputs of SplitMix64 from state 0, as published with its reference code."""
    golden = 0x9E3779B97F4A7C15
    states = [(number * golden) & MASK for number in range(3)]
    signed_states = [state - (1 << 64) if state >> 63 else state for state in states]
    outputs = [int(mix(state, 0)) & MASK for state in signed_states]
    assert outputs == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@settings(deadline=None)
@given(state=signed, value=signed)
def test_mix_is_the_same_with_masked_integers(state: int, value: int) -> None:
    """Compiled arithmetic wraps round, plain Python's does not: one result."""
    assert int(mix(state, value)) & MASK == masked_mix(state & MASK, value & MASK)


@settings(deadline=None)
@given(seed=seeds, domain=st.integers(1, 100), owner=owners, counter=counters)
def test_a_draw_is_the_same_with_masked_integers(
    seed: int, domain: int, owner: int, counter: int
) -> None:
    assert draw(seed, domain, owner, counter) == masked_draw(seed, domain, owner, counter)


@settings(deadline=None)
@given(seed=seeds, owner=owners, counter=counters, limit=st.integers(1, 2**31))
def test_a_draw_below_a_limit_is_a_part_of_the_draw(
    seed: int, owner: int, counter: int, limit: int
) -> None:
    number = draw_below(limit, seed, START, owner, counter)
    assert number == masked_draw(seed, int(START), owner, counter) * limit >> 32
    assert 0 <= number < limit


@pytest.mark.parametrize("other", ["domain", "owner", "seed"])
def test_streams_have_nothing_in_common(other: str) -> None:
    """A stream is keyed by seed, domain and owner: each of them gives others."""
    one = [int(draw(1, LATENCY, 5, counter)) for counter in range(200)]
    keys = {
        "domain": [(1, domain, 5) for domain in (RETRANSMISSION, START, COST)],
        "owner": [(1, LATENCY, owner) for owner in (4, 6, 5 << 16)],
        "seed": [(seed, LATENCY, 5) for seed in (0, 2, 1 << 32)],
    }
    for seed, domain, owner in keys[other]:
        assert not set(one) & {int(draw(seed, domain, owner, counter)) for counter in range(200)}


def test_draws_are_spread_evenly() -> None:
    counts = [0] * 16
    for counter in range(3200):
        counts[int(draw(1, LATENCY, 3, counter)) >> 28] += 1
    assert all(140 <= count <= 260 for count in counts)


@settings(deadline=None)
@given(values_us=latencies_us, uniform=uniforms)
def test_a_drawn_latency_lies_within_its_table(values_us: list[int], uniform: int) -> None:
    values_us.sort()
    drawn_us = quantile_us(table_of(values_us), 0, uniform)
    place = uniform >> 28
    assert values_us[0] <= values_us[place] <= drawn_us <= values_us[place + 1] <= values_us[-1]


@settings(deadline=None)
@given(values_us=latencies_us, one=uniforms, other=uniforms)
def test_a_larger_number_never_draws_a_shorter_latency(
    values_us: list[int], one: int, other: int
) -> None:
    table = table_of(sorted(values_us))
    low, high = sorted((one, other))
    assert quantile_us(table, 0, low) <= quantile_us(table, 0, high)


@settings(deadline=None)
@given(value_us=st.integers(1, 2**40), uniform=uniforms)
def test_a_constant_table_draws_its_constant(value_us: int, uniform: int) -> None:
    assert quantile_us(table_of([value_us] * QUANTILES), 0, uniform) == value_us


def test_a_latency_is_interpolated_between_the_values_around_it() -> None:
    table = table_of([1000 * place for place in range(QUANTILES)])
    assert quantile_us(table, 0, 0) == 0
    assert quantile_us(table, 0, 1 << 28) == 1000
    assert quantile_us(table, 0, (1 << 28) + (1 << 27)) == 1500
    assert quantile_us(table, 0, 2**32 - 1) == 15_999


def test_a_table_is_read_from_where_it_begins() -> None:
    table = table_of([7] * QUANTILES + [9] * QUANTILES)
    assert quantile_us(table, 0, 2**32 - 1) == 7
    assert quantile_us(table, QUANTILES, 0) == 9
