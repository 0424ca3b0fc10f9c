"""A controller of a quorum is lost, and another one takes over with what is committed.

Brokers 1, 2 and 3 are the processes 0, 1 and 2, then comes the operator; controller:0, which leads
at the start, is process 4, and its name in rows is 3.
"""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from quorum_stories import SECOND, crash, quorum_story, states
from scenario_runs import rows_of, run_of
from tidegauge.replication import errors
from tidegauge.simulation.messages.quorum_requests import AdminResponse, BrokerHeartbeatResponse
from tidegauge.simulation.trace_rows.codes import (
    BROKER_SESSION_EXPIRED,
    LEADER,
    RESIGNED,
    STATE_CREATED,
    VOTER_STOPPED,
)
from tidegauge.traces.run_folder import RunFolder, TraceRow

BENCH = Path(__file__).parents[2] / "bench" / "failover.py"

SESSION_US = 4 * SECOND
#: From one check of sessions to the next.
CHECK_US = SESSION_US // 8
#: More than a commit takes.
COMMIT_US = SECOND // 10
THREE = {"count": 3, "settings": {"broker.session.timeout.ms": 4000}}


def fault(kind: str, at_s: float, lasts_s: float, *hit: int | str) -> dict[str, Any]:
    times = {"at": f"{at_s}s", "for": f"{lasts_s}s"}
    return {"kind": kind, "name": f"{kind} {at_s}", "brokers": [*hit], **times}


def isolation(at_s: float, lasts_s: float) -> dict[str, Any]:
    """The first leader is cut from the other voters, and not from the brokers."""
    others = ["controller:1", "controller:2"]
    cut = fault("cut_link", at_s, lasts_s)
    del cut["brokers"]
    return cut | {"between": [["controller:0"], others]}


def story(folder: Path, *faults: dict[str, Any], **parts: Any) -> RunFolder:
    """A run with three controllers, one topic."""
    parts = {"controllers": THREE, "duration": "30s"} | parts
    return run_of(quorum_story([[1, 2, 3]], faults=faults, **parts), folder / "r")


def activations(run: RunFolder) -> list[TraceRow]:
    """The rows about controllers that became active, without those that say that none is."""
    return [row for row in run.rows("controller_active") if row["broker"] >= 0]


@pytest.mark.parametrize("release", ["4.1", "4.0", "3.9", "3.3"])
def test_who_dies_with_the_controller_is_fenced_a_full_session_after_the_new_activation(
    tmp_path: Path, release: str
) -> None:
    """ClusterControlManager.activate, BrokerHeartbeatManager.register: contact is now."""
    killed = fault("crash", 10, 15, "controller:0", 2)
    run = story(tmp_path, killed, release=release, mode="kraft")
    _, new = activations(run)
    assert new["time_us"] > 11 * SECOND
    (fenced,) = rows_of(run, "broker_state", state_reason=BROKER_SESSION_EXPIRED)
    waited_us = fenced["time_us"] - new["time_us"]
    assert fenced["broker"] == 1
    assert SESSION_US <= waited_us <= SESSION_US + CHECK_US + COMMIT_US


def test_a_new_controller_writes_nothing_of_a_partition(tmp_path: Path) -> None:
    """ActivationRecordsGenerator, QuorumController.claim: nothing is read or written again."""
    run = story(tmp_path, fault("crash", 10, 15, "controller:0"))
    first, new = activations(run)
    assert first["controller_epoch"] == 1 < new["controller_epoch"]
    assert [row["change"] for row in run.rows("partition_state")] == [STATE_CREATED]
    assert max(row["time_us"] for row in run.rows("broker_state")) < 10 * SECOND


def test_a_controller_that_is_told_to_stop_hands_over(tmp_path: Path) -> None:
    """KafkaRaftClient.shutdown: it ends as soon as another one leads."""
    run = story(tmp_path, fault("restart", 10, 5, "controller:0"))
    _, new = activations(run)
    assert new["time_us"] < 10.8 * SECOND
    (stopped,) = rows_of(run, "voter_state", voter_state=VOTER_STOPPED)
    led = rows_of(run, "voter_state", voter_state=LEADER, quorum_epoch=2)
    assert stopped["broker"] == 3
    assert led[0]["time_us"] <= stopped["time_us"] < 15 * SECOND
    # It is back as a follower, and the leader stays.
    assert rows_of(run, "voter_state", broker=3)[-1]["quorum_leader"] == new["broker"]
    assert len(activations(run)) == 2


