"""``tidegauge show quorum`` of a quorum whose voters change (KIP-853), and of one with static ones.

Controllers 3000, 3001 and 3002 are the first voters, 3003 observes. It is added, 3002 is removed,
then 3000, which leads. 3003 leads next, and 3001 loses its disk: its new directory is no voter.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it comes without types
import pytest
from typer.testing import CliRunner

from exported_rows import plain_rows
from tidegauge.analysis.requests import runs_at
from tidegauge.analysis.rows.row_files import write_rows
from tidegauge.analysis.rows.row_schema import documentation
from tidegauge.command_line import app
from tidegauge.engine.simulate import simulate
from tidegauge.runs.metadata_records import metadata_records
from tidegauge.runs.quorum import (
    answered_changes,
    described_quorum,
    quorum_over_time,
    voters_over_time,
)
from tidegauge.runs.run import Run
from tidegauge.scenario.model.settings import AUTO_JOIN
from tidegauge.scenario.reading import load_scenario, scenario_from_mapping
from tidegauge.scenario.shipped import find_scenario

S = 1_000_000

CHANGES: dict[str, Any] = {
    "name": "changing-voters",
    "duration": "70s",
    "release": "4.4",
    "cluster": {"brokers": 2},
    "controllers": {"count": 4, "voters": [0, 1, 2]},
    "topics": [{"name": "orders", "partitions": 1, "replication_factor": 2}],
    "steps": [
        {"do": "add_controller", "at": "10s", "controller": 3},
        {"do": "add_controller", "at": "12s", "controller": 1},
        {"do": "remove_controller", "at": "20s", "controller": 2},
        {"do": "remove_controller", "at": "30s", "controller": 0},
    ],
    "faults": [
        {"name": "lost", "kind": "disk_loss", "brokers": ["controller:1"], "at": "50s", "for": "5s"}
    ],
    "liveness": False,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("changing") / "run"
    return Run(simulate(scenario_from_mapping(CHANGES, "changes"), path).path)


def shown(run: Run, *options: str) -> str:
    result = CliRunner().invoke(app, ["show", "quorum", str(run.path), *options])
    assert result.exit_code == 0, result.output
    return result.output


def unwrapped(text: str) -> str:
    return " ".join(text.split())


def test_the_status_is_that_of_kafka_metadata_quorum(run: Run) -> None:
    """MetadataQuorumCommand.handleDescribeStatus@4.4.0, recordings q02 and q12."""
    status = unwrapped(shown(run, "--at", "15s"))
    voters = ", ".join(
        f'{{"id": {each}, "directoryId": "{each}#1", '
        f'"endpoints": ["CONTROLLER://controller-{each}:9093"]}}'
        for each in (3000, 3001, 3002, 3003)
    )
    assert f"CurrentVoters: [{voters}]" in status
    observers = '{"id": 1, "directoryId": "1#1"}, {"id": 2, "directoryId": "2#1"}'
    assert f"CurrentObservers: [{observers}]" in status
    assert "ClusterId: changing-voters LeaderId: 3000 LeaderEpoch: 1" in status
    assert "MaxFollowerLag: 0" in status


def test_a_reason_is_told_of_a_change_that_is_refused(run: Run) -> None:
    added, refused = [event.words for event in run.events_of("voter_change_answered")][:2]
    assert added == "answers the request to add a voter, controller 3003 with directory 1: NONE"
    assert refused == (
        "answers the request to add a voter, controller 3001 with directory 1: DUPLICATE_VOTER, "
        "since its id is already part of the set of voters"
    )
    told = [event.words for event in run.events_of("quorum_voters") if event.broker == 3000]
    commits = {words.partition("kraft.version 1, ")[2] for words in told}
    assert commits == {"not known to be committed", "committed"}


def test_a_controller_that_is_removed_observes(run: Run) -> None:
    quorum = described_quorum(run, 25 * S)
    assert quorum is not None
    states = {node.key: (node.state, node.is_voter) for node in quorum.nodes}
    assert states == {
        "3000#1": ("leader", True),
        "3001#1": ("follower", True),
        "3003#1": ("follower", True),
        "3002#1": ("observer", False),
        "1#1": ("observer", False),
        "2#1": ("observer", False),
    }
    assert quorum.kraft_version == 1
    assert quorum.are_voters_committed


def test_a_leader_that_is_removed_leads_on_until_that_is_committed(run: Run) -> None:
    """KAFKA-16530: it counts itself no more, and resigns behind its last record."""
    appended, committed = (described_quorum(run, at_us) for at_us in (30_002_000, 32_000_000))
    assert appended is not None
    assert committed is not None
    leader = appended.nodes[0]
    assert (leader.key, leader.state, leader.is_voter) == ("3000#1", "leader", False)
    assert not appended.are_voters_committed
    assert committed.are_voters_committed
    assert committed.leader in (3001, 3003)


def test_a_lost_disk_is_a_voter_beside_the_new_one(run: Run) -> None:
    """Recording q18: an empty observer beside a voter that never fetches; nobody can lead."""
    quorum = described_quorum(run)
    assert quorum is not None
    assert quorum.leader is None
    nodes = {node.key: node for node in quorum.nodes if node.node == 3001}
    assert (nodes["3001#1"].state, nodes["3001#1"].is_voter) == ("disk lost", True)
    assert (nodes["3001#2"].log_end_offset, nodes["3001#2"].is_voter) == (0, False)
    assert nodes["3001#1"].caught_up_us is not None
    assert 49 * S < nodes["3001#1"].caught_up_us <= 50 * S
    assert quorum.lag_of(nodes["3001#1"]) > 0
    assert "Disk lost" in shown(run)


def test_each_change_of_the_voters_has_its_record_and_its_commit(run: Run) -> None:
    changes = [(each.time_us // S, each.voters) for each in voters_over_time(run)]
    assert changes == [
        (0, ["3000#1", "3001#1", "3002#1"]),
        (10, ["3000#1", "3001#1", "3002#1", "3003#1"]),
        (20, ["3000#1", "3001#1", "3003#1"]),
        (30, ["3001#1", "3003#1"]),
    ]
    assert all(each.committed_us is not None for each in voters_over_time(run))
    answers = [(each.change, each.voter, each.error) for each in answered_changes(run)]
    assert answers == [
        ("add", "3003#1", "NONE"),
        ("add", "3001#1", "DUPLICATE_VOTER"),
        ("remove", "3002#1", "NONE"),
        ("remove", "3000#1", "NONE"),
    ]
    text = unwrapped(shown(run))
    assert "3000 add 3001#1 DUPLICATE_VOTER its id is already part of the set of voters" in text


def test_control_records_are_records_of_the_metadata_log(run: Run) -> None:
    """As kafka-dump-log prints them: KRaftVoters, a record of the leader's log."""
    records = [each for each in metadata_records(run) if each.name == "KRaftVoters"]
    ids = [[voter["voterId"] for voter in each.data["voters"]] for each in records]
    assert ids == [[3000, 3001, 3002, 3003], [3000, 3001, 3003], [3001, 3003]]
    assert records[-1].data["voters"][0]["voterDirectoryId"] == "3001#1"


