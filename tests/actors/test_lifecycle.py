"""Brokers that are killed, lose power, stop and start: what is left, and when they are back.

The schedules o1, o2 and o4 are those of the runs of real brokers, and the writes theirs.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from isr_stories import process_named
from life_stories import (
    all_writes,
    at,
    batches,
    begins,
    ends,
    fault,
    of_broker,
    once,
    once_in_sync,
    story,
)
from partition_fates import NO_LEADER, Records, log_of
from scenario_runs import rows_of, run_of
from tidegauge.group import Group
from tidegauge.replication.errors import CODES, NONE
from tidegauge.run_folder import RunFolder
from tidegauge.simulation.cluster_plan import ClusterPlan
from tidegauge.simulation.kinds import DISCONNECTED, ISR_EXPIRATION, PRODUCE
from tidegauge.simulation.row_kinds import (
    STOP_CLEAN,
    STOP_KILLED,
    STOP_POWER,
    STOP_REGISTERED_ALREADY,
)
from zookeeper_stories import writes

SECOND = 1_000_000
#: The model's figures: a start without logs, and a clean stop.
START_US, STOP_US = 700_000, 1_700_000


def stops(run: RunFolder, broker: int) -> list[tuple[int, int]]:
    """When and how a broker's processes have ended."""
    return [(row["time_us"], row["stop"]) for row in of_broker(run, "broker_stopped", broker)]


def starts_us(run: RunFolder, broker: int) -> list[int]:
    """When a broker's processes were up."""
    return [row["time_us"] for row in of_broker(run, "broker_started", broker)]


def bounced(broker: int, replicas: list[list[int]], **parts: Any) -> Any:
    """A broker is killed and started at once, when five records are everywhere."""
    steps = [batches(range(len(replicas)), 5), begins("crash")]
    return story(
        replicas,
        steps,
        faults=[fault("crash", broker, **{"for": "100ms"})],
        duration="20s",
        **parts,
    )


# Killed and started at once.


def test_a_follower_that_is_killed_and_started_at_once_leaves_the_isr(tmp_path: Path) -> None:
    """Schedule o1: its old session's registration is still there, so it exits and comes later."""
    run = run_of(bounced(3, [[1, 2, 3]], controller=2), tmp_path / "run")
    assert all_writes(run) == [
        [(2, 1, [1, 2, 3], 0, 0), (2, 1, [1, 2], 1, 1), (1, 1, [1, 2, 3], 1, 2)]
    ]
    (killed_us, killed), (exited_us, exited) = stops(run, 3)
    assert (killed, exited) == (STOP_KILLED, STOP_REGISTERED_ALREADY)
    assert 0 < exited_us - killed_us - 100_000 - START_US < 30_000
    (expired,) = run.rows("session_expired")
    _, _, again_us = starts_us(run, 3)
    # The supervisor's five seconds outlast the session.
    assert exited_us < expired["time_us"] < again_us
    assert 0 < again_us - exited_us - 5 * SECOND - START_US < 30_000


def test_a_leader_that_is_killed_and_started_at_once_is_replaced(tmp_path: Path) -> None:
    """Schedule o2: broker 1 is also the only replica of another partition."""
    run = run_of(bounced(1, [[1, 2, 3], [1]]), tmp_path / "run")
    assert all_writes(run) == [
        [(3, 1, [1, 2, 3], 0, 0), (3, 2, [2, 3], 1, 1), (2, 2, [2, 3, 1], 1, 2)],
        [(3, 1, [1], 0, 0), (3, NO_LEADER, [1], 1, 1), (3, 1, [1], 2, 2)],
    ]
    assert log_of(run, 1, partition=1) == [Records(0, 0, 5)]


def test_it_is_started_again_and_again_until_its_old_session_has_expired(tmp_path: Path) -> None:
    """Schedule o4: a session of 8 s, and a supervisor that waits for 2."""
    scenario = bounced(
        1,
        [[1, 2, 3]],
        settings={"zookeeper.session.timeout.ms": 8000},
        cluster={"restart_after_exit": "2s"},
    )
    run = run_of(scenario, tmp_path / "run")
    assert all_writes(run)[0][1:] == [(3, 2, [2, 3], 1, 1), (2, 2, [2, 3, 1], 1, 2)]
    (expired, *_) = run.rows("session_expired")
    _, *exits = stops(run, 1)
    assert len(exits) >= 3
    assert {stop for _, stop in exits} == {STOP_REGISTERED_ALREADY}
    assert all(time_us < expired["time_us"] for time_us, _ in exits)
    for (earlier, _), (later, _) in pairwise(exits):
        assert 0 < later - earlier - 2 * SECOND - START_US < 30_000


