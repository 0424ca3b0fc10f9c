"""Upgrades of a KRaft cluster to their end: controllers, brokers, then the features of the cluster.

Broker ``n`` is node ``n - 1`` in rows; controllers 3000, 3001 and 3002 are the nodes behind them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from process_groups import groups_of
from quorum_stories import quorum_story
from scenario_runs import rows_of, run_of
from tidegauge.command_line import app
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.replication import errors
from tidegauge.replication.release_versions import ProtocolVersion
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping
from tidegauge.simulation.kernel import QUORUM_CONTROLLER
from tidegauge.simulation.trace_rows.codes import (
    DEPENDS_ON_METADATA_VERSION,
    DOWNGRADE_NOT_NAMED,
    ELR_VERSION,
    METADATA_VERSION,
    METADATA_WOULD_BE_LOST,
    NO_DOWNGRADE,
    ROLL_DONE,
    ROLL_GIVES_UP,
    ROLL_STOPS,
    STOP_NOT_REGISTERED,
    UNSAFE_NOT_SUPPORTED,
)
from tidegauge.traces.run_folder import RunFolder

SECOND = 1_000_000
#: Levels of metadata.version.
OF_39, OF_40_IV0, OF_44 = 21, 22, 33


def roll(name: str, **others: Any) -> dict[str, Any]:
    return {"name": name, "kind": "rolling_restart", "stopped_for": "2s", "poll": "500ms", **others}


#: Three controllers, with the sessions of these stories.
QUORUM = {
    "count": 3,
    "settings": {"broker.session.timeout.ms": 4000, "auto.leader.rebalance.enable": False},
}


def finalize(**others: Any) -> dict[str, Any]:
    return {"do": "update_features", **others}


def upgraded(
    steps: list[dict[str, Any]], to: str = "4.4", release: str = "3.9", **parts: Any
) -> Scenario:
    """Three controllers and three brokers are rolled to a release; then the steps are taken."""
    faults = [
        roll("controllers", brokers=["controllers"], at="5s", to_release=to),
        roll("brokers", to_release=to, leadership_back="at_end"),
        *parts.pop("faults", []),
    ]
    begins = {"do": "begin_fault", "fault": "brokers"}
    begin = {**begins, "when": {"rolled": "controllers"}, "within": "1m"}
    done = {"do": "wait", "when": {"rolled": "brokers"}, "within": "2m"}
    own = {"release": release, "mode": "kraft", "controllers": QUORUM, "duration": "2m"}
    whole: dict[str, Any] = own | parts
    topic = {"min.insync.replicas": 2}
    steps = [begin, done, *steps]
    return quorum_story([[1, 2, 3], [2, 3, 1]], topic=topic, faults=faults, steps=steps, **whole)


def refusals(run: RunFolder) -> list[tuple[int, int, int]]:
    """The refused updates: the feature, the level, and the reason."""
    return [
        (row["feature"], row["feature_level"], row["refusal"])
        for row in run.rows("feature_update_refused")
    ]


def finalized(run: RunFolder) -> list[tuple[int, int]]:
    return [(row["feature"], row["feature_level"]) for row in run.rows("feature_level_finalized")]


def answers(run: RunFolder) -> dict[int, int]:
    """The error that each step of a tool was answered with."""
    return {row["step"]: row["error"] for row in run.rows("step_answered")}


WORKLOAD = {
    "producers": [
        {
            "name": "shop",
            "topics": ["t0", "t1"],
            "batches_per_second": 5,
            "settings": {"acks": "all"},
        }
    ]
}


@pytest.fixture(scope="module", name="whole")
def _whole(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """From 3.9 to 4.4 while a producer writes."""
    steps = [finalize(after="2s", metadata_version="4.4")]
    scenario = upgraded(steps, workload=WORKLOAD, liveness=True)
    return run_of(scenario, tmp_path_factory.mktemp("whole"))


def test_controllers_are_rolled_one_at_a_time_with_the_active_one_last(whole: RunFolder) -> None:
    """The quorum moves once, and no record that was acknowledged is lost."""
    rolled = rows_of(whole, "roll_progress", progress=ROLL_STOPS)
    assert [row["broker"] for row in rolled] == [4, 5, 3, 0, 1, 2]
    done = [row["time_us"] for row in rows_of(whole, "roll_progress", progress=ROLL_DONE)]
    moves = [row for row in whole.rows("controller_active") if 0 < row["time_us"] < done[1]]
    assert [row["broker"] for row in moves] == [-1, moves[1]["broker"]]
    assert moves[1]["broker"] != 3
    assert (whole.summary or {})["records_acknowledged_lost"] == 0


def test_metadata_version_is_raised_once_all_nodes_support_it(whole: RunFolder) -> None:
    """KIP-778: with all nodes of 4.4 the level becomes 33, that of 4.4-IV2."""
    assert finalized(whole) == [(METADATA_VERSION, OF_44)]
    assert answers(whole) == {2: errors.NONE}
    assert ProtocolVersion.parse("4.4").feature_level == OF_44


@pytest.mark.parametrize(
    ("rolled", "node"),
    [
        (["controllers"], 0),
        ([1, 2, "controllers"], 2),
        ([1, 2, 3, "controller:1", "controller:2"], 3),
    ],
)
def test_while_a_node_is_old_the_step_is_refused_in_kafkas_words(
    rolled: list[Any], node: int, tmp_path: Path
) -> None:
    """The active controller comes first, then the brokers, then the other controllers."""
    scenario = quorum_story(
        [[1, 2, 3]],
        release="3.9",
        mode="kraft",
        controllers=QUORUM,
        duration="60s",
        faults=[roll("some", brokers=rolled, at="5s", to_release="4.4")],
        steps=[finalize(when={"rolled": "some"}, within="50s", metadata_version="4.4")],
    )
    run = run_of(scenario, tmp_path / "run")
    (row,) = run.rows("feature_not_supported")
    assert (row["server"], row["oldest_level"], row["newest_level"]) == (node, 1, OF_39)
    assert answers(run) == {0: errors.INVALID_UPDATE_VERSION}
    assert finalized(run) == []
    shown = CliRunner().invoke(app, ["show", "controller", str(tmp_path / "run")])
    words = " ".join(shown.stdout.split())
    name = f"broker {node + 1}" if node < 3 else f"controller {2997 + node}"
    assert f"feature metadata.version: {name} only supports versions 1-21" in words


def test_eligible_leader_replicas_are_kept_from_their_level_on(tmp_path: Path) -> None:
    """KIP-966: the same death of all followers leaves an ELR behind only after the step.

    Before, the last member stays in an ISR without a leader; ELRs are those of the metadata log.
    """
    dies = {"kind": "crash", "brokers": [2, 3], "for": "10s"}
    begin, end = {"do": "begin_fault"}, {"do": "wait", "after": "25s"}
    steps = [
        finalize(after="1s", metadata_version="4.4"),
        {**begin, "fault": "before", "after": "1s"},
        end,
        finalize(after="1s", eligible_leader_replicas=True),
        {**begin, "fault": "after", "after": "1s"},
        end,
    ]
    crashes = [{"name": "before", **dies}, {"name": "after", **dies}]
    scenario = upgraded(steps, faults=crashes, duration="120s")
    run = run_of(scenario, tmp_path / "run")
    assert finalized(run) == [(METADATA_VERSION, OF_44), (ELR_VERSION, 1)]
    (on_us,) = (
        row["time_us"] for row in rows_of(run, "feature_level_finalized", feature=ELR_VERSION)
    )
    began = {row["fault"]: row["time_us"] for row in run.rows("fault_began")}
    with_elr = [row["time_us"] for row in run.rows("partition_replicas") if row["eligible_leaders"]]
    assert with_elr
    assert min(with_elr) > began[3] > on_us > began[2]
    assert (run.summary or {})["records_acknowledged_lost"] == 0


def test_rules_of_the_metadata_version_begin_with_its_record(tmp_path: Path) -> None:
    """KAFKA-15021: below 3.6-IV0 a shrinking ISR raises the leader epoch, from then on it does not.

    KIP-1066: from 4.3-IV0 on brokers tell their cordoned log directories, once each.
    """
    steps = [
        {"do": "begin_fault", "fault": "one", "after": "1s"},
        finalize(after="12s", metadata_version="4.4"),
        {"do": "begin_fault", "fault": "two", "after": "5s"},
    ]
    pause = {"kind": "crash", "brokers": [3], "for": "6s"}
    faults = [{"name": "one", **pause}, {"name": "two", **pause}]
    parts: dict[str, Any] = {"metadata_version": "3.5", "faults": faults}
    run = run_of(upgraded(steps, duration="100s", **parts), tmp_path / "run")
    began = {row["fault"]: row["time_us"] for row in run.rows("fault_began")}
    (raised_us,) = (row["time_us"] for row in run.rows("feature_level_finalized"))

    def epochs(fault: int) -> list[tuple[int, int]]:
        """The leader epochs of the partitions that broker 3 follows, before and after its death."""
        found = []
        for partition in (0, 1):
            states = rows_of(run, "partition_state", partition=partition)
            before = [row for row in states if row["time_us"] < began[fault]][-1]
            after = [row for row in states if row["time_us"] < began[fault] + 5 * SECOND][-1]
            assert after["leader"] == before["leader"]
            found.append((before["leader_epoch"], after["leader_epoch"]))
        return found

    assert began[2] < raised_us < began[3]
    assert all(after == before + 1 for before, after in epochs(2))
    assert all(after == before for before, after in epochs(3))


@pytest.mark.parametrize(
    ("asked", "refusal"),
    [
        ({"metadata_version": "4.2"}, (METADATA_VERSION, 29, DOWNGRADE_NOT_NAMED)),
        (
            {"metadata_version": "4.2", "upgrade_type": "safe_downgrade"},
            (METADATA_VERSION, 29, METADATA_WOULD_BE_LOST),
        ),
        (
            {"metadata_version": "4.2", "upgrade_type": "unsafe_downgrade"},
            (METADATA_VERSION, 29, UNSAFE_NOT_SUPPORTED),
        ),
        (
            {"metadata_version": "4.4-IV0", "upgrade_type": "safe_downgrade"},
            (METADATA_VERSION, 31, NO_DOWNGRADE),
        ),
        ({"metadata_version": "4.1-IV0", "upgrade_type": "safe_downgrade"}, None),
        ({"eligible_leader_replicas": True}, None),
    ],
)
def test_a_downgrade_says_that_it_is_one_and_crosses_no_change_of_metadata(
    asked: dict[str, Any], refusal: tuple[int, int, int] | None, tmp_path: Path
) -> None:
    """KIP-778. 4.3-IV0 has changed the format of metadata, 4.1-IV1 has not."""
    version = "4.1" if refusal is None else "4.3"
    scenario = quorum_story(
        [[1, 2, 3]],
        release="4.4",
        metadata_version=version,
        eligible_leader_replicas=False,
        duration="10s",
        steps=[finalize(at="5s", **asked)],
    )
    run = run_of(scenario, tmp_path / "run")
    assert refusals(run) == ([] if refusal is None else [refusal])
    assert answers(run) == {0: errors.NONE if refusal is None else errors.INVALID_UPDATE_VERSION}


def test_eligible_leader_replicas_depend_on_the_metadata_version(tmp_path: Path) -> None:
    """One request may raise both: the proposed metadata.version counts. An error changes neither.

    Source: Features.validateVersion, FeatureControlManager.updateFeatures@4.0.0.
    """
    both = {"metadata_version": "4.0-IV1", "eligible_leader_replicas": True}
    steps = [
        finalize(at="5s", eligible_leader_replicas=True),
        finalize(after="1s", **both | {"metadata_version": "4.0-IV0"}),
        finalize(after="1s", **both),
        finalize(after="1s", release_version="4.4"),
    ]
    parts: dict[str, Any] = {"release": "4.4", "metadata_version": "3.9", "duration": "15s"}
    run = run_of(quorum_story([[1, 2, 3]], steps=steps, **parts), tmp_path / "run")
    assert refusals(run) == 2 * [(ELR_VERSION, 1, DEPENDS_ON_METADATA_VERSION)]
    assert finalized(run) == [
        *((METADATA_VERSION, OF_40_IV0 + 1), (ELR_VERSION, 1)),
        *((METADATA_VERSION, OF_44), (ELR_VERSION, 1)),
    ]


def test_a_release_without_the_feature_does_not_support_it(tmp_path: Path) -> None:
    """Up to 3.9 there is no eligible.leader.replicas.version."""
    steps = [finalize(at="5s", eligible_leader_replicas=True)]
    parts: dict[str, Any] = {"release": "3.9", "mode": "kraft", "duration": "10s"}
    run = run_of(quorum_story([[1, 2, 3]], steps=steps, **parts), tmp_path / "run")
    (row,) = run.rows("feature_unknown")
    assert (row["feature"], row["server"]) == (ELR_VERSION, 3)
    assert answers(run) == {0: errors.INVALID_UPDATE_VERSION}


def test_a_broker_that_does_not_support_the_finalized_level_is_not_registered(
    tmp_path: Path,
) -> None:
    """It goes back to 3.9 too late: UNSUPPORTED_VERSION, until its time to register is over.

    Source: ClusterControlManager.processRegistrationFeature@3.9.0.
    """
    scenario = quorum_story(
        [[1, 2, 3]],
        release="4.4",
        metadata_version="3.9",
        duration="100s",
        liveness=False,
        faults=[roll("back", brokers=[3], at="20s", to_release="3.9", timeout="40s")],
        steps=[finalize(at="10s", metadata_version="4.4")],
    )
    run = run_of(scenario, tmp_path / "run")
    refused = {row["error"] for row in run.rows("request_refused") if row["time_us"] > 30 * SECOND}
    assert refused == {errors.UNSUPPORTED_VERSION}
    assert STOP_NOT_REGISTERED in [row["stop"] for row in run.rows("broker_stopped")]
    assert rows_of(run, "roll_progress", progress=ROLL_GIVES_UP)


def test_an_upgrade_is_the_same_in_groups_of_processes(tmp_path: Path) -> None:
    scenario = upgraded([finalize(after="1s", release_version="4.4")], duration="60s")
    quorum = ClusterPlan(scenario).process_ranges[QUORUM_CONTROLLER]
    alone = [[each] for group in groups_of(scenario, 1) for each in group if each not in quorum]
    groups = [*alone, [*quorum]]
    one = simulate(scenario, tmp_path / "one")
    many = simulate(scenario, tmp_path / "many", make_engine=inline(groups))
    hashes = [(run.summary or {})["trace_sha256"] for run in (one, many)]
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {
                "metadata_version": "4.0",
                "faults": [roll("back", at="5s", brokers=["controllers"], to_release="4.0")],
            },
            "must be 4.4.0 or later: controllers are not downgraded",
        ),
        (
            {"steps": [finalize(at="5s", metadata_version="4.4", release_version="4.4")]},
            "must have metadata_version, eligible_leader_replicas or kraft_version, or release",
        ),
        ({"steps": [finalize(at="5s", metadata_version="3.2")]}, "older than 3.3-IV3"),
        (
            {"steps": [{"do": "wait", "when": {"rolled": "role"}, "within": "1s"}]},
            "there is no rolling restart role",
        ),
        (
            {
                "mode": "zookeeper",
                "release": "2.6",
                "steps": [finalize(at="5s", release_version="3.9")],
            },
            "needs mode: kraft; with ZooKeeper use a rolling_restart with to_protocol",
        ),
    ],
)
def test_what_cannot_be_asked_for_is_one_clear_error(parts: dict[str, Any], message: str) -> None:
    cluster = {"release": "4.4", "duration": "1m", "cluster": {"brokers": 3}}
    with pytest.raises(ScenarioError, match=message):
        scenario_from_mapping(cluster | parts, "upgrade")


@pytest.mark.usefixtures("ray_here")
def test_the_upgrade_itself_is_compared_with_the_same_restarts(tmp_path: Path) -> None:
    """``tidegauge upgrade`` of a KRaft cluster: its controllers, its brokers, its version."""
    mine, out = tmp_path / "mine.yaml", tmp_path / "runs"
    cluster = {
        "name": "mine",
        "duration": "1m",
        "release": "3.9",
        "mode": "kraft",
        "cluster": {"brokers": 3},
        "topics": [{"name": "orders", "partitions": 3, "replication_factor": 3}],
    }
    mine.write_text(yaml.safe_dump(cluster))
    command = ["upgrade", str(mine), "--to", "4.4", "--seeds", "1..1", "--out", str(out)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "The upgrade itself: controllers, then brokers are restarted" in result.output
    upgrade = json.loads((out / "upgrade" / "comparison.json").read_text())
    assert upgrade["variants"]
