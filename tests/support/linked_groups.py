"""Groups of a small cluster that exchange messages, in one interpreter, and messages for them."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import rule
from tidegauge.engine.exchange import shared_memory
from tidegauge.engine.exchange.shared_memory import SharedMemory
from tidegauge.engine.group import Group
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.events import new_event, new_item
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.client_requests import FetchPartition, FetchRequest

#: Twice the longest row and more: fewer words could never take it.
NARROW_WORDS = 128


def drop(_rows: NDArray[np.void]) -> None:
    """Nobody looks at the rows."""


def linked_groups(plan: ClusterPlan, grouping: Sequence[Sequence[int]]) -> list[Group]:
    """Groups that share memory, as on one machine, and run in turn."""
    shared = SharedMemory(range(len(grouping)))
    shared.begin()
    groups = [Group(plan, hosted) for hosted in grouping]
    for number, group in enumerate(groups):
        group.join(grouping, number)
        group.exchange.link(shared)
        group.exchange.state.in_turn = True
    return groups


def groups_with_sockets(
    plan: ClusterPlan,
    grouping: Sequence[Sequence[int]],
    ends: tuple[socket.socket, socket.socket],
) -> list[Group]:
    """Two groups with a socket between them, as on two machines; they run in turn."""
    groups = [Group(plan, hosted) for hosted in grouping]
    for number, group in enumerate(groups):
        own = SharedMemory([number])
        own.begin()
        group.join(grouping, number)
        group.exchange.link(own, {1 - number: ends[number].fileno()})
        group.exchange.state.in_turn = True
    return groups


def make_rings_narrow(patch: pytest.MonkeyPatch) -> None:
    """Let rings of groups that are linked from now on have few words, as those of many groups."""
    patch.setattr(shared_memory, "_FEWEST_WORDS", NARROW_WORDS)
    patch.setattr(shared_memory, "_MOST_WORDS", NARROW_WORDS)


@rule
def send_fetch(
    kernel: Kernel, source: int, destination: int, first_partition: int, partitions: int
) -> None:
    """Have a process send a message with an entry for each partition."""
    event = new_event(kernel, source, destination, FetchRequest)
    event.correlation_id = 100 + partitions
    for partition in range(first_partition, first_partition + partitions):
        item = new_item(kernel, event, partition, FetchPartition)
        item.fetch_offset = 1000 * partition
    send(kernel, event, kernel.context[0].time_us)


def fetches_in(group: Group) -> list[tuple[int, int, list[int]]]:
    """The fetches that wait in a group for their time: time, request, offsets of the entries."""
    kernel = group.world
    context = kernel.context[0]
    soon, later = int(context.heap_size), int(context.later_heap_size)
    found = []
    for entry in (*kernel.heap[:soon], *kernel.later_heap[:later]):
        event = kernel.events[int(entry.index)]
        if event.kind != FetchRequest.KIND:
            continue
        offsets = []
        cursor = int(event.first_item)
        while cursor != NONE:
            offsets.append(int(view_as(kernel.items[cursor], FetchPartition).fetch_offset))
            last, cursor = cursor, int(kernel.items[cursor].next)
            assert cursor != NONE or last == event.last_item
        found.append((int(event.time_us), int(event.correlation_id), offsets))
    return sorted(found)
