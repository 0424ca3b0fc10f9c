"""Starts of brokers: how long they take, and what there is before a broker serves requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isr_stories import process_named
from life_stories import (
    at,
    batches,
    begins,
    ends,
    fault,
    of_broker,
    once,
    once_in_sync,
    starts_us,
    story,
)
from sampled_replicas import samples_of
from scenario_runs import rows_of, run_of
from tidegauge.replication.errors import CODES, NONE
from tidegauge.traces.run_folder import RunFolder
from zookeeper_stories import writes

SECOND = 1_000_000
#: The model's figure for a start without logs.
START_US = 700_000


# Starting up.


def recovery(kind: str, partitions: int, records: int, **settings: int) -> Any:
    """Broker 1 has logs of records of 1 MiB, goes down and comes back."""
    producers = {
        "name": "shop",
        "topics": ["t0"],
        "batches_per_second": 20,
        "records_per_batch": records,
        "record_bytes": 1024 * 1024,
        "start": "2s",
        "stop": "3s",
    }
    return story(
        [[1]] * partitions,
        [],
        faults=[fault(kind, 1, at="5s", **{"for": "10s"})],
        workload={"producers": [producers]},
        settings=settings,
        duration="20s",
    )


def loading(run: RunFolder) -> tuple[int, int]:
    """How long the start took, and how many records it read again."""
    (row,) = of_broker(run, "broker_loading", 1)
    return row["until_us"] - row["time_us"], row["records_to_recover"]


def test_a_start_takes_its_time_by_logs_and_by_what_is_behind_the_recovery_points(
    tmp_path: Path,
) -> None:
    """Real brokers: 0.46 ms for a log after a clean stop, 4.6 after a kill; 0.4 for each MiB."""
    few, records = loading(run_of(recovery("crash", 2, 1), tmp_path / "few"))
    assert few == START_US + 2 * 4_600 + records * 400
    assert 15 <= records <= 25
    many, more = loading(run_of(recovery("crash", 12, 3), tmp_path / "many"))
    assert more == 3 * records
    assert many - few == 10 * 4_600 + 2 * records * 400
    clean, none = loading(run_of(recovery("restart", 12, 3), tmp_path / "clean"))
    assert (clean, none) == (START_US + 12 * 460, 0)
    # What was flushed up to a checkpointed recovery point is not read again.
    checkpoints = {
        "log.flush.interval.messages": 1,
        "log.flush.offset.checkpoint.interval.ms": 1000,
        "log.initial.task.delay.ms": 1000,
    }
    flushed = run_of(recovery("crash", 12, 3, **checkpoints), tmp_path / "flushed")
    assert loading(flushed) == (START_US + 12 * 4_600, 0)


@pytest.mark.parametrize(("interval_ms", "known"), [(600_000, 0), (1_000, 5)])
def test_a_replica_starts_at_its_checkpointed_high_watermark(
    interval_ms: int, known: int, tmp_path: Path
) -> None:
    """It learns the leader's by fetching; in 2.6 nothing is truncated for that."""
    steps = [
        batches([0], 5),
        begins("crash", {"after": "4s"}),
        ends("crash", once(unregistered=[2])),
    ]
    settings = {"replica.high.watermark.checkpoint.interval.ms": interval_ms}
    scenario = story([[1, 2]], steps, faults=[fault("crash", 2)], settings=settings, duration="18s")
    run = run_of(scenario, tmp_path / "run")
    (read,) = of_broker(run, "checkpoint_read", 2)
    assert (read["high_watermark"], read["log_end_offset"]) == (known, 5)
    follows = of_broker(run, "became_follower", 2)[-1]
    assert (follows["high_watermark"], follows["log_end_offset"]) == (known, 5)
    last = samples_of(run, process=process_named(run, "broker 2"))[-1]
    assert last["high_watermark"] == 5
    assert not list(run.rows("truncated"))
    assert [row["error"] for row in run.rows("step_answered")] == [NONE]


def test_a_broker_that_returns_fetches_all_its_partitions_from_the_start(tmp_path: Path) -> None:
    """One LeaderAndIsr, one first fetch: no ISR waits for a fetch of others to come back.

    Source: ReplicaManager.makeFollowers@2.6.3. Real brokers add them 6 to 200 ms apart.
    """
    steps = [begins("crash"), ends("crash", once(unregistered=[2]))]
    waits = {"replica.fetch.wait.max.ms": 4000}
    scenario = story(
        [[1, 2]] * 5, steps, faults=[fault("crash", 2)], settings=waits, duration="18s"
    )
    run = run_of(scenario, tmp_path / "run")
    expanded = [row["time_us"] for row in run.rows("isr_expanded")]
    assert len(expanded) == 5
    assert max(expanded) - min(expanded) < 200_000


# From the registration to the first request.


@pytest.mark.parametrize(("release", "ready_ms"), [("2.6", 2000), ("1.1", 2000), ("0.10.2", 0)])
def test_a_broker_takes_requests_some_time_after_it_has_registered(
    release: str, ready_ms: int, tmp_path: Path
) -> None:
    """KafkaServer.startup: the processors of its sockets are the last to start (1.1+).

    So leaders cannot add a broker to an ISR before: its LeaderAndIsr lies in a socket. In 0.10.2
    it is the registration that comes last.
    """
    steps = [batches([0], 5), begins("crash"), ends("crash", once(unregistered=[2]))]
    run = run_of(
        story(
            [[1, 2]], steps,
            faults=[fault("crash", 2)], costs={"broker_ready": "2s"}, release=release,
        ),
        tmp_path / "run",
    )  # fmt: skip
    registered = rows_of(run, "broker_registered", broker=1)[-1]
    follows = of_broker(run, "became_follower", 2)[-1]
    (expanded,) = run.rows("isr_expanded")
    assert abs(follows["time_us"] - registered["time_us"] - ready_ms * 1000) < 50_000
    assert follows["time_us"] < expanded["time_us"] < follows["time_us"] + SECOND


