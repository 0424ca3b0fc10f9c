"""Blocks of producer ids in a KRaft cluster: who grants them, and when a producer gets none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scenario_runs import rows_of, run_of
from tidegauge.replication import errors
from tidegauge.replication.release_rules import (
    FAILED_ALLOCATION_EXITS,
    FAILED_ALLOCATION_RETRIED,
    FAILED_ALLOCATION_STAYS,
)
from tidegauge.replication.release_versions import KRAFT_MODE
from tidegauge.replication.releases import rules_of
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.simulation.trace_rows.codes import (
    ALLOCATE_PRODUCER_IDS,
    BROKER_SESSION_EXPIRED,
    STOP_FAILED_ALLOCATION,
)
from tidegauge.traces.run_folder import RunFolder

SECOND = 1_000_000
INIT_PRODUCER_ID = 22
#: Broker 1 has been restarted by then; the producer asks for its id.
ASKED_US = 8 * SECOND


def cluster(*faults: dict[str, Any], **parts: Any) -> Scenario:
    """One broker, restarted at 1 s, and a producer that asks for an id at 8 s."""
    restart = {"name": "bounce", "kind": "restart", "at": "1s", "for": "1s", "brokers": [1]}
    story: dict[str, Any] = {
        "release": "4.1",
        "mode": "kraft",
        "duration": "16s",
        "liveness": False,
        "cluster": {"brokers": 1, "restart_after_exit": "1s"},
        "controllers": {"count": 1, "settings": {"broker.session.timeout.ms": 2000}},
        "topics": [{"name": "story", "assignment": {0: [1]}}],
        "workload": {
            "producers": [
                {"name": "shop", "topics": ["story"], "batches_per_second": 1, "start": "9s"}
            ]
        },
        "faults": [restart, *faults],
    }
    return scenario_from_mapping(story | parts, "story")


def without_credentials(until_s: int) -> dict[str, Any]:
    """The server of credentials is down from 7 s on."""
    fault = {"name": "out", "kind": "authentication_failure", "at": "7s", "brokers": [1]}
    return fault | {"for": f"{until_s - 7}s"}


def refusals_us(run: RunFolder) -> list[int]:
    """When InitProducerId was answered COORDINATOR_LOAD_IN_PROGRESS."""
    error = int(errors.COORDINATOR_LOAD_IN_PROGRESS)
    rows = rows_of(run, "request_refused", api_key=INIT_PRODUCER_ID, error=error)
    return [row["time_us"] for row in rows]


def acknowledged(run: RunFolder) -> int:
    assert run.summary is not None
    return int(run.summary["records_acknowledged"])


def test_a_restarted_broker_has_its_first_producer_ask_again(tmp_path: Path) -> None:
    """KIP-730: its block is gone with the process; the active controller grants the next one."""
    run = run_of(cluster(), tmp_path / "run")
    (refused_us,) = refusals_us(run)
    (granted,) = rows_of(run, "controller_event", event_kind=ALLOCATE_PRODUCER_IDS)
    assert ASKED_US <= refused_us < granted["time_us"] < refused_us + 100_000
    assert acknowledged(run) > 5


def test_without_an_active_controller_no_new_producer_gets_an_id(tmp_path: Path) -> None:
    """It asks each retry.backoff.ms, and gets an id once there is a controller again."""
    crash = {"name": "lost", "kind": "crash", "brokers": ["controller:0"], "at": "6s", "for": "6s"}
    run = run_of(cluster(crash), tmp_path / "run")
    refused = refusals_us(run)
    (granted,) = rows_of(run, "controller_event", event_kind=ALLOCATE_PRODUCER_IDS)
    assert granted["time_us"] > 12 * SECOND
    assert len(refused) > 30
    assert acknowledged(run) > 0


@pytest.mark.parametrize(("release", "is_lasting"), [("4.1.1", True), ("4.1.2", False)])
def test_a_request_that_fails_to_authenticate_stays_in_flight(
    release: str, is_lasting: bool, tmp_path: Path
) -> None:
    """KAFKA-19990: though credentials are checked again from 10 s on, no id is given out."""
    run = run_of(cluster(without_credentials(10), release=release), tmp_path / "run")
    assert (refusals_us(run)[-1] > 15 * SECOND) == is_lasting
    assert (acknowledged(run) == 0) == is_lasting


def test_up_to_3_9_1_the_broker_halts(tmp_path: Path) -> None:
    """KAFKA-19990: the exception leaves the thread of the channel, which is fatal."""
    run = run_of(cluster(without_credentials(10), release="3.9.1"), tmp_path / "run")
    (halted,) = rows_of(run, "broker_stopped", stop=STOP_FAILED_ALLOCATION)
    assert ASKED_US < halted["time_us"] < 10 * SECOND
    assert acknowledged(run) > 0


def test_an_isr_change_waits_for_credentials_and_the_connection_of_heartbeats_is_kept(
    tmp_path: Path,
) -> None:
    """DefaultAlterPartitionManager: a NETWORK_EXCEPTION; another one follows in 50 ms."""
    cut = {"kind": "cut_link", "at": "7s", "for": "9s", "between": [[1], [3]]}
    brokers = {
        "brokers": 3,
        "start": dict.fromkeys((1, 2, 3), "0s"),
        "settings": {"replica.lag.time.max.ms": 1000},
    }
    run = run_of(
        cluster(
            cluster=brokers,
            topics=[{"name": "story", "assignment": {0: [1, 2, 3]}}],
            faults=[cut, without_credentials(14)],
        ),
        tmp_path / "run",
    )
    failed = rows_of(run, "alter_partition_failed", error=int(errors.NETWORK_EXCEPTION))
    (shrunk,) = run.rows("isr_shrunk")
    assert len(failed) > 50
    assert failed[-1]["time_us"] < 14 * SECOND < shrunk["time_us"] < 14.2 * SECOND
    assert not rows_of(run, "broker_state", state_reason=BROKER_SESSION_EXPIRED)


def test_the_releases_of_kafka_19990() -> None:
    for releases, expected in (
        (("3.3.2", "3.9.0", "3.9.1"), FAILED_ALLOCATION_EXITS),
        (("4.0.0", "4.0.1", "4.1.0", "4.1.1"), FAILED_ALLOCATION_STAYS),
        (("3.9.2", "4.0.2", "4.1.2", "4.2.0", "4.4.0"), FAILED_ALLOCATION_RETRIED),
    ):
        for each in releases:
            assert rules_of(each, mode=KRAFT_MODE).failed_allocation == expected
