"""Where replicas go by themselves: the examples of Kafka's own documentation, and what holds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegauge.scenario.model.replica_assignment import (
    assign_replicas_to_brokers,
    rack_alternated_brokers,
)

#: The example in the comment of AdminUtils.assignReplicasToBrokers@2.6.0.
RACKS = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}


def test_without_racks_the_followers_shift_by_one_in_each_round() -> None:
    assignments = assign_replicas_to_brokers(dict.fromkeys(range(5), "one"), 10, 3)
    assert assignments[:5] == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 0], [4, 0, 1]]
    assert assignments[5:] == [[0, 2, 3], [1, 3, 4], [2, 4, 0], [3, 0, 1], [4, 1, 2]]


def test_racks_take_turns_in_the_order_of_brokers() -> None:
    assert rack_alternated_brokers(RACKS) == [0, 3, 1, 5, 4, 2]


def test_a_rack_that_has_no_more_brokers_is_passed_over() -> None:
    racks = {1: "a", 2: "a", 3: "a", 4: "b"}
    assert rack_alternated_brokers(racks) == [1, 4, 2, 3]


def test_with_racks_kafkas_own_example_comes_out() -> None:
    assert assign_replicas_to_brokers(RACKS, 7, 3) == [
        *([0, 3, 1], [3, 1, 5], [1, 5, 4], [5, 4, 2], [4, 2, 0], [2, 0, 3]),
        [0, 4, 2],
    ]


def test_one_replica_of_each_partition_on_the_only_broker() -> None:
    assert assign_replicas_to_brokers({7: "a"}, 3, 1) == [[7], [7], [7]]


@given(
    st.dictionaries(st.integers(0, 20), st.sampled_from("abc"), min_size=1),
    st.integers(1, 50),
    st.data(),
)
def test_replicas_are_on_different_brokers_and_on_as_many_racks_as_can_be(
    rack_of: dict[int, str], partitions: int, data: st.DataObject
) -> None:
    factor = data.draw(st.integers(1, len(rack_of)))
    assignments = assign_replicas_to_brokers(rack_of, partitions, factor)
    assert len(assignments) == partitions
    for replicas in assignments:
        assert len(set(replicas)) == factor
        racks = {rack_of[broker] for broker in replicas}
        assert len(racks) == min(factor, len(set(rack_of.values())))
