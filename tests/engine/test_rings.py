"""Rings: each message arrives once and as it was sent, however little room there is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linked_groups import (
    NARROW_WORDS,
    drop,
    fetches_in,
    linked_groups,
    make_rings_narrow,
    send_fetch,
)
from small_clusters import BROKER_1, BROKER_2, FIRST_CLIENT, SECOND, cluster_of, topic_of
from tidegauge.compiled.rules import rule
from tidegauge.engine.exchange.atomic_words import load_word, store_word
from tidegauge.engine.exchange.rings import EVENT, KIND_BITS, PADDING, send_news, take_news
from tidegauge.engine.exchange.shared_memory import CONTENT, WORD_BYTES, WRITTEN
from tidegauge.engine.exchange.state import AWAITS, NO_ROOM, READY, STRANGE
from tidegauge.engine.group import Group
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.settings import OFFSETS_TOPIC
from tidegauge.simulation.kernel import Kernel
from tidegauge.simulation.metadata_log import log_change
from tidegauge.simulation.offset_commits import log_commit

BROKER, REST = 0, 1
#: Words of an entry, with that of its kind.
ENTRY_WORDS = 15

Two = tuple[Group, Group]


def two_groups() -> Two:
    """Broker 1, and all others; consumers commit offsets."""
    readers = {"name": "readers", "topics": ["story"], "settings": {"enable.auto.commit": True}}
    offsets = {"name": OFFSETS_TOPIC, "assignment": {0: [1, 2]}}
    plan = ClusterPlan(
        cluster_of(topics=[topic_of([1, 2, 3]), offsets], workload={"consumers": [readers]})
    )
    broker, rest = linked_groups(plan, [[BROKER_1], range(1, len(plan.processes))])
    return broker, rest


@pytest.fixture
def two() -> Two:
    return two_groups()


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Two:
    """The same two, with rings of few words."""
    make_rings_narrow(monkeypatch)
    return two_groups()


def send(group: Group) -> bool:
    """Send what a group has to send, as far as there is room; whether that was all."""
    send_news(group.kernel_view, group.exchange.view)
    return not group.exchange.state.is_blocked


def take(group: Group) -> int:
    return int(take_news(group.kernel_view, group.exchange.view))


# Messages.


def test_a_message_arrives_with_its_entries_as_it_was_sent(two: Two) -> None:
    broker, rest = two
    for first, partitions in ((7, 3), (1, 0), (4, 2)):
        send_fetch(broker.kernel_view, BROKER_1, FIRST_CLIENT, first, partitions)
    slots = [rest.world.context[0].event_slots, rest.world.context[0].item_slots]
    free = [int(each.free) for each in slots]
    assert send(broker)
    assert take(rest) == READY
    assert [int(each.free) for each in slots] == [free[0] - 3, free[1] - 5]
    arrived = [
        (1000, 100, []),
        (1000, 102, [4000, 5000]),
        (1000, 103, [7000, 8000, 9000]),
    ]
    assert fetches_in(rest) == arrived
    assert take(rest) == READY
    assert fetches_in(rest) == arrived, "it is taken once"


def test_a_sender_forgets_its_message(two: Two) -> None:
    broker, rest = two
    context = broker.world.context[0]
    free = [int(context.event_slots.free), int(context.item_slots.free)]
    send_fetch(broker.kernel_view, BROKER_1, FIRST_CLIENT, 0, 4)
    assert send(broker)
    assert [int(context.event_slots.free), int(context.item_slots.free)] == free
    assert send(broker)
    take(rest)
    assert len(fetches_in(rest)) == 1


# Little room.


def test_a_message_longer_than_a_ring_goes_as_the_room_allows(narrow: Two) -> None:
    """It waits for its time once its last entry is here."""
    broker, rest = narrow
    send_fetch(broker.kernel_view, BROKER_1, FIRST_CLIENT, 0, 40)
    times = 0
    while not send(broker):
        assert take(rest) == READY
        assert fetches_in(rest) == []
        times += 1
    assert times >= 40 * ENTRY_WORDS // NARROW_WORDS
    assert take(rest) == READY
    assert fetches_in(rest) == [(1000, 140, [1000 * partition for partition in range(40)])]


def test_two_groups_whose_rings_are_full_both_go_on(narrow: Two) -> None:
    """A group that waited for room before it takes would wait for one that does the same."""
    broker, rest = narrow
    for _ in range(3):
        send_fetch(broker.kernel_view, BROKER_1, FIRST_CLIENT, 0, 20)
        send_fetch(rest.kernel_view, FIRST_CLIENT, BROKER_1, 0, 20)
    assert [send(broker), send(rest)] == [False, False]
    for _ in range(20):
        assert [take(broker), take(rest)] == [READY, READY]
        if all([send(broker), send(rest)]):
            break
    assert [take(broker), take(rest)] == [READY, READY]
    assert [len(fetches_in(group)) for group in narrow] == [3, 3]


def test_a_full_ring_delays_nothing_for_other_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    make_rings_narrow(monkeypatch)
    plan = ClusterPlan(cluster_of())
    others = [process for process in range(len(plan.processes)) if process > BROKER_2]
    broker, second, rest = linked_groups(plan, [[BROKER_1], [BROKER_2], others])
    send_fetch(broker.kernel_view, BROKER_1, FIRST_CLIENT, 0, 20)
    send_fetch(broker.kernel_view, BROKER_1, BROKER_2, 0, 2)
    assert not send(broker)
    assert [take(second), take(rest)] == [READY, READY]
    assert [request for _, request, _ in fetches_in(second)] == [102]
    assert fetches_in(rest) == []


@pytest.mark.parametrize("words", [1, 2 * ENTRY_WORDS, NARROW_WORDS - 1])
def test_a_row_that_does_not_fit_at_the_end_begins_at_the_beginning(words: int) -> None:
    """Wherever the end is: there is a row of padding, also of one word."""
    with pytest.MonkeyPatch.context() as patch:
        make_rings_narrow(patch)
        broker, rest = two_groups()
    ring = broker.exchange.tables.groups[REST]
    store_word(ring.outbox + CONTENT, int(PADDING) | words << int(KIND_BITS))
    store_word(ring.outbox + WRITTEN, words)
    ring.written = words
    assert take(rest) == READY
    for number in range(12):
        send_fetch(broker.kernel_view, BROKER_1, FIRST_CLIENT, number, 3)
        while not send(broker):
            assert take(rest) == READY
    assert take(rest) == READY
    offsets = [offsets[0] for _, _, offsets in fetches_in(rest)]
    assert sorted(offsets) == [1000 * number for number in range(12)]


@settings(max_examples=15)
@given(steps=st.lists(st.tuples(st.booleans(), st.integers(0, 25)), max_size=12))
def test_what_was_sent_is_what_arrives(steps: list[tuple[bool, int]]) -> None:
    """Whichever group sends, and whenever the other one takes."""
    with pytest.MonkeyPatch.context() as patch:
        make_rings_narrow(patch)
        groups = two_groups()
    ends = (BROKER_1, FIRST_CLIENT)
    sent: tuple[list[int], list[int]] = ([], [])
    for is_rest, partitions in steps:
        sender = int(is_rest)
        send_fetch(
            groups[sender].kernel_view,
            ends[sender],
            ends[1 - sender],
            len(sent[sender]),
            partitions,
        )
        sent[sender].append(partitions)
        if not send(groups[sender]) and partitions % 2:
            assert take(groups[1 - sender]) == READY
    while not all([send(group) for group in groups]):
        assert [take(group) for group in groups] == [READY, READY]
    assert [take(group) for group in groups] == [READY, READY]
    for group, expected in zip(groups, reversed(sent), strict=True):
        assert sorted(len(offsets) for _, _, offsets in fetches_in(group)) == sorted(expected)
        for _, _, offsets in fetches_in(group):
            assert offsets == [offsets[0] + 1000 * place for place in range(len(offsets))]


# Changes of metadata and commits.


@rule
def change_metadata(kernel: Kernel, count: int) -> None:
    """Have the controller of this group write down changes of partition 0."""
    for position in range(count):
        log_change(kernel, 0, 1, position, 1, position)


@rule
def commit_offsets(kernel: Kernel, count: int) -> None:
    """Have a coordinator of this group append commits of one key."""
    for offset in range(count):
        log_commit(kernel, 0, 1, offset, offset)


@pytest.mark.parametrize("changes", [3, 60])
def test_messages_come_behind_what_they_rest_on(narrow: Two, changes: int) -> None:
    """An UpdateMetadata and an OffsetCommit name places of logs that the receiver has to have.

    Sixty of each do not fit into the ring at once.
    """
    broker, rest = narrow
    for group in narrow:
        group.make_room(drop)
    change_metadata(broker.kernel_view, changes)
    commit_offsets(broker.kernel_view, changes)
    send_fetch(broker.kernel_view, BROKER_1, FIRST_CLIENT, 0, 2)
    context = rest.world.context[0]
    is_sent = False
    while not is_sent:
        is_sent = send(broker)
        assert take(rest) == READY
        if fetches_in(rest):
            assert is_sent
    assert len(fetches_in(rest)) == 1
    assert (context.metadata_changes, context.offset_commits) == (changes, changes)
    positions = [int(change.position) for change in rest.world.metadata_changes[:changes]]
    assert positions == [*range(changes)]
    assert [int(each.offset) for each in rest.world.offset_commits[:changes]] == [*range(changes)]
    assert {int(change.group) for change in rest.world.metadata_changes[:changes]} == {BROKER}


def test_what_others_have_changed_is_not_sent_on(narrow: Two) -> None:
    broker, rest = narrow
    for group in narrow:
        group.make_room(drop)
    change_metadata(broker.kernel_view, 3)
    send(broker)
    take(rest)
    assert send(rest)
    assert take(broker) == READY
    assert broker.world.context[0].metadata_changes == 3


# Tables that are too small, and words that are no row.


def test_a_group_makes_room_for_what_has_come_in(two: Two) -> None:
    """Nothing is lost or taken twice where it had to stop."""
    broker, rest = two
    before = len(rest.world.items)
    count = 0
    while count <= before:
        broker.make_room(drop)
        send_fetch(broker.kernel_view, BROKER_1, FIRST_CLIENT, count, 100)
        count += 100
    assert send(broker)
    assert take(rest) == NO_ROOM
    context = rest.world.context[0]
    assert context.item_slots.free >= rest.item_reserve, "handlers still have what they may need"
    rest.begin(SECOND)
    assert rest.run(drop) == AWAITS
    offsets = sorted(offset for _, _, offsets in fetches_in(rest) for offset in offsets)
    assert offsets == [1000 * number for number in range(count)]
    assert len(rest.world.items) > before
    assert min(int(context.item_slots.free), int(context.event_slots.free)) >= rest.reserve


STRANGE_WORDS = {
    "an unknown kind": 99 | 2 << int(KIND_BITS),
    "no words": int(EVENT),
    "a negative length": -1,
    "more words than were written": int(EVENT) | 30 << int(KIND_BITS),
    "more words than the ring has": int(EVENT) | (1 << 40),
}


@pytest.mark.parametrize("word", STRANGE_WORDS.values(), ids=STRANGE_WORDS.keys())
def test_a_word_that_begins_no_row_is_strange_and_its_sender_is_named(word: int) -> None:
    """What came before it counts."""
    plan = ClusterPlan(cluster_of())
    others = [process for process in range(len(plan.processes)) if process > BROKER_2]
    rest, _, broker = linked_groups(plan, [others, [BROKER_2], [BROKER_1]])
    send_fetch(broker.kernel_view, BROKER_1, FIRST_CLIENT, 0, 2)
    assert send(broker)
    inbox = rest.exchange.tables.groups[2].inbox
    written = load_word(inbox + WRITTEN)
    store_word(inbox + CONTENT + written * WORD_BYTES, word)
    store_word(inbox + WRITTEN, written + 2)
    assert take(rest) == STRANGE
    assert rest.exchange.state.peer == 2
    events = np.asarray(rest.world.events).copy()
    assert take(rest) == STRANGE
    assert (np.asarray(rest.world.events) == events).all()
    assert len(fetches_in(rest)) == 1
