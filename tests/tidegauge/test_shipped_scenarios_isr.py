"""The scenarios that come along and ask about ISRs: storms, slow disks, leaders that are alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from isr_stories import as_written, members, retold
from partition_fates import NO_LEADER, acknowledged, lost, state_writes
from scenario_runs import rows_of, run_of
from tidegauge.replication.errors import NOT_ENOUGH_REPLICAS
from tidegauge.scenario.reading import load_scenario
from tidegauge.scenario.shipped import find_scenario
from tidegauge.simulation.messages.client_requests import ProduceRequest, ProduceResponse
from tidegauge.simulation.messages.controller_requests import UpdateMetadataRequest
from tidegauge.traces.run_folder import RunFolder, TraceRow

LEADER, ALL = 1, -1


def since(rows: list[TraceRow], seconds: float) -> list[TraceRow]:
    return [row for row in rows if row["time_us"] >= seconds * 1e6]


def summary_of(run: RunFolder) -> dict[str, Any]:
    assert run.summary is not None
    return run.summary


# isr-storm: what does one bounce of a broker cost?


class Storm(NamedTuple):
    """What the bounce of broker 2, which begins at 20 s, has cost."""

    isr_changes_by_leaders: int
    removals: int
    elections: int
    #: Of partitions' states.
    state_writes: int
    notifications: int
    update_metadata: int
    #: Of all events of the controller: how long the last of them waited.
    longest_in_queue_ms: float
    #: From the first to the last follower that is back.
    recovery_ms: float


def storm(run: RunFolder) -> Storm:
    expands = since(rows_of(run, "isr_expanded"), 20)
    events = since(rows_of(run, "controller_event"), 20)
    return Storm(
        isr_changes_by_leaders=len(expands) + len(since(rows_of(run, "isr_shrunk"), 20)),
        removals=len(since(rows_of(run, "removed_from_isr"), 20)),
        elections=len(since(rows_of(run, "leader_elected"), 20)),
        state_writes=len([row for row in rows_of(run, "znode_set") if row["time_us"] >= 20e6]),
        notifications=len(since(rows_of(run, "notification_sent"), 20)),
        update_metadata=len(
            since(rows_of(run, "message", message_kind=int(UpdateMetadataRequest.KIND)), 20)
        ),
        longest_in_queue_ms=max(row["queued_us"] for row in events) / 1000,
        recovery_ms=(expands[-1]["time_us"] - expands[0]["time_us"]) / 1000,
    )


@pytest.fixture(scope="module")
def storms(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Storm]:
    """The same bounce with notifications batched, one by one, and with AlterPartition."""
    folder = tmp_path_factory.mktemp("storms")
    variants = {
        "batched": retold("isr-storm", trace="all"),
        "single": retold("isr-storm", {"isr_change_notification_batching": False}, trace="all"),
        "alter partition": retold("isr-storm", trace="all", release="2.8"),
    }
    return {name: storm(run_of(story, folder / name)) for name, story in variants.items()}


def test_a_bounce_changes_every_isr_twice_however_it_is_told(storms: dict[str, Storm]) -> None:
    """1,500 replicas: the controller takes each out, its leader takes each in, a write for each."""
    for each in storms.values():
        # What broker 2 led (500) is elected anew in the write that takes it out of the ISR.
        assert (each.elections, each.removals) == (500, 1000)
        assert each.isr_changes_by_leaders == 1500
        # And one more, of the registration (KIP-380: created and set).
        assert each.state_writes - 3000 in {0, 1}


def test_batching_tells_of_hundreds_of_changes_in_one_znode(storms: dict[str, Storm]) -> None:
    """KAFKA-2722: one notification of each leader that took broker 2 back in."""
    batched, single = storms["batched"], storms["single"]
    # Broker 5 stands in the rack of broker 2, so that the others share partitions with it.
    assert batched.notifications == 4
    assert single.notifications == 1500
    assert batched.update_metadata < single.update_metadata
    # KIP-29: the controller is busy with what leaders tell it, and everything else waits.
    assert single.longest_in_queue_ms > 10 * batched.longest_in_queue_ms


def test_alter_partition_needs_no_notifications_and_keeps_the_controller_busy(
    storms: dict[str, Storm],
) -> None:
    """KIP-497: the controller writes the states itself, which is what its queue holds."""
    batched, altered = storms["batched"], storms["alter partition"]
    assert altered.notifications == 0
    assert altered.longest_in_queue_ms > batched.longest_in_queue_ms
    assert altered.recovery_ms < 5_000


# slow-disk: what is seen first?


@pytest.fixture(scope="module")
def raid(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return run_of(retold("slow-disk", trace="all"), tmp_path_factory.mktemp("slow-disk") / "run")


def isr_changes_of(run: RunFolder, kind: str, topic: str) -> list[float]:
    """When leaders changed the ISRs of a topic, in seconds, after the start."""
    return [
        row["time_us"] / 1e6
        for row in rows_of(run, kind)
        if run.manifest["partitions"][row["partition"]]["topic"] == topic and row["time_us"] > 15e6
    ]


def latencies_of(run: RunFolder, group: str, begin_s: int, end_s: int) -> list[float]:
    """How long brokers took to answer what producers of a group asked from then to then."""
    table = run.table("message")
    clients = [each for each in run.manifest["processes"] if each["name"].startswith("client ")]
    found: list[float] = []
    for client in (each["process"] for each in clients if group in each["name"]):
        for broker in range(len(run.manifest["brokers"])):
            asked = _times(table, ProduceRequest.KIND, broker, client)
            answered = _times(table, ProduceResponse.KIND, client, broker)
            # A connection answers in the order in which it was asked.
            pairs = zip(asked.tolist(), answered.tolist(), strict=False)
            found += [(end - at) / 1e6 for at, end in pairs if begin_s <= at / 1e6 < end_s]
    return found


def _times(table: Any, kind: int, process: int, sender: int) -> Any:
    is_it = (table["message_kind"] == int(kind)) & (table["process"] == process)
    return table["time_us"][is_it & (table["from_process"] == sender)]


def test_a_slow_disk_is_seen_in_latencies_before_any_isr_changes(raid: RunFolder) -> None:
    for topic in ("led", "followed"):
        assert np.median(latencies_of(raid, f"to-{topic}", 20, 30)) < 0.01
        assert np.median(latencies_of(raid, f"to-{topic}", 30, 35)) > 5
    first = min(isr_changes_of(raid, "isr_shrunk", topic)[0] for topic in ("led", "followed"))
    # Nobody is out of sync before replica.lag.time.max.ms (10 s) have passed.
    assert 40 < first < 45


def test_as_follower_it_is_taken_out_once_and_all_is_well_without_it(raid: RunFolder) -> None:
    """A clean cure: what the ISR does not wait for any more costs nobody anything."""
    shrinks = isr_changes_of(raid, "isr_shrunk", "followed")
    assert len(shrinks) == 20
    assert 40 < shrinks[0] < shrinks[-1] < 50
    assert np.median(latencies_of(raid, "to-followed", 60, 120)) < 0.01
    # It is back once its disk is well and it has caught up.
    expands = isr_changes_of(raid, "isr_expanded", "followed")
    assert len(expands) == 20
    assert expands[0] > 120


def test_as_leader_it_takes_healthy_followers_out_again_and_again(raid: RunFolder) -> None:
    """KIP-501: fetches wait behind produce requests for the request handlers; it flaps."""
    shrinks, expands = (
        isr_changes_of(raid, f"isr_{what}", "led") for what in ("shrunk", "expanded")
    )
    rounds = {round(at) for at in shrinks}
    assert len(rounds) >= 4
    # The followers are as well as ever: after each eviction both of them come straight back.
    assert len(expands) == 2 * len(shrinks)
    assert all(any(0 <= back - out < 6 for back in expands) for out in shrinks)
    # And nobody is any better off for it, as long as the slow one leads.
    assert np.median(latencies_of(raid, "to-led", 60, 120)) > 2


def test_what_has_nothing_to_do_with_the_slow_disk_does_not_notice(raid: RunFolder) -> None:
    """So to take leadership and replicas away from the broker would help at once."""
    assert isr_changes_of(raid, "isr_shrunk", "elsewhere") == []
    assert max(latencies_of(raid, "to-elsewhere", 30, 120)) < 0.1
    assert summary_of(raid)["leader_elections"] == 0


# isolated-leader: who is in the ISR, can anyone be elected, what is lost?


def isolated(folder: Path, between: list[list[Any]], **parts: Any) -> RunFolder:
    (cut,) = as_written("isolated-leader")["faults"]
    faults = [cut | {"between": between} | parts, *parts.pop("also", [])]
    return run_of(retold("isolated-leader", faults=faults), folder / "run")


def isr_at(run: RunFolder, seconds: float) -> tuple[int, list[int]]:
    """The leader and the ISR in ZooKeeper at a time."""
    written = state_writes(run, before_us=int(seconds * 1e6))[-1]
    return written.leader, written.isr


FOLLOWERS: list[list[Any]] = [[1], [2, 3]]
CONTROL: list[list[Any]] = [[1], ["zookeeper", 4]]


@pytest.mark.parametrize(
    ("between", "one_way"),
    [(FOLLOWERS, False), (FOLLOWERS, True), ([[2, 3], [1]], True)],
    ids=["both ways", "what the leader sends", "what it is sent"],
)
def test_a_leader_without_followers_ends_alone_and_keeps_what_it_promised(
    between: list[list[Any]], one_way: bool, tmp_path: Path
) -> None:
    """After 20 s all are in the ISR, after 45 s and 60 s only the leader."""
    run = isolated(tmp_path, between, one_way=one_way)
    assert isr_at(run, 20 + 20) == (1, [1, 2, 3])
    assert isr_at(run, 20 + 45) == isr_at(run, 20 + 60) == (1, [1])
    (shrink,) = rows_of(run, "isr_shrunk")
    assert 50 <= shrink["time_us"] / 1e6 <= 66
    # It has its session, so nobody is elected; who asks for acks=all is refused, acks=1 goes on.
    assert summary_of(run)["leader_elections"] == 0
    assert rows_of(run, "request_refused", error=int(NOT_ENOUGH_REPLICAS))
    assert lost(run, LEADER, leader=1) == lost(run, ALL, leader=1) == []
    assert rows_of(run, "truncated") == []
    assert sorted(isr_at(run, 180)[1]) == [1, 2, 3]


def test_if_it_dies_alone_nobody_can_be_elected(tmp_path: Path) -> None:
    crash = {"name": "dies", "kind": "crash", "at": "80s", "brokers": [1]}
    (cut,) = as_written("isolated-leader")["faults"]
    story = retold("isolated-leader", faults=[cut, crash])
    run = run_of(story, tmp_path / "run")
    assert isr_at(run, 180) == (NO_LEADER, [1])
    assert summary_of(run)["leader_elections"] == 0
    assert summary_of(run)["records_failed"] > 0


def test_a_leader_without_zookeeper_is_replaced_and_loses_what_it_promised_with_acks_1(
    tmp_path: Path,
) -> None:
    """The reverse: the session ends, 2 is elected; 1 does not know and goes on with acks=1."""
    run = isolated(tmp_path, CONTROL)
    (expired,) = rows_of(run, "session_expired")
    assert 36 <= expired["time_us"] / 1e6 <= 42
    assert isr_at(run, 20 + 20) == isr_at(run, 20 + 60) == (2, [2, 3])
    (cut,) = rows_of(run, "truncated")
    forgotten = lost(run, LEADER, leader=2)
    assert forgotten == [
        offset for offset in range(cut["end_offset"], cut["old_end_offset"]) if offset in forgotten
    ]
    assert 30 <= len(forgotten) <= cut["old_end_offset"] - cut["end_offset"]
    # What was acknowledged with acks=all was on the others, who are the ISR now.
    assert acknowledged(run, ALL)
    assert lost(run, ALL, leader=2) == []
    assert sorted(isr_at(run, 180)[1]) == [1, 2, 3]


# lag-and-session: for which pairs does a dead leader leave an ISR of only itself?


def a_death(session_ms: int, lag_ms: int, faults: list[dict[str, Any]], folder: Path) -> RunFolder:
    settings = {"zookeeper.session.timeout.ms": session_ms, "replica.lag.time.max.ms": lag_ms}
    return run_of(retold("lag-and-session", settings, faults=faults), folder / "run")


PAIRS = [(session_s, lag_s) for session_s in (6, 18, 40) for lag_s in (5, 10, 30)]


@pytest.mark.parametrize(("session_s", "lag_s"), PAIRS)
def test_a_leader_that_dies_at_once_takes_nobody_out(
    session_s: int, lag_s: int, tmp_path: Path
) -> None:
    """Whoever evicts followers is dead: even 5 s against 40 s leave somebody to be elected."""
    crash = {"kind": "crash", "at": "20s", "brokers": [1]}
    run = a_death(session_s * 1000, lag_s * 1000, [crash], tmp_path)
    assert rows_of(run, "isr_shrunk") == []
    assert isr_at(run, 100) == (2, [2, 3])
    elected = rows_of(run, "leader_elected")[1]["time_us"] / 1e6
    # A session ends on a tick of 2 s, and counts from the last ping: a third earlier at most.
    assert session_s * 2 / 3 <= elected - 20 <= session_s + 5


@pytest.mark.parametrize(("session_s", "lag_s"), PAIRS)
@pytest.mark.parametrize("death_s", [4, 20, 50])
def test_a_leader_that_dies_by_and_by_is_alone_if_it_had_the_lag_time_for_it(
    session_s: int, lag_s: int, death_s: int, tmp_path: Path
) -> None:
    """An eviction takes from L to 1.5 L, as it is looked for every L/2; S is no part of it."""
    fades, dies = as_written("lag-and-session")["faults"]
    run = a_death(
        session_s * 1000, lag_s * 1000, [fades, dies | {"at": f"{20 + death_s}s"}], tmp_path
    )
    leader, isr = isr_at(run, 100)
    shrinks = rows_of(run, "isr_shrunk")
    assert (death_s < lag_s) <= (shrinks == [])
    assert (death_s > 1.5 * lag_s + 1) <= (shrinks != [])
    if shrinks:
        assert members(run, shrinks[0]) == [1]
        assert lag_s <= shrinks[0]["lag_ms"] / 1000 <= 1.5 * lag_s + 1
        # The session is over, 2 and 3 are well, and nobody may lead.
        if 20 + death_s + session_s + 5 < 100:
            assert (leader, isr) == (NO_LEADER, [1])
    elif 20 + death_s + session_s + 5 < 100:
        assert (leader, isr) == (2, [2, 3])


def test_the_scenario_as_it_is_ends_without_a_leader(tmp_path: Path) -> None:
    run = run_of(retold("lag-and-session"), tmp_path / "run")
    assert isr_at(run, 100) == (NO_LEADER, [1])


# lag-time: shrinks an hour, produce P99 and the risk of loss, by replica.lag.time.max.ms


@pytest.fixture(scope="module")
def by_lag_time(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    """Summaries of the same hour, with the same faults: with 10 s, and with 60 s."""
    folder = tmp_path_factory.mktemp("lag-time")
    setting = "cluster.settings.replica.lag.time.max.ms"
    file = find_scenario("lag-time")
    return {
        lag: summary_of(run_of(load_scenario(file, {"seed": 54, setting: lag}), folder / str(lag)))
        for lag in (10_000, 60_000)
    }


def test_a_short_lag_time_shrinks_isrs_all_the_time_and_a_long_one_holds_producers_up(
    by_lag_time: dict[int, dict[str, Any]],
) -> None:
    """KAFKA-4485: a follower is out after 1 to 1.5 times the setting; acks=all waits until then."""
    short, long = by_lag_time[10_000], by_lag_time[60_000]
    assert short["isr_shrinks"] > 500
    assert long["isr_shrinks"] < 20
    for producers in ("shop", "bank"):
        assert long["produce_ms"][producers]["p99"] > 1.5 * short["produce_ms"][producers]["p99"]
    # With acks=1 nobody waits for followers.
    assert long["produce_ms"]["web"]["p99"] < 1.5 * short["produce_ms"]["web"]["p99"]


def test_each_lag_time_has_its_own_risk_of_loss(by_lag_time: dict[int, dict[str, Any]]) -> None:
    """The last replica standing loses power (KIP-966), or one that is far behind is elected."""
    short = by_lag_time[10_000]["records_lost_by_topic"]
    long = by_lag_time[60_000]["records_lost_by_topic"]
    assert short["ledger"] > 0
    assert long["ledger"] == long["orders"] == 0
    assert long["clicks"] > 2 * short["clicks"]
    assert by_lag_time[10_000]["partition_seconds_under_min_isr"] > 100
    assert by_lag_time[60_000]["partition_seconds_under_min_isr"] == 0