def test_without_a_supervisor_it_stays_down(tmp_path: Path) -> None:
    """restart_after_exit: never."""
    scenario = bounced(3, [[1, 2, 3]], cluster={"restart_after_exit": "never"})
    run = run_of(scenario, tmp_path / "run")
    assert [stop for _, stop in stops(run, 3)] == [STOP_KILLED, STOP_REGISTERED_ALREADY]
    assert len(starts_us(run, 3)) == 2
    assert not any(3 in isr for _, _, isr, _, _ in all_writes(run)[0][1:])


# Loss of power.


def power_lost(
    after: str, *, seed: int = 1, settings: Any = None, others: dict[str, Any] | None = None
) -> Any:
    """Broker 1 has ten records that nobody else has, and loses power so long after."""
    steps = [batches([0], 10), begins("power_loss", {"after": after})]
    return story(
        [[1]],
        steps,
        faults=[fault("power_loss", 1, **(others or {}))],
        cluster={"write_back": "6s"},
        settings=settings,
        duration="14s",
        seed=seed,
    )


def kept(run: RunFolder) -> int:
    """What broker 1's log has after a loss of power."""
    lost = [row for row in of_broker(run, "log_lost", 1) if row["old_end_offset"] == 10]
    return int(lost[0]["end_offset"]) if lost else 10


def test_what_is_younger_than_the_write_back_time_may_be_lost(tmp_path: Path) -> None:
    """A point is drawn between what is on disk and the end: now this, now that."""
    found = {kept(run_of(power_lost("1s", seed=seed), tmp_path / str(seed))) for seed in range(8)}
    assert len(found) > 3
    assert found <= set(range(11))


@pytest.mark.parametrize("seed", range(4))
def test_what_is_older_is_on_disk(seed: int, tmp_path: Path) -> None:
    """Written back after 6 s, and a sixth of that."""
    assert kept(run_of(power_lost("7100ms", seed=seed), tmp_path / "run")) == 10


@pytest.mark.parametrize("seed", range(4))
def test_what_was_flushed_is_on_disk(seed: int, tmp_path: Path) -> None:
    settings = {"log.flush.interval.messages": 1}
    run = run_of(power_lost("1s", seed=seed, settings=settings), tmp_path / "run")
    assert [stop for _, stop in stops(run, 1)] == [STOP_POWER]
    assert kept(run) == 10


@pytest.mark.parametrize("offset", [0, 7, 10])
def test_what_a_log_keeps_can_be_pinned(offset: int, tmp_path: Path) -> None:
    kept_log = at(0) | {"broker": 1, "offset": offset}
    run = run_of(power_lost("1s", others={"keeps": [kept_log], "for": "2s"}), tmp_path / "run")
    assert kept(run) == offset
    read = of_broker(run, "checkpoint_read", 1)[0]
    assert read["log_end_offset"] == offset


@pytest.mark.parametrize("seed", range(3))
def test_a_loss_of_power_after_a_clean_stop_takes_nothing(seed: int, tmp_path: Path) -> None:
    steps = [
        batches([0], 10),
        begins("restart", {"after": "10ms"}),
        begins("power_loss", once(unregistered=[1])),
    ]
    faults = [fault("restart", 1), fault("power_loss", 1)]
    parts: dict[str, Any] = {"cluster": {"write_back": "30s"}, "duration": "8s", "seed": seed}
    run = run_of(story([[1]], steps, faults=faults, **parts), tmp_path / "run")
    assert [stop for _, stop in stops(run, 1)] == [STOP_CLEAN]
    assert kept(run) == 10
    assert list(run.rows("log_lost")) == []


# Faults that overlap.


def test_a_crash_while_loading_begins_the_load_anew(tmp_path: Path) -> None:
    """Neither start is up before the second one has loaded, and both recover."""
    faults = [
        fault("crash", 1, at="5s", **{"for": "3s"}),
        fault("crash", 1, at="8200ms", **{"for": "1s"}) | {"name": "again"},
    ]
    run = run_of(
        story([[1, 2]], [batches([0], 3)], faults=faults, duration="14s"), tmp_path / "run"
    )
    assert [stop for _, stop in stops(run, 1)] == [STOP_KILLED] * 2
    first, second = of_broker(run, "broker_loading", 1)
    assert (first["clean"], second["clean"]) == (0, 0)
    assert second["time_us"] == 9_200_000 < first["until_us"] + SECOND
    assert starts_us(run, 1)[1:] == [second["until_us"]]
    # What it had learned only to forget it: one checkpoint is read, by the second start.
    assert [row["time_us"] for row in of_broker(run, "checkpoint_read", 1)] == [second["until_us"]]


