"""Each check of a quorum has a protocol without one rule of Raft, and says that it is broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import broken_quorums
from tidegauge.engine.simulate import simulate
from tidegauge.replication.ablations import ABLATIONS
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.traces.checks import CHECKS


def test_every_check_of_a_quorum_has_a_protocol_that_breaks_it() -> None:
    """The checks of KRaft that are not about the records of partitions.

    Those about voters that change fall without a rule of KIP-853
    (tests/tidegauge/test_ablations.py).
    """
    folder = Path(broken_quorums.__file__).parents[2] / "traces" / "quorum_checks"
    of_quorum = {file.stem for file in folder.glob("*.py")} & {
        each.name for each in CHECKS.values()
    }
    of_voters = {
        check
        for ablation in ABLATIONS.values()
        if ablation.changes_voters
        for check in ablation.breaks
    }
    assert of_quorum == set(broken_quorums.BROKEN) | of_voters


def test_a_quorum_without_a_rule_of_raft_is_found(tmp_path: Path) -> None:
    """Q1, Q4, Q10: votes, logs that agree, commits by a majority, elections (KafkaRaftClient)."""
    done = subprocess.run(
        [sys.executable, broken_quorums.__file__, str(tmp_path)],
        env=os.environ | {"TIDEGAUGE_COMPILED": "0", "TIDEGAUGE_CHECKED": "0"},
        check=True,
        capture_output=True,
        text=True,
    )
    found = json.loads(done.stdout)
    assert [check for check in broken_quorums.BROKEN if check not in found[check]] == []


@pytest.mark.parametrize("check", ["one_quorum_leader", "metadata_log_matching"])
def test_the_same_schedule_with_the_rule_breaks_nothing(check: str, tmp_path: Path) -> None:
    """The twin: with the rules of Raft nothing is broken, and the quorum makes progress."""
    scenario = scenario_from_mapping(broken_quorums.scenario_of(check), check)
    run = simulate(scenario, tmp_path / "run")
    assert run.summary is not None
    assert not [name for name, found in run.summary["checks"].items() if found["broken"]]
    leaders = [row for row in run.rows("controller_active") if row["broker"] >= 0]
    assert len({row["controller_epoch"] for row in leaders}) > 1
