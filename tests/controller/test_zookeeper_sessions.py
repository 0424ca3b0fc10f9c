"""ZooKeeper's sessions: when they expire, and what goes with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenario_runs import rows_of, run_of
from tidegauge.simulation.trace_rows.codes import BROKER_CHANGE
from tidegauge.traces.run_folder import RunFolder
from zookeeper_stories import (
    MS,
    PING_US,
    RECONNECT_US,
    SECOND,
    SESSION_TIMEOUT_US,
    SOON_US,
    TICK_US,
    broker_id,
    cluster,
    paused,
    writes,
    writes_by_path,
)

#: Pauses that outlast the session, at different phases of ticks and pings; broker 3 is the
#: controller until then.
PAUSES_US = {1: 8_150_000, 2: 18_500_000, 3: 28_900_000}
#: And one that does not.
SHORT_PAUSE_US = 42_000_000


@pytest.fixture(scope="module")
def pauses(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    faults = [paused(broker, f"{begin}us", "7s") for broker, begin in PAUSES_US.items()]
    faults.append(paused(1, f"{SHORT_PAUSE_US}us", "2s"))
    return run_of(cluster(duration="50s", faults=faults), tmp_path_factory.mktemp("pauses") / "run")


def test_a_session_expires_at_a_tick_after_its_time_out(pauses: RunFolder) -> None:
    """Source: ExpiryQueue.roundToNextInterval, ZooKeeper 3.5."""
    expired = rows_of(pauses, "session_expired")
    assert [broker_id(pauses, row["broker"]) for row in expired] == [1, 2, 3]
    for row, begin_us in zip(expired, PAUSES_US.values(), strict=True):
        assert row["time_us"] % TICK_US == 0
        assert SESSION_TIMEOUT_US < row["silent_us"] <= SESSION_TIMEOUT_US + TICK_US
        # The last ping was in time.
        assert begin_us - PING_US - SOON_US <= row["time_us"] - row["silent_us"] <= begin_us
    # Which is not always the same.
    assert len({row["silent_us"] for row in expired}) == len(expired)


def test_a_session_that_expires_names_the_pause_as_the_reason(pauses: RunFolder) -> None:
    for number, row in enumerate(rows_of(pauses, "session_expired")):
        reason = pauses.canonical_row(row["because_process"], row["because_sequence"])
        assert reason is not None
        assert reason.kind == "fault_began"
        assert reason["fault"] == number


def test_ephemeral_znodes_go_with_their_session_and_no_others(pauses: RunFolder) -> None:
    ended = [(path, row["time_us"]) for path, row in writes(pauses) if row["writer"] == -1]
    by_its_end = [(path, at) for path, at in ended if path != "/brokers/topics/t"]
    at = {broker_id(pauses, row["broker"]): row["time_us"]
          for row in rows_of(pauses, "session_expired")}  # fmt: skip
    assert by_its_end == [
        ("/brokers/ids/1", at[1]),
        ("/brokers/ids/2", at[2]),
        ("/brokers/ids/3", at[3]),
        ("/controller", at[3]),
    ]


def test_who_goes_on_opens_another_session_and_registers_again(pauses: RunFolder) -> None:
    opened = rows_of(pauses, "session_opened")
    for broker, begin_us in PAUSES_US.items():
        first, second = [row for row in opened if broker_id(pauses, row["broker"]) == broker]
        assert first["session"] < second["session"]
        assert 0 <= second["time_us"] - (begin_us + 7 * SECOND) < RECONNECT_US + SOON_US
        created, set_too, deleted, again, _ = writes_by_path(pauses)[f"/brokers/ids/{broker}"]
        assert [row.kind for row in (created, set_too, deleted, again)] == [
            "znode_created", "znode_set", "znode_deleted", "znode_created",
        ]  # fmt: skip
        # One transaction (KIP-380).
        assert set_too["time_us"] == created["time_us"]
        assert again["writer"] == created["writer"] == second["broker"]
        assert 0 <= again["time_us"] - second["time_us"] < SOON_US


@pytest.mark.parametrize(("servers", "spin_us"), [(3, 0), (1, SECOND)])
def test_a_client_sleeps_up_to_a_second_before_it_connects_anew(
    servers: int, spin_us: int, tmp_path: Path
) -> None:
    """ClientCnxn.startConnect, each for a time of its own; before, all servers have been tried.

    StaticHostProvider.next waits a second before it names the only server again, so that real
    brokers were registered again 1 to 2 s after SIGCONT.
    """
    stop = {"kind": "pause", "brokers": [1, 2, 3], "at": "10s", "for": "8s"}
    zookeeper = {"tick_ms": TICK_US // MS, "servers": servers}
    run = run_of(cluster(faults=[stop], zookeeper=zookeeper), tmp_path / "run")
    opened_us = [row["time_us"] - 18 * SECOND for row in run.rows("session_opened")][3:]
    assert len(opened_us) == 3
    for slept_us in opened_us:
        assert spin_us < slept_us < spin_us + RECONNECT_US + SOON_US
    assert max(opened_us) - min(opened_us) > RECONNECT_US // 10
    again = list(run.rows("znode_created"))[-4:]
    assert {row["writer"] for row in again} == {0, 1, 2}


def test_the_next_controller_takes_the_next_epoch(pauses: RunFolder) -> None:
    """Source: KafkaController.elect@2.4.0; real brokers: i3, i1."""
    first, second = rows_of(pauses, "controller_elected")
    assert broker_id(pauses, first["broker"]) == 3
    assert broker_id(pauses, second["broker"]) in {1, 2}
    assert (first["controller_epoch"], second["controller_epoch"]) == (1, 2)
    znodes = writes_by_path(pauses)
    assert [row.kind for row in znodes["/controller"]] == [
        "znode_created", "znode_deleted", "znode_created",
    ]  # fmt: skip
    # The first controller makes the znode, with epoch 0, and raises it as all others do.
    created, raised, written = znodes["/controller_epoch"]
    assert [row["controller_epoch"] for row in (created, raised, written)] == [0, 1, 2]
    assert (created.kind, raised["version"], written["version"]) == ("znode_created", 1, 2)
    assert written["writer"] == znodes["/controller"][-1]["writer"] == second["broker"]


def test_the_controller_that_went_on_is_none_any_more(pauses: RunFolder) -> None:
    (resigned,) = rows_of(pauses, "controller_resigned")
    assert broker_id(pauses, resigned["broker"]) == 3
    assert resigned["controller_epoch"] == 1
    late_us = resigned["time_us"] - (PAUSES_US[3] + 7 * SECOND)
    assert 0 <= late_us < RECONNECT_US + SOON_US


def test_the_watch_on_brokers_fires_for_each_change_of_them(pauses: RunFolder) -> None:
    """One event for each, since between two of them the controller has set its watch again."""
    first, second = rows_of(pauses, "controller_elected")
    changes = [
        row["time_us"] for _, row in writes(pauses, "/brokers/ids/") if row.kind != "znode_set"
    ]
    for elected, begin_us, end_us in (
        (first, first["time_us"], PAUSES_US[3]),
        (second, second["time_us"], 50 * SECOND),
    ):
        events = rows_of(
            pauses, "controller_event", event_kind=int(BROKER_CHANGE), process=elected["process"]
        )
        came = [row["time_us"] for row in events if begin_us < row["time_us"] < end_us]
        seen = [at for at in changes if begin_us < at < end_us]
        assert len(came) == len(seen) > 0
        assert all(0 < at - of < SOON_US for at, of in zip(came, seen, strict=True))


def test_sessions_of_one_tick_make_one_event_of_the_controller(tmp_path: Path) -> None:
    """A watch fires once: what changes until it is set again is one event (real brokers: p1)."""
    fault = {"kind": "pause", "brokers": [1, 2], "at": "10s"}
    run = run_of(cluster(duration="20s", faults=[fault]), tmp_path / "run")
    first, second = rows_of(run, "session_expired")
    assert first["time_us"] == second["time_us"]
    events = rows_of(run, "controller_event", event_kind=int(BROKER_CHANGE))
    assert [row["time_us"] >= first["time_us"] for row in events] == [False, False, True]
    failed = [broker_id(run, row["broker"]) for row in rows_of(run, "broker_failed")]
    assert failed == [1, 2]


def test_after_a_long_outage_all_sessions_expire_at_once(tmp_path: Path) -> None:
    """Real brokers: m2. What the brokers have sent meanwhile comes too late."""
    outage = {"kind": "zookeeper_outage", "at": "10s", "for": "6500ms"}
    run = run_of(cluster(faults=[outage]), tmp_path / "run")
    expired = rows_of(run, "session_expired")
    assert [broker_id(run, row["broker"]) for row in expired] == [1, 2, 3]
    # Not at a tick: at the moment in which ZooKeeper goes on.
    assert {row["time_us"] for row in expired} == {16_500_000}
    znodes = {path for path, row in writes(run) if row["time_us"] == 16_500_000}
    assert znodes == {"/brokers/ids/1", "/brokers/ids/2", "/brokers/ids/3", "/controller"}
    # All come back, and one of them is controller.
    again = [row for row in rows_of(run, "session_opened") if row["time_us"] > 16_500_000]
    assert sorted(row["session"] for row in again) == [4, 5, 6]
    assert [row["controller_epoch"] for row in rows_of(run, "controller_elected")] == [1, 2]


@pytest.mark.parametrize(
    ("length", "how"),
    [
        ("2s", "pause"),
        # All have pinged at 11.35 s: longer ago than the time-out, but their tick is at 16 s.
        ("4100ms", "pause"),
        ("2s", "restart"),
        ("6500ms", "restart"),
    ],
)
def test_no_session_expires_in_a_short_outage_or_a_restart(
    tmp_path: Path, length: str, how: str
) -> None:
    """Real brokers: m1 and m3. ZooKeeperServer.startSessionTracker, ZooKeeper 3.5."""
    outage = {"kind": "zookeeper_outage", "at": "11500ms", "for": length, "how": how}
    run = run_of(cluster(faults=[outage]), tmp_path / "run")
    assert not rows_of(run, "session_expired")
    assert len(rows_of(run, "session_opened")) == 3
    assert all(row["time_us"] < 10 * SECOND for _, row in writes(run))


def test_after_a_restart_a_session_has_its_whole_time_out_again(tmp_path: Path) -> None:
    """A broker that is paused all the while is given up a time-out after the restart."""
    outage = {"kind": "zookeeper_outage", "at": "10s", "for": "6500ms", "how": "restart"}
    run = run_of(cluster(faults=[outage, paused(1, "9s", "20s")]), tmp_path / "run")
    (expired,) = rows_of(run, "session_expired")
    assert broker_id(run, expired["broker"]) == 1
    assert expired["time_us"] == 21 * SECOND
    assert expired["silent_us"] > 12 * SECOND


def test_a_late_reset_of_old_connections_leaves_the_watches_of_the_new_session(
    tmp_path: Path,
) -> None:
    """After a loss of power TCP ends the old connections only seconds after the return.

    Source: NIOServerCnxn.close, DataTree.removeCnxn, ZooKeeper 3.5.
    """
    lost = {"kind": "power_loss", "at": "5s"}
    faults = [
        lost | {"brokers": [3], "for": "7s"},
        lost | {"brokers": [1, 2], "for": "7100ms"},
        paused(1, "20s", "7s"),
    ]
    run = run_of(cluster(duration="27s", faults=faults), tmp_path / "run")
    assert [broker_id(run, row["broker"]) for row in rows_of(run, "controller_elected")] == [3, 3]
    assert [broker_id(run, row["broker"]) for row in rows_of(run, "broker_failed")] == [1]
