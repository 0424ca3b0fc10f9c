"""Sockets between groups: between machines they carry messages, on one machine they end."""

from __future__ import annotations

import pickle
import socket
import struct
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from random import Random

import pytest

from linked_groups import drop, fetches_in, groups_with_sockets, make_rings_narrow, send_fetch
from small_clusters import BROKER_1, FIRST_CLIENT, cluster_of
from threads import beside
from tidegauge.engine.exchange import links as links_module
from tidegauge.engine.exchange.links import LinkBroken, Links, peers_of
from tidegauge.engine.exchange.rings import unsent_groups
from tidegauge.engine.exchange.state import AWAITS, BROKEN, ENDED, STRANGE
from tidegauge.engine.group import Group
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.messages.client_requests import FetchRequest

NAMES = ["broker 5", "brokers 1, 4", "brokers 2, 3"]
END_US = 1_200_000

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


# Which groups have sockets, and what they say.


def test_a_group_has_sockets_to_other_machines_and_to_the_first_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes = ["a", "b", "a", "b", "a"]
    assert peers_of(0, nodes) == [1, 2, 3, 4]
    assert peers_of(2, nodes) == [0, 1, 3]
    assert peers_of(3, nodes) == [0, 1, 2, 4]
    for group in range(len(nodes)):
        for peer in peers_of(group, nodes):
            assert group in peers_of(peer, nodes)
    monkeypatch.setattr(links_module, "CAN_SHARE", False)
    assert peers_of(2, nodes) == [0, 1, 3, 4]


def test_a_wait_ends_when_something_comes_or_can_be_sent(pair: Pair) -> None:
    ours, theirs = pair
    with closing(Links({1: ours}, NAMES, {1})) as links:
        assert links.descriptors() == {1: ours.fileno()}
        waiting = beside(partial(links.wait, 30_000))
        assert not waiting.done()
        theirs.sendall(b"x")
        waiting.result(5)
        ours.recv(1)
        beside(partial(links.wait, 30_000, {1})).result(5)


def test_a_group_that_ends_is_named(pair: Pair) -> None:
    """Also one on the same machine, over whose socket nothing goes."""
    ours, theirs = pair
    with closing(Links({2: ours}, NAMES, ())) as links:
        links.wait(0)
        waiting = beside(partial(links.wait, 30_000))
        theirs.close()
        with pytest.raises(LinkBroken, match="the link to brokers 2, 3 is broken: the other") as e:
            waiting.result(5)
        assert e.value.group == 2


def test_a_group_on_the_same_machine_that_sends_something_is_none_of_ours(pair: Pair) -> None:
    ours, theirs = pair
    theirs.sendall(b"x")
    with (
        closing(Links({2: ours}, NAMES, ())) as links,
        pytest.raises(LinkBroken, match="brokers 2, 3 is broken: it sent something"),
    ):
        links.wait(0)


def test_a_reset_breaks_the_link() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        theirs = socket.create_connection(server.getsockname())
        ours, _ = server.accept()
    with closing(Links({1: ours}, NAMES, ())) as links:
        assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()  # with a reset
        with pytest.raises(LinkBroken, match="brokers 1, 4 is broken: Connection reset"):
            beside(partial(links.wait, 30_000)).result(5)


def test_errors_survive_pickling() -> None:
    again = pickle.loads(pickle.dumps(LinkBroken("what was wrong", 2)))  # noqa: S301  # we made it
    assert type(again) is LinkBroken
    assert (str(again), again.group) == ("what was wrong", 2)


# Messages over sockets.


def two_on_machines(ends: Pair) -> tuple[Group, Group]:
    """Broker 1 on a machine, and all others on another one."""
    plan = ClusterPlan(cluster_of())
    grouping = [[BROKER_1], [*range(1, len(plan.processes))]]
    broker, rest = groups_with_sockets(plan, grouping, ends)
    for group in (broker, rest):
        group.begin(END_US)
    return broker, rest


def run_in_turn(groups: tuple[Group, Group], pass_on: partial[None] | None = None) -> None:
    """Run both, one after the other, until both have come to the end."""
    for _ in range(200_000):
        ended = [group.run(drop) == ENDED for group in groups]
        if pass_on is not None:
            pass_on()
        if all(ended):
            return
    raise AssertionError("they do not come to the end")


