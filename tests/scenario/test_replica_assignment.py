"""Where replicas go by themselves: the examples of Kafka's own documentation, and what holds.

The drawn placements were made by Kafka's own classes with a java.util.Random of the same seed:
AdminUtils and StripedReplicaPlacer.RackList, compiled from the source of 3.9.0 and 3.7.0.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE, Mode
from tidegauge.scenario.model.replica_placement import (
    JavaRandom,
    assign_replicas_to_brokers,
    drawn_placement,
    rack_alternated_brokers,
)
from tidegauge.scenario.reading import Scenario, scenario_from_mapping

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


#: A seed, the racks of brokers 1, 2, ..., and the replicas that Kafka gives each partition in turn.
Placements = tuple[int, str, list[list[int]]]

OF_ADMIN_UTILS: list[Placements] = [
    (
        *(7, "abcabc"),
        [
            *([5, 1, 3], [6, 2, 4], [1, 3, 5], [2, 4, 6], [3, 5, 1], [4, 6, 2]),
            *([5, 4, 6], [6, 5, 1], [1, 6, 2], [2, 1, 3], [3, 2, 4], [4, 3, 5]),
            *([5, 3, 4], [6, 4, 5]),
        ],
    ),
    (
        *(8, "----"),
        [
            *([3, 4, 1], [4, 1, 2], [1, 2, 3], [2, 3, 4]),
            *([3, 1, 2], [4, 2, 3], [1, 3, 4], [2, 4, 1], [3, 2, 4]),
        ],
    ),
    (
        *(9, "abcabaa"),
        [
            *([1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 2], [7, 2]),
            *([1, 5], [2, 6], [3, 7], [4, 2], [5, 3]),
        ],
    ),
    (
        *(10, "abaab"),
        [
            *([5, 4, 1, 2], [4, 2, 3, 5], [1, 2, 3, 5], [2, 3, 5, 4], [3, 5, 4, 1]),
            *([5, 3, 4, 1], [4, 5, 1, 2], [1, 5, 4, 2], [2, 4, 1, 3], [3, 2, 5, 4]),
        ],
    ),
    (11, "a", [[1], [1], [1]]),
]
OF_THE_STRIPED_PLACER: list[Placements] = [
    (
        *(7, "abcabc"),
        [
            *([5, 6, 4], [3, 1, 2], [4, 5, 6], [2, 3, 1], [6, 4, 5], [1, 2, 3]),
            *([4, 5, 6], [2, 3, 1], [6, 4, 5], [1, 2, 3], [5, 6, 4], [3, 1, 2]),
            *([2, 3, 4], [6, 1, 5]),
        ],
    ),
    (
        *(8, "----"),
        [
            *([3, 4, 1], [4, 1, 2], [1, 2, 3], [2, 3, 4]),
            *([2, 3, 4], [3, 4, 1], [4, 1, 2], [1, 2, 3], [3, 4, 1]),
        ],
    ),
    (
        *(9, "abcabaa"),
        [
            *([2, 3], [3, 7], [1, 5], [2, 3], [3, 4], [6, 5], [2, 3]),
            *([3, 6], [7, 2], [5, 3], [3, 4], [1, 2]),
        ],
    ),
    (
        *(10, "abaab"),
        [
            *([1, 2, 3, 5], [5, 3, 2, 4], [4, 2, 1, 5], [5, 1, 2, 3], [3, 2, 4, 5]),
            *([3, 2, 1, 5], [5, 1, 2, 4], [4, 2, 3, 5], [5, 3, 2, 1], [1, 2, 4, 5]),
        ],
    ),
    (11, "a", [[1], [1], [1]]),
    (12, "abccc", [[2], [5], [1], [2], [3], [5], [1], [2], [4], [1]]),
    # The first turn after a shuffle finds a rack empty that had no other turn than the first.
    (0, "ab", [[1], [2], [2], [2], [2], [2]]),
    (13, "abcabcabc", [[5, 9, 4], [3, 7, 8], [1, 2, 6]] * 3),
]


@pytest.mark.parametrize(
    ("mode", "seed", "racks", "placed"),
    [
        *((ZOOKEEPER_MODE, *placements) for placements in OF_ADMIN_UTILS),
        *((KRAFT_MODE, *placements) for placements in OF_THE_STRIPED_PLACER),
    ],
)
def test_drawn_placements_are_those_of_kafkas_own_classes(
    mode: Mode, seed: int, racks: str, placed: list[list[int]]
) -> None:
    rack_of = dict(enumerate(racks, start=1))
    random = JavaRandom(seed)
    assert drawn_placement(rack_of, len(placed), len(placed[0]), mode, random) == placed


@pytest.mark.parametrize("mode", [ZOOKEEPER_MODE, KRAFT_MODE])
@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 9), st.integers(0, 2**48), st.data())
def test_drawn_placements_spread_over_racks_and_balance_leaders_and_replicas(
    mode: Mode, racks: int, brokers_in_rack: int, rounds: int, seed: int, data: st.DataObject
) -> None:
    """Of racks of one size, after as many partitions as there are brokers, or a multiple."""
    rack_of = {broker: f"r{broker % racks}" for broker in range(racks * brokers_in_rack)}
    factor = data.draw(st.integers(1, racks))
    partitions = rounds * len(rack_of)
    placed = drawn_placement(rack_of, partitions, factor, mode, JavaRandom(seed))
    for replicas in placed:
        assert len({rack_of[broker] for broker in replicas}) == factor
    if mode == ZOOKEEPER_MODE:
        assert set(Counter(leader for leader, *_ in placed).values()) == {rounds}
    if factor == racks:
        leaders = Counter(rack_of[leader] for leader, *_ in placed)
        assert set(leaders.values()) == {partitions // racks}
        hosted = Counter(broker for replicas in placed for broker in replicas)
        assert set(hosted.values()) == {rounds * factor}


def leaders_of_nine(rack_of: dict[int, str], mode: Mode, seed: int) -> int:
    return len({leader for leader, *_ in drawn_placement(rack_of, 9, 3, mode, JavaRandom(seed))})


def test_the_striped_placer_gives_nine_partitions_three_leaders() -> None:
    """Those of seed 13 above: racks and their brokers come round together after three."""
    rack_of = dict(enumerate("abcabcabc", start=1))
    for seed in range(20):
        assert leaders_of_nine(rack_of, KRAFT_MODE, seed) == 3
        assert leaders_of_nine(rack_of, ZOOKEEPER_MODE, seed) == 9


def small(mode: Mode, placement: str, topics: int = 60) -> Scenario:
    release = "4.1" if mode == KRAFT_MODE else "3.9"
    return scenario_from_mapping(
        {
            "duration": "10s",
            "release": release,
            "mode": mode,
            "cluster": {"brokers": 6, "racks": ["a", "b", "c"], "placement": placement},
            "topics": [
                {"name": f"t{number}", "partitions": 1, "replication_factor": 3}
                for number in range(topics)
            ],
        },
        "small",
    )


def leaders_of(scenario: Scenario) -> Counter[int]:
    return Counter(scenario.assignments(topic)[0][0] for topic in scenario.topics)


@pytest.mark.parametrize("mode", [ZOOKEEPER_MODE, KRAFT_MODE])
def test_topics_of_one_partition_have_one_leader_unless_placements_are_drawn(mode: Mode) -> None:
    assert leaders_of(small(mode, "fixed")) == {1: 60}
    drawn = leaders_of(small(mode, "drawn"))
    assert len(drawn) == 6
    assert max(drawn.values()) <= 20


def test_another_topic_does_not_change_drawn_placements() -> None:
    few, many = small(KRAFT_MODE, "drawn", topics=3), small(KRAFT_MODE, "drawn", topics=9)
    for topic in few.topics:
        assert few.assignments(topic) == many.assignments(topic)


def test_seeds_draw_other_placements() -> None:
    drawn = [JavaRandom.of(seed, "orders").below(1000) for seed in range(20)]
    assert len(set(drawn)) > 15
