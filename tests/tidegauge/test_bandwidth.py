"""Closed forms: with one bottleneck a broker catches up in bytes / bandwidth, within 5 percent.

With two at once the slower one decides, or their times add up, as it is in Kafka: a fetcher has one
request in flight, so a round trip and the flow of its response follow each other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from catch_ups import MEGABYTE, SECOND, STARTS_US, catch_up_seconds, caught_up_us, story, written
from scenario_runs import run_of
from small_clusters import network_of

EIGHT = [[1, 3]] * 8
#: There and back.
ROUND_TRIP = 0.002
NEAR = {"network": network_of("50us")}


def limited(broker: int, **machine: str) -> dict[str, Any]:
    """Resources of which one broker has few."""
    return {"brokers": {broker: machine}}


@pytest.mark.parametrize(
    ("assignment", "down", "megabytes", "resources", "seconds"),
    [
        pytest.param([[1, 3]], [3], 1000, {"network_out": "100MB/s"}, 10, id="leader's card"),
        pytest.param([[1, 3]], [3], 1000, {"network_out": "1Gbit/s"}, 8, id="1 Gbit/s"),
        pytest.param([[1, 3]], [3], 1000, limited(1, network_out="250MB/s"), 4, id="one leader"),
        pytest.param([[1, 3]], [3], 1000, limited(3, network_in="100MB/s"), 10, id="follower's"),
        pytest.param([[1, 3]], [3], 500, limited(3, network_in="400Mbit/s"), 10, id="400 Mbit/s"),
        pytest.param(
            [[1, 3, 4]], [3, 4], 1000, {"network_out": "100MB/s"}, 20, id="two followers share"
        ),
        pytest.param(
            [[1, 3, 4, 5]], [3, 4, 5], 500, {"network_out": "100MB/s"}, 15, id="three followers"
        ),
        pytest.param(
            [[1, 3], [2, 3]], [3], 2000, limited(3, network_in="100MB/s"), 20, id="two leaders"
        ),
        pytest.param(
            [[1, 5], [2, 5], [3, 5], [4, 5]],
            [5],
            2000,
            limited(5, network_in="200MB/s"),
            10,
            id="four leaders",
        ),
    ],
)
def test_a_copy_takes_its_bytes_over_the_bandwidth_of_the_network(
    assignment: list[list[int]],
    down: list[int],
    megabytes: int,
    resources: dict[str, Any],
    seconds: float,
    tmp_path: Path,
) -> None:
    told = story(assignment, down, [written(megabytes)], resources=resources, **NEAR)
    assert catch_up_seconds(told, tmp_path) == pytest.approx(seconds, rel=0.05)


@pytest.mark.parametrize(
    ("racks", "megabytes", "seconds"),
    [
        ({"a": [1, 2], "b": [3]}, 2000, 20),
        # From two racks: each has a link of its own.
        ({"a": [1], "b": [2], "c": [3]}, 2000, 10),
        # Within a rack there is no limit.
        ({"a": [1, 3], "b": [2]}, 2000, 10),
    ],
)
def test_all_that_passes_between_two_racks_shares_their_link(
    racks: dict[str, list[int]], megabytes: int, seconds: float, tmp_path: Path
) -> None:
    told = story(
        [[1, 3], [2, 3]],
        [3],
        [written(megabytes)],
        resources={"between_racks": "100MB/s"},
        cluster={"racks": racks},
        **NEAR,
    )
    assert catch_up_seconds(told, tmp_path) == pytest.approx(seconds, rel=0.05)


@pytest.mark.parametrize("fetchers", [1, 2, 4, 8])
def test_where_the_network_binds_fetchers_make_no_difference(fetchers: int, tmp_path: Path) -> None:
    told = story(
        EIGHT,
        [3],
        [written(1000)],
        {"num.replica.fetchers": fetchers},
        {"network_out": "100MB/s"},
        **NEAR,
    )
    assert catch_up_seconds(told, tmp_path) == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize("fetchers", [1, 2, 4])
def test_where_round_trips_bind_fetchers_share_them(fetchers: int, tmp_path: Path) -> None:
    """A fetcher has one request in flight: it takes a round trip for each response."""
    settings = {
        "num.replica.fetchers": fetchers,
        "replica.fetch.max.bytes": MEGABYTE,
        "replica.fetch.response.max.bytes": MEGABYTE,
    }
    seconds = 2000 * ROUND_TRIP / fetchers
    told = story(EIGHT, [3], [written(2000)], settings)
    assert catch_up_seconds(told, tmp_path) == pytest.approx(seconds, rel=0.05)


@pytest.mark.parametrize("fetchers", [1, 2, 4, 8])
def test_where_socket_buffers_bind_fetchers_share_them(fetchers: int, tmp_path: Path) -> None:
    """A connection moves replica.socket.receive.buffer.bytes in each round trip."""
    settings = {"num.replica.fetchers": fetchers, "replica.socket.receive.buffer.bytes": 65536}
    seconds = 1000 * MEGABYTE / 65536 * ROUND_TRIP / fetchers
    told = story(EIGHT, [3], [written(1000)], settings)
    assert catch_up_seconds(told, tmp_path) == pytest.approx(seconds, rel=0.05)


@pytest.mark.parametrize(
    "settings",
    [
        {"replica.fetch.max.bytes": 2 * MEGABYTE},
        {"replica.fetch.response.max.bytes": 2 * MEGABYTE},
        # The broker's own limit, of all fetches (KAFKA-9101).
        {"fetch.max.bytes": 2 * MEGABYTE},
    ],
)
def test_each_limit_of_a_fetch_costs_round_trips(settings: dict[str, int], tmp_path: Path) -> None:
    told = story([[1, 3]], [3], [written(2000)], settings)
    assert catch_up_seconds(told, tmp_path) == pytest.approx(1000 * ROUND_TRIP, rel=0.05)


def test_before_2_5_a_broker_has_no_limit_of_its_own(tmp_path: Path) -> None:
    settings = {"zookeeper.session.timeout.ms": 6000}
    told = story([[1, 3]], [3], [written(2000)], settings, release="2.4")
    assert catch_up_seconds(told, tmp_path) == pytest.approx(200 * ROUND_TRIP, rel=0.05)


@pytest.mark.parametrize("buffer_bytes", [65536, 262144])
def test_a_long_path_needs_large_socket_buffers(buffer_bytes: int, tmp_path: Path) -> None:
    """20 ms there and back, and the smaller buffer of both ends."""
    settings = {
        "replica.socket.receive.buffer.bytes": buffer_bytes,
        "socket.send.buffer.bytes": 2 * buffer_bytes,
    }
    seconds = 100 * MEGABYTE / buffer_bytes * 0.020
    told = story([[1, 3]], [3], [written(100)], settings, network=network_of("10ms"))
    assert catch_up_seconds(told, tmp_path) == pytest.approx(seconds, rel=0.05)


@pytest.mark.parametrize("which", ["leader", "follower"])
@pytest.mark.parametrize("megabytes", [400, 1000])
def test_a_throttled_copy_takes_its_bytes_over_the_rate(
    which: str, megabytes: int, tmp_path: Path
) -> None:
    """KIP-73: the quota of a broker that has just started has no idle time to make up for."""
    settings = {
        f"{which}.replication.throttled.rate": 20 * MEGABYTE,
        "replica.fetch.max.bytes": MEGABYTE,
        # A follower that is held back looks again after this time.
        "replica.fetch.backoff.ms": 100,
    }
    topic = {"settings": {f"{which}.replication.throttled.replicas": "*"}}
    told = story([[1, 3]], [3], [written(megabytes)], settings, topic=topic, duration="90s")
    assert catch_up_seconds(told, tmp_path) == pytest.approx(megabytes / 20, rel=0.05)


@pytest.mark.parametrize(("arrives", "copies"), [(20, 100), (50, 100), (25, 200), (80, 100)])
def test_a_copy_beside_running_producers_takes_x_t_over_b_minus_x(
    arrives: int, copies: int, tmp_path: Path
) -> None:
    """KAFKA-3436: what came in during T seconds at X is copied at B, while more comes in."""
    producer = written(0) | {"batches_per_second": arrives / 2, "records_per_batch": 20}
    producer |= {"start": "10s", "stop": "120s"}
    told = story(
        [[1, 3]],
        [3],
        [producer],
        resources=limited(1, network_out=f"{copies}MB/s"),
        duration="120s",
        **NEAR,
    )
    run = run_of(told, tmp_path / "run")
    began_us = min(
        row["time_us"] for row in run.rows("became_follower") if row["time_us"] > STARTS_US
    )
    down = (began_us - 10 * SECOND) / SECOND
    seconds = arrives * down / (copies - arrives)
    assert caught_up_us(run) / SECOND == pytest.approx(seconds, rel=0.05)


# Two bottlenecks at once.


@pytest.mark.parametrize(
    ("assignment", "down", "settings", "resources", "seconds"),
    [
        # The follower's card has two leaders' bytes to take, each half of what a card sends.
        pytest.param(
            [[1, 3], [2, 3]],
            [3],
            {},
            {"network_out": "100MB/s", "network_in": "100MB/s"},
            10,
            id="both ends",
        ),
        pytest.param(
            [[1, 3]],
            [3],
            {"replica.fetch.max.bytes": MEGABYTE},
            {"network_out": "100MB/s"},
            1000 * ROUND_TRIP + 10,
            id="round trips and the network",
        ),
        pytest.param(
            EIGHT,
            [3],
            {"num.replica.fetchers": 4, "replica.socket.receive.buffer.bytes": 65536},
            {"network_out": "100MB/s"},
            10,
            id="socket buffers, and the network below them",
        ),
        pytest.param(
            EIGHT,
            [3],
            {"num.replica.fetchers": 2, "replica.socket.receive.buffer.bytes": 65536},
            {"network_out": "100MB/s"},
            1000 * MEGABYTE / 65536 * ROUND_TRIP / 2,
            id="socket buffers below the network",
        ),
        pytest.param(
            [[1, 3, 4], [2, 3]],
            [3, 4],
            {},
            {"brokers": {1: {"network_out": "100MB/s"}, 3: {"network_in": "100MB/s"}}},
            10,
            id="a leader's card and a follower's",
        ),
    ],
)
def test_two_bottlenecks_at_once(
    assignment: list[list[int]],
    down: list[int],
    settings: dict[str, int],
    resources: dict[str, Any],
    seconds: float,
    tmp_path: Path,
) -> None:
    producer = written(1000)
    if resources.get("network_in"):
        # Leaders have to receive it first, and have time for it.
        resources |= {"brokers": {3: {"network_in": resources.pop("network_in")}}}
    told = story(assignment, down, [producer], settings, resources)
    assert catch_up_seconds(told, tmp_path) == pytest.approx(seconds, rel=0.1)