def hashes_of(groups: tuple[Group, ...]) -> list[tuple[int, tuple[int, int]]]:
    return sorted(pair for group in groups for pair in group.counts().hashes.items())


@pytest.fixture(scope="module")
def hashes_of_one() -> list[tuple[int, tuple[int, int]]]:
    """The hashes of the processes, all in one group."""
    plan = ClusterPlan(cluster_of())
    group = Group(plan, range(len(plan.processes)))
    group.run_to(END_US, drop)
    return hashes_of((group,))


def test_two_groups_with_a_socket_between_them_have_the_hash_of_one(
    pair: Pair, hashes_of_one: list[tuple[int, tuple[int, int]]]
) -> None:
    groups = two_on_machines(pair)
    run_in_turn(groups)
    assert hashes_of(groups) == hashes_of_one


def pass_on_in_pieces(ends: Pair, draw: Random) -> None:
    """Pass a few of the bytes that are under way on to the other side."""
    for source, destination in (ends, ends[::-1]):
        try:
            destination.sendall(source.recv(draw.choice((1, 7, 8, 13, 500)), socket.MSG_DONTWAIT))
        except BlockingIOError:
            continue


def test_words_may_come_in_pieces(
    hashes_of_one: list[tuple[int, tuple[int, int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket ends where it likes, not with a row or a word; rings are as narrow as can be."""
    make_rings_narrow(monkeypatch)
    one, its = socket.socketpair()
    other, its_other = socket.socketpair()
    with one, its, other, its_other:
        groups = two_on_machines((one, other))
        run_in_turn(groups, partial(pass_on_in_pieces, (its, its_other), Random(1)))  # noqa: S311  # no secret
        assert hashes_of(groups) == hashes_of_one


def fetches_taken(group: Group) -> int:
    """The fetches that have come in whole, whether their time has come or not."""
    return int(group.world.kind_counts[FetchRequest.KIND].handled) + len(fetches_in(group))


def test_what_does_not_go_at_once_goes_when_there_is_room(pair: Pair) -> None:
    ours, theirs = pair
    broker, rest = two_on_machines(pair)
    ours.setblocking(False)
    stuffed = 0
    # The buffers are full to the last byte.
    while True:
        try:
            stuffed += ours.send(bytes(4096))
        except BlockingIOError:
            break
    send_fetch(broker.kernel_view, BROKER_1, FIRST_CLIENT, 0, 50)
    broker.begin(END_US)
    assert broker.run(drop) == AWAITS
    assert unsent_groups(broker.exchange.tables) == [1]
    theirs.recv(stuffed, socket.MSG_WAITALL)
    assert broker.run(drop) == AWAITS
    assert unsent_groups(broker.exchange.tables) == []
    assert rest.run(drop) == AWAITS
    assert fetches_taken(rest) == 1


def test_a_message_longer_than_the_rings_goes_over_a_socket_as_well(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ring is emptied into the socket while the rest of the message waits for room."""
    make_rings_narrow(monkeypatch)
    broker, rest = two_on_machines(pair)
    send_fetch(broker.kernel_view, BROKER_1, FIRST_CLIENT, 0, 50)
    broker.begin(END_US)
    rounds = 0
    while fetches_taken(rest) == 0:
        assert [broker.run(drop), rest.run(drop)] == [AWAITS, AWAITS]
        rounds += 1
    assert rounds < 20


@pytest.mark.parametrize("sent", [b"", b"abc"])
def test_the_end_of_the_other_side_is_found_behind_what_it_has_sent(
    pair: Pair, sent: bytes
) -> None:
    ours, _ = pair
    broker, rest = two_on_machines(pair)
    send_fetch(broker.kernel_view, BROKER_1, FIRST_CLIENT, 0, 2)
    broker.begin(END_US)
    assert broker.run(drop) == AWAITS
    ours.sendall(sent)
    ours.close()
    assert rest.run(drop) == BROKEN
    assert rest.exchange.state.peer == 0
    assert fetches_taken(rest) == 1


def test_a_message_of_somebody_else_is_strange(pair: Pair) -> None:
    ours, _ = pair
    _, rest = two_on_machines(pair)
    ours.sendall(b"GET / HTTP/1.1\r\n")
    assert rest.run(drop) == STRANGE
    assert rest.exchange.state.peer == 0