def test_a_kill_in_the_middle_of_a_stop_ends_it(tmp_path: Path) -> None:
    """The broker starts when both faults are over; the stop was not clean."""
    faults = [
        fault("restart", 1, at="5s", **{"for": "8s"}),
        fault("crash", 1, at="5500ms", **{"for": "1s"}),
    ]
    run = run_of(
        story([[1, 2]], [batches([0], 3)], faults=faults, duration="18s"), tmp_path / "run"
    )
    assert stops(run, 1) == [(5_500_000, STOP_KILLED)]
    (loading,) = of_broker(run, "broker_loading", 1)
    assert (loading["time_us"], loading["clean"]) == (13_000_000, 0)
    # Its session was not closed by itself.
    assert len(list(run.rows("session_expired"))) == 1


def test_a_broker_that_was_paused_when_it_was_killed_starts_unpaused(tmp_path: Path) -> None:
    """The pause was that of a process which is no more."""
    pause = fault("pause", 1, at="5s", **{"for": "15s"})
    death = fault("crash", 1, at="6s", **{"for": "6s"})
    run = run_of(story([[1, 2]], [], faults=[pause, death], duration="18s"), tmp_path / "run")
    assert stops(run, 1) == [(6 * SECOND, STOP_KILLED)]
    up_us = starts_us(run, 1)[1]
    assert 12 * SECOND < up_us < 13 * SECOND
    assert all_writes(run)[0][-1][2] == [2, 1]


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
    seen = rows_of(run, "message", process=client, message_kind=int(DISCONNECTED), from_process=0)
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
    # The offset of such a message is when it was asked what is now in vain.
    client = process_named(run, "client shop-0")
    refused = [
        (row["offset"], row["time_us"])
        for row in rows_of(run, "message", process=client, message_kind=int(DISCONNECTED))
        if answered["time_us"] < row["offset"] < stopped["time_us"] - 10_000
    ]
    assert len(refused) > 10
    assert all(time_us - asked_us < 10_000 for asked_us, time_us in refused)


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
    last = rows_of(run, "sampled", process=process_named(run, "broker 2"))[-1]
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


# What a process does first when it goes on.


def test_a_broker_that_goes_on_runs_what_is_overdue_before_it_reads_its_sockets(
    tmp_path: Path,
) -> None:
    """isr-expiration first (up to 2.3 an idle follower lags, too), then the produce.

    The produce came when the pause had just begun, long before isr-expiration was due.
    """
    steps = [
        batches([0], 5),
        begins("pause"),
        [{"after": "10ms", "do": "produce", "acks": 1, "wait": False} | at(0)],
        ends("pause", {"after": "8s"}),
    ]
    run = run_of(
        story(
            [[1, 2]], steps,
            faults=[fault("pause", 1)], settings={"zookeeper.session.timeout.ms": 60_000},
            release="1.1", trace="all",
        ),
        tmp_path / "run",
    )  # fmt: skip
    (ended,) = rows_of(run, "fault_ended", process=0)
    sent = of_broker(run, "isr_update_sent", 1)[0]
    (shrunk,) = of_broker(run, "isr_shrunk", 1)
    appended = rows_of(run, "appended", process=0, base_offset=5)[-1]
    assert sent["time_us"] == ended["time_us"]
    # The write of the ISR holds the partition's lock.
    assert sent["time_us"] < shrunk["time_us"] <= appended["time_us"]


def test_an_overdue_task_of_a_fixed_rate_runs_as_often_as_it_has_missed_its_time(
    tmp_path: Path,
) -> None:
    """ScheduledThreadPoolExecutor: isr-expiration, every 2 s, four times in a pause of 8 s.

    All of them come before the produce that has waited in the socket, and one more is due only
    2 s after the last that was missed.
    """
    producer = {"name": "shop", "topics": ["t0"], "start": "5500ms", "stop": "5600ms"}
    scenario = story(
        [[1, 2]], [],
        faults=[fault("pause", 1, at="5s", **{"for": "8s"})],
        settings={"zookeeper.session.timeout.ms": 60_000},
        workload={"producers": [producer | {"batches_per_second": 10}]},
        duration="20s",
    )  # fmt: skip
    plan = ClusterPlan(scenario)
    group = Group(plan, range(len(plan.processes)), tmp_path)
    counts = group.kernel.kind_counts

    def handled_until(time_us: int) -> tuple[int, int]:
        """How many isr-expirations, of brokers 1 to 3, and produces have been handled so far."""
        group.run(time_us, lambda _: None)
        return int(counts[int(ISR_EXPIRATION)].handled), int(counts[int(PRODUCE)].handled)

    # The produce has come, and been held back, once.
    before, came = handled_until(13_000_000)
    assert handled_until(13_000_001) == (before + 4, came)
    assert handled_until(13_000_002) == (before + 4, came + 1)
