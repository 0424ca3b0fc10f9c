"""A recording has the state of each partition at each moment, as the result tables have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types
import pytest

from large_recordings import S, large_manifest
from tidegauge.report.recording import (
    BrokerChange,
    RecordedRun,
    TakenStep,
    recording_of,
    unsigned,
    varints,
)
from unpacked_recording import EXISTS, UNDER_REPLICATED, UnpackedRecording

END_US = 100 * S
_STATES = pa.schema(
    [
        *((name, pa.int64()) for name in ("partition", "begin_us", "end_us", "leader")),
        ("leader_epoch", pa.int64()),
        *((name, pa.list_(pa.int64())) for name in ("isr", "replicas", "adding")),
        ("min_insync_replicas", pa.int64()),
        *((name, pa.bool_()) for name in ("offline", "accepting", "under_min_isr", "at_min_isr")),
    ]
)


def state(begin_s: int, end_s: int, isr: Sequence[int], **more: Any) -> dict[str, Any]:
    """A state of the first partition, whose replicas are 1, 2, 3 and which needs 2 of them."""
    return {
        "partition": 0,
        "begin_us": begin_s * S,
        "end_us": end_s * S,
        "leader": isr[0],
        "leader_epoch": 0,
        "isr": isr,
        "replicas": [1, 2, 3],
        "adding": [],
        "min_insync_replicas": 2,
        "offline": False,
        "accepting": True,
        "under_min_isr": len(isr) < 2,
        "at_min_isr": len(isr) == 2,
        **more,
    }


def recorded(
    states: Sequence[Mapping[str, Any]],
    faults: Sequence[Mapping[str, Any]] = (),
    manifest: Mapping[str, Any] | None = None,
    **more: Sequence[Any],
) -> UnpackedRecording:
    """The recording of these states, read back."""
    run = RecordedRun(pa.Table.from_pylist(list(states), _STATES), faults, **more)
    return UnpackedRecording(recording_of(manifest or large_manifest(4, 2), run, END_US))


@pytest.mark.parametrize("number", [0, 1, 127, 128, 16_383, 16_384, 900_000_000, 1 << 40])
def test_numbers_of_any_size_are_packed(number: int) -> None:
    packed = varints(np.array([number, 5]))
    assert packed[-1] == 5
    assert sum((byte & 127) << 7 * place for place, byte in enumerate(packed[:-1])) == number
    assert unsigned(np.array([0, -1, 1, -2, number])).tolist() == [0, 1, 2, 3, 2 * number]


def test_a_partition_is_at_each_moment_as_its_interval_says() -> None:
    told = recorded(
        [
            state(0, 30, [1, 2, 3]),
            state(30, 50, [1, 3]),
            state(50, 100, [3], leader=None, leader_epoch=2, offline=True, accepting=False),
        ]
    )
    assert told.at(30 * S - 1)[0]["isr"] == [1, 2, 3]
    assert told.at(30 * S)[0]["isr"] == [1, 3]
    last = told.at(END_US)[0]
    assert (last["leader"], last["epoch"], last["isr"]) == (None, 2, [3])
    assert 1 not in told.at(END_US)


def test_states_that_differ_in_nothing_shown_are_one() -> None:
    assert len(recorded([state(0, 30, [1, 2, 3]), state(30, 100, [1, 2, 3])]).changes) == 1
    # A new epoch is shown, even of the same leader.
    again = state(30, 100, [1, 2, 3], leader_epoch=1)
    assert len(recorded([state(0, 30, [1, 2, 3]), again]).changes) == 2


def test_partitions_in_the_same_condition_share_a_state() -> None:
    other = state(40, 100, [2, 3], partition=1, replicas=[2, 3, 4])
    told = recorded([state(0, 100, [1, 2]), other])
    # Beside it there is the state of a partition that does not exist.
    assert len(told.header["states"]) == 2
    assert [each["isr"] for each in told.at(END_US).values()] == [[1, 2], [2, 3]]


def test_a_topic_is_gone_while_it_is_deleted() -> None:
    told = recorded([state(0, 20, [1, 2, 3], leader_epoch=7), state(40, 100, [1, 2, 3])])
    assert told.at(30 * S) == {}
    assert told.at(40 * S)[0]["epoch"] == 0


def test_a_replica_that_is_being_added_is_not_missing() -> None:
    """``PartitionDescription.isUnderReplicated``: as kafka-topics.sh counts."""
    manifest = large_manifest(4, 2)
    manifest["partitions"][0]["slots"] = [1, 2, 3, 4]
    moving = {"replicas": [1, 2, 3, 4], "adding": [4]}
    told = recorded(
        [
            state(0, 20, [1, 2, 3]),
            state(20, 40, [1, 2, 3], **moving),
            state(40, 60, [1, 2, 3, 4], **moving),
            state(60, 70, [1, 2, 3, 4], replicas=[1, 2, 4]),
            state(70, 80, [1, 2], replicas=[1, 2, 4]),
        ],
        manifest=manifest,
    )

    def seen(time_s: int) -> tuple[list[int], bool]:
        at = told.at(time_s * S)[0]
        return at["replicas"], bool(at["conditions"] & UNDER_REPLICATED)

    assert seen(19) == ([1, 2, 3], False)
    assert seen(20) == ([1, 2, 3, 4], False)
    assert seen(60) == ([1, 2, 4], False)
    assert seen(70) == ([1, 2, 4], True)


def fault(number: int, kind: str, begin_s: int) -> dict[str, Any]:
    return {
        "begin_us": begin_s * S,
        "end_us": (begin_s + 5) * S,
        "fault": number,
        "fault_name": f"{kind} {number}",
        "fault_kind": kind,
        "fault_text": f"{kind} of {number}",
        "ended": True,
        "processes": [number % 4, 99],
    }


def test_faults_have_a_lane_each_or_else_one_by_kind() -> None:
    states = [state(0, 100, [1, 2, 3])]
    few = recorded(states, [fault(1, "crash", 20), fault(0, "crash", 10)])
    assert [name for name, _ in few.header["lanes"]] == ["crash 0", "crash 1"]
    # The process of a client is no broker.
    assert few.header["lanes"][0][1][0]["brokers"] == [0]
    many = [*(fault(each, "crash", each) for each in range(9)), fault(9, "pause", 30)]
    lanes = recorded(states, many).header["lanes"]
    assert [(name, len(spans)) for name, spans in lanes] == [("9 x crash", 9), ("pause 9", 1)]


def test_brokers_steps_and_losses_are_told() -> None:
    changes = [
        BrokerChange(10 * S, 2, registered=None, runs=False),
        BrokerChange(28 * S, 2, registered=False, runs=None),
    ]
    manifest = large_manifest(4, 2)
    manifest["registered_before"] = [2]
    manifest["scenario"]["steps"] = [{"at": "60s", "do": "elect_leaders"}]
    told = recorded(
        [state(0, 100, [1, 2, 3])],
        manifest=manifest,
        broker_changes=changes,
        steps=[TakenStep(60 * S, 0)],
    )
    # Time, the broker's place, registered, running.
    assert told.header["brokerChanges"] == [[0, 1, 1, 1], [10 * S, 1, 1, 0], [28 * S, 1, 0, 0]]
    assert told.header["steps"] == [[60 * S, "step 0: elect leaders"]]
    assert told.header["racks"] == [["a", [0, 3]], ["b", [1]], ["c", [2]]]


def test_a_run_without_partitions_has_a_recording() -> None:
    told = recorded([])
    assert (told.changes, told.at(END_US)) == ([], {})
    assert told.header["states"][0][3] & EXISTS == 0
