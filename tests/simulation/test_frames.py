"""Frames: what one group of processes writes another reads, or says why it cannot."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small_clusters import BROKER_1, FIRST_CLIENT, cluster_of
from tidegauge.group import Group
from tidegauge.replication.compiled import rule
from tidegauge.replication.records import new_records
from tidegauge.simulation.cluster_plan import ClusterPlan
from tidegauge.simulation.events import add_item, new_event
from tidegauge.simulation.frames import (
    Frame,
    FrameError,
    FrameHeader,
    FrameRows,
    decode_frame,
    encode_frame,
)
from tidegauge.simulation.kernel import (
    NONE,
    Event,
    Kernel,
    MetadataChange,
    OffsetCommit,
    PartitionData,
)
from tidegauge.simulation.kinds import FETCH
from tidegauge.simulation.links import send

#: Of a frame's header: the length of its rows and their checksum, and the window.
LENGTH_AND_CHECKSUM = struct.Struct("<QI")


@rule
def send_fetch(
    kernel: Kernel, source: int, destination: int, first_partition: int, partitions: int
) -> None:
    """A message with a chain of partition data."""
    event = new_event(kernel, source, destination, FETCH)
    event.request = 100 + partitions
    for partition in range(first_partition, first_partition + partitions):
        item = add_item(kernel, event, partition)
        item.offset = 1000 * partition
    send(kernel, event, kernel.context[0].time_us)


def frame_of(chains: list[list[int]]) -> bytes:
    """A frame of events, each with a chain of these offsets."""
    events = new_records(Event, len(chains))
    items = new_records(PartitionData, sum(map(len, chains)))
    taken = 0
    for number, chain in enumerate(chains):
        events[number].time_us = 500 + number
        events[number].sequence = number
        events[number].item_count = len(chain)
        for offset in chain:
            items[taken].offset = offset
            taken += 1
    changes = new_records(MetadataChange, 0)
    commits = new_records(OffsetCommit, 0)
    return encode_frame(3, 8, 500, FrameRows(events, items, changes, commits))


def chains_of(frame: Frame) -> list[list[int]]:
    chains: list[list[int]] = []
    taken = 0
    for number in range(len(frame.rows.events)):
        count = int(frame.rows.events[number].item_count)
        chains.append([int(frame.rows.items[taken + place].offset) for place in range(count)])
        taken += count
    return chains


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4), max_size=5))
def test_a_frame_brings_back_its_events_and_their_chains(chains: list[list[int]]) -> None:
    data = frame_of(chains)
    frame = decode_frame(data)
    assert frame.header == FrameHeader(3, 8, 500, len(chains), sum(map(len, chains)), 0, 0)
    assert chains_of(frame) == chains
    assert [int(frame.rows.events[place].time_us) for place in range(len(chains))] == [
        500 + number for number in range(len(chains))
    ]
    assert encode_frame(3, 8, 500, frame.rows) == data


@settings(deadline=None)
@given(st.integers(0, 10_000))
def test_a_frame_that_is_cut_short_is_refused(length: int) -> None:
    data = frame_of([[1, 2], [3]])
    length %= len(data)
    with pytest.raises(FrameError, match=r"shorter than its header|should bring \d+ bytes"):
        decode_frame(data[:length])


def test_a_frame_with_bytes_behind_it_is_refused() -> None:
    data = frame_of([[1]])
    with pytest.raises(FrameError, match="bytes of rows, not"):
        decode_frame(data + b"\0")


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 7))
def test_a_bit_that_flips_in_the_rows_is_noticed(place: int, bit: int) -> None:
    data = bytearray(frame_of([[1, 2], [3]]))
    rows = LENGTH_AND_CHECKSUM.unpack_from(data)[0]
    data[len(data) - 1 - place % rows] ^= 1 << bit
    with pytest.raises(FrameError, match="checksum of the frame of window 8 does not match"):
        decode_frame(bytes(data))


@pytest.fixture
def two_groups() -> tuple[Group, Group, list[int]]:
    """Broker 1 on its own, and all others; and who hosts which process."""
    plan = ClusterPlan(cluster_of())
    count = len(plan.processes)
    owners = [0] + [1] * (count - 1)
    return Group(plan, [BROKER_1]), Group(plan, range(1, count)), owners


def waiting(group: Group) -> list[tuple[int, int, list[int]]]:
    """The fetches that wait in a group: time, request, offsets asked for."""
    kernel = group.kernel
    found = []
    for place in range(int(kernel.context[0].heap_size)):
        event = kernel.events[int(kernel.heap[place].index)]
        if event.kind != FETCH:
            continue
        offsets = []
        cursor = int(event.first_item)
        while cursor != NONE:
            offsets.append(int(kernel.items[cursor].offset))
            last, cursor = cursor, int(kernel.items[cursor].next)
            assert cursor != NONE or last == event.last_item
        found.append((int(event.time_us), int(event.request), offsets))
    return sorted(found)


def test_a_group_lets_the_events_of_a_frame_wait_for_their_time(
    two_groups: tuple[Group, Group, list[int]],
) -> None:
    sender, receiver, owners = two_groups
    for first, partitions in ((7, 3), (1, 0), (4, 2)):
        send_fetch(sender.views[0], BROKER_1, FIRST_CLIENT, first, partitions)
    frames = sender.frames(owners, [1], 5)
    header = decode_frame(frames[1]).header
    assert (header.window, header.events, header.items) == (5, 3, 5)
    free = int(receiver.kernel.context[0].free_items)
    receiver.take_frame(frames[1])
    assert receiver.kernel.context[0].free_items == free - 5
    assert waiting(receiver) == [
        (1000, 100, []),
        (1000, 102, [4000, 5000]),
        (1000, 103, [7000, 8000, 9000]),
    ]


def test_what_went_into_a_frame_is_forgotten(two_groups: tuple[Group, Group, list[int]]) -> None:
    sender, receiver, owners = two_groups
    free = [int(sender.kernel.context[0].free_events), int(sender.kernel.context[0].free_items)]
    send_fetch(sender.views[0], BROKER_1, FIRST_CLIENT, 0, 4)
    receiver.take_frame(sender.frames(owners, [1], 0)[1])
    context = sender.kernel.context[0]
    assert [int(context.free_events), int(context.free_items)] == free
    assert decode_frame(sender.frames(owners, [1], 1)[1]).header.events == 0


def test_a_group_makes_room_for_a_large_frame(two_groups: tuple[Group, Group, list[int]]) -> None:
    sender, receiver, owners = two_groups
    before = len(receiver.kernel.items)
    count = 0
    while count <= before:
        sender.make_room(lambda _: None)
        send_fetch(sender.views[0], BROKER_1, FIRST_CLIENT, 0, 100)
        count += 100
    receiver.take_frame(sender.frames(owners, [1], 0)[1])
    assert sum(len(offsets) for _, _, offsets in waiting(receiver)) == count
    assert len(receiver.kernel.items) > before
    context = receiver.kernel.context[0]
    assert min(int(context.free_items), int(context.free_events)) >= receiver.reserve


def test_a_damaged_frame_changes_nothing_in_a_group(
    two_groups: tuple[Group, Group, list[int]],
) -> None:
    sender, receiver, owners = two_groups
    send_fetch(sender.views[0], BROKER_1, FIRST_CLIENT, 0, 2)
    data = sender.frames(owners, [1], 0)[1]
    events = np.asarray(receiver.kernel.events).copy()
    with pytest.raises(FrameError):
        receiver.take_frame(data[:-1])
    assert (np.asarray(receiver.kernel.events) == events).all()
    assert waiting(receiver) == []
