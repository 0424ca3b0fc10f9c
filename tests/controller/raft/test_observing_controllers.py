"""Controllers that observe, and voters of a static quorum: whom they ask, and what they tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scenario_runs import run_of, shipped
from tidegauge.replication.errors import NONE, UNSUPPORTED_VERSION
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.simulation.trace_rows.codes import UPDATE_VOTER
from tidegauge.traces.run_folder import RunFolder
from voter_stories import FIRST, SECOND

#: The end of a run, and that of the fault in it.
_END_S, _FAULT_S = 60, 20


def observed(folder: Path, release: str, fault: dict[str, Any], **settings: int) -> RunFolder:
    """A run whose controller 3 observes, and has the voters 1 and 2 as bootstrap servers."""
    scenario = {
        "release": release,
        "mode": "kraft",
        "duration": f"{_END_S}s",
        "liveness": False,
        "cluster": {"brokers": 1},
        "controllers": {
            "count": 4,
            "voters": [0, 1, 2],
            "bootstrap_servers": [1, 2],
            "settings": {name.replace("_", "."): value for name, value in settings.items()},
        },
        "topics": [{"name": "orders", "partitions": 1, "replication_factor": 1}],
        "faults": [{**fault, "at": f"{_FAULT_S}s"}],
    }
    return run_of(scenario_from_mapping(scenario, "observers"), folder)


def fetched_at(run: RunFolder) -> list[float]:
    """When the log of the observing controller has grown, or its high watermark."""
    return [row["time_us"] / SECOND for row in run.rows("voter_log") if row["broker"] == FIRST + 3]


@pytest.mark.parametrize(("release", "is_stuck"), [("3.9", True), ("4.1", True), ("4.2", False)])
def test_an_observing_controller_does_not_return_to_its_leader_up_to_4_1(
    release: str, is_stuck: bool, tmp_path: Path
) -> None:
    """KAFKA-19354: its bootstrap servers name the leader that it knows, and it asks them again."""
    cut = {"kind": "cut_link", "for": "10s", "between": [["controller:3"], ["controller:0"]]}
    times = fetched_at(observed(tmp_path / "r", release, cut))
    assert (times[-1] < _FAULT_S) == is_stuck
    assert is_stuck or times[-1] > _END_S - 2


@pytest.mark.parametrize(("release", "is_stuck"), [("4.1", False), ("4.2", True), ("4.4", True)])
def test_an_observing_controller_asks_a_dead_leader_until_it_is_back_from_4_2_on(
    release: str, is_stuck: bool, tmp_path: Path
) -> None:
    """KAFKA-20514: each fetch fails at once, and the backoff is over before the next one."""
    dead = {"kind": "crash", "for": "20s", "brokers": ["controller:0"]}
    settings = {"controller_quorum_retry_backoff_ms": 0}
    times = fetched_at(observed(tmp_path / "r", release, dead, **settings))
    silence = [each for each in times if _FAULT_S + 5 < each < _FAULT_S + 20]
    assert (silence == []) == is_stuck
    assert times[-1] > _END_S - 2


@pytest.mark.parametrize(
    ("release", "error", "told"), [("4.0", UNSUPPORTED_VERSION, 0), ("4.1", NONE, 4)]
)
def test_kraft_version_is_raised_in_name_only_up_to_4_0(
    release: str, error: int, told: int, tmp_path: Path
) -> None:
    """KAFKA-18979, KAFKA-16538; its static voters tell nobody their directories either."""
    run = run_of(shipped("gallery/22-version-in-name", {"release": release}), tmp_path / "r")
    answered = list(run.rows("voter_change_answered"))
    updates = [row for row in answered if row["voter_change"] == UPDATE_VOTER]
    assert len(updates) == told
    assert {row["error"] for row in answered if row not in updates} == {error}
    assert any(row["kraft_version"] == 1 for row in run.rows("quorum_voters")) == (told > 0)
