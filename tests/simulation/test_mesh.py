"""The mesh: groups find each other, keep strangers out, and exchange frames of any length."""

from __future__ import annotations

import pickle
import socket
import struct
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack
from functools import partial
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from tidegauge.simulation.mesh import Address, FrameError, LinkBroken, Links, Mesh, MeshError

NAMES = ["controller", "brokers 1, 4", "brokers 2, 3"]
KEY = b"the key of these tests"
GENERATION = 5

Result = TypeVar("Result")


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, which a test must leave empty."""
    place = Path(tempfile.mkdtemp(prefix="mesh-"))  # pytest's own is too long for a socket
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    left = list(place.rglob("*"))
    assert left == []
    place.rmdir()


def mesh_of(
    number: int,
    names: Sequence[str] = NAMES,
    *,
    key: bytes = KEY,
    generation: int = GENERATION,
    node: str = "here",
    tcp_host: str | None = None,
) -> Mesh:
    return Mesh(number, names, key, generation, node=node, tcp_host=tcp_host)


def beside(task: Callable[[], Result]) -> Future[Result]:
    """What a task comes to in a thread that nobody waits for, should it hang."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(task())
        except Exception as error:  # noqa: BLE001  # it is raised where the result is asked for
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def together(*tasks: Callable[[], Result]) -> list[Future[Result]]:
    """What each task comes to, all at the same time."""
    futures = [beside(task) for task in tasks]
    assert not wait(futures, timeout=15).not_done, "it hangs"
    return futures


def connected(meshes: Sequence[Mesh]) -> None:
    addresses = [mesh.address for mesh in meshes]
    for future in together(*(partial(mesh.connect, addresses, 10) for mesh in meshes)):
        future.result()


def frame(*words: int, length_words: int = 0) -> memoryview:
    """A frame that is still without length and checksum."""
    return memoryview(bytearray(np.array([0, 0, *words, *[7] * length_words]).tobytes()))


def whole(*words: int, length_words: int = 0) -> bytes:
    """A frame as it is on its way."""
    rest = bytes(frame(*words, length_words=length_words)[16:])
    return struct.pack("<qq", 16 + len(rest), zlib.crc32(rest)) + rest


def words_of(mesh: Mesh | Links, peer: int) -> list[int]:
    """What the frame of the i-th peer brought."""
    first = peer * mesh.place_words
    length = int(mesh.incoming[first]) // 8
    words: list[int] = mesh.incoming[first + 2 : first + length].tolist()
    return words


def dial(address: Address) -> socket.socket:
    link = socket.socket(socket.AF_UNIX)
    link.connect(address.unix)
    return link


def knock(address: Address, key: bytes, generation: int, number: int, wanted: int = 0) -> bytes:
    """What a group says that comes with these claims; the answer."""
    with Connection(dial(address).detach()) as connection:
        answer_challenge(connection, key)
        deliver_challenge(connection, key)
        connection.send_bytes(struct.pack("<qqq", generation, number, wanted))
        return connection.recv_bytes()


@pytest.fixture
def two() -> Iterator[tuple[Links, socket.socket, socket.socket]]:
    """Links of group 0 to groups 1 and 2, whose ends are played by hand."""
    ours_1, theirs_1 = socket.socketpair()
    ours_2, theirs_2 = socket.socketpair()
    links = Links({2: ours_2, 1: ours_1}, NAMES)
    yield links, theirs_1, theirs_2
    links.close()
    theirs_1.close()
    theirs_2.close()


def test_three_groups_exchange_frames_window_by_window() -> None:
    with ExitStack() as stack:
        meshes = [stack.enter_context(mesh_of(number)) for number in range(3)]
        connected(meshes)

        def run(number: int) -> list[list[int]]:
            came = []
            for window in range(300):
                peers = [peer for peer in range(3) if peer != number]
                meshes[number].exchange([frame(number, peer, window) for peer in peers])
                came += [words_of(meshes[number], index) for index in range(2)]
            return came

        for number, future in enumerate(together(*(partial(run, number) for number in range(3)))):
            peers = [peer for peer in range(3) if peer != number]
            assert future.result() == [[p, number, w] for w in range(300) for p in peers]


