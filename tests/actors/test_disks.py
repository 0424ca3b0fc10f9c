"""How long reads and writes of disks take: closed forms, one bottleneck at a time.

A broker is away while producers write; then it catches up, and the time from its first append to
its last is bytes / bandwidth. Records are large, so that gigabytes are few events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from process_groups import groups_of
from scenario_runs import rows_of, run_of
from small_clusters import SECOND, network_of
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.simulation.messages.client_requests import ProduceResponse
from tidegauge.traces.run_folder import RunFolder

RECORD_BYTES = 100_000
PARTITIONS = 12
MB = 1_000_000
#: What producers write while brokers are away: 100 MB/s for 10 s.
MISSED_BYTES = 1_000 * MB
#: Before that, when all replicas are in sync.
BEFORE_BYTES = 200 * MB
AWAY_AT, BACK_AT = "3s", "15s"
BACK_US = 15 * SECOND
LEADER, FOLLOWER, OTHER = 0, 1, 2
PRODUCED = int(ProduceResponse.KIND)

#: Fetches that find nothing do not matter, so they are few; no socket buffer binds.
SETTINGS = {
    "replica.fetch.wait.max.ms": 5000,
    "socket.send.buffer.bytes": -1,
    "socket.receive.buffer.bytes": -1,
    "replica.socket.receive.buffer.bytes": -1,
}

UNBOUNDED: dict[str, Any] = dict.fromkeys(
    ("network_in", "network_out", "disk_read", "disk_write"), "unlimited"
)


def copied(
    resources: Mapping[str, Any],
    *,
    away: tuple[int, ...] = (2,),
    fault: str = "restart",
    **parts: Any,
) -> Scenario:
    """Broker 1 leads all partitions; others are away while its producers write."""
    replicas = [1, *away]
    story: dict[str, Any] = {
        "duration": "60s",
        "liveness": False,
        "release": "2.6",
        "trace": "all",
        "cluster": {
            "brokers": 3,
            "start": {3: "0s", 1: "100ms", 2: "200ms"},
            "settings": SETTINGS,
            **parts.pop("cluster", {}),
        },
        "topics": [{"name": "story", "assignment": dict.fromkeys(range(PARTITIONS), replicas)}],
        "network": network_of("100us"),
        "costs": {"request": "50us", "request_partition": "1us", "append": "20us"},
        "resources": {**UNBOUNDED, "dirty_limit": "1MB", **resources},
        "workload": {"producers": [written("1s", "3s"), written("4s", "14s")]},
        "faults": [
            {"kind": fault, "at": AWAY_AT, "for": "12s", "brokers": [broker]} for broker in away
        ],
    }
    return scenario_from_mapping(story | parts, "disks.yaml")


def written(start: str, stop: str, megabytes: int = 100) -> dict[str, Any]:
    """So many megabytes a second."""
    return {
        "name": f"from-{start}",
        "topics": ["story"],
        "batches_per_second": megabytes,
        "records_per_batch": 10,
        "record_bytes": RECORD_BYTES,
        "start": start,
        "stop": stop,
        "settings": {"acks": 1, "send.buffer.bytes": -1, "batch.size": 10 * RECORD_BYTES},
    }


def appends(run: RunFolder, broker: int, since_us: int = BACK_US) -> list[tuple[int, int]]:
    """When a broker has appended since, and how many bytes."""
    return [
        (row["time_us"], (row["end_offset"] - row["base_offset"]) * RECORD_BYTES)
        for row in rows_of(run, "appended", process=broker)
        if row["time_us"] >= since_us
    ]


def catch_up(run: RunFolder, broker: int = FOLLOWER) -> tuple[float, int]:
    """Seconds from a broker's first append after its return to its last, and the bytes of them.

    Those of the first response are there when the time begins.
    """
    found = appends(run, broker)
    first_us = found[0][0]
    return (found[-1][0] - first_us) / SECOND, sum(each for at, each in found if at > first_us)


def level_with(run: RunFolder, leader: int, follower: int) -> Iterator[int]:
    """The times after its return at which a follower has all but 5 MB of what its leader has."""
    sizes = [(at, size) for at, size in appends(run, leader, 0)]
    sizes += [(at, -size) for at, size in appends(run, follower, 0)]
    behind = 0
    for at, size in sorted(sizes):
        behind += size
        if size < 0 and at > BACK_US and behind <= 5 * MB:
            yield at


def hash_of(run: RunFolder) -> str:
    assert run.summary is not None
    return str(run.summary["trace_sha256"])


def test_without_limits_a_copy_is_as_fast_as_the_network_and_the_work(tmp_path: Path) -> None:
    seconds, size = catch_up(run_of(copied({}), tmp_path / "run"))
    assert size > 0.95 * MISSED_BYTES
    assert seconds < 0.5


@pytest.mark.parametrize("megabytes", [50, 100, 400])
def test_old_records_are_read_at_the_bandwidth_of_the_leaders_disk(
    megabytes: int, tmp_path: Path
) -> None:
    """Hardly anything is in memory: ``page_cache`` 0."""
    resources = {"disk_read": f"{megabytes}MB/s", "page_cache": "0B"}
    seconds, size = catch_up(run_of(copied(resources), tmp_path / "run"))
    assert seconds == pytest.approx(size / (megabytes * MB), rel=0.05)


def test_records_in_the_page_cache_do_not_wait_for_a_slow_disk(tmp_path: Path) -> None:
    resources = {"disk_read": "10MB/s", "page_cache": "2GB"}
    seconds, size = catch_up(run_of(copied(resources), tmp_path / "run"))
    assert size > 0.95 * MISSED_BYTES
    assert seconds < 0.5


@pytest.mark.parametrize("cached", [250, 500, 800])
def test_what_a_smaller_page_cache_has_lost_is_read_from_disk(cached: int, tmp_path: Path) -> None:
    resources = {"disk_read": "50MB/s", "page_cache": f"{cached}MB"}
    seconds, _ = catch_up(run_of(copied(resources), tmp_path / "run"))
    # The page cache holds what the producers have written last.
    assert seconds == pytest.approx((MISSED_BYTES - cached * MB) / (50 * MB), rel=0.05, abs=0.25)


@pytest.mark.parametrize(("megabytes", "directories"), [(50, 1), (100, 1), (25, 2), (50, 2)])
def test_a_follower_appends_at_the_bandwidth_of_all_its_disks(
    megabytes: int, directories: int, tmp_path: Path
) -> None:
    """The operating system writes to all log directories at the same time."""
    disks = UNBOUNDED | {"disk_write": f"{megabytes}MB/s", "dirty_limit": "40MB"}
    scenario = copied({"brokers": {2: disks}}, cluster={"log_directories": directories})
    seconds, size = catch_up(run_of(scenario, tmp_path / "run"))
    assert seconds == pytest.approx((size - 40 * MB) / (megabytes * directories * MB), rel=0.05)


def test_memory_for_dirty_pages_takes_the_first_bytes_at_once(tmp_path: Path) -> None:
    resources = {"brokers": {2: UNBOUNDED | {"disk_write": "50MB/s", "dirty_limit": "400MB"}}}
    seconds, size = catch_up(run_of(copied(resources), tmp_path / "run"))
    assert seconds == pytest.approx((size - 400 * MB) / (50 * MB), rel=0.05)


def test_two_followers_share_the_leaders_disk(tmp_path: Path) -> None:
    resources = {"disk_read": "100MB/s", "page_cache": "0B"}
    run = run_of(copied(resources, away=(2, 3)), tmp_path / "run")
    for broker in (FOLLOWER, OTHER):
        seconds, size = catch_up(run, broker)
        assert seconds == pytest.approx(2 * size / (100 * MB), rel=0.05)


def test_a_network_thread_reads_one_of_two_disks_at_a_time(tmp_path: Path) -> None:
    """So the second disk makes two followers faster, but not one."""
    resources = {"disk_read": "50MB/s", "page_cache": "0B"}
    two_disks = {"log_directories": 2}
    alone = run_of(copied(resources, cluster=two_disks), tmp_path / "alone")
    seconds, size = catch_up(alone)
    assert seconds == pytest.approx(size / (50 * MB), rel=0.05)
    together = run_of(copied(resources, away=(2, 3), cluster=two_disks), tmp_path / "together")
    for broker in (FOLLOWER, OTHER):
        seconds, size = catch_up(together, broker)
        assert seconds == pytest.approx(size / (50 * MB), rel=0.10)


def test_followers_of_one_network_thread_wait_for_each_others_reads(tmp_path: Path) -> None:
    """The negative twin: one thread reads for both, whatever disk."""
    resources = {"disk_read": "50MB/s", "page_cache": "0B"}
    cluster = {"log_directories": 2, "settings": SETTINGS | {"num.network.threads": 1}}
    run = run_of(copied(resources, away=(2, 3), cluster=cluster), tmp_path / "run")
    for broker in (FOLLOWER, OTHER):
        seconds, size = catch_up(run, broker)
        assert seconds == pytest.approx(2 * size / (50 * MB), rel=0.05)


def test_a_consumer_of_old_records_takes_its_share_of_the_disk(tmp_path: Path) -> None:
    resources = {"disk_read": "50MB/s", "page_cache": "0B"}
    consumers = [{"name": "billing", "topics": ["story"], "start": "15s"}]
    workload = {"producers": [written("1s", "3s"), written("4s", "14s")], "consumers": consumers}
    run = run_of(copied(resources, workload=workload), tmp_path / "run")
    seconds, size = catch_up(run)
    # The consumer reads everything from the beginning, so it ends after the follower.
    assert seconds == pytest.approx(2 * size / (50 * MB), rel=0.05)


def test_a_follower_with_a_slow_disk_does_not_hold_up_the_other(tmp_path: Path) -> None:
    resources = {"disk_write": "200MB/s", "brokers": {3: UNBOUNDED | {"disk_write": "50MB/s"}}}
    run = run_of(copied(resources, away=(2, 3)), tmp_path / "run")
    for broker, megabytes in ((FOLLOWER, 200), (OTHER, 50)):
        seconds, size = catch_up(run, broker)
        assert seconds == pytest.approx(size / (megabytes * MB), rel=0.05, abs=1)


@pytest.mark.parametrize(("read", "write"), [(100, 100), (100, 110), (110, 100)])
def test_of_two_bottlenecks_the_narrower_one_counts(read: int, write: int, tmp_path: Path) -> None:
    disks = {"disk_write": f"{write}MB/s", "dirty_limit": "1MB"}
    resources = {
        "disk_read": f"{read}MB/s",
        "page_cache": "0B",
        "brokers": {2: UNBOUNDED | disks},
    }
    seconds, size = catch_up(run_of(copied(resources), tmp_path / "run"))
    assert seconds == pytest.approx(size / (min(read, write) * MB), rel=0.10)


def test_a_loss_of_power_leaves_the_leaders_page_cache_empty(tmp_path: Path) -> None:
    """A crash of the leader's process leaves it as it is (the twin)."""
    seconds = {}
    for fault in ("power_loss", "crash"):
        faults = [
            {"kind": "restart", "at": AWAY_AT, "for": "32s", "brokers": [2]},
            {"kind": fault, "at": "25s", "for": "2s", "brokers": [1]},
        ]
        resources = {"disk_read": "100MB/s", "page_cache": "4GB"}
        scenario = copied(resources, faults=faults, cluster={"write_back": "5s"})
        run = run_of(scenario, tmp_path / fault)
        found = appends(run, FOLLOWER, 35 * SECOND)
        seconds[fault] = (found[-1][0] - found[0][0]) / SECOND
    assert seconds["crash"] < 0.5
    assert seconds["power_loss"] == pytest.approx(MISSED_BYTES / (100 * MB), rel=0.05)


