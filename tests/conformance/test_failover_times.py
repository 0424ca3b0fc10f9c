"""How long a KRaft cluster is without an active controller, and when sessions end after that.

Sources: recordings of Kafka 4.1.0 and 4.4.0, with three controllers whose quorum had its defaults.
They are the reasons for these times: a follower waits for controller.quorum.fetch.timeout.ms (2 s)
since its last fetch, which the leader has answered with a NoOpRecord every 500 ms. Both followers
wait from the same response on, so they often stand in the same epoch, and vote for themselves.

* 4.4.0, after a kill or a pause: 9 of 15 first votes split (1 of 3 on a quiet machine). Another
  leader comes after 1.9 to 2.4 s without a split, and after 3.0 to 4.6 s with one.
* 4.1.0: one of about 8 split. 1.6 to 3.3 s after a kill, 1.9 to 2.5 s after a pause.
* After SIGTERM: 0.4 to 0.8 s (4.4.0), 0.4 to 0.6 s (4.1.0).

No rule of these elections differs between the two, so both are held against all of that.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest

from recordings import ON_ONE_MACHINE
from scenario_runs import rows_of, run_of
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.simulation.trace_rows.codes import BROKER_SESSION_EXPIRED, LEADER
from tidegauge.traces.run_folder import RunFolder

SECOND = 1_000_000
RELEASES = ("4.1.0", "4.4.0")

#: Settings of the brokers and of the controllers, and the session that follows.
SETTINGS: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "recorded": (
        {"settings": {"broker.heartbeat.interval.ms": 500}},
        {"settings": {"broker.session.timeout.ms": 4000}},
        4 * SECOND,
    ),
    "defaults": ({}, {}, 9 * SECOND),
}
#: From the end of a session to the record of the fencing: the next check, and a commit.
CHECK_SHARE, COMMIT_US = 8, SECOND // 10
#: The fault begins somewhere in the second from here on, by seed; it lasts for the rest of the run.
FAULT_US, LASTS = 5 * SECOND, "18s"


class Failover(NamedTuple):
    """Times of one run, in microseconds since the fault began."""

    #: How many votes it took to elect another leader: all but the last one were split.
    votes: int
    #: Until another voter is the leader of the quorum, and until it is the active controller.
    led: int
    active: int
    #: From then on, until a broker is fenced.
    fenced: list[int]


def began_us(seed: int) -> int:
    """When the fault begins: at any time between two NoOpRecords, fetches and heartbeats."""
    return FAULT_US + seed * 37_000 % SECOND


def failover_run(
    folder: Path, kind: str, of: str, seed: int, *brokers: int, **parts: Any
) -> RunFolder:
    """A run in which the active controller, and brokers with it, have a fault."""
    own, quorum, _ = SETTINGS[of]
    story = {
        "name": "failover",
        "duration": "25s",
        "liveness": False,
        "release": "4.1.0",
        "mode": "kraft",
        "seed": seed,
        "network": ON_ONE_MACHINE,
        "cluster": {"brokers": 3} | own,
        "controllers": {"count": 3} | quorum,
        "topics": [{"name": "t", "assignment": {0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]}}],
        "faults": [
            {
                "kind": kind,
                "name": "gone",
                "brokers": ["controller:0", *brokers],
                "at": f"{began_us(seed)}us",
                "for": LASTS,
            }
        ],
    }
    return run_of(scenario_from_mapping(story | parts, "failover"), folder / "run")


@cache
def failover(kind: str, of: str, release: str, seed: int, *brokers: int) -> Failover:
    """The times of a run."""
    began = began_us(seed)
    with TemporaryDirectory() as folder:
        run = failover_run(Path(folder), kind, of, seed, *brokers, release=release)
        led = rows_of(run, "voter_state", voter_state=LEADER)
        active = rows_of(run, "controller_active")
        fenced = rows_of(run, "broker_state", state_reason=BROKER_SESSION_EXPIRED)
    before = [row for row in led if row["time_us"] <= began][-1]
    leads = next(row for row in led if row["time_us"] > began)
    claimed = next(
        row["time_us"] for row in active if row["broker"] >= 0 and row["time_us"] > began
    )
    return Failover(
        leads["quorum_epoch"] - before["quorum_epoch"],
        leads["time_us"] - began,
        claimed - began,
        [row["time_us"] - claimed for row in fenced],
    )


def until_led_s(kind: str, release: str, seeds: int) -> dict[int, list[float]]:
    """The times until the next leader in seconds, for so many seeds, by the number of votes."""
    found: dict[int, list[float]] = {}
    for seed in range(1, seeds + 1):
        one = failover(kind, "recorded", release, seed)
        found.setdefault(one.votes, []).append(one.led / SECOND)
    return found


SEEDS = [20, pytest.param(500, marks=pytest.mark.long)]


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("kind", ["crash", "pause"])
def test_the_next_leader_of_a_silent_controller(kind: str, release: str, seeds: int) -> None:
    """KafkaRaftClient.pollFollowerAsVoter: a fetch timeout, and one election more if votes split.

    Its followers do not know why it is silent. A second split in a row was not recorded.
    """
    took = until_led_s(kind, release, seeds)
    assert min(took[1]) > 1.5
    assert max(took[1]) < 2.5
    assert min(took[2]) > 2.5
    assert max(took[2]) < 4.6
    assert 0.3 < len(took[2]) / seeds < 0.7
    assert sum(len(times) for votes, times in took.items() if votes > 2) <= seeds / 20


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("release", RELEASES)
def test_the_next_leader_of_a_controller_that_is_told_to_stop(release: str, seeds: int) -> None:
    """KafkaRaftClient.endEpochElectionBackoff: the second successor begins after 500 ms.

    The first one's pre-vote is refused by it, since it has fetched from a leader just now. So no
    vote is split.
    """
    took = until_led_s("restart", release, seeds)
    assert took.keys() == {1}
    assert min(took[1]) > 0.05
    assert max(took[1]) < 0.85


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("of", SETTINGS)
def test_a_broker_that_dies_with_the_controller_has_a_full_session_with_the_next_one(
    of: str, seeds: int
) -> None:
    """C3, BrokerHeartbeatManager.register@4.1.0: the session restarts, and is checked in time.

    The tasks of the controller begin just after the sessions, so that the eighth check finds it
    over: recorded 4.3 to 5.5 s after the next controller's start, on a loaded machine.
    """
    _, _, session_us = SETTINGS[of]
    for seed in range(1, seeds + 1):
        (waited_us,) = failover("crash", of, "4.1.0", seed, 2).fenced
        assert session_us <= waited_us < session_us + session_us // CHECK_SHARE + COMMIT_US


@pytest.mark.parametrize("count", [1, 3, 5])
@pytest.mark.parametrize("release", ["3.6", "3.7", "3.9", "4.0", "4.1", "4.4"])
@pytest.mark.parametrize(
    "kind",
    ["crash", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("restart", "pause"))],
)
def test_no_quorum_stays_without_a_controller(
    kind: str, release: str, count: int, tmp_path: Path
) -> None:
    """The first controller leaves for 6 s, and a broker dies with it: another one fences that.

    The only controller comes back as the active one of the next epoch, or resumes where it paused.
    """
    began = began_us(1)
    left = {"kind": kind, "name": "gone", "brokers": ["controller:0"], "at": f"{began}us"}
    dead = {"kind": "crash", "name": "dead", "brokers": [2], "at": f"{began}us", "for": "15s"}
    parts = {
        "release": release,
        "controllers": {"count": count, "settings": {"broker.session.timeout.ms": 4000}},
        "faults": [left | {"for": "6s"}, dead],
        "duration": "40s",
        "liveness": True,
    }
    run = failover_run(tmp_path, kind, "recorded", 1, **parts)
    epochs = [
        row["controller_epoch"] for row in run.rows("controller_active") if row["broker"] >= 0
    ]
    if (kind, count) == ("pause", 1):
        assert epochs == [1]
    else:
        assert len(epochs) == 2
    fenced = rows_of(run, "broker_state", broker=1, state_reason=BROKER_SESSION_EXPIRED)
    assert fenced
    assert run.summary is not None
    assert run.summary["liveness"]["reached"]
    assert not any(found["broken"] for found in run.summary["checks"].values())