def test_what_hung_at_a_paused_controller_is_answered_not_controller(tmp_path: Path) -> None:
    """QuorumController.renounce fails all that waits; brokers have found the new one since."""
    run = story(tmp_path, fault("pause", 10, 12, "controller:0"), trace="all")
    late = [
        row
        for row in rows_of(run, "message", message_kind=int(BrokerHeartbeatResponse.KIND))
        if row["time_us"] > 22 * SECOND and row["from_process"] == 4
    ]
    assert late
    assert {row["error"] for row in late} == {int(errors.NOT_CONTROLLER)}
    # Nobody was fenced: the heartbeats that hung had a time-out, and the next ones a new target.
    assert not rows_of(run, "broker_state", state_reason=BROKER_SESSION_EXPIRED)


def test_what_a_cut_off_controller_appends_is_decided_anew_by_its_successor(
    tmp_path: Path,
) -> None:
    """A topic that was created where no majority is: it is truncated, and created once more."""
    create = {"do": "create_topic", "at": "10500ms", "topic": "t0"}
    run = story(tmp_path, isolation(10, 8), steps=[create])
    (created,) = run.rows("partition_state")
    _, new = activations(run)
    assert created["time_us"] > new["time_us"]
    assert created["process"] == new["process"]
    assert [state.leader for state in states(run)] == [1]
    (cut,) = rows_of(run, "voter_log", broker=3, truncated=1)
    assert cut["time_us"] > 18 * SECOND


@pytest.mark.parametrize(("release", "resigns"), [("3.6", False), ("3.7", True), ("4.1", True)])
def test_two_controllers_are_active_where_none_checks_its_quorum(
    tmp_path: Path, release: str, resigns: bool
) -> None:
    """KAFKA-15489: brokers of 3.6 keep talking to a controller that can commit nothing."""
    run = story(tmp_path, isolation(10, 15), release=release, mode="kraft")
    _, new = activations(run)[:2]
    resigned = rows_of(run, "voter_state", broker=3, voter_state=RESIGNED)
    fenced = rows_of(run, "broker_state", state_reason=BROKER_SESSION_EXPIRED)
    decided = [*run.rows("broker_state"), *run.rows("partition_state")]
    # Only the new one commits.
    assert {row["process"] for row in decided if row["time_us"] > new["time_us"]} <= {
        new["process"]
    }
    if resigns:
        assert 12 * SECOND <= resigned[0]["time_us"] <= 13 * SECOND + COMMIT_US
        assert not fenced
    else:
        assert not resigned or resigned[0]["time_us"] > 25 * SECOND
        assert {row["broker"] for row in fenced} == {0, 1, 2}


def test_what_a_lost_controller_has_written_is_the_cause_of_what_a_broker_does_later(
    tmp_path: Path,
) -> None:
    """A broker that returns hears of it from the next controller, which has not written it."""
    run = story(tmp_path, crash(3, 4, 20), fault("crash", 12, 15, "controller:0"), duration="40s")
    shrunk = rows_of(run, "partition_state")[-2]
    assert shrunk["process"] == 4
    (followed,) = (row for row in run.rows("became_follower") if row["time_us"] > 20 * SECOND)
    cause = followed["cause_process"], followed["cause_sequence"]
    assert cause == (shrunk["process"], shrunk["sequence"])


def test_the_only_controller_comes_back_to_what_was_committed(tmp_path: Path) -> None:
    """With one voter nothing moves while it is down; then all sessions restart."""
    alone = THREE | {"count": 1}
    run = story(tmp_path, fault("crash", 10, 8, "controller:0"), crash(1, 11), controllers=alone)
    _, new = activations(run)
    assert new["controller_epoch"] == 2
    assert [state.leader for state in states(run)] == [1, 2]
    (fenced,) = rows_of(run, "broker_state", broker=0, state_reason=BROKER_SESSION_EXPIRED)
    assert fenced["time_us"] - new["time_us"] >= SESSION_US


def test_without_a_majority_nothing_is_committed_until_one_is_back(tmp_path: Path) -> None:
    two = ("controller:0", "controller:2")
    run = story(tmp_path, fault("power_loss", 10, 10, *two), crash(1, 11))
    _, none, new = run.rows("controller_active")
    assert (none["broker"], none["time_us"]) == (-1, 10 * SECOND)
    assert new["time_us"] > 20 * SECOND
    times = [row["time_us"] for row in run.rows("partition_state")]
    assert all(time_us < 10 * SECOND or time_us > new["time_us"] for time_us in times)
    assert [state.leader for state in states(run)] == [1, 2]