def test_a_group_alone_has_nothing_to_exchange() -> None:
    with mesh_of(0, ["all brokers"]) as mesh:
        mesh.connect([mesh.address], 1)
        mesh.exchange([])
        assert len(mesh.incoming) == 0


def test_large_frames_go_both_ways_at_once() -> None:
    with ExitStack() as stack:
        meshes = [stack.enter_context(mesh_of(number)) for number in range(3)]
        connected(meshes)
        length_words = 10_000_000 // 8

        def run(number: int) -> None:
            for window in range(2):
                out = [frame(number, window, length_words=length_words) for _ in range(2)]
                meshes[number].exchange(out)

        for future in together(*(partial(run, number) for number in range(3))):
            future.result()
        came = words_of(meshes[1], 1)
        assert came[:2] == [2, 1]
        assert came[2:] == [7] * length_words


def test_groups_on_two_nodes_meet_over_tcp() -> None:
    with ExitStack() as stack:
        meshes = [
            stack.enter_context(mesh_of(number, node=node, tcp_host="127.0.0.1"))
            for number, node in enumerate(["here", "there", "there"])
        ]
        # Whoever took the Unix path between nodes would not get far.
        addresses = [mesh.address for mesh in meshes]
        addresses[0] = addresses[0]._replace(unix="/nowhere")
        for future in together(*(partial(mesh.connect, addresses, 10) for mesh in meshes)):
            future.result()
        out = [[frame(number), frame(number)] for number in range(3)]
        for future in together(*(partial(m.exchange, out[n]) for n, m in enumerate(meshes))):
            future.result()
        assert words_of(meshes[0], 0) == [1]
        assert words_of(meshes[2], 0) == [0]


def test_another_node_without_tcp_is_named() -> None:
    with mesh_of(1, NAMES[:2]) as mesh:
        controller = Address("there", "/nowhere", "", 0)
        with pytest.raises(MeshError, match="controller: it is on another machine"):
            mesh.connect([controller, mesh.address], 10)


def test_strangers_are_refused_and_named_while_the_mesh_comes_to_stand() -> None:
    with mesh_of(0, NAMES[:2]) as controller, mesh_of(1, NAMES[:2]) as brokers:
        addresses = [controller.address, brokers.address]
        silent = dial(controller.address)
        standing = beside(partial(controller.connect, addresses, 10))
        with pytest.raises(Exception, match="digest"):
            knock(controller.address, b"another key", GENERATION, 1)
        answers = [
            knock(controller.address, KEY, GENERATION - 1, 1),
            knock(controller.address, KEY, GENERATION, 7),
            knock(controller.address, KEY, GENERATION, 1, wanted=3),
        ]
        assert answers[0] == b"it is of generation 4, not 5"
        assert answers[1].startswith(b"no group 7 dials group 0")
        assert answers[2] == b"it looks for group 3, this is 0"
        assert not standing.done()
        beside(partial(brokers.connect, addresses, 10)).result(15)
        standing.result(15)
        while silent.recv(1000):  # after our challenge, its end
            pass
        silent.close()
        refused = "\n".join(controller.refused)
        assert len(controller.refused) == 5
        assert "it does not have our key" in refused
        assert "of generation 4" in refused
        assert "the connection ended before it had said who it is" in refused
        if hasattr(socket, "SO_PEERCRED"):
            assert all(line.startswith("process ") for line in controller.refused)
        sent = together(
            partial(controller.exchange, [frame(1)]), partial(brokers.exchange, [frame(2)])
        )
        assert [future.result() for future in sent] == [None, None]


def test_a_silent_stranger_is_cut_off_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegauge.simulation.mesh_handshake.HANDSHAKE_S", 0.1)
    with (
        mesh_of(0, NAMES[:2]) as controller,
        dial(controller.address) as silent,
    ):
        # Not even a whole message: whoever waits for the rest waits for ever.
        silent.sendall(b"\0\0")
        standing = beside(partial(controller.connect, [controller.address] * 2, 0.6))
        began = time.monotonic()
        while silent.recv(1000):
            pass
        assert time.monotonic() - began < 0.5
        with pytest.raises(MeshError, match=r"sent away: .* did not say who it is within 0\.1"):
            standing.result(15)


