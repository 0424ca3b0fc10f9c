"""Windows: groups that have links go on by themselves, until the driver is wanted."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from small_clusters import BROKER_1, cluster_of
from threads import beside
from tidegauge.compiled.rules import COMPILED
from tidegauge.engine.exchange.frame_exchange import (
    AWAITS,
    DAMAGED,
    ENDED,
    PACED,
    REPORTS,
    STOPPED,
    STRANGE,
    UNSENT,
)
from tidegauge.engine.exchange.frames import CHECKSUM, GENERATION, ORDER, TIME, WINDOW
from tidegauge.engine.exchange.windows import frame_checksum
from tidegauge.engine.group import Group
from tidegauge.engine.hosted_group import GroupOutcome, HostedGroup, Place
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.kernel import HUB

LEAF = 1
END_US = 20_000_000


def drop(_rows: NDArray[np.void]) -> None:
    """Nobody looks at the rows."""


class Linked:
    """All but broker 1 at the hub, broker 1 as a leaf, and the two ends of their link."""

    def __init__(self) -> None:
        plan = ClusterPlan(cluster_of())
        grouping = [list(range(1, len(plan.processes))), [BROKER_1]]
        self.hub, self.leaf = (Group(plan, hosted) for hosted in grouping)
        self.hubs_end, self.leafs_end = socket.socketpair()
        self.hub.join(grouping, HUB)
        self.leaf.join(grouping, LEAF)
        self.hub.exchange.link({LEAF: self.hubs_end.fileno()})
        self.leaf.exchange.link({HUB: self.leafs_end.fileno()})
        for group in (self.hub, self.leaf):
            group.exchange.state.end_us = END_US

    def first_frame(self) -> NDArray[np.int64]:
        """What the leaf sends first, taken off the link."""
        assert self.leaf.run(drop) == AWAITS
        return np.frombuffer(bytearray(self.hubs_end.recv(1 << 16)), np.int64)

    def send_to_hub(self, frame: NDArray[np.int64]) -> None:
        """Send what the leaf has sent, or what is made of it."""
        self.leafs_end.sendall(frame.tobytes())


@pytest.fixture
def linked() -> Iterator[Linked]:
    both = Linked()
    yield both
    both.hubs_end.close()
    both.leafs_end.close()


def test_groups_go_on_window_by_window_until_all_have_come_to_the_end(linked: Linked) -> None:
    def run(group: Group) -> int:
        while (why := group.run(drop)) == AWAITS:
            pass
        return why

    ends = [beside(partial(run, group)) for group in (linked.hub, linked.leaf)]
    assert [end.result(60) for end in ends] == [ENDED, ENDED]
    assert linked.hub.windows > linked.leaf.windows > 10
    assert linked.hub.earliest_us >= END_US
    assert min(linked.hub.kernel_cpu_seconds, linked.leaf.kernel_cpu_seconds) > 0


def test_who_waits_says_for_whom(linked: Linked) -> None:
    assert linked.hub.run(drop) == AWAITS
    state = linked.hub.exchange.state
    assert (state.peer, state.received_bytes) == (LEAF, 0)
    assert state.waiting_cpu_ns > 0


def test_of_a_frame_in_pieces_the_driver_sees_to_the_rest(linked: Linked) -> None:
    frame = linked.first_frame()
    linked.leafs_end.sendall(frame.tobytes()[:20])
    assert linked.hub.run(drop) == AWAITS
    assert linked.hub.exchange.state.received_bytes == 20


@pytest.mark.parametrize("word", [GENERATION, TIME, CHECKSUM, -1])
def test_a_frame_with_a_word_changed_is_damaged(linked: Linked, word: int) -> None:
    frame = linked.first_frame()
    frame[word] ^= -(1 << 63)
    linked.send_to_hub(frame)
    assert linked.hub.run(drop) == DAMAGED
    assert linked.hub.exchange.state.peer == LEAF


@pytest.mark.parametrize("word", [GENERATION, WINDOW])
def test_a_frame_of_another_run_or_window_is_strange(linked: Linked, word: int) -> None:
    frame = linked.first_frame()
    frame[word] += 1
    frame[CHECKSUM] = frame_checksum(frame.view(linked.hub.exchange.tables.incoming.dtype))  # type: ignore[attr-defined]  # words are what they are
    linked.send_to_hub(frame)
    assert linked.hub.run(drop) == STRANGE


def test_two_words_that_change_places_change_the_checksum(linked: Linked) -> None:
    frame = linked.first_frame()
    frame[[ORDER, TIME]] = frame[[TIME, ORDER]]
    linked.send_to_hub(frame)
    assert linked.hub.run(drop) == DAMAGED


def test_the_driver_may_hold_back_each_window(linked: Linked) -> None:
    linked.hub.exchange.state.paced = True
    linked.send_to_hub(linked.first_frame())
    assert linked.hub.run(drop) == PACED
    assert (linked.hub.windows, linked.hub.events) == (1, 0)
    linked.hub.run(drop)
    assert linked.hub.events > 0


def test_a_report_is_let_in_between_two_windows(linked: Linked) -> None:
    linked.hub.exchange.state.report_wanted = True
    linked.send_to_hub(linked.first_frame())
    assert linked.hub.run(drop) == REPORTS
    linked.hub.exchange.state.report_wanted = False
    assert linked.hub.run(drop) != REPORTS


def test_all_stop_at_the_same_window(linked: Linked) -> None:
    linked.hub.ask_to_stop()
    linked.send_to_hub(linked.first_frame())
    assert linked.hub.run(drop) == STOPPED
    assert linked.leaf.run(drop) == STOPPED


def test_what_does_not_go_at_once_is_left_to_the_driver(linked: Linked) -> None:
    linked.leafs_end.setblocking(False)
    # The buffers are full to the last byte.
    while True:
        try:
            linked.leafs_end.send(bytes(4096))
        except BlockingIOError:
            break
    assert linked.leaf.run(drop) == UNSENT
    exchange = linked.leaf.exchange
    assert exchange.state.peer == HUB
    assert len(exchange.unsent()) == 80 - exchange.state.sent_bytes > 0


# Groups as actors host them, in threads.

GROUPING = [[0, 1, 2, 7], [5, 6], [3, 4]]


def hosted_run() -> tuple[list[GroupOutcome], str]:
    """Three groups that meet and run to the end; what became of them, and all hashes."""
    plan = ClusterPlan(cluster_of())
    processes = range(len(plan.processes))
    grouping = [[*GROUPING[0], *processes[8:]], *GROUPING[1:]]
    names = ["some", "others", "the rest"]
    groups = [
        HostedGroup(
            Place(plan.scenario, {}, False, names, grouping, number, b"secret", 5, None),
            "here",
            None,
        )
        for number in range(len(grouping))
    ]
    hub = groups[HUB].address()
    assert hub is not None
    for met in [beside(partial(group.meet, hub)) for group in groups]:
        met.result(30)
    outcomes = [
        run.result(120) for run in [beside(partial(group.run_to, END_US)) for group in groups]
    ]
    hashes = sorted(pair for group in groups for pair in group.counts().hashes.items())
    for group in groups:
        group.finish()
    return outcomes, json.dumps(hashes)


RUN_HERE = "import test_windows; print(test_windows.hosted_run()[1])"


@pytest.mark.skipif(not COMPILED, reason="this is the plain run")
def test_groups_with_links_come_to_the_same_in_plain_python() -> None:
    """The system calls are the C library's in both."""
    outcomes, compiled = hosted_run()
    assert outcomes == [GroupOutcome(stopped=False)] * 3
    plain = subprocess.run(
        [sys.executable, "-c", "import tidegauge.engine.event_loop; " + RUN_HERE],
        env=os.environ
        | {
            "TIDEGAUGE_COMPILED": "0",
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
        },
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert plain.strip() == compiled