def test_programs_get_the_keys_of_voters(run: Run) -> None:
    content = json.loads(shown(run, "--json"))
    assert [each["key"] for each in content["nodes"] if each["is_voter"]] == ["3001#1", "3003#1"]
    assert len(content["voters_over_time"]) == len(content["voter_changes"]) == 4


def test_exported_rows_have_voters_as_lists(run: Run, tmp_path: Path) -> None:
    runs, kind = runs_at(run.path), "quorum_voters"
    file = tmp_path / "voters.parquet"
    write_rows(runs, [kind], lambda _: file, with_names=True)
    rows = pq.read_table(file).to_pylist()
    assert rows == plain_rows(runs, kind)
    # The new directory of 3001 is empty: nobody leads, so it reads of no voters.
    assert [row["voters_keys"] for row in rows[-2:]] == [["3001#1", "3003#1"], []]
    assert "| `voters_keys` | array<string> |" in documentation([kind])


@pytest.mark.parametrize(
    ("release", "voters"),
    [
        pytest.param("3.8", "[3000, 3001, 3002]", id="ids"),
        pytest.param(
            "4.4",
            ", ".join(
                f'{{"id": {each}, "endpoints": ["CONTROLLER://controller-{each}:9093"]}}'
                for each in (3000, 3001, 3002)
            ).join("[]"),
            id="endpoints",
        ),
    ],
)
def test_static_voters_have_no_directories(release: str, voters: str, tmp_path: Path) -> None:
    """Recording q15 before kraft.version is raised; up to 3.8 the tool prints ids alone."""
    static = CHANGES | {"release": release, "controllers": {"count": 3}, "duration": "5s"}
    static |= {"mode": "kraft", "steps": [], "faults": []}
    run = Run(simulate(scenario_from_mapping(static, "static"), tmp_path / "run").path)
    status = unwrapped(shown(run, "--at", "4s"))
    assert f"CurrentVoters: {voters}" in status
    assert ("DirectoryId" in status) == (release == "4.4")
    assert voters_over_time(run) == []
    assert answered_changes(run) == []