def test_a_recovery_after_a_loss_of_power_reads_the_logs_from_disk(tmp_path: Path) -> None:
    """It has to read again what lies behind the recovery points: all, before the first of them."""
    took = {}
    for fault in ("power_loss", "crash"):
        faults = [{"kind": fault, "at": "25s", "for": "20s", "brokers": [1]}]
        resources = {"disk_read": "50MB/s", "page_cache": "4GB"}
        scenario = copied(resources, faults=faults, cluster={"write_back": "5s"})
        run = run_of(scenario, tmp_path / fault)
        (loading,) = rows_of(run, "broker_loading", process=LEADER)
        took[fault] = (loading["until_us"] - loading["time_us"]) / SECOND
    assert took["crash"] < 5
    assert took["power_loss"] == pytest.approx((BEFORE_BYTES + MISSED_BYTES) / (50 * MB), rel=0.05)


@pytest.mark.parametrize("directories", [1, 2])
def test_producers_that_offer_more_are_held_to_the_bandwidth_of_the_leaders_disks(
    directories: int, tmp_path: Path
) -> None:
    scenario = copied(
        {"disk_write": "40MB/s"},
        faults=[],
        cluster={"log_directories": directories},
        workload={"producers": [written("1s", "40s", 200)]},
        duration="21s",
    )
    run = run_of(scenario, tmp_path / "run")
    size = sum(each for at, each in appends(run, LEADER, 11 * SECOND))
    assert size / 10 == pytest.approx(40 * MB * directories, rel=0.05)


