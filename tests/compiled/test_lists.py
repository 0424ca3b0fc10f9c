"""Linked lists of records, and loops through them; pools."""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidegauge.compiled.lists import LinkedList, Pool, Slots
from tidegauge.compiled.records import Record, Records, dtype_of, i64, new_records
from tidegauge.compiled.rules import Tables, code, rule

COUNT = 5
APPEND, INSERT, REMOVE, TAKE_FIRST = code(0), code(1), code(2), code(3)


class Linked(Record):
    next: i64 = -1
    previous: i64 = -1
    next_waiting: i64 = -1


class Heads(Record):
    first: i64 = -1
    last: i64 = -1
    first_waiting: i64 = -1
    last_waiting: i64 = -1
    taken: i64 = -1


class Digits(Record):
    digits: i64


class World(Tables):
    linked: Records[Linked]
    heads: Records[Heads]
    digits: Records[Digits]
    slots: Records[Slots]


DOUBLY = LinkedList("linked", "next", "first", "last", "previous")
SINGLY = LinkedList("linked", "next_waiting", "first_waiting", "last_waiting")
POOL = Pool("linked", "next")


@rule
def change_lists(world: World, operation: int, before: int, place: int) -> None:
    """Do the same to a list with links back and one without; their places as digits."""
    heads = world.heads[0]
    if operation == APPEND:
        DOUBLY.append(world, heads, place)
        SINGLY.append(world, heads, place)
    elif operation == INSERT:
        DOUBLY.insert(world, heads, before, place)
        SINGLY.insert(world, heads, before, place)
    elif operation == REMOVE:
        DOUBLY.remove(world, heads, place)
        SINGLY.remove(world, heads, place)
    else:
        heads.taken = DOUBLY.take_first(world, heads)
        SINGLY.take_first(world, heads)
    world.digits[0].digits = 0
    world.digits[1].digits = 0
    for each in DOUBLY.of(world, heads):
        world.digits[0].digits = world.digits[0].digits * 10 + each + 1
    for each in SINGLY.of(world, heads):
        world.digits[1].digits = world.digits[1].digits * 10 + each + 1


@rule
def remove_all(world: World) -> None:
    """A loop goes on where its body takes out the record that it is about."""
    for place in DOUBLY.of(world, world.heads[0]):
        DOUBLY.remove(world, world.heads[0], place)
        world.heads[0].taken = place


def new_world() -> World:
    return World(
        linked=new_records(Linked, COUNT),
        heads=new_records(Heads, 1),
        digits=new_records(Digits, 2),
        slots=new_records(Slots, 1),
    )


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-1, COUNT - 1), st.integers(0, COUNT - 1)))
)
def test_linked_lists_are_as_those_of_python(operations: list[tuple[int, int, int]]) -> None:
    world, expected = new_world(), list[int]()
    view = world.view
    for operation, before, place in operations:
        is_in = place in expected
        if operation == TAKE_FIRST:
            if not expected:
                continue
            first = expected.pop(0)
        elif operation == REMOVE:
            if not is_in:
                continue
            expected.remove(place)
        elif is_in or (operation == INSERT and before >= 0 and before not in expected):
            continue
        else:
            after = len(expected) if operation == APPEND else 0
            if operation == INSERT and before >= 0:
                after = expected.index(before) + 1
            expected.insert(after, place)
        change_lists(view, operation, before, place)
        digits = int("".join(str(each + 1) for each in expected) or "0")
        assert [each.digits for each in world.digits] == [digits, digits]
        assert operation != TAKE_FIRST or world.heads[0].taken == first
        ends = (world.heads[0].first, world.heads[0].last)
        assert ends == ((expected[0], expected[-1]) if expected else (-1, -1))


def test_the_body_of_a_loop_may_take_out_its_record() -> None:
    world = new_world()
    view = world.view
    for place in (3, 1, 4):
        change_lists(view, APPEND, -1, place)
    remove_all(view)
    assert (world.heads[0].first, world.heads[0].last, world.heads[0].taken) == (-1, -1, 4)


def new_pool() -> tuple[World, Slots]:
    world = new_world()
    world.linked = new_records(Linked, 0)
    POOL.enlarge(world, world.slots[0], COUNT)
    return world, world.slots[0]


def test_a_pool_takes_what_came_back_last_before_what_was_never_used() -> None:
    world, slots = new_pool()
    room = int(slots.free)
    assert [POOL.take(world, slots) for _ in range(4)] == [0, 1, 2, 3]
    POOL.give_back(world, slots, 1)
    world.linked[3].next = 2
    POOL.give_back_list(world, slots, 3, 2, 2)
    assert slots.free == room - 1
    assert [POOL.take(world, slots) for _ in range(4)] == [3, 2, 1, 4]
    assert (slots.first_free, slots.used, slots.free) == (-1, 5, room - 5)


def test_records_that_a_pool_keeps_free_take_no_memory() -> None:
    """What is kept free for one large event would be most of the memory of a large cluster."""
    world, slots = new_pool()
    place = POOL.take(world, slots)
    world.linked[place].previous = 7
    POOL.enlarge(world, slots, 10_000_000)
    assert 0 < resident_bytes(np.asarray(world.linked)) < 1_000_000 * dtype_of(Linked).itemsize
    assert world.linked[place].previous == 7
    assert slots.free == len(world.linked) - 1 >= 10_000_000


def resident_bytes(records: np.ndarray) -> int:
    """The bytes of these records that are in memory, by the page map of the process.

    The growth of the whole process would count what other threads take meanwhile.
    """
    page_bytes = resource.getpagesize()
    first = records.ctypes.data // page_bytes
    count = records.nbytes // page_bytes
    with Path("/proc/self/pagemap").open("rb") as page_map:
        page_map.seek(8 * first)
        pages = np.frombuffer(page_map.read(8 * count), dtype=np.uint64)
    return int(np.count_nonzero(pages >> np.uint64(63))) * page_bytes
