"""The memory that groups on one machine share: places that never overlap, and no file is left."""

from __future__ import annotations

import os
import socket
from itertools import pairwise, product
from pathlib import Path

import pytest

from tidegauge.engine.exchange.atomic_words import load_word, lower_word, store_word, swap_word
from tidegauge.engine.exchange.shared_memory import (
    ARRIVING,
    CAN_SHARE,
    CONTENT,
    NEVER_US,
    NEXT,
    READ,
    SLEEPS,
    VERSION,
    WAKES,
    WORD_BYTES,
    WRITTEN,
    SharedMemory,
    new_file,
    receive_file,
    send_file,
)

#: Two processors that write to one line of the cache take it away from each other.
LINE_BYTES = 64
#: The words of an event, and of a row that begins it, are fewer.
LONGEST_ROW_WORDS = 40


@pytest.mark.parametrize("members", [[0, 1], [2, 5, 9], [*range(30)]])
def test_no_group_writes_where_another_one_does(members: list[int]) -> None:
    """A promise has lines for its group and for who sends to it; a ring one for each side."""
    memory = SharedMemory(members)
    content_end = int(CONTENT) + memory.ring_words * WORD_BYTES
    places = []
    for group in members:
        promise = memory.promise_of(group)
        places += [(promise + NEXT, promise + VERSION + WORD_BYTES)]
        places += [(promise + ARRIVING, promise + ARRIVING + WORD_BYTES)]
        places += [(promise + SLEEPS, promise + WAKES + WORD_BYTES)]
    for source, destination in product(members, members):
        ring = memory.ring(source, destination)
        places += [(ring + WRITTEN, ring + WRITTEN + WORD_BYTES)]
        places += [(ring + READ, ring + READ + WORD_BYTES)]
        places += [(ring + CONTENT, ring + content_end)]
    for (_, end), (begin, _) in pairwise(sorted(places)):
        assert (end - 1) // LINE_BYTES < begin // LINE_BYTES
    first, last = min(places)[0], max(places)[1]
    file = new_file(len(members))
    assert last - first <= os.fstat(file).st_size
    os.close(file)


@pytest.mark.parametrize("count", [1, 2, 7, 60, 201])
def test_rings_are_large_for_few_groups_and_hold_a_row_for_many(count: int) -> None:
    """A power of two, so that a place is a number without its upper bits."""
    words = SharedMemory(range(count)).ring_words
    assert words & (words - 1) == 0
    assert words >= 2 * LONGEST_ROW_WORDS
    assert count * count * words * WORD_BYTES <= 200 << 20


def test_nothing_has_happened_and_nothing_is_under_way_at_first() -> None:
    memory = SharedMemory([3, 4])
    memory.begin()
    promise = memory.promise_of(4)
    assert [load_word(promise + word) for word in (NEXT, VERSION, ARRIVING)] == [0, 0, NEVER_US]
    assert load_word(memory.ring(3, 4) + WRITTEN) == 0


def test_a_word_is_lowered_or_swapped_in_one_step() -> None:
    memory = SharedMemory([0])
    word = memory.promise_of(0) + ARRIVING
    store_word(word, 50)
    lower_word(word, 70)
    assert load_word(word) == 50
    lower_word(word, -20)
    assert load_word(word) == -20
    assert swap_word(word, 7) == -20
    assert load_word(word) == 7


@pytest.mark.skipif(not CAN_SHARE, reason="this system has no files without a name")
def test_a_file_without_a_name_is_shared_by_the_ends_of_a_socket() -> None:
    """Once its last user is gone, so is the memory, whatever has ended them."""
    ours, theirs = socket.socketpair()
    file = new_file(2)
    mine = SharedMemory([0, 1], file)
    send_file(ours, file)
    there = receive_file(theirs)
    assert os.readlink(f"/proc/self/fd/{there}").endswith(" (deleted)")
    assert not any("tidegauge" in name.name for name in Path("/dev/shm").glob("*"))
    its = SharedMemory([0, 1], there)
    for each in (file, there):
        os.close(each)
    store_word(mine.ring(0, 1) + WRITTEN, 42)
    assert load_word(its.ring(0, 1) + WRITTEN) == 42
    assert load_word(its.ring(1, 0) + WRITTEN) == 0
    ours.close()
    with pytest.raises(ConnectionResetError, match="no memory to share"):
        receive_file(theirs)
    theirs.close()
