"""Logs of real clusters tell what happened: each is held against the truth that was recorded."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from log_truth import Compared, compared
from real_clusters import RECORDED, recorded
from tidegauge.real_cluster.logs.real_history import RealHistory

#: A line is at most so late; measured on two loaded CPUs.
_LATE_MS = 600
_EARLY_MS = -50
#: Broker 2 runs so slowly that its own lines come a second late.
_SLOW = "zk-2.6.3-slow_broker_clock350"


@pytest.fixture(scope="module", params=RECORDED)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compared:
    return compared(recorded(request.param, tmp_path_factory.mktemp("recorded")))


def test_every_state_of_a_partition_is_told_and_none_is_invented(cluster: Compared) -> None:
    assert cluster.states.expected > 0
    assert (cluster.states.missing, cluster.states.invented) == ([], [])


def test_brokers_come_and_go_as_they_did(cluster: Compared) -> None:
    assert cluster.brokers.expected > 0
    assert (cluster.brokers.missing, cluster.brokers.invented) == ([], [])


def test_the_controllers_are_those_that_were_elected(cluster: Compared) -> None:
    assert cluster.controllers.expected > 0
    assert (cluster.controllers.missing, cluster.controllers.invented) == ([], [])


def test_times_are_those_of_the_change_within_the_delay_of_its_line(cluster: Compared) -> None:
    late_ms = 1_000 if _is_slow(cluster.history) else _LATE_MS
    early_ms = -100 if _is_slow(cluster.history) else _EARLY_MS
    for counted in (cluster.states, cluster.brokers, cluster.controllers):
        assert early_ms <= min(counted.delays_ms) <= max(counted.delays_ms) <= late_ms


def test_the_states_of_a_partition_are_in_the_order_of_their_versions(cluster: Compared) -> None:
    for each in cluster.history.partitions:
        times = [state.time_ms for state in each.states]
        assert times == sorted(times)


def _is_slow(history: RealHistory) -> bool:
    return any(_SLOW in str(file.path) for file in history.found.files)


def test_a_clock_that_is_ahead_is_found(tmp_path: Path) -> None:
    history = compared(recorded("zk-2.6.3-clock_b1_leader_kill", tmp_path)).history
    offsets = {each.node: each for each in history.offsets}
    assert offsets[1].offset_ms == offsets[3].offset_ms == 0
    ahead = offsets[2]
    assert ahead.uncertainty_ms is not None
    assert ahead.uncertainty_ms < 50
    assert abs(ahead.offset_ms - 350) <= ahead.uncertainty_ms


def test_clocks_that_agree_are_not_corrected(tmp_path: Path) -> None:
    for name in ("kraft-3.9.0-i1_controller_kill", "zk-2.4.1-b1_leader_kill"):
        history = compared(recorded(name, tmp_path)).history
        assert {each.offset_ms for each in history.offsets} == {0}


@pytest.mark.parametrize("ahead_ms", [350, -350, -7_200_000, 18_000_000])
def test_the_clock_of_a_broker_of_a_quorum_is_corrected(tmp_path: Path, ahead_ms: int) -> None:
    folder = recorded("kraft-4.1.0-b1_leader_kill", tmp_path)
    for file in (folder / "broker-2").glob("*.log"):
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(_shifted(line, ahead_ms) for line in lines))
    cluster = compared(folder)
    assert (cluster.states.missing, cluster.states.invented) == ([], [])
    (found,) = (each for each in cluster.history.offsets if each.offset_ms)
    assert (found.node, found.uncertainty_ms is not None) == (2, True)
    assert abs(found.offset_ms - ahead_ms) <= (found.uncertainty_ms or 0) < 150
    assert max(cluster.states.delays_ms) < _LATE_MS


def _shifted(line: str, ahead_ms: int) -> str:
    if not line.startswith("[20"):
        return line
    written = datetime.fromisoformat(line[1:24].replace(",", "."))
    moment = written + timedelta(milliseconds=ahead_ms)
    return f"[{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03}{line[24:]}"