def test_producers_that_offer_less_do_not_wait_for_the_disk(tmp_path: Path) -> None:
    parts: dict[str, Any] = {
        "faults": [],
        "workload": {"producers": [written("1s", "3s", 30)]},
        "duration": "5s",
    }
    limited = run_of(copied({"disk_write": "40MB/s"}, **parts), tmp_path / "limited")
    unlimited = run_of(copied({}, **parts), tmp_path / "unlimited")
    assert hash_of(limited) == hash_of(unlimited)


def test_a_catch_up_takes_longer_by_what_producers_add(tmp_path: Path) -> None:
    """KAFKA-3436: missing bytes / (bandwidth - the producers' rate)."""
    workload = {"producers": [written("1s", "3s"), written("4s", "14s"), written("15s", "60s", 50)]}
    resources = {"brokers": {2: UNBOUNDED | {"disk_write": "100MB/s"}}}
    run = run_of(copied(resources, workload=workload), tmp_path / "run")
    begun_us = appends(run, FOLLOWER)[0][0]
    missing = MISSED_BYTES + 50 * MB * (begun_us - BACK_US) / SECOND
    caught_up_us = next(time_us for time_us in level_with(run, LEADER, FOLLOWER))
    assert (caught_up_us - begun_us) / SECOND == pytest.approx(missing / (50 * MB), rel=0.05)