def test_a_broker_takes_no_request_before_it_has_registered(tmp_path: Path) -> None:
    """KafkaServer.startup: until then it knows no broker epoch, by which it refuses old requests.

    A controller that has been deposed could tell a member of the ISR to follow another one, and to
    truncate (KIP-380).
    """
    steps = [
        batches([0], 5),
        begins("crash"),
        ends("crash", once(unregistered=[2])),
        [{"after": "2s", "do": "fetch", "offset": 0, "to": 2} | at(0)],
    ]
    late = {"hold": "ZK_CREATE", "from": "broker:2", "after": "2s", "for": "3s"}
    run = run_of(story([[1, 2]], steps, faults=[fault("crash", 2)], pins=[late]), tmp_path / "run")
    (registers,) = run.rows("message_released")
    *_, asked = run.rows("step_taken")
    *_, answered = run.rows("step_answered")
    assert starts_us(run, 2)[-1] < asked["time_us"] < registers["time_us"] < answered["time_us"]


@pytest.mark.parametrize(("release", "controls_first"), [("1.0", True), ("1.1", False)])
def test_up_to_1_0_the_controller_starts_first_and_the_broker_registers_last(
    release: str, controls_first: bool, tmp_path: Path
) -> None:
    """KafkaServer.startup: all three return, and one is controller before anybody registers."""
    run = run_of(
        story(
            [[1, 2, 3]], [],
            faults=[fault("crash", 1, 2, 3, at="5s", **{"for": "8s"})],
            costs={"broker_ready": "400ms"}, release=release, duration="20s",
        ),
        tmp_path / "run",
    )  # fmt: skip
    created = [
        (path, row["time_us"])
        for path, row in writes(run)
        if row.kind == "znode_created" and row["time_us"] > 13 * SECOND
    ]
    controls_us = next(at_us for path, at_us in created if path == "/controller")
    registers_us = next(at_us for path, at_us in created if path.startswith("/brokers/ids/"))
    loaded_us = starts_us(run, 1)[1]
    first_us, last_us = sorted((controls_us, registers_us))
    assert (controls_us < registers_us) == controls_first
    assert 0 < first_us - loaded_us < 30_000
    # 1.1 has a controller as soon as it is registered.
    assert (last_us - loaded_us > 400_000) == controls_first


@pytest.mark.parametrize(("release", "refuses"), [("3.4", False), ("3.5", True)])
def test_from_3_5_on_a_broker_that_is_not_ready_refuses_connections(
    release: str, refuses: bool, tmp_path: Path
) -> None:
    """KAFKA-14658: its port is opened last; before, what comes waits until it is ready."""
    asks = {"do": "fetch", "offset": 0, "to": 2} | at(0)
    steps = [
        batches([0], 5),
        begins("crash"),
        ends("crash", once(unregistered=[2])),
        [once(registered=[1, 2, 3]) | asks],
        [{"after": "3s"} | asks],
    ]
    run = run_of(
        story(
            [[1, 2]], steps,
            faults=[fault("crash", 2)], costs={"broker_ready": "2s"}, release=release,
        ),
        tmp_path / "run",
    )  # fmt: skip
    *_, early_us, _ = (row["time_us"] for row in run.rows("step_taken"))
    first, _ = [
        row
        for row in run.all_rows(
            wanted=lambda kind: kind.name in {"step_answered", "step_unanswered"}
        )
        if row["step"] in {3, 4}
    ]
    assert first.kind == ("step_unanswered" if refuses else "step_answered")
    assert (first["time_us"] - early_us < 10_000) == refuses
    if refuses:
        assert first["error"] == CODES["NETWORK_EXCEPTION"]
    else:
        assert first["time_us"] - early_us > 1_900_000


# Recovery points after a recovery.


@pytest.mark.parametrize(
    ("release", "recovery_point"), [("0.11", 0), ("1.0", 5), ("2.6", 5), ("2.8", 0)]
)
@pytest.mark.parametrize("kind", ["crash", "restart"])
def test_after_an_unclean_recovery_the_recovery_point_is_the_log_end_or_stays(
    kind: str, release: str, recovery_point: int, tmp_path: Path
) -> None:
    """KAFKA-10101: what was read again is not on disk for that, says 2.8; a clean stop flushes."""
    checkpoints = {"log.flush.offset.checkpoint.interval.ms": 1000, "log.initial.task.delay.ms": 1}
    steps = [
        batches([0], 5),
        begins(kind),
        ends(kind, once(unregistered=[2])),
        [once_in_sync(0, 1, 2) | {"do": "wait"}],
        [{"after": "3s", "do": "observe"}],
    ]
    run = run_of(
        story([[1, 2]], steps, faults=[fault(kind, 2)], settings=checkpoints, release=release),
        tmp_path / "run",
    )
    (seen,) = of_broker(run, "observed", 2)
    assert seen["log_end_offset"] == 5
    assert seen["recovery_point"] == (recovery_point if kind == "crash" else 5)