def test_who_is_linked_already_is_not_linked_again() -> None:
    with mesh_of(0) as controller, mesh_of(1) as brokers:
        addresses = [controller.address, brokers.address, brokers.address]
        standing = beside(partial(controller.connect, addresses, 1))
        assert knock(controller.address, KEY, GENERATION, 1) == b"welcome"
        answer = knock(controller.address, KEY, GENERATION, 1)
        assert answer == b"brokers 1, 4 is linked already"
        with pytest.raises(MeshError, match="brokers 2, 3"):
            standing.result(15)


@pytest.mark.parametrize(
    ("key", "generation", "why"),
    [
        (b"another key", GENERATION, "controller: it does not have our key"),
        (KEY, GENERATION + 1, "controller: it refused us: it is of generation 6, not 5"),
    ],
)
def test_who_is_refused_says_by_whom_and_why(key: bytes, generation: int, why: str) -> None:
    names = NAMES[:2]
    with mesh_of(0, names) as controller, mesh_of(1, names, key=key, generation=generation) as b:
        addresses = [controller.address, b.address]
        outcomes = together(
            partial(controller.connect, addresses, 0.5), partial(b.connect, addresses, 10)
        )
        with pytest.raises(MeshError, match=why):
            outcomes[1].result()
        with pytest.raises(MeshError, match=r"not linked within 0\.5 s: brokers 1, 4"):
            outcomes[0].result()


def test_a_group_that_never_comes_is_named_and_no_other() -> None:
    with mesh_of(0) as absent, mesh_of(1) as second, mesh_of(2) as third:
        addresses = [mesh.address for mesh in (absent, second, third)]
        for future in together(
            partial(second.connect, addresses, 0.3), partial(third.connect, addresses, 0.3)
        ):
            with pytest.raises(MeshError) as caught:
                future.result()
            assert str(caught.value) == "not linked within 0.3 s: controller"


def test_nothing_is_left_once_the_mesh_stands(folder: Path) -> None:
    with mesh_of(0, NAMES[:2]) as controller, mesh_of(1, NAMES[:2]) as brokers:
        (place, _) = folder.iterdir()
        assert place.stat().st_mode & 0o777 == 0o700
        connected([controller, brokers])
        assert list(folder.iterdir()) == []