def test_a_flush_waits_until_the_disk_has_written(tmp_path: Path) -> None:
    """log.flush.interval.messages: a batch of 1 MB is answered when it is on disk."""
    took = {}
    for interval in (1, 2**63 - 1):
        scenario = copied(
            {"disk_write": "20MB/s", "dirty_limit": "1GB"},
            faults=[],
            cluster={"settings": SETTINGS | {"log.flush.interval.messages": interval}},
            workload={"producers": [written("1s", "2s", 5)]},
            duration="4s",
        )
        run = run_of(scenario, tmp_path / str(interval))
        answered = [row["time_us"] for row in rows_of(run, "message", message_kind=PRODUCED)]
        took[interval] = answered[0] - SECOND
    assert took[1] - took[2**63 - 1] == MB * SECOND // (20 * MB)


def test_a_clean_stop_flushes_what_the_disk_has_still_to_write(tmp_path: Path) -> None:
    faults = [{"kind": "restart", "at": "3s", "for": "30s", "brokers": [1]}]
    stopped = {}
    for write in ("20MB/s", "unlimited"):
        scenario = copied(
            {"disk_write": write, "dirty_limit": "1GB"},
            faults=faults,
            workload={"producers": [written("1s", "3s")]},
        )
        run = run_of(scenario, tmp_path / write.split("/")[0])
        stopped[write] = rows_of(run, "broker_stopped", process=LEADER)[0]["time_us"]
    # 200 MB from 1 s on.
    assert stopped["20MB/s"] / SECOND == pytest.approx(11, abs=0.1)
    assert stopped["unlimited"] / SECOND < 6


def test_a_slow_disk_adds_its_delay_to_the_wait(tmp_path: Path) -> None:
    resources = {"brokers": {2: UNBOUNDED | {"disk_write": "100MB/s"}}}
    faults = [
        {"kind": "restart", "at": AWAY_AT, "for": "12s", "brokers": [2]},
        {"kind": "slow_disk", "at": "14s", "brokers": [2], "delay": "5ms"},
    ]
    run = run_of(copied(resources, faults=faults), tmp_path / "run")
    seconds, size = catch_up(run)
    delays = len(appends(run, FOLLOWER)) * 0.005
    assert max(delays, size / (100 * MB)) < seconds < 1.05 * (delays + size / (100 * MB))


@pytest.mark.parametrize("count", [2, 3, 5])
def test_groups_of_processes_come_to_the_same_disks(count: int, tmp_path: Path) -> None:
    resources = {
        "disk_read": "80MB/s",
        "page_cache": "300MB",
        "brokers": {2: UNBOUNDED | {"disk_write": "70MB/s"}},
    }
    scenario = copied(resources, away=(2, 3), duration="25s")
    whole = run_of(scenario, tmp_path / "whole")
    split = simulate(scenario, tmp_path / "split", make_engine=inline(groups_of(scenario, count)))
    assert hash_of(split) == hash_of(whole)


def test_another_bandwidth_is_another_run(tmp_path: Path) -> None:
    """The negative twin of the test above."""
    found = set()
    for number, read in enumerate(("80MB/s", "81MB/s", "unlimited")):
        scenario = copied({"disk_read": read, "page_cache": "0B"}, duration="25s")
        found.add(hash_of(run_of(scenario, tmp_path / str(number))))
    assert len(found) == 3
