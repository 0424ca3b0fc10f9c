"""Network threads: what one of them is blocked by waits, and what another one has does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from small_clusters import BROKER_1, BROKER_2, BROKER_3, MS, SECOND, cluster_of, producers_of
from tidegauge.compiled.rules import rule
from tidegauge.engine.group import Group
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.kernel import Kernel
from tidegauge.simulation.messages.client_requests import (
    FetchRequest,
    FetchResponse,
    ProduceRequest,
    ProduceResponse,
)
from tidegauge.simulation.network_threads import block_network_thread
from tidegauge.simulation.trace_rows.request_rows import Message

BLOCKED_US = 4 * SECOND
FREE_US = BLOCKED_US + 200 * MS


@rule
def block(world: Kernel, broker: int, peer: int, until_us: int) -> None:
    """Block a thread, as a response does that is read from the disk."""
    block_network_thread(world, broker, peer, until_us)


def messages(peer: int | None, threads: int) -> list[tuple[int, int, int, int]]:
    """The messages of a run: kind, sender, receiver, time; a peer's thread is blocked at 4 s."""
    producer = producers_of(100, "3s", "5s", acks=1)
    settings = {"num.network.threads": threads, "replica.fetch.wait.max.ms": 50}
    plan = ClusterPlan(cluster_of(settings, duration="6s", workload={"producers": [producer]}))
    group = Group(plan, range(len(plan.processes)))
    found: list[tuple[int, int, int, int]] = []

    def take(rows: NDArray[np.void]) -> None:
        found.extend(
            (int(body[0]), int(body[1]), int(process), int(time_us))
            for kind, process, time_us, body in zip(
                rows["kind"], rows["process"], rows["time_us"], rows["body"], strict=True
            )
            if kind == Message.KIND
        )

    group.run_to(BLOCKED_US, take)
    if peer is not None:
        block(group.kernel_view, BROKER_1, peer, FREE_US)
    group.run_to(6 * SECOND, take)
    return found
