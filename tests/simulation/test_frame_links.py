"""Frames between a hub and its leaves: of any length, by turns, and what is not a frame."""

from __future__ import annotations

import pickle
import socket
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from functools import partial

import numpy as np
import pytest

from threads import beside
from tidegauge.simulation.frame_links import FrameError, FrameLinks, LinkBroken

NAMES = ["controller", "brokers 1, 4", "brokers 2, 3", "clients"]
LEAVES = (1, 2, 3)

Two = tuple[FrameLinks, socket.socket, socket.socket]


def frame(*words: int, length_words: int = 0) -> memoryview:
    """A frame that is still without length and checksum."""
    return memoryview(bytearray(np.array([0, 0, *words, *[7] * length_words]).tobytes()))


def whole(*words: int, length_words: int = 0) -> bytes:
    """A frame as it is on its way."""
    rest = bytes(frame(*words, length_words=length_words)[16:])
    return struct.pack("<qq", 16 + len(rest), zlib.crc32(rest)) + rest


def words_of(links: FrameLinks) -> list[int]:
    """What the last frame brought."""
    words: list[int] = links.incoming[2 : int(links.incoming[0]) // 8].tolist()
    return words


def star() -> list[FrameLinks]:
    """The hub's links, then those of each leaf."""
    pairs = {leaf: socket.socketpair() for leaf in LEAVES}
    hub = FrameLinks({leaf: pairs[leaf][0] for leaf in LEAVES}, NAMES)
    return [
        hub,
        *(FrameLinks({0: pairs[leaf][1]}, NAMES) for leaf in LEAVES),
    ]


@pytest.fixture
def two() -> Iterator[Two]:
    """The hub's links to groups 1 and 2, whose ends are played by hand."""
    ours_1, theirs_1 = socket.socketpair()
    ours_2, theirs_2 = socket.socketpair()
    links = FrameLinks({2: ours_2, 1: ours_1}, NAMES)
    yield links, theirs_1, theirs_2
    links.close()
    theirs_1.close()
    theirs_2.close()


def test_a_hub_and_three_leaves_take_turns() -> None:
    hub, *leaves = star()
    turns = 300

    def run_hub() -> list[list[int]]:
        came = []
        for turn in range(turns):
            for leaf in LEAVES:
                hub.receive(leaf)
                came.append(words_of(hub))
            for leaf in LEAVES:
                hub.send(leaf, frame(leaf, turn, length_words=turn))
        return came

    def run_leaf(leaf: int) -> list[list[int]]:
        links = leaves[leaf - 1]
        came = []
        for turn in range(turns):
            links.send(0, frame(-leaf, turn, length_words=leaf * turn))
            links.receive(0)
            came.append(words_of(links))
        return came

    of_hub = beside(run_hub)
    of_leaves = {leaf: beside(partial(run_leaf, leaf)) for leaf in LEAVES}
    assert of_hub.result(15) == [
        [-leaf, turn, *[7] * (leaf * turn)] for turn in range(turns) for leaf in LEAVES
    ]
    for leaf, future in of_leaves.items():
        assert future.result(15) == [[leaf, turn, *[7] * turn] for turn in range(turns)]
    for links in (hub, *leaves):
        links.close()


def test_frames_of_ten_megabytes_go_both_ways() -> None:
    hub, *leaves = star()
    length_words = 10_000_000 // 8

    def run_leaf(leaf: int) -> list[int]:
        links = leaves[leaf - 1]
        links.send(0, frame(leaf, length_words=length_words))
        links.receive(0)
        return words_of(links)

    # All send at once; the hub reads them one by one, and last the one that sent first.
    running = {leaf: beside(partial(run_leaf, leaf)) for leaf in LEAVES}
    for leaf in reversed(LEAVES):
        receiving = beside(partial(hub.receive, leaf))
        receiving.result(10)
        assert words_of(hub) == [leaf, *[7] * length_words]
    for leaf in LEAVES:
        sending = beside(partial(hub.send, leaf, frame(-leaf, length_words=length_words)))
        sending.result(10)
    for leaf, future in running.items():
        assert future.result(10) == [-leaf, *[7] * length_words]
    for links in (hub, *leaves):
        links.close()


def test_a_longer_frame_enlarges_the_array(two: Two) -> None:
    links, first, second = two
    assert len(links.incoming) == 8192
    first.sendall(whole(1, length_words=8192 - 3))
    links.receive(1)
    assert len(links.incoming) == 8192
    sent = beside(partial(second.sendall, whole(2, 20, length_words=20_000)))
    beside(partial(links.receive, 2)).result(5)
    sent.result(5)
    assert len(links.incoming) == 32_768
    assert words_of(links) == [2, 20, *[7] * 20_000]
    first.sendall(whole(1, 11))
    links.receive(1)
    assert words_of(links) == [1, 11]
    assert len(links.incoming) == 32_768


def test_a_frame_may_come_in_pieces(two: Two) -> None:
    links, first, _ = two
    for words in ((1, 10), (2, 20)):
        done = beside(partial(links.receive, 1))
        sent = whole(*words)
        for piece in (sent[:5], sent[5:16], sent[16:20]):
            first.sendall(piece)
            time.sleep(0.02)
        assert not done.done()
        first.sendall(sent[20:])
        done.result(5)
        assert words_of(links) == list(words)


def test_a_frame_without_words_is_a_frame(two: Two) -> None:
    links, first, _ = two
    links.send(1, frame())
    assert first.recv(100) == whole()
    first.sendall(whole())
    links.receive(1)
    assert words_of(links) == []


@pytest.mark.parametrize(
    ("damaged", "what"),
    [
        (whole(1, 2)[:-1] + b"\xff", "a checksum that does not match"),
        (struct.pack("<qq", 8, 0), "a length of 8 bytes"),
        (struct.pack("<qq", 0, 0), "a length of 0 bytes"),
        (struct.pack("<qq", -8, 0), "a length of -8 bytes"),
        (struct.pack("<qq", 17, 0) + b"\0", "a length of 17 bytes"),
        (struct.pack("<qq", (1 << 30) + 8, 0), "a length of 1073741832 bytes"),
    ],
    ids=["checksum", "short", "none", "negative", "odd", "long"],
)
def test_a_damaged_frame_names_its_sender(two: Two, damaged: bytes, what: str) -> None:
    links, _, second = two
    second.sendall(damaged)
    with pytest.raises(FrameError, match=f"brokers 2, 3 is damaged: it has {what}") as caught:
        links.receive(2)
    assert caught.value.group == 2


@pytest.mark.parametrize("behind", [whole(1), b"\0"], ids=["a frame", "a byte"])
def test_what_comes_behind_a_frame_is_an_error(two: Two, behind: bytes) -> None:
    links, first, _ = two
    first.sendall(whole(1) + behind)
    with pytest.raises(FrameError, match=r"brokers 1, 4 sent more than a frame") as caught:
        links.receive(1)
    assert caught.value.group == 1


def test_a_leaf_that_closes_is_named(two: Two) -> None:
    links, first, second = two
    waiting = beside(partial(links.receive, 2))
    time.sleep(0.05)
    second.close()
    with pytest.raises(LinkBroken, match="the link to brokers 2, 3 is broken: the other") as caught:
        waiting.result(1)
    assert caught.value.group == 2
    with pytest.raises(LinkBroken, match="brokers 2, 3 is broken: Broken pipe"):
        links.send(2, frame(0))
    first.sendall(whole(1, 2)[:20])
    first.close()
    with pytest.raises(LinkBroken, match="the link to brokers 1, 4"):
        links.receive(1)


def test_the_last_frame_of_a_leaf_that_closes_is_not_lost(two: Two) -> None:
    links, first, _ = two
    first.sendall(whole(1, 10))
    first.close()
    links.receive(1)
    assert words_of(links) == [1, 10]


def test_a_reset_breaks_the_link() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        theirs = socket.create_connection(server.getsockname())
        ours, _ = server.accept()
    with closing(FrameLinks({1: ours}, NAMES)) as links:
        assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()  # with a reset
        with pytest.raises(LinkBroken, match="brokers 1, 4 is broken: Connection reset"):
            links.receive(1)


def test_closing_wakes_who_waits(two: Two) -> None:
    links, _, _ = two
    waiting = beside(partial(links.receive, 1))
    time.sleep(0.05)
    links.close()
    with pytest.raises(LinkBroken, match="closed on this side") as caught:
        waiting.result(1)
    assert caught.value.group == 1
    links.close()
    with pytest.raises(LinkBroken, match="closed on this side"):
        links.receive(1)
    with pytest.raises(LinkBroken, match="closed on this side"):
        links.send(2, frame(0))


def test_closing_wakes_who_sends_to_somebody_who_does_not_read(two: Two) -> None:
    links, _, _ = two
    waiting = beside(partial(links.send, 1, frame(0, length_words=1_000_000)))
    time.sleep(0.05)
    assert not waiting.done()
    links.close()
    with pytest.raises(LinkBroken, match="closed on this side"):
        waiting.result(1)


@pytest.mark.parametrize("kind", [FrameError, LinkBroken])
def test_errors_survive_pickling(kind: type[FrameError | LinkBroken]) -> None:
    again = pickle.loads(pickle.dumps(kind("what was wrong", 2)))  # noqa: S301  # we made it
    assert type(again) is kind
    assert (str(again), again.group) == ("what was wrong", 2)
