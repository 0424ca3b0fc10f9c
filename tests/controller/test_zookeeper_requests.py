"""zookeeper.max.in.flight.requests: how many requests of a controller ZooKeeper has at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from isr_stories import process_named, process_of_role
from scenario_runs import run_of
from small_clusters import times_us
from tidegauge.simulation.messages.zookeeper_requests import ZkGetRequest, ZkResponse, ZkSetRequest
from tidegauge.traces.run_folder import RunFolder
from zookeeper_stories import cluster, settings

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


def states_asked_and_answered_us(run: RunFolder) -> tuple[list[int], list[int]]:
    """When each read and each write of a state came to ZooKeeper, and its answer back."""
    zookeeper = process_of_role(run, "zookeeper")
    controller = process_named(run, "controller of broker 3")
    (expired,) = run.rows("session_expired")
    messages = [
        row
        for row in run.rows("message")
        if row["time_us"] > expired["time_us"] and row["partition"] >= 0
    ]
    asked = [
        row for row in messages if row["process"] == zookeeper and row["from_process"] == controller
    ]
    kinds = [row["message_kind"] for row in asked]
    # To elect leaders, and then to find that no ISR has the dead broker any more.
    assert (kinds.count(ZkGetRequest.KIND), kinds.count(ZkSetRequest.KIND)) == (
        2 * PARTITIONS,
        PARTITIONS,
    )
    answered = [row for row in messages if row["message_kind"] == ZkResponse.KIND]
    return times_us(asked), times_us(answered)


@pytest.mark.parametrize(
    ("release", "others", "limit"),
    [("1.0", {}, 1), ("1.1", {}, 10), ("2.6", {}, 10), ("2.6", {LIMIT: 3}, 3)],
)
def test_a_controller_has_no_more_requests_in_flight_than_the_setting_says(
    release: str, others: dict[str, int], limit: int, tmp_path: Path
) -> None:
    """KAFKA-5642: a semaphore; each answer lets one more request go. Up to 1.0 one at a time."""
    run = death_of_a_leader(tmp_path / "run", release, **others)
    asked, answered = states_asked_and_answered_us(run)
    assert len(asked) == len(answered)
    in_flight = [
        len([at_us for at_us in asked if at_us < answer_us]) - number
        for number, answer_us in enumerate(answered)
    ]
    # As many as may be are under way when the first answer comes, and never more.
    assert in_flight[0] == max(in_flight) == limit
