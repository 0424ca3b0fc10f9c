"""Groups find each other, and strangers stay out."""

from __future__ import annotations

import os
import socket
import struct
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from pathlib import Path

import pytest

from threads import beside
from tidegauge.engine.exchange.handshake import Address, Reception, dial
from tidegauge.engine.exchange.links import LinkError

NAMES = ["broker 5", "brokers 1, 4", "brokers 2, 3"]
KEY = b"the key of these tests"
GENERATION = 5


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, which a test must leave empty."""
    place = Path(tempfile.mkdtemp(prefix="links-"))  # pytest's own is too long for a socket
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    left = list(place.rglob("*"))
    assert left == []
    place.rmdir()


def reception(number: int = 0, tcp_host: str | None = None) -> closing[Reception]:
    return closing(Reception(number, NAMES, KEY, GENERATION, node="here", tcp_host=tcp_host))


def caller(
    address: Address,
    number: int,
    *,
    key: bytes = KEY,
    generation: int = GENERATION,
    node: str = "here",
    timeout_s: float = 10,
) -> socket.socket:
    return dial(address, number, NAMES[0], key, generation, node=node, timeout_s=timeout_s)


def come_in(address: Address) -> socket.socket:
    link = socket.socket(socket.AF_UNIX)
    link.connect(address.unix)
    return link


def knock(address: Address, key: bytes, hello: bytes) -> bytes:
    """What is answered to somebody who says this."""
    with Connection(come_in(address).detach()) as connection:
        answer_challenge(connection, key)
        deliver_challenge(connection, key)
        connection.send_bytes(hello)
        return connection.recv_bytes()


def hello(generation: int, number: int) -> bytes:
    return struct.pack("<qq", generation, number)


def expect_linked(ours: dict[int, socket.socket], theirs: dict[int, socket.socket]) -> None:
    """Each link leads to the group whose number it has, and nothing lies on it; close all."""
    assert sorted(ours) == sorted(theirs)
    for number, link in theirs.items():
        assert link.gettimeout() is None
        link.sendall(bytes([number]))
    for number, link in ours.items():
        assert link.gettimeout() is None
        assert link.recv(100) == bytes([number])
        link.sendall(b"back")
        assert theirs[number].recv(100) == b"back"
        link.close()
        theirs[number].close()


def test_groups_are_linked_in_whatever_order_they_come() -> None:
    with reception() as first:
        early = beside(partial(caller, first.address, 2))  # before anybody looks at the door
        time.sleep(0.05)
        standing = beside(partial(first.wait_for, [1, 2]))
        late = beside(partial(caller, first.address, 1))
        expect_linked(standing.result(15), {1: late.result(15), 2: early.result(15)})
        assert first.refused == []


def test_of_two_groups_the_one_with_the_higher_number_dials() -> None:
    """So they never dial each other at once; the last group waits for nobody."""
    with reception(1) as second:
        standing = beside(partial(second.wait_for, [2]))
        answer = knock(second.address, KEY, hello(GENERATION, 0))
        assert answer == b"no group 0 dials group 1 of 3"
        theirs = caller(second.address, 2)
        expect_linked(standing.result(15), {2: theirs})
    with reception(2) as last:
        assert last.wait_for([], 0) == {}


def test_groups_on_two_nodes_meet_over_tcp() -> None:
    with reception(tcp_host="127.0.0.1") as first:
        standing = beside(partial(first.wait_for, [1, 2]))
        # Whoever took the Unix path between nodes would not get far.
        elsewhere = first.address._replace(unix="/nowhere")
        theirs = {1: caller(elsewhere, 1, node="there"), 2: caller(first.address, 2)}
        ours = standing.result(15)
        assert ours[1].family == socket.AF_INET
        assert ours[2].family == socket.AF_UNIX
        expect_linked(ours, theirs)


def test_a_stranger_on_tcp_is_named_by_its_address() -> None:
    with reception(tcp_host="127.0.0.1") as first:
        standing = beside(partial(first.wait_for, [1]))
        with pytest.raises(LinkError, match="refused us: it is of generation 4, not 5"):
            caller(first.address, 1, generation=GENERATION - 1, node="there")
        theirs = caller(first.address, 1)
        expect_linked(standing.result(15), {1: theirs})
        assert len(first.refused) == 1
        assert first.refused[0].startswith("127.0.0.1:")


def test_another_node_without_tcp_is_named() -> None:
    with reception() as first, pytest.raises(LinkError, match="broker 5: it is on another mach"):
        caller(first.address, 1, node="there")


def test_strangers_are_refused_and_named_while_all_come_to_stand() -> None:
    with reception() as first:
        silent = come_in(first.address)
        standing = beside(partial(first.wait_for, [1, 2]))
        theirs = {1: caller(first.address, 1)}
        with pytest.raises(Exception, match="digest"):
            knock(first.address, b"another key", hello(GENERATION, 2))
        answers = [
            knock(first.address, KEY, said)
            for said in (
                hello(GENERATION - 1, 2),
                hello(GENERATION, 7),
                hello(GENERATION, 0),
                hello(GENERATION, 1),
                b"good day",
            )
        ]
        assert answers == [
            b"it is of generation 4, not 5",
            b"no group 7 dials group 0 of 3",
            b"no group 0 dials group 0 of 3",
            b"brokers 1, 4 is linked already",
            b"a greeting of 8 bytes is none of ours",
        ]
        assert not standing.done()
        theirs[2] = caller(first.address, 2)
        expect_linked(standing.result(15), theirs)
        while silent.recv(1000):  # after the challenge, its end
            pass
        silent.close()
        refused = "\n".join(first.refused)
        assert len(first.refused) == 7
        assert "it does not have our key" in refused
        assert "the connection ended before its handshake" in refused
        for answer in answers:
            assert answer.decode() in refused
        if hasattr(socket, "SO_PEERCRED"):
            own = f"process {os.getpid()} of user {os.getuid()}: "
            assert all(line.startswith(own) for line in first.refused)


def test_a_silent_stranger_is_cut_off_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegauge.engine.exchange.handshake.HANDSHAKE_S", 0.1)
    with reception() as first, come_in(first.address) as silent:
        # Not even a whole message: whoever waits for the rest waits for ever.
        silent.sendall(b"\0\0")
        standing = beside(partial(first.wait_for, [1], 0.6))
        began = time.monotonic()
        while silent.recv(1000):
            pass
        assert time.monotonic() - began < 0.5
        with pytest.raises(LinkError, match=r"sent away: .* its handshake timed out after 0\.1"):
            standing.result(15)


@pytest.mark.parametrize(
    ("key", "generation", "why"),
    [
        (b"another key", GENERATION, "no link to broker 5: it does not have our key"),
        (KEY, GENERATION + 1, "no link to broker 5: it refused us: it is of generation 6"),
    ],
)
def test_a_group_that_is_refused_says_by_whom_and_why(
    key: bytes, generation: int, why: str
) -> None:
    with reception() as first:
        standing = beside(partial(first.wait_for, [1, 2], 0.5))
        with pytest.raises(LinkError, match=why):
            caller(first.address, 1, key=key, generation=generation)
        with pytest.raises(LinkError, match=r"not linked within 0\.5 s: brokers 1, 4; brokers 2"):
            standing.result(15)


def test_a_group_that_never_comes_is_named_and_no_other() -> None:
    with reception() as first:
        standing = beside(partial(first.wait_for, [1, 2], 0.3))
        with caller(first.address, 1) as link:
            with pytest.raises(LinkError) as caught:
                standing.result(15)
            assert str(caught.value) == "not linked within 0.3 s: brokers 2, 3"
            assert link.recv(100) == b""


def test_a_group_that_is_gone_is_named() -> None:
    with reception() as first:
        address = first.address
    with pytest.raises(LinkError, match=r"no link to broker 5: .*No such file"):
        caller(address, 1)


def test_a_group_that_never_answers_is_named_in_time(folder: Path) -> None:
    path = folder / "link"
    with socket.socket(socket.AF_UNIX) as first, ExitStack() as crowd:
        first.bind(str(path))
        first.listen(0)
        address = Address("here", str(path), "", 0)
        # It is let in by the system, and waits for a challenge.
        with pytest.raises(LinkError, match=r"broker 5: it did not answer within 0\.2 s"):
            caller(address, 1, timeout_s=0.2)
        # Its connection was not taken up; now there is no room at the door.
        for _ in range(5):
            waiting = crowd.enter_context(socket.socket(socket.AF_UNIX))
            waiting.setblocking(False)
            waiting.connect_ex(str(path))
        began = time.monotonic()
        with pytest.raises(LinkError, match=r"broker 5: it did not answer within 0\.2 s"):
            caller(address, 1, timeout_s=0.2)
        assert time.monotonic() - began < 2
    path.unlink()


def test_nothing_is_left_once_all_links_stand(folder: Path) -> None:
    with reception() as first:
        (place,) = folder.iterdir()
        assert place.stat().st_mode & 0o777 == 0o700
        standing = beside(partial(first.wait_for, [1]))
        theirs = caller(first.address, 1)
        expect_linked(standing.result(15), {1: theirs})
        assert list(folder.iterdir()) == []
        with pytest.raises(LinkError, match="no link to broker 5"):
            caller(first.address, 1)


def test_a_long_folder_for_temporary_files_does_not_matter(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = folder / ("deep" * 30)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with reception() as first:
        assert len(first.address.unix) < 108
        assert list(deep.iterdir()) == []
    assert not Path(first.address.unix).parent.exists()
    deep.rmdir()


def test_closing_wakes_a_group_that_waits() -> None:
    with reception() as first:
        waiting = beside(partial(first.wait_for, [1, 2], 5))
        time.sleep(0.05)
        first.close()
        with pytest.raises(LinkError, match="closed before all groups were linked"):
            waiting.result(1)
