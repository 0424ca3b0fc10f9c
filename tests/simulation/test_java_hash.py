"""Java's hashes, by which Kafka spreads partitions and groups."""

from __future__ import annotations

import numpy as np
import pytest

from tidegauge.engine.layout.cluster_tables import fetcher_hashes
from tidegauge.simulation.jvm_orders import java_abs, java_hash


@pytest.mark.parametrize(
    ("bits", "absolute"), [(0, 0), (5, 5), (0xFFFFFFFF, 1), (0x80000001, 2**31 - 1), (2**31, 0)]
)
def test_the_smallest_number_has_no_absolute_one(bits: int, absolute: int) -> None:
    """Utils.abs@2.6.0; its neighbour Utils.toPositive takes the lower 31 bits."""
    assert java_abs(bits) == absolute


def test_the_fetcher_of_a_partition_is_chosen_by_the_absolute_of_its_hash() -> None:
    """AbstractFetcherManager.getFetcherId: "billing".hashCode() is -109829509."""
    assert java_hash("billing") == -109829509 + 2**32
    hashed = 31 * -109829509 + 1
    while hashed < -(2**31):
        hashed += 2**32
    topics, partitions = np.array([java_hash("billing")] * 2), np.array([1, 0])
    assert fetcher_hashes(topics, partitions).tolist() == [abs(hashed), abs(hashed - 1)]
