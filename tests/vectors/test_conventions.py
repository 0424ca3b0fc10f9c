"""The runner knows each key that the conventions document, used by a shipped vector or not."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from vector_runner import AREAS, load_vectors, run_vector
from vector_runner.area import Fields, release_rules
from vector_runner.in_sync import switches_of

FOLDER = Path(__file__).parent.parent / "data" / "vectors"
SHIPPED = FOLDER / "kafka_rules_vectors.json"
QUORUM = FOLDER / "quorum_vectors.json"
CONVENTIONS: dict[str, Any] = {
    **json.loads(SHIPPED.read_text())["conventions"],
    **json.loads((FOLDER / "producer_state_vectors.json").read_text())["conventions"],
    **json.loads((FOLDER / "accumulator_vectors.json").read_text())["conventions"],
    **json.loads(QUORUM.read_text())["conventions"],
}


def documented(kind: str, prefix: str) -> list[tuple[str, str]]:
    """(area, method) for each operation or observation that the conventions name."""
    return [
        (area, prefix + name)
        for title, content in CONVENTIONS.items()
        if isinstance(content, dict)
        for area in title.split(" / ")
        for names in content.get(kind, {})
        for name in re.split(" / ", names)
    ]


def test_every_documented_area_is_known() -> None:
    documented_areas = {area for title in CONVENTIONS for area in title.split(" / ")}
    assert documented_areas - {"general"} == set(AREAS)


@pytest.mark.parametrize(
    ("area", "method"), documented("ops", "op_") + documented("expect", "see_")
)
def test_every_documented_operation_and_expectation_is_known(area: str, method: str) -> None:
    assert hasattr(AREAS[area], method)


#: Vectors for what no shipped one uses: facts of Kafka's unit tests or of its source.
UNUSED: list[dict[str, Any]] = [
    {
        "id": "previous-epoch",
        "source_test": "LeaderEpochFileCacheTest.testFindPreviousEpoch",
        "area": "epoch_cache",
        "tag": "3.8.0",
        "given": {"generation": "D", "log_end_offset": 0, "checkpoint_entries": []},
        "steps": [
            {"op": "check", "expect": {"previous_epoch_of": [{"epoch": 2, "result": None}]}},
            {"op": "assign", "epoch": 2, "start_offset": 10},
            {"op": "assign", "epoch": 4, "start_offset": 15},
            {"op": "assign", "epoch": 10, "start_offset": 20},
        ],
        "expect": {
            "previous_epoch_of": [
                {"epoch": 2, "result": None},
                {"epoch": 4, "result": 2},
                {"epoch": 10, "result": 4},
            ],
            "previous_entry_of": [
                {"epoch": 2, "result": None},
                {"epoch": 4, "result": [2, 10]},
                {"epoch": 10, "result": [4, 15]},
            ],
        },
    },
    {
        "id": "epoch-for-offset",
        "source_test": "LeaderEpochFileCache.epochForOffset",
        "area": "epoch_cache",
        "tag": "3.8.0",
        "given": {
            "generation": "D",
            "log_end_offset": 60,
            "checkpoint_entries": [[1, 10], [3, 25], [5, 30]],
        },
        "steps": [{"op": "reload"}],
        "expect": {
            "epoch_for_offset": [
                {"offset": 5, "result": None},
                {"offset": 10, "result": 1},
                {"offset": 24, "result": 1},
                {"offset": 25, "result": 3},
                {"offset": 59, "result": 5},
            ],
        },
    },
    {
        "id": "out-of-range-high",
        "source_test": "AbstractFetcherThreadTest.testFollowerFetchOutOfRangeHigh",
        "area": "fetcher_state",
        "tag": "2.8.0",
        "given": {
            "state": "Fetching",
            "fetch_offset": 3,
            "current_leader_epoch": 4,
            "local_leo": 3,
            "truncate_on_fetch": True,
            "local_latest_epoch": 4,
        },
        "steps": [
            {"op": "check", "expect": {"last_fetched_epoch": 4, "local_action": None}},
            {"op": "out_of_range", "leader_start": 0, "leader_end": 0},
        ],
        "expect": {
            "state": "Fetching",
            "fetch_offset": 0,
            "local_action": "truncate_to",
            "local_offset": 0,
            "last_fetched_epoch": None,
        },
    },
    {
        "id": "out-of-range-low",
        "source_test": "AbstractFetcherThreadTest.testFollowerFetchOutOfRangeLow",
        "area": "fetcher_state",
        "tag": "2.4.0",
        "given": {"state": "Fetching", "fetch_offset": 1, "current_leader_epoch": 0},
        "steps": [{"op": "out_of_range", "leader_start": 2, "leader_end": 3}],
        "expect": {
            "state": "Fetching",
            "fetch_offset": 2,
            "local_action": "truncate_fully_and_start_at",
            "local_offset": 2,
        },
    },
    {
        "id": "out-of-range-but-the-leader-has-grown",
        "source_test": "AbstractFetcherThread.fetchOffsetAndTruncate",
        "area": "fetcher_state",
        "tag": "2.4.0",
        "given": {"state": "Fetching", "fetch_offset": 5, "current_leader_epoch": 1},
        "steps": [{"op": "out_of_range", "leader_start": 0, "leader_end": 9}],
        "expect": {"fetch_offset": 5, "local_action": None, "local_offset": None},
    },
    {
        "id": "add-with-truncation-on-fetch",
        "source_test": "AbstractFetcherThread.partitionFetchState",
        "area": "fetcher_state",
        "tag": "2.8.0",
        "given": {
            "state": None,
            "fetch_offset": 0,
            "current_leader_epoch": 0,
            "truncate_on_fetch": True,
            "local_latest_epoch": 3,
        },
        "steps": [{"op": "add_partition", "offset": 7, "leader_epoch": 5}],
        "expect": {"state": "Fetching", "fetch_offset": 7, "last_fetched_epoch": 3},
    },
    {
        "id": "response-high-watermark",
        "source_test": "ReplicaManager.readFromLocalLog (snapshot before the fetch is counted)",
        "area": "high_watermark",
        "tag": "2.8.0",
        "given": {
            "rules": {"out_of_sync_rule": "leo_ne_and_time", "hw_rule": "isr_or_time"},
            "now_ms": 1000,
            "replica_lag_time_max_ms": 30000,
            "leader": {"id": 0, "leo": 1, "hw": 0},
            "replicas": [0, 1],
            "isr": [0, 1],
            "followers": {"1": {"leo": 0, "last_caught_up_ms": 1000}},
        },
        "steps": [
            {"op": "fetch", "replica": 1, "offset": 1},
            {"op": "check", "expect": {"response_hw": 0, "hw": 1}},
            {"op": "fetch", "replica": 1, "offset": 1},
        ],
        "expect": {"response_hw": 1, "hw": 1, "followers": {"1": {"leo": 1}}},
    },
    {
        "id": "high-watermark-by-the-isr-alone",
        "source_test": "Partition.maybeIncrementLeaderHW",
        "area": "high_watermark",
        "tag": "0.10.1.0",
        "given": {
            "rules": {"out_of_sync_rule": "time_only", "hw_rule": "isr_only"},
            "now_ms": 1000,
            "replica_lag_time_max_ms": 10000,
            "leader": {"id": 0, "leo": 5, "hw": 0},
            "replicas": [0, 1],
            "isr": [0],
            "followers": {"1": {"leo": 3, "last_caught_up_ms": 1000}},
        },
        "steps": [{"op": "append", "count": 1}],
        "expect": {"hw": 6},
    },
    {
        "id": "ineligible-replica-stays-out",
        "source_test": "PartitionTest.testIsrNotExpandedIfReplicaIsFencedOrShutdown",
        "area": "isr",
        "tag": "3.8.0",
        "given": {
            "rules": {
                "out_of_sync_rule": "leo_ne_and_time",
                "hw_rule": "isr_or_caught_up_and_eligible",
                "expand_requires_eligible": True,
                "pending_isr": True,
            },
            "now_ms": 1000,
            "replica_lag_time_max_ms": 30000,
            "leader": {"id": 0, "leo": 10, "hw": 10},
            "replicas": [0, 1, 2],
            "isr": [0],
            "ineligible": [2],
        },
        "steps": [
            {"op": "mark_ineligible", "replica": 1},
            {"op": "fetch", "replica": 1, "offset": 10},
            {"op": "fetch", "replica": 2, "offset": 10},
        ],
        "expect": {"in_flight": False, "proposed_isr": None, "response_hw": 10},
    },
    {
        "id": "more-epochs-than-a-small-cache-has-room-for",
        "source_test": "Partition.makeLeader (an entry for each epoch)",
        "area": "epoch_workflow",
        "tag": "2.8.0",
        "given": {
            "brokers": [100, 101],
            "assignment": [100, 101],
            "controlled_shutdown": True,
            "auto_rebalance": False,
        },
        "steps": [
            {"op": "produce", "acks": -1, "count": 1},
            *[
                {"op": "bounce", "who": "follower"},
                {"op": "produce", "acks": -1, "count": 1},
            ]
            * 9,
        ],
        "expect": {
            "leader_cache": [[epoch, epoch] for epoch in range(10)],
            "follower_cache": [[epoch, epoch] for epoch in range(10)],
            "last_record_epoch": 9,
        },
    },
    {
        "id": "failed-write-changes-nothing",
        "source_test": "Partition.updateIsr",
        "area": "isr",
        "tag": "2.4.0",
        "given": {
            "rules": {"out_of_sync_rule": "leo_ne_and_time", "hw_rule": "isr_or_time"},
            "now_ms": 50000,
            "replica_lag_time_max_ms": 10000,
            "leader": {"id": 0, "leo": 10, "hw": 5},
            "replicas": [0, 1],
            "isr": [0, 1],
            "followers": {"1": {"leo": 5, "last_caught_up_ms": 30000}},
        },
        "steps": [
            {"op": "shrink_check", "write_result": "bad_version"},
            {"op": "check", "expect": {"isr": [0, 1], "hw": 5, "out_of_sync": [1]}},
            {"op": "shrink_check"},
        ],
        "expect": {"isr": [0], "hw": 10, "out_of_sync": []},
    },
]


@pytest.mark.parametrize("unused", UNUSED, ids=[vector["id"] for vector in UNUSED])
def test_what_no_shipped_vector_uses(unused: dict[str, Any]) -> None:
    run_vector({"basis": "source", "applies_to": None, **unused})


def test_the_release_table_agrees_with_the_vectors() -> None:
    """Vectors of the ISR state the switches of their release; so does the table."""
    for vector in load_vectors(SHIPPED).vectors:
        if "rules" not in vector["given"]:
            continue
        stated = switches_of(Fields(vector["given"], "given"), vector["tag"])
        tabled = release_rules(vector["tag"])
        differing = {
            name
            for name in stated.dtype.names or ()
            if getattr(stated, name) != getattr(tabled, name)
        }
        # IS-30 is about KAFKA-8400, 0.10.2 to 2.3, and mixes switches of both ends.
        assert differing == ({"expand_requires_epoch_start"} if vector["id"] == "IS-30" else set())


def test_each_case_of_a_suite_is_played_or_does_not_apply() -> None:
    """Of tests that are taken over whole, none is left out silently."""
    content = json.loads(QUORUM.read_text())
    played = {
        case
        for vector in content["vectors"]
        for case in vector["source_test"].split(", ")
        if "Test." in case
    }
    left_out = {each["source_test"]: each["reason"] for each in content["not_applicable"]}
    assert all(left_out.values())
    assert played & left_out.keys() == set()
    suites = Counter(case.partition(".")[0] for case in played | left_out.keys())
    assert {suite: suites[suite] for suite in content["cases"]} == content["cases"]
