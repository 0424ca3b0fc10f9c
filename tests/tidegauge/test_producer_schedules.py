"""Generated schedules of producers that retry: idempotent ones never append a batch twice.

300 schedules of overlapping faults (``tests/support/producer_schedules.py``), 30 of them in each
run of the tests. Each has a twin whose producers are not idempotent (KIP-98).
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from gates import COMMITS, ELECTIONS, ISR_CHANGES, TRUNCATIONS, assert_reached
from judged_producers import JudgedProducers, judged_producers, problems_of
from producer_schedules import FAULT_KINDS

_SHORT = 30
_ALL = 300
#: A schedule has as many of these, on an average, or its producers met nothing.
_LEAST = {COMMITS: 7, ELECTIONS: 3, ISR_CHANGES: 2, TRUNCATIONS: 0.25}


def _judge(seeds: range) -> None:
    judged = {seed: judged_producers(seed) for seed in seeds}
    problems = {seed: problems_of(each) for seed, each in judged.items()}
    assert {seed: found for seed, found in problems.items() if found} == {}
    # The faults are such that retries come twice, and are found.
    assert sum(each.deduplicated > 0 for each in judged.values()) > len(seeds) // 3
    _assert_reached(judged.values())


def _assert_reached(judged: Iterable[JudgedProducers]) -> None:
    assert_reached((each.reached for each in judged), _LEAST, FAULT_KINDS)


def _twins_with_duplicates(seeds: range) -> int:
    twins = [judged_producers(seed, idempotent=False) for seed in seeds]
    _assert_reached(twins)
    assert all(not each.broken and not each.deduplicated for each in twins)
    return sum(each.surplus > 0 for each in twins)


def test_idempotent_producers_append_nothing_twice() -> None:
    """KIP-98: no duplicates; no new epoch or id where nothing acknowledged was lost."""
    _judge(range(_SHORT))


def test_twins_that_are_not_idempotent_append_twice() -> None:
    """The same schedules without enable.idempotence: some batches are in the logs twice."""
    assert _twins_with_duplicates(range(_SHORT)) > _SHORT // 3


@pytest.mark.long
def test_idempotent_producers_append_nothing_twice_in_300_schedules() -> None:
    """All schedules; some lose what was acknowledged, and producers begin another epoch."""
    _judge(range(_SHORT, _ALL))


@pytest.mark.long
def test_twins_append_twice_in_300_schedules() -> None:
    """All twins."""
    assert _twins_with_duplicates(range(_SHORT, _ALL)) > _ALL // 3
