"""Frames: what one group of processes writes another reads, or says why it does not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from small_clusters import BROKER_1, FIRST_CLIENT, cluster_of
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import rule
from tidegauge.engine.exchange.frame_exchange import ENDED, NEVER_US, READY, STOPPED, STRANGE
from tidegauge.engine.exchange.frames import EVENTS, GENERATION, ITEMS, TIME, WINDOW
from tidegauge.engine.group import Group
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.events import new_event, new_item
from tidegauge.simulation.kernel import HUB, NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.client_requests import FetchPartition, FetchRequest

LEAF = 1


@rule
def send_fetch(
    kernel: Kernel, source: int, destination: int, first_partition: int, partitions: int
) -> None:
    """A message with a chain of partition data."""
    event = new_event(kernel, source, destination, FetchRequest)
    event.correlation_id = 100 + partitions
    for partition in range(first_partition, first_partition + partitions):
        item = new_item(kernel, event, partition, FetchPartition)
        item.fetch_offset = 1000 * partition
    send(kernel, event, kernel.context[0].time_us)


def frame_of(group: Group) -> NDArray[np.int64]:
    """The one frame that a group has to send."""
    ((_, frame),) = group.write_frames()
    return np.frombuffer(frame, np.int64).copy()


@pytest.fixture
def hub_and_leaf() -> tuple[Group, Group]:
    """All but broker 1 at the hub, and broker 1 on its own: a leaf."""
    plan = ClusterPlan(cluster_of())
    grouping = [list(range(1, len(plan.processes))), [BROKER_1]]
    hub, leaf = (Group(plan, hosted) for hosted in grouping)
    hub.join(grouping, HUB)
    leaf.join(grouping, LEAF)
    return hub, leaf


def waiting(group: Group) -> list[tuple[int, int, list[int]]]:
    """The fetches that wait in a group: time, request, offsets asked for."""
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


def test_a_group_lets_the_events_of_a_frame_wait_for_their_time(
    hub_and_leaf: tuple[Group, Group],
) -> None:
    hub, leaf = hub_and_leaf
    for first, partitions in ((7, 3), (1, 0), (4, 2)):
        send_fetch(leaf.kernel_view, BROKER_1, FIRST_CLIENT, first, partitions)
    frame = frame_of(leaf)
    assert (frame[WINDOW], frame[EVENTS], frame[ITEMS]) == (0, 3, 5)
    free = int(hub.world.context[0].item_slots.free)
    assert hub.read_frame(LEAF, frame) == READY
    assert hub.world.context[0].item_slots.free == free - 5
    assert waiting(hub) == [
        (1000, 100, []),
        (1000, 102, [4000, 5000]),
        (1000, 103, [7000, 8000, 9000]),
    ]


def test_what_went_into_a_frame_is_forgotten(hub_and_leaf: tuple[Group, Group]) -> None:
    hub, leaf = hub_and_leaf
    context = leaf.world.context[0]
    free = [int(context.event_slots.free), int(context.item_slots.free)]
    send_fetch(leaf.kernel_view, BROKER_1, FIRST_CLIENT, 0, 4)
    hub.read_frame(LEAF, frame_of(leaf))
    assert [int(context.event_slots.free), int(context.item_slots.free)] == free
    assert frame_of(leaf)[EVENTS] == 0


def test_a_group_makes_room_for_a_large_frame(hub_and_leaf: tuple[Group, Group]) -> None:
    hub, leaf = hub_and_leaf
    before = len(hub.world.items)
    count = 0
    while count <= before:
        leaf.make_room(lambda _: None)
        send_fetch(leaf.kernel_view, BROKER_1, FIRST_CLIENT, 0, 100)
        count += 100
    hub.read_frame(LEAF, frame_of(leaf))
    assert sum(len(offsets) for _, _, offsets in waiting(hub)) == count
    assert len(hub.world.items) > before
    context = hub.world.context[0]
    assert min(int(context.item_slots.free), int(context.event_slots.free)) >= hub.reserve


@pytest.mark.parametrize("word", [GENERATION, WINDOW])
def test_a_frame_of_another_generation_or_window_changes_nothing(
    hub_and_leaf: tuple[Group, Group], word: int
) -> None:
    """A survivor of an earlier run, or one that has missed something, is not listened to."""
    hub, leaf = hub_and_leaf
    send_fetch(leaf.kernel_view, BROKER_1, FIRST_CLIENT, 0, 2)
    frame = frame_of(leaf)
    frame[word] += 1
    events = np.asarray(hub.world.events).copy()
    assert hub.read_frame(LEAF, frame) == STRANGE
    assert (np.asarray(hub.world.events) == events).all()
    frame[word] -= 1
    assert hub.read_frame(LEAF, frame) == READY
    assert len(waiting(hub)) == 1


# How far a group may go.


def test_a_group_goes_as_far_as_nothing_of_the_others_can_reach_it(
    hub_and_leaf: tuple[Group, Group],
) -> None:
    """All begins at 0: the leaf may go on for the shortest latency, which is 1 ms here."""
    hub, leaf = hub_and_leaf
    due_now = frame_of(leaf)
    due_now[TIME] = 0
    hub.read_frame(LEAF, due_now)
    assert hub.plan_window(10_000_000) == READY
    frame = frame_of(hub)
    assert (hub.earliest_us, frame[TIME]) == (0, 1000)
    assert leaf.read_frame(HUB, frame) == READY
    assert (hub.horizon_us, leaf.horizon_us) == (1000, 1000)


def test_a_group_that_has_nothing_to_do_is_left_alone(hub_and_leaf: tuple[Group, Group]) -> None:
    """What is sent to it waits at the hub until something of it is due."""
    hub, leaf = hub_and_leaf
    idle = frame_of(leaf)
    idle[TIME] = NEVER_US
    hub.read_frame(LEAF, idle)
    send_fetch(hub.kernel_view, FIRST_CLIENT, BROKER_1, 0, 2)
    hub.plan_window(10_000_000)
    assert hub.horizon_us == 2000, "the leaf gets it at 1 ms, and its answer takes as long"
    assert hub.write_frames() == []
    hub.run(lambda _: None)
    hub.plan_window(10_000_000)
    frame = frame_of(hub)
    assert (frame[EVENTS], leaf.read_frame(HUB, frame)) == (1, READY)
    assert [request for _, request, _ in waiting(leaf)] == [102]


def test_what_a_group_sends_draws_its_horizon_nearer(hub_and_leaf: tuple[Group, Group]) -> None:
    """The answer to it can be here after the way there and back: 1 ms each."""
    hub, leaf = hub_and_leaf
    hub.read_frame(LEAF, frame_of(leaf))
    hub.plan_window(10_000_000)
    leaf.world.context[0].horizon_us = 5_000_000
    send_fetch(leaf.kernel_view, BROKER_1, FIRST_CLIENT, 0, 1)
    assert leaf.horizon_us == 2000


def test_all_are_told_of_the_end_and_of_a_wish_to_stop(hub_and_leaf: tuple[Group, Group]) -> None:
    hub, leaf = hub_and_leaf
    hub.read_frame(LEAF, frame_of(leaf))
    assert hub.plan_window(0) == ENDED
    assert leaf.read_frame(HUB, frame_of(hub)) == ENDED
    hub.read_frame(LEAF, frame_of(leaf))
    hub.ask_to_stop()
    assert hub.plan_window(10_000_000) == STOPPED
    assert leaf.read_frame(HUB, frame_of(hub)) == STOPPED


def test_a_message_between_two_leaves_goes_through_the_hub() -> None:
    plan = ClusterPlan(cluster_of())
    grouping = [list(range(1, FIRST_CLIENT)), [BROKER_1], [FIRST_CLIENT]]
    hub, broker, client = (Group(plan, hosted) for hosted in grouping)
    for number, group in enumerate((hub, broker, client)):
        group.join(grouping, number)
    send_fetch(client.kernel_view, FIRST_CLIENT, BROKER_1, 3, 2)
    for leaf, group in ((1, broker), (2, client)):
        idle = frame_of(group)
        idle[TIME] = NEVER_US
        hub.read_frame(leaf, idle)
    hub.plan_window(10_000_000)
    assert hub.write_frames() == []
    hub.run(lambda _: None)
    hub.plan_window(10_000_000)
    broker.read_frame(HUB, frame_of(hub))
    assert [(request, offsets) for _, request, offsets in waiting(broker)] == [(102, [3000, 4000])]