def test_raising_kraft_version_names_the_directories_of_static_voters(tmp_path: Path) -> None:
    """KAFKA-16538, recording q15: KRaftVersion and KRaftVoters are one batch."""
    raised = CHANGES | {"controllers": {"count": 3}, "duration": "20s", "faults": []}
    raised |= {"steps": [{"do": "update_features", "at": "10s", "kraft_version": 1}]}
    run = Run(simulate(scenario_from_mapping(raised, "raised"), tmp_path / "run").path)
    before, after = (described_quorum(run, at_us) for at_us in (9 * S, 15 * S))
    assert before is not None
    assert after is not None
    assert (before.kraft_version, after.kraft_version) == (0, 1)
    assert [node.key for node in before.nodes if node.is_voter] == ["3000", "3001", "3002"]
    assert [node.key for node in after.nodes if node.is_voter] == ["3000#1", "3001#1", "3002#1"]
    records = [each.name for each in metadata_records(run) if each.name.startswith("KRaft")]
    assert records == ["KRaftVersion", "KRaftVoters"]


@pytest.mark.parametrize(
    ("changes", "within"),
    [
        pytest.param({}, (40, 41), id="by steps"),
        pytest.param(
            {"steps": [], f"controllers.settings.{AUTO_JOIN}": True}, (33, 36), id="joins"
        ),
    ],
)
def test_a_controller_with_a_replaced_disk_is_a_voter_again(
    changes: dict[str, Any], within: tuple[int, int], tmp_path: Path
) -> None:
    """Recordings q06 and q07: the lost key has to go first; with automatic join, by itself."""
    scenario = load_scenario(find_scenario("replaced-disk"), changes)
    run = Run(simulate(scenario, tmp_path / "run").path)
    changed = voters_over_time(run)[1:]
    assert [each.voters for each in changed] == [
        ["3000#1", "3002#1"],
        ["3000#1", "3001#2", "3002#1"],
    ]
    assert all(within[0] * S <= each.time_us <= within[1] * S for each in changed)
    # LeaderState.observerStates: a directory from which nothing was fetched is no observer.
    keys = [
        [each.key for each in quorum.nodes if each.node == 3001]
        for quorum in quorum_over_time(run, [25 * S, 32 * S])
    ]
    assert keys == [["3001#1"], ["3001#1", "3001#2"]]
    assert run.summary is not None
    assert not [name for name, found in run.summary["checks"].items() if found["broken"]]
