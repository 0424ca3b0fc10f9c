"""A broker's ZooKeeper client: it pings when it has sent nothing for a third of the time-out.

Source: ClientCnxn.SendThread.run of ZooKeeper 3.5.9.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from isr_stories import process_of_role
from scenario_runs import rows_of, run_of
from tidegauge.simulation.messages.zookeeper_requests import (
    ZkCreateRequest,
    ZkPingRequest,
    ZkSetRequest,
)
from tidegauge.traces.run_folder import RunFolder
from zookeeper_stories import MS, PING_US, SECOND, cluster, settings

#: Ways to ZooKeeper differ by less.
JITTER_US = 5 * MS


def sent_to_zookeeper(run: RunFolder, broker: int) -> list[tuple[int, int]]:
    """When and what a broker's session has sent, as it came."""
    zookeeper = process_of_role(run, "zookeeper")
    return [
        (row["time_us"], row["message_kind"])
        for row in rows_of(run, "message", process=zookeeper, from_process=broker - 1)
    ]


def test_whatever_is_sent_puts_the_next_ping_off(tmp_path: Path) -> None:
    """Leader 1 writes an ISR between two pings: the next comes a third of a time-out later."""
    cut = {"kind": "cut_link", "at": "4s", "between": [[1], [2]]}
    shop = {"name": "shop", "topics": ["t"], "batches_per_second": 2, "start": "2s"}
    run = run_of(
        cluster(
            duration="20s",
            trace="all",
            cluster={
                "brokers": 3,
                "start": {3: "0s", 1: "500ms", 2: "600ms"},
                "settings": settings(**{"replica.lag.time.max.ms": 5_000}),
            },
            topics=[{"name": "t", "assignment": {0: [1, 2]}}],
            workload={"producers": [shop]},
            faults=[cut],
        ),
        tmp_path / "run",
    )
    sent = [(at, kind) for at, kind in sent_to_zookeeper(run, 1) if at > SECOND]
    others = []
    for (before, _), (at, kind) in pairwise(sent):
        if kind == ZkPingRequest.KIND:
            assert abs(at - before - PING_US) < JITTER_US
        else:
            others.append((kind, at - before))
    # The write of the ISR and the notification came when no ping was due.
    assert [kind for kind, _ in others] == [ZkSetRequest.KIND, ZkCreateRequest.KIND]
    assert all(JITTER_US < gap_us < PING_US - JITTER_US for _, gap_us in others)


@pytest.mark.parametrize("together", [True, False])
def test_brokers_that_hosted_at_the_same_time_and_die_together_expire_in_one_tick(
    together: bool, tmp_path: Path
) -> None:
    """A LeaderAndIsr makes both read a topic's settings, and from then on they ping together.

    The twin: brokers that host nothing ping as they have started, 600 ms apart.
    """
    hosts = [1, 2] if together else [3]
    run = run_of(
        cluster(
            duration="16s",
            cluster={
                "brokers": 3,
                "start": {3: "0s", 1: "500ms", 2: "1100ms"},
                "settings": settings(),
            },
            topics=[{"name": "t", "assignment": {0: hosts}}],
            steps=[{"at": "4s", "do": "create_topic", "topic": "t"}],
            faults=[{"kind": "crash", "brokers": [1, 2], "at": "7500ms"}],
        ),
        tmp_path / "run",
    )
    expired = {row["time_us"] for row in run.rows("session_expired")}
    assert len(list(run.rows("session_expired"))) == 2
    assert len(expired) == (1 if together else 2)
