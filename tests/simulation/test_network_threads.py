"""Network threads: what one of them is blocked by waits, and what another one has does not."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from small_clusters import BROKER_1, FIRST_CLIENT, MS, SECOND, cluster_of, producers_of
from tidegauge.compiled.rules import rule
from tidegauge.engine.group import Group
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.kernel import Kernel
from tidegauge.simulation.messages.client_requests import ProduceRequest, ProduceResponse
from tidegauge.simulation.trace_rows.detail_rows import Message
from tidegauge.simulation.transfers import block_network_thread

BLOCKED_US = 4 * SECOND
FREE_US = BLOCKED_US + 200 * MS
FIRST, SECOND_ONE = FIRST_CLIENT, FIRST_CLIENT + 1


@rule
def block(world: Kernel, broker: int, peer: int, until_us: int) -> None:
    """Block a thread, as a response does that is read from the disk."""
    block_network_thread(world, broker, peer, until_us)


@cache
def messages(threads: int, *, is_blocked: bool = True) -> list[tuple[int, int, int, int]]:
    """Kind, sender, receiver, time of all messages; at 4 s the first producer's thread is blocked.

    Two producers send a batch every 20 ms each.
    """
    producers = producers_of(100, "3s", "5s", acks=1, **{"batch.size": 0}) | {"clients": 2}
    settings = {"num.network.threads": threads, "replica.fetch.wait.max.ms": 50}
    scenario = cluster_of(settings, duration="6s", workload={"producers": [producers]})
    plan = ClusterPlan(scenario)
    group = Group(plan, range(len(plan.processes)))
    found: list[tuple[int, int, int, int]] = []

    def take(rows: NDArray[np.void]) -> None:
        mine = rows[rows["kind"] == Message.KIND]
        columns = (mine["values"][:, 0], mine["values"][:, 1], mine["process"], mine["time_us"])
        found.extend(zip(*(map(int, each) for each in columns), strict=True))

    group.run_to(BLOCKED_US, take)
    if is_blocked:
        block(group.kernel_view, BROKER_1, FIRST, FREE_US)
    group.run_to(6 * SECOND, take)
    return found


def read(threads: int, producer: int, **how: bool) -> list[int]:
    """When broker 1 reads the requests of a producer."""
    return [
        time_us
        for kind, source, process, time_us in messages(threads, **how)
        if (kind, source, process) == (ProduceRequest.KIND, producer, BROKER_1)
    ]


def told(threads: int, producer: int, **how: bool) -> list[int]:
    """When a producer gets its responses."""
    return [
        time_us
        for kind, _, process, time_us in messages(threads, **how)
        if (kind, process) == (ProduceResponse.KIND, producer)
    ]


def between(times_us: list[int]) -> list[int]:
    """Those that are no earlier than the block, and not behind it by more than a message."""
    return [time for time in times_us if BLOCKED_US <= time < FREE_US]


def test_requests_and_responses_of_a_blocked_thread_wait() -> None:
    assert between(read(3, FIRST)) == []
    # What had left before still comes.
    assert all(time < BLOCKED_US + 2 * MS for time in between(told(3, FIRST)))
    # Up to five are in flight; they are read together when the thread is free.
    assert read(3, FIRST).count(FREE_US) == 5
    assert len(read(3, FIRST)) == len(told(3, FIRST)) == 100


def test_connections_of_another_thread_do_not_wait() -> None:
    assert read(3, SECOND_ONE) == read(3, SECOND_ONE, is_blocked=False)
    assert told(3, SECOND_ONE) == told(3, SECOND_ONE, is_blocked=False)


def test_with_one_thread_all_connections_wait() -> None:
    assert between(read(1, SECOND_ONE)) == []
    assert len(between(read(1, SECOND_ONE, is_blocked=False))) == 10


@pytest.mark.parametrize("threads", [1, 3])
def test_a_request_is_read_once(threads: int) -> None:
    for producer in (FIRST, SECOND_ONE):
        assert len(read(threads, producer)) == 100
