"""How long reads and writes of disks take: closed forms, one bottleneck at a time.

A broker is away while producers write; then it catches up, and the time from its first append to
its last is bytes / bandwidth. Records are large, so that gigabytes are few events.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scenario_runs import rows_of, run_of
from small_clusters import SECOND, network_of
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
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
            "settings": {"replica.fetch.wait.max.ms": 5000},
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
        "settings": {"acks": 1},
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
    slow = {"disk_write": f"{megabytes}MB/s"}
    cluster = copied({}).cluster.model_dump(mode="json", by_alias=True, exclude_unset=True)
    cluster["log_directories"] = directories
    run = run_of(copied({"brokers": {2: slow}}, cluster=cluster), tmp_path / "run")
    seconds, size = catch_up(run)
    assert seconds == pytest.approx(size / (megabytes * directories * MB), rel=0.05)


def test_memory_for_dirty_pages_takes_the_first_bytes_at_once(tmp_path: Path) -> None:
    slow = {"disk_write": "50MB/s", "dirty_limit": "400MB"}
    run = run_of(copied({"brokers": {2: slow}}), tmp_path / "run")
    seconds, size = catch_up(run)
    assert seconds == pytest.approx((size - 400 * MB) / (50 * MB), rel=0.05)


def test_two_followers_share_the_leaders_disk(tmp_path: Path) -> None:
    resources = {"disk_read": "100MB/s", "page_cache": "0B"}
    run = run_of(copied(resources, away=(2, 3)), tmp_path / "run")
    for broker in (FOLLOWER, OTHER):
        seconds, size = catch_up(run, broker)
        assert seconds == pytest.approx(2 * size / (100 * MB), rel=0.05)


def test_the_read_side_of_one_disk_is_not_slowed_down_by_writes_to_it(tmp_path: Path) -> None:
    """A simplification, named in limits.md: producers go on while the follower reads."""
    resources = {"disk_read": "100MB/s", "disk_write": "100MB/s", "page_cache": "0B"}
    workload = {"producers": [written("1s", "3s"), written("4s", "14s"), written("15s", "60s", 50)]}
    run = run_of(copied(resources, workload=workload), tmp_path / "run")
    missed = MISSED_BYTES / MB
    # It catches up what is missing, and what comes in while it does so: X*T/(B-X).
    in_sync = rows_of(run, "isr_changed") if False else None
    assert in_sync is None
    seconds = [at for at, each in appends(run, FOLLOWER) if each > 9 * MB / PARTITIONS]
    assert (seconds[-1] - seconds[0]) / SECOND == pytest.approx(missed / 50, rel=0.10)