def test_a_long_folder_for_temporary_files_does_not_matter(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = folder / ("deep" * 30)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with mesh_of(0) as mesh:
        assert len(mesh.address.unix) < 108
        assert list(deep.iterdir()) == []
    assert not Path(mesh.address.unix).parent.exists()
    deep.rmdir()


def test_a_longer_frame_enlarges_the_places_and_keeps_the_others(
    two: tuple[Links, socket.socket, socket.socket],
) -> None:
    links, first, second = two
    # The first is ahead by a window, and the place grows while its next frame is kept.
    first.sendall(whole(1, 10) + whole(1, 11))
    long = whole(2, 20, length_words=20_000)
    beside(partial(second.sendall, long))
    links.exchange([frame(0), frame(0)])
    assert links.place_words == 32_768
    assert words_of(links, 0) == [1, 10]
    assert words_of(links, 1) == [2, 20, *[7] * 20_000]
    second.sendall(whole(2, 21))
    links.exchange([frame(0), frame(0)])
    assert (words_of(links, 0), words_of(links, 1)) == ([1, 11], [2, 21])


def test_a_frame_may_come_in_pieces_and_bring_part_of_the_next(
    two: tuple[Links, socket.socket, socket.socket],
) -> None:
    links, first, second = two
    both = whole(1, 10) + whole(1, 11)
    done = beside(partial(links.exchange, [frame(0), frame(0)]))
    for piece in (both[:5], both[5:20], both[20:44]):
        first.sendall(piece)
        time.sleep(0.02)
    assert not done.done()
    second.sendall(whole(2, 20))
    done.result(5)
    assert (words_of(links, 0), words_of(links, 1)) == ([1, 10], [2, 20])
    done = beside(partial(links.exchange, [frame(0), frame(0)]))
    first.sendall(both[44:])
    second.sendall(whole(2, 21))
    done.result(5)
    assert (words_of(links, 0), words_of(links, 1)) == ([1, 11], [2, 21])


@pytest.mark.parametrize(
    ("damaged", "what"),
    [
        (whole(1, 2)[:-1] + b"\xff", "a checksum that does not match"),
        (struct.pack("<qq", 8, 0), "a length of 8 bytes"),
        (struct.pack("<qq", -8, 0), "a length of -8 bytes"),
        (struct.pack("<qq", 17, 0) + b"\0", "a length of 17 bytes"),
        (struct.pack("<qq", 1 << 40, 0), "a length of 1099511627776 bytes"),
    ],
    ids=["checksum", "short", "negative", "odd", "long"],
)
def test_a_damaged_frame_names_its_sender(
    two: tuple[Links, socket.socket, socket.socket], damaged: bytes, what: str
) -> None:
    links, first, second = two
    first.sendall(whole(1))
    second.sendall(damaged)
    with pytest.raises(FrameError, match=f"brokers 2, 3 is damaged: it has {what}") as caught:
        links.exchange([frame(0), frame(0)])
    assert caught.value.peer == 2
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301  # we made it ourselves
    assert (str(again), again.peer) == (str(caught.value), 2)


def test_a_peer_that_ends_is_named_though_we_wait_for_another(
    two: tuple[Links, socket.socket, socket.socket],
) -> None:
    links, _, second = two
    waiting = beside(partial(links.exchange, [frame(0), frame(0)]))
    time.sleep(0.05)
    second.close()
    with pytest.raises(LinkBroken, match="the link to brokers 2, 3 is broken") as caught:
        waiting.result(1)
    assert caught.value.peer == 2


def test_the_last_frame_of_a_peer_that_ends_is_not_lost(
    two: tuple[Links, socket.socket, socket.socket],
) -> None:
    links, first, second = two
    second.sendall(whole(2))
    second.close()  # so that sending to it fails
    waiting = beside(partial(links.exchange, [frame(0), frame(0)]))
    time.sleep(0.05)
    first.sendall(whole(1))
    waiting.result(1)
    assert (words_of(links, 0), words_of(links, 1)) == ([1], [2])
    first.sendall(whole(1))
    with pytest.raises(LinkBroken, match="brokers 2, 3"):
        links.exchange([frame(0), frame(0)])


def test_the_last_frame_before_a_reset_is_not_lost() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        theirs = socket.create_connection(server.getsockname())
        ours, _ = server.accept()
    links = Links({1: ours}, NAMES)
    try:
        theirs.sendall(whole(1))
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()  # with a reset
        time.sleep(0.05)
        links.exchange([frame(0, length_words=500_000)])
        assert words_of(links, 0) == [1]
        with pytest.raises(LinkBroken, match="brokers 1, 4"):
            links.exchange([frame(0)])
    finally:
        links.close()


def test_closing_wakes_an_exchange_that_waits(
    two: tuple[Links, socket.socket, socket.socket],
) -> None:
    links, _, _ = two
    waiting = beside(partial(links.exchange, [frame(0), frame(0)]))
    time.sleep(0.05)
    links.close()
    with pytest.raises(LinkBroken, match="closed on this side"):
        waiting.result(1)
    links.close()
    with pytest.raises(MeshError, match="the mesh is closed"):
        links.exchange([frame(0), frame(0)])


def test_closing_wakes_a_group_that_waits_for_others() -> None:
    mesh = mesh_of(0)
    closing = threading.Timer(0.1, mesh.close)
    closing.start()
    with pytest.raises(MeshError, match="closed before all groups were linked"):
        mesh.connect([mesh.address] * 3, 5)
    closing.join()
