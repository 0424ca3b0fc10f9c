"""What has to wait on a link: frames in pieces, what is not a frame, ends that are gone."""

from __future__ import annotations

import pickle
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from threads import beside
from tidegauge.engine.exchange.frame_links import FrameError, FrameLinks, LinkBroken

NAMES = ["controller", "brokers 1, 4", "brokers 2, 3"]

Two = tuple[FrameLinks, socket.socket, socket.socket]


def whole(*words: int, length_words: int = 0) -> bytes:
    """A frame as it is on its way: ten words of a head, and what follows."""
    rest = [0] * 9 + list(words) + [7] * length_words
    return np.array([8 * (1 + len(rest)), *rest], np.int64).tobytes()


def place_of(words: int = 64) -> NDArray[np.int64]:
    """Where a frame may come in."""
    return np.zeros(words, np.int64)


def words_of(place: NDArray[np.int64]) -> list[int]:
    """What the frame there brought behind its head."""
    words: list[int] = place[10 : int(place[0]) // 8].tolist()
    return words


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


def test_a_frame_that_has_not_come_is_waited_for(two: Two) -> None:
    links, _, second = two
    waiting = beside(partial(links.receive_rest, 2, place_of(), 0))
    time.sleep(0.05)
    assert not waiting.done()
    second.sendall(whole(5, 6))
    assert words_of(waiting.result(5)) == [5, 6]


def test_a_longer_frame_gets_a_larger_place(two: Two) -> None:
    links, first, second = two
    place = place_of()
    second.sendall(whole(length_words=54))
    assert links.receive_rest(2, place, 0) is place
    sent = beside(partial(first.sendall, whole(2, 20, length_words=200_000)))
    larger = beside(partial(links.receive_rest, 1, place, 0)).result(5)
    sent.result(5)
    assert words_of(larger) == [2, 20, *[7] * 200_000]


def test_a_frame_may_come_in_pieces(two: Two) -> None:
    links, first, _ = two
    sent = whole(1, 10)
    place = place_of()
    # The first of them came when nobody had to wait yet.
    place.view(np.uint8)[:5] = np.frombuffer(sent[:5], np.uint8)
    done = beside(partial(links.receive_rest, 1, place, 5))
    for piece in (sent[5:16], sent[16:81]):
        first.sendall(piece)
        time.sleep(0.02)
    assert not done.done()
    first.sendall(sent[81:])
    assert words_of(done.result(5)) == [1, 10]


@pytest.mark.parametrize("length", [0, -8, 72, 81, (1 << 30) + 8])
def test_what_has_a_strange_length_is_no_frame(two: Two, length: int) -> None:
    links, _, second = two
    second.sendall(struct.pack("<q", length) + bytes(72))
    what = f"brokers 2, 3 is damaged: it has a length of {length} bytes"
    with pytest.raises(FrameError, match=what) as caught:
        links.receive_rest(2, place_of(), 0)
    assert caught.value.group == 2


@pytest.mark.parametrize("behind", [whole(1), b"\0"], ids=["a frame", "a byte"])
def test_what_comes_behind_a_frame_is_an_error(two: Two, behind: bytes) -> None:
    links, first, _ = two
    first.sendall(whole(1) + behind)
    with pytest.raises(FrameError, match=r"brokers 1, 4 sent more than a frame") as caught:
        links.receive_rest(1, place_of(), 0)
    assert caught.value.group == 1


def test_a_leaf_that_closes_is_named(two: Two) -> None:
    links, first, second = two
    waiting = beside(partial(links.receive_rest, 2, place_of(), 0))
    time.sleep(0.05)
    second.close()
    with pytest.raises(LinkBroken, match="the link to brokers 2, 3 is broken: the other") as caught:
        waiting.result(1)
    assert caught.value.group == 2
    with pytest.raises(LinkBroken, match="brokers 2, 3 is broken: Broken pipe"):
        links.send_rest(2, memoryview(whole()))
    first.sendall(whole(1, 2)[:20])
    first.close()
    with pytest.raises(LinkBroken, match="the link to brokers 1, 4"):
        links.receive_rest(1, place_of(), 0)


def test_the_last_frame_of_a_leaf_that_closes_is_not_lost(two: Two) -> None:
    links, first, _ = two
    first.sendall(whole(1, 10))
    first.close()
    assert words_of(links.receive_rest(1, place_of(), 0)) == [1, 10]


def test_a_reset_breaks_the_link() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        theirs = socket.create_connection(server.getsockname())
        ours, _ = server.accept()
    with closing(FrameLinks({1: ours}, NAMES)) as links:
        assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()  # with a reset
        with pytest.raises(LinkBroken, match="brokers 1, 4 is broken: Connection reset"):
            links.receive_rest(1, place_of(), 0)


def test_what_is_left_of_a_frame_is_sent_when_somebody_reads(two: Two) -> None:
    links, first, _ = two
    frame = whole(1, length_words=1_000_000)
    first.setblocking(True)
    sending = beside(partial(links.send_rest, 1, memoryview(frame)))
    time.sleep(0.05)
    assert not sending.done()
    received = b""
    while len(received) < len(frame):
        received += first.recv(1 << 20)
    sending.result(5)
    assert received == frame


@pytest.mark.parametrize("kind", [FrameError, LinkBroken])
def test_errors_survive_pickling(kind: type[FrameError | LinkBroken]) -> None:
    again = pickle.loads(pickle.dumps(kind("what was wrong", 2)))  # noqa: S301  # we made it
    assert type(again) is kind
    assert (str(again), again.group) == ("what was wrong", 2)