def test_controllers_fall_with_their_rack(tmp_path: Path) -> None:
    racks = {"racks": ["a", "b", "c"]}
    cluster = {"brokers": 3, **racks, "settings": {"broker.heartbeat.interval.ms": 500}}
    lost = fault("power_loss", 10, 10, "rack:a")
    run = story(tmp_path, lost, controllers=THREE | racks, cluster=cluster)
    assert [row["process"] for row in run.rows("fault_began")] == [0, 4]
    assert [row["broker"] for row in activations(run)][1] in (4, 5)
    (fenced,) = rows_of(run, "broker_state", state_reason=BROKER_SESSION_EXPIRED)
    assert fenced["broker"] == 0


def test_each_epoch_has_one_active_controller(tmp_path: Path) -> None:
    """Each kill is followed by another controller, in a later epoch."""
    kills = [fault("crash", 10 + 6 * number, 5, f"controller:{number}") for number in range(3)]
    run = story(tmp_path, *kills, duration="40s")
    epochs = [row["controller_epoch"] for row in activations(run)]
    assert all(one < other for one, other in pairwise(epochs))
    assert len(epochs) >= 2


@pytest.mark.long
def test_a_failover_takes_as_long_with_many_partitions_where_zookeeper_s_grows() -> None:
    """Activation reads nothing again; KafkaController.initializeControllerContext reads it all."""
    command = [sys.executable, str(BENCH), "--partitions", "100", "5000", "--seeds", "1"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    zookeeper, kraft = map(float, re.findall(r" x ([0-9.]+)", said))
    assert zookeeper > 1.2
    assert 0.95 < kraft < 1.05


def test_responses_wait_for_their_commit_while_there_is_no_majority(tmp_path: Path) -> None:
    """ControllerPurgatory: behind a NoOpRecord that is not committed even heartbeats wait.

    In 3.6 a controller without a majority stays active, so samples show the responses that wait.
    """
    faults = [fault("crash", 10, 12, "controller:1", "controller:2")]
    run = story(tmp_path, *faults, mode="kraft", release="3.6", sample_every="250ms")
    samples = rows_of(run, "metadata_sampled", broker=3)
    # Registrations wait, too, but for the time of a commit only.
    waiting = [
        row["time_us"] for row in samples if row["deferred"] > 0 and row["time_us"] > 5 * SECOND
    ]
    assert 10 * SECOND < waiting[0] < 11 * SECOND
    assert 22 * SECOND <= waiting[-1] < 26 * SECOND


def test_a_request_that_fails_may_take_effect_later(tmp_path: Path) -> None:
    """LeaderState, DeferredEventQueue.failAll@4.1.0: a record that is not committed is not undone.

    Both followers are gone as a topic is to be created. Its records are in the leader's log when
    that one resigns, and the request is answered NOT_CONTROLLER. As the followers are back only the
    controller with these records can be elected, and they are committed with its first record.
    """
    down = fault("crash", 9.9, 10, "controller:1", "controller:2")
    create = {"do": "create_topic", "at": "10s", "topic": "t1"}
    parts: dict[str, Any] = {"controllers": {"count": 3}, "duration": "25s", "trace": "all"}
    story = quorum_story([[1], [2]], faults=[down], steps=[create], **parts)
    run = run_of(story, tmp_path / "later")
    answers = [
        row
        for row in run.rows("message")
        if row["message_kind"] == int(AdminResponse.KIND) and row["error"] == errors.NOT_CONTROLLER
    ]
    assert 12 * SECOND < answers[0]["time_us"] < 14 * SECOND
    (created,) = (row for row in run.rows("partition_state") if row["partition"] == 1)
    assert created["change"] == STATE_CREATED
    assert created["time_us"] > 20 * SECOND
    (asked,) = (
        row
        for row in run.rows("controller_event")
        if (row["process"], row["sequence"])
        == (created["cause_process"], created["cause_sequence"])
    )
    assert 10 * SECOND <= asked["time_us"] < 10.1 * SECOND
    assert activations(run)[-1]["controller_epoch"] > 1
