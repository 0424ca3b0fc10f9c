"""zookeeper.max.in.flight.requests: how many requests of a controller ZooKeeper has at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from isr_stories import process_named, process_of_role
from scenario_runs import rows_of, run_of
from tidegauge.run_folder import RunFolder
from tidegauge.simulation.kinds import ZK_GET, ZK_RESPONSE, ZK_SET
from zookeeper_stories import SECOND, cluster, settings

PARTITIONS = 30
LIMIT = "zookeeper.max.in.flight.requests"


def death_of_a_leader(folder: Path, release: str, **others: int) -> RunFolder:
    """Broker 1 leads thirty partitions, and dies; broker 3 is the controller."""
    scenario = cluster(
        release=release,
        duration="12s",
        trace="all",
        cluster={
            "brokers": 3,
            "start": {3: "0s", 1: "500ms", 2: "500ms"},
            "settings": settings(**others),
        },
        topics=[{"name": "t", "assignment": {number: [1, 2] for number in range(PARTITIONS)}}],
        network=dict.fromkeys(("within_rack", "between_racks", "within_host"), "1ms"),
        faults=[{"kind": "crash", "brokers": [1], "at": "5s"}],
    )
    return run_of(scenario, folder)


def asked_and_answered_us(run: RunFolder, kind: int) -> tuple[list[int], list[int]]:
    """When ZooKeeper got the controller's last thirty requests of a kind, and it the answers."""
    zookeeper = process_of_role(run, "zookeeper")
    controller = process_named(run, "controller of broker 3")
    asked = [
        row["time_us"]
        for row in rows_of(
            run, "message", process=zookeeper, message_kind=kind, from_process=controller
        )
    ][-PARTITIONS:]
    assert asked[0] > 5 * SECOND
    answered = [
        row["time_us"]
        for row in rows_of(run, "message", process=controller, message_kind=int(ZK_RESPONSE))
        if row["time_us"] > asked[0]
    ]
    return asked, answered[:PARTITIONS]


@pytest.mark.parametrize(
    ("release", "others", "limit"),
    [("1.0", {}, 1), ("1.1", {}, 10), ("2.6", {}, 10), ("2.6", {LIMIT: 3}, 3)],
)
@pytest.mark.parametrize("kind", [ZK_GET, ZK_SET])
def test_a_controller_has_no_more_requests_in_flight_than_the_setting_says(
    kind: int, release: str, others: dict[str, int], limit: int, tmp_path: Path
) -> None:
    """KAFKA-5642: a semaphore; each answer lets one more request go. Up to 1.0 one at a time."""
    run = death_of_a_leader(tmp_path / "run", release, **others)
    asked, answered = asked_and_answered_us(run, int(kind))
    for number, answer_us in enumerate(answered):
        in_flight = [at for at in asked if at < answer_us]
        assert len(in_flight) - number <= limit
    # All that may be are under way before the first answer comes.
    assert len([at for at in asked if at < answered[0]]) == limit
