"""When a leader tells the controller which ISRs it has changed (KAFKA-2722)."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tidegauge.replication.isr_update import should_propagate_isr_changes

TICK_MS, QUIET_MS, MAX_DELAY_MS = 2_500, 5_000, 60_000


def propagations(changes_ms: Iterable[int], until_ms: int, start_ms: int = 0) -> list[int]:
    """When a broker that starts at ``start_ms`` writes notifications, given its ISR changes."""
    waiting = sorted(changes_ms)
    gathered = 0
    last_change_ms = last_propagation_ms = start_ms
    told = []
    for now_ms in range(start_ms, until_ms, TICK_MS):
        while waiting and waiting[0] <= now_ms:
            last_change_ms = waiting.pop(0)
            gathered += 1
        if should_propagate_isr_changes(
            now_ms, gathered, last_change_ms, last_propagation_ms, QUIET_MS, MAX_DELAY_MS
        ):
            told.append(now_ms)
            gathered, last_propagation_ms = 0, now_ms
    return told


@pytest.mark.parametrize("change_ms", [10_000, 10_001, 11_000, 12_499, 12_500])
def test_an_isolated_change_leaves_after_5_to_7_5_seconds(change_ms: int) -> None:
    (told_ms,) = propagations([change_ms], until_ms=60_000)
    assert QUIET_MS < told_ms - change_ms <= QUIET_MS + TICK_MS


def test_after_a_minute_without_any_the_first_change_leaves_at_the_next_tick() -> None:
    """Either condition is enough, and both clocks run from the start of the broker."""
    assert propagations([100_001], until_ms=200_000) == [102_500]
    assert propagations([100_001], until_ms=200_000, start_ms=60_000) == [107_500]


def test_the_next_change_has_to_wait_for_quiet_again() -> None:
    assert propagations([100_001, 102_501], until_ms=200_000) == [102_500, 110_000]


def test_changes_that_do_not_stop_leave_once_a_minute() -> None:
    """Flapping every second: never quiet, so only the second condition holds."""
    told = propagations(range(0, 300_000, 1_000), until_ms=300_000)
    assert told == [62_500, 125_000, 187_500, 250_000]


def test_many_changes_leave_together() -> None:
    """Shrink and expand of twelve partitions within a second are one notification."""
    assert len(propagations([20_000 + 80 * i for i in range(12)], until_ms=60_000)) == 1


def test_both_comparisons_are_strict() -> None:
    """Exactly 5 s, exactly 60 s: not yet."""

    def due(now_ms: int, *, changed: int = 1, change_ms: int = 0, told_ms: int = 0) -> bool:
        return bool(
            should_propagate_isr_changes(
                now_ms, changed, change_ms, told_ms, QUIET_MS, MAX_DELAY_MS
            )
        )

    assert not due(5_000)
    assert due(5_001)
    assert not due(60_000, change_ms=60_000)
    assert due(60_001, change_ms=60_001)
    assert not due(90_000, changed=0)
