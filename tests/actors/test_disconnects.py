"""What others notice of a broker that is gone or stops, and questions that it does not know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isr_stories import process_named
from life_stories import at, batches, fault, of_broker, story
from scenario_runs import rows_of, run_of
from tidegauge.replication.errors import CODES
from tidegauge.simulation.messages.timers import Disconnected
from tidegauge.traces.run_folder import RunFolder

SECOND = 1_000_000
#: The model's figure for a clean stop.
STOP_US = 1_700_000


# What others notice.


def unheard(kind: str) -> Any:
    """Broker 1 leads the only replica that a producer writes to, and is gone for good."""
    producers = {
        "name": "shop",
        "topics": ["t0"],
        "batches_per_second": 10,
        "start": "2s",
        "stop": "6s",
        "settings": {"acks": "all", "request.timeout.ms": 3000, "delivery.timeout.ms": 8000},
    }
    return story(
        [[1], [1, 2]],
        [[{"at": "5100ms", "do": "produce", "to": 1, "timeout": "3s"} | at(0)]],
        faults=[fault(kind, 1, at="5s")],
        workload={"producers": [producers], "consumers": [{"name": "billing", "topics": ["t0"]}]},
        trace="all",
        duration="20s",
    )


def unanswered_after_us(run: RunFolder) -> int:
    """How long the operator waited for the answer that did not come."""
    (taken,) = run.rows("step_taken")
    (unanswered,) = run.rows("step_unanswered")
    return int(unanswered["time_us"] - taken["time_us"])


def disconnected_us(run: RunFolder, group: str) -> list[int]:
    """When the one client of a group has seen a connection to broker 1 closed."""
    client = process_named(run, f"client {group}-0")
    seen = rows_of(
        run, "message", process=client, message_kind=int(Disconnected.KIND), from_process=0
    )
    return [row["time_us"] for row in seen]


def test_a_killed_brokers_connections_are_closed_at_once(tmp_path: Path) -> None:
    """Its machine lives, and refuses new ones: clients try again after each back-off of 100 ms."""
    run = run_of(unheard("crash"), tmp_path / "run")
    for client in ("shop", "billing"):
        assert 0 < disconnected_us(run, client)[0] - 5 * SECOND < 10_000
    assert unanswered_after_us(run) < 10_000
    attempts = [row["attempts"] for row in run.rows("batch_failed")]
    assert max(attempts) > 20


def test_a_broker_without_power_is_given_up_after_time_outs(tmp_path: Path) -> None:
    """Nobody closes its connections: each attempt costs request.timeout.ms."""
    run = run_of(unheard("power_loss"), tmp_path / "run")
    for client in ("shop", "billing"):
        assert disconnected_us(run, client) == []
    assert unanswered_after_us(run) >= 3 * SECOND
    attempts = [row["attempts"] for row in run.rows("batch_failed")]
    assert 1 <= max(attempts) <= 3


def test_a_stopping_broker_closes_its_connections_before_it_flushes(tmp_path: Path) -> None:
    """KafkaServer.shutdown: the socket server goes first, so that nobody waits for the rest."""
    run = run_of(unheard("restart"), tmp_path / "run")
    (answered,) = run.rows("controlled_shutdown_answered")
    (stopped,) = of_broker(run, "broker_stopped", 1)
    assert stopped["time_us"] - answered["time_us"] >= STOP_US
    refused_us = [
        time_us
        for time_us in disconnected_us(run, "shop")
        if answered["time_us"] < time_us < stopped["time_us"] - 10_000
    ]
    assert len(refused_us) > 10
    assert refused_us[0] - answered["time_us"] < 10_000


# What a broker does not know.


@pytest.mark.parametrize(("release", "answers"), [("0.10.2", False), ("0.11", True)])
def test_before_0_11_a_broker_closes_the_connection_on_a_question_about_epochs(
    release: str, answers: bool, tmp_path: Path
) -> None:
    """RequestChannel.Request@0.10.2.0: an api key that it does not know; KIP-101."""
    asks = {"do": "ask_epoch", "broker": 1, "leader_epoch": 0} | at(0)
    steps = [batches([0], 5), [{"after": "1s"} | asks]]
    run = run_of(story([[1, 2]], steps, release=release, duration="10s"), tmp_path / "run")
    *_, asked_us = (row["time_us"] for row in run.rows("step_taken"))
    unanswered = list(run.rows("step_unanswered"))
    assert [row["error"] for row in unanswered] == ([] if answers else [CODES["NETWORK_EXCEPTION"]])
    told = rows_of(run, "epoch_answered", to_process=process_named(run, "operator"))
    assert [row["end_offset"] for row in told] == ([5] if answers else [])
    # At once: nobody waits for a time-out.
    assert all(row["time_us"] - asked_us < 10_000 for row in unanswered)
