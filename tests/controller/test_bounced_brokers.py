"""A broker that is gone and back before the controller looks: a bounce (KIP-380).

The controller stands still while broker 1, without a controlled shutdown, closes its session and
registers again. When it goes on, /brokers/ids lists the same three brokers as before. From 2.2 on
broker 1's registration has a newer czxid: to KafkaController.processBrokerChange@2.2.0 that is a
failure and a start. Up to 2.1 nothing has changed, and nothing is sent to a process that knows
nothing: what it led is led by it in ZooKeeper only.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from isr_stories import process_named
from life_stories import all_writes, batches, begins, fault, story
from partition_fates import Answer, answers
from scenario_runs import rows_of, run_of
from tidegauge.replication.errors import NONE, UNKNOWN_TOPIC_OR_PARTITION
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.traces.run_folder import RunFolder
from zookeeper_stories import broker_id, writes

#: Of which broker 1 leads one and follows the other; broker 3 is the controller.
REPLICAS = [[1, 2, 3], [2, 3, 1]]


def bounce(release: str) -> Scenario:
    """Broker 1 is away for less than a second, in the middle of the controller's pause of 6 s."""
    settings = {
        "controlled.shutdown.enable": False,
        "zookeeper.session.timeout.ms": 12_000,
        "replica.lag.time.max.ms": 10_000,
    }
    steps = [
        batches(range(2), 5),
        begins("pause"),
        begins("restart", {"after": "1s"}),
        batches(range(2), 3, {"after": "8s"}, acks=1),
    ]
    faults = [fault("pause", 3, **{"for": "6s"}), fault("restart", 1, **{"for": "500ms"})]
    return story(REPLICAS, steps, release=release, settings=settings, faults=faults, duration="60s")


def seen_by_controller(run: RunFolder) -> list[str]:
    """Which brokers the controller has seen fail and come, from the end of its pause on."""
    controller = process_named(run, "controller of broker 3")
    (ended,) = rows_of(run, "fault_ended", process=controller)
    return [
        f"{row.kind} {broker_id(run, row['broker'])}"
        for row in run.all_rows()
        if row.kind in {"broker_failed", "broker_registered"} and row["time_us"] >= ended["time_us"]
    ]


def late_answers(run: RunFolder) -> list[Answer | None]:
    """What the last two batches were answered, long after the bounce."""
    return answers(run)[-2:]


def assert_registered_while_the_controller_stood_still(run: RunFolder) -> None:
    controller = process_named(run, "controller of broker 3")
    (begun,) = rows_of(run, "fault_began", process=controller)
    (ended,) = rows_of(run, "fault_ended", process=controller)
    (closed,) = run.rows("session_closed")
    registered_us = [row["time_us"] for path, row in writes(run, "/brokers/ids/1")]
    assert begun["time_us"] < closed["time_us"] < registered_us[-1] < ended["time_us"]
    assert not list(run.rows("session_expired"))


@pytest.mark.parametrize("release", ["2.2", "2.6", "3.9"])
def test_a_bounced_broker_has_failed_and_started_in_one_event(release: str, tmp_path: Path) -> None:
    """It loses what it led, leaves the ISR it was in, and is back in both as a follower."""
    run = run_of(bounce(release), tmp_path / "run")
    assert_registered_while_the_controller_stood_still(run)
    assert seen_by_controller(run) == ["broker_failed 1", "broker_registered 1"]
    (failed,) = run.rows("broker_failed")
    *_, registered = run.rows("broker_registered")
    assert failed["time_us"] == registered["time_us"]
    # Both partitions: without broker 1 in the next epoch, and with it again by a leader's update.
    states = [[write[1:4] for write in each] for each in all_writes(run)]
    assert states == [
        [(1, [1, 2, 3], 0), (2, [2, 3], 1), (2, [2, 3, 1], 1)],
        [(2, [2, 3, 1], 0), (2, [2, 3], 1), (2, [2, 3, 1], 1)],
    ]
    assert late_answers(run) == [Answer(2, NONE, 5, 8), Answer(2, NONE, 5, 8)]


@pytest.mark.parametrize("release", ["0.10.2", "1.1", "2.1"])
def test_up_to_2_1_a_bounce_is_not_seen(release: str, tmp_path: Path) -> None:
    """KafkaController.BrokerChange.process@2.1.0 compares ids: the same are there as before.

    Broker 1 leads in ZooKeeper and is asked, but was sent no LeaderAndIsr, so it leads nothing
    and fetches nothing: its leader takes it out of the ISR when the lag time is over.
    """
    run = run_of(bounce(release), tmp_path / "run")
    assert_registered_while_the_controller_stood_still(run)
    assert seen_by_controller(run) == []
    led, followed = all_writes(run)
    assert [write[1:4] for write in led] == [(1, [1, 2, 3], 0)]
    assert [write[1:4] for write in followed] == [(2, [2, 3, 1], 0), (2, [2, 3], 0)]
    (shrunk,) = run.rows("isr_shrunk")
    ended = list(run.rows("fault_ended"))[-1]
    assert shrunk["time_us"] > ended["time_us"]
    refused, taken = late_answers(run)
    assert refused is not None
    assert (refused.broker, refused.error) == (1, UNKNOWN_TOPIC_OR_PARTITION)
    assert taken == Answer(2, NONE, 5, 8)


def test_a_broker_that_is_gone_as_another_returns_gets_no_requests(tmp_path: Path) -> None:
    """One broker change finds broker 1 back and broker 3 gone (processBrokerChange@2.6.3).

    The news of broker 1 are for all that were live, also for broker 3, whose channel is removed by
    then. The invariants of the run say that no request waits for it.
    """
    down = [
        {"kind": "power_loss", "brokers": [1], "at": "3100ms", "for": "112ms"},
        {"kind": "power_loss", "brokers": [3], "at": "2800ms", "for": "8ms"},
        {"kind": "power_loss", "brokers": [3], "at": "3740ms", "for": "400ms"},
        {"kind": "restart", "brokers": [2], "at": "4003765us"},
        {"kind": "pause", "brokers": [1], "at": "4123335us", "for": "923665us"},
        {"kind": "crash", "brokers": [3], "at": "5046ms"},
    ]
    scenario = {
        "duration": "6047ms",
        "seed": 364314958,
        "liveness": False,
        "release": "2.6",
        "cluster": {
            "brokers": 3,
            "start_spread": "0s",
            "restart_after_exit": "200ms",
            "write_back": "500ms",
            "settings": {"zookeeper.session.timeout.ms": 600},
        },
        "zookeeper": {"tick_ms": 120},
        "topics": [{"name": "story", "assignment": {0: [3, 2, 1]}}],
        "costs": dict.fromkeys(("broker_start", "broker_stop", "broker_ready"), "200ms"),
        "network": {"within_rack": "20ms", "between_racks": "200us", "clients": "20ms"},
        "faults": down,
        "steps": [
            {"at": at, "do": "produce", "topic": "story", "partition": 0}
            for at in ("1900ms", "3900ms", "4871335us")
        ],
    }
    run = run_of(scenario_from_mapping(scenario, "change"), tmp_path)
    change = {row["time_us"] for row in rows_of(run, "broker_failed")}
    assert change & {row["time_us"] for row in rows_of(run, "broker_registered")}
