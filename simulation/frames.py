"""Frames: the messages that one group of processes hands to another at the end of a window.

A frame is a header and rows: length, checksum, generation, window number, the sender's next
event time, how many events, entries of partition data, changes of what all brokers are told
(``metadata_log.py``) and of what groups of consumers commit (``offset_commits.py``) there are, and
then these as they lie in memory, in the order in which they were sent. Indexes mean nothing to the
receiver: chains are laid out in order, and each event says how many entries are its own.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.replication.compiled import rule
from tidegauge.replication.records import Record, Records, i64, new_records
from tidegauge.simulation.events import free_all, push
from tidegauge.simulation.kernel import (
    NONE,
    Event,
    Kernel,
    MetadataChange,
    OffsetCommit,
    PartitionData,
)

_HEADER = struct.Struct("<QIIQqQQQQ")


class FrameError(ValueError):
    """Bytes that are not a frame, or not a whole one."""


class Owner(Record):
    """The group that hosts a process."""

    group: i64


class FrameHeader(NamedTuple):
    """What stands before the rows of a frame."""

    generation: int
    window: int
    #: When the sender's next event is due, messages of this frame included; -1 never.
    next_event_us: int
    events: int
    items: int
    changes: int
    commits: int


class FrameRows(NamedTuple):
    """What a frame brings."""

    events: Records[Event]
    items: Records[PartitionData]
    changes: Records[MetadataChange]
    commits: Records[OffsetCommit]


class Frame(NamedTuple):
    """A frame as its receiver reads it."""

    header: FrameHeader
    rows: FrameRows


@rule
def count_outgoing(kernel: Kernel, owners: Records[Owner], group: int) -> tuple[int, int]:
    """How many events, and entries on them, wait to be sent to a group."""
    events = 0
    items = 0
    index = kernel.context[0].outbox.first
    while index != NONE:
        event = kernel.events[index]
        if owners[event.destination].group == group:
            events += 1
            items += event.item_count
        index = event.next
    return events, items


@rule
def copy_outgoing(
    kernel: Kernel,
    owners: Records[Owner],
    group: int,
    events: Records[Event],
    items: Records[PartitionData],
) -> None:
    """Copy what is to be sent to a group, chains in order."""
    event_count = 0
    item_count = 0
    index = kernel.context[0].outbox.first
    while index != NONE:
        event = kernel.events[index]
        if owners[event.destination].group == group:
            events[event_count] = event
            event_count += 1
            cursor = event.first_item
            while cursor != NONE:
                items[item_count] = kernel.items[cursor]
                item_count += 1
                cursor = kernel.items[cursor].next
        index = event.next


@rule
def earliest_outgoing_us(kernel: Kernel) -> int:
    """When the first of the messages to other groups arrives; NONE if there are none."""
    earliest_us = NONE
    index = kernel.context[0].outbox.first
    while index != NONE:
        event = kernel.events[index]
        if earliest_us == NONE or event.time_us < earliest_us:
            earliest_us = event.time_us
        index = event.next
    return earliest_us


@rule
def forget_outgoing(kernel: Kernel) -> None:
    """Give back the events that were copied into frames."""
    free_all(kernel, kernel.context[0].outbox)


@rule
def take_events(kernel: Kernel, events: Records[Event], items: Records[PartitionData]) -> None:
    """Let the events of a frame wait for their time; there is room for all of them."""
    context = kernel.context[0]
    taken = 0
    for number in range(len(events)):
        index = context.free_event
        following = kernel.events[index].next
        kernel.events[index] = events[number]
        event = kernel.events[index]
        context.free_event = following
        context.free_events -= 1
        event.index = index
        event.next = NONE
        event.first_item = NONE
        event.last_item = NONE
        for _ in range(event.item_count):
            slot = context.free_item
            next_free = kernel.items[slot].next
            kernel.items[slot] = items[taken]
            taken += 1
            context.free_item = next_free
            context.free_items -= 1
            kernel.items[slot].next = NONE
            if event.last_item == NONE:
                event.first_item = slot
            else:
                kernel.items[event.last_item].next = slot
            event.last_item = slot
        push(kernel, event)


def encode_frame(generation: int, window: int, next_event_us: int, rows: FrameRows) -> bytes:
    """A frame as bytes."""
    header = FrameHeader(generation, window, next_event_us, *(len(table) for table in rows))
    brought = b"".join(_array_of(table).tobytes() for table in rows)
    return _HEADER.pack(len(brought), zlib.crc32(brought), *header) + brought


def decode_frame(data: bytes) -> Frame:
    """Read a frame.

    Raises:
        FrameError: it is cut short, or its checksum does not match.
    """
    if len(data) < _HEADER.size:
        raise FrameError(f"a frame of {len(data)} bytes is shorter than its header")
    length, checksum, *rest = _HEADER.unpack_from(data)
    header = FrameHeader(*rest)
    rows = data[_HEADER.size :]
    if len(rows) != length:
        raise FrameError(f"a frame should bring {length} bytes of rows, not {len(rows)}")
    if zlib.crc32(rows) != checksum:
        raise FrameError(f"the checksum of the frame of window {header.window} does not match")
    tables = FrameRows(
        new_records(Event, header.events),
        new_records(PartitionData, header.items),
        new_records(MetadataChange, header.changes),
        new_records(OffsetCommit, header.commits),
    )
    first = 0
    for table in tables:
        column = _array_of(table).view(np.uint8)
        column[:] = np.frombuffer(rows, np.uint8, len(column), first)
        first += len(column)
    return Frame(header, tables)


def _array_of(rows: object) -> NDArray[np.void]:
    return np.asarray(rows).view(np.ndarray)
