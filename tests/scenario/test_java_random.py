"""Java's random numbers: those that java.util.Random gives."""

from __future__ import annotations

from tidegauge.scenario.model.replica_placement import JavaRandom


def test_the_numbers_are_those_of_java() -> None:
    """Of a run of Java 17: nextInt(100) ten times, nextInt(64) and nextInt(2^30 + 1) five times."""
    random = JavaRandom(0)
    assert [random.below(100) for _ in range(10)] == [60, 48, 29, 47, 15, 53, 91, 61, 19, 54]
    assert [random.below(64) for _ in range(5)] == [21, 16, 24, 39, 63]
    drawn = [random.below(2**30 + 1) for _ in range(5)]
    assert drawn == [49567875, 377907320, 590459143, 672024888, 276804524]


def test_a_shuffled_list_has_the_same_items() -> None:
    items = list(range(9))
    JavaRandom(5).shuffle(items)
    assert items != sorted(items) == list(range(9))
