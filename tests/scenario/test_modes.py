"""ZooKeeper or KRaft: the default of each release, effective values, and what a mode has not."""

from __future__ import annotations

from typing import Any

import pytest

from tidegauge.actors.state.broker_records import BrokerSettings
from tidegauge.compiled.records import new_record
from tidegauge.engine.layout.broker_tables import new_brokers
from tidegauge.engine.layout.by_name import set_by_name
from tidegauge.engine.layout.cluster_tables import new_topology
from tidegauge.engine.layout.quorum_tables import new_quorum, new_raft
from tidegauge.engine.simulate import manifest_of
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.coherence.drawn_faults import with_drawn_faults
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.reading import ScenarioError, scenario_from_mapping
from tidegauge.scenario.used_resources import leaned_on
from tidegauge.scenario.warnings import warnings_of
from tidegauge.simulation.kernel import BROKER, CLIENT, CONTROLLER, QUORUM_CONTROLLER, ZOOKEEPER


def scenario(release: str = "4.1", **parts: Any) -> Scenario:
    cluster = {"brokers": 3, "racks": ["a", "b", "c"]} | parts.pop("cluster", {})
    topics = [{"name": "orders", "partitions": 3, "replication_factor": 3}]
    plain = {"duration": "1m", "release": release, "cluster": cluster, "topics": topics}
    return scenario_from_mapping(plain | parts, "test.yaml")


# Modes and versions.


@pytest.mark.parametrize(
    ("release", "mode"),
    [("2.6", "zookeeper"), ("3.3.0", "zookeeper"), ("3.9", "zookeeper"), ("4.0.0", "kraft")],
)
def test_the_mode_of_a_release(release: str, mode: str) -> None:
    assert scenario(release).mode == mode


def test_from_3_3_to_3_9_kraft_is_a_choice() -> None:
    chosen = scenario("3.5", mode="kraft")
    assert chosen.version_in_force() == "3.5-IV2"
    assert chosen.release_of(1) == ("3.5.2", "3.5-IV2", "kraft")
    assert scenario("3.5").release_of(1) == ("3.5.2", None, "zookeeper")


@pytest.mark.parametrize(
    ("release", "parts", "has_elr"),
    [
        ("4.1", {}, True),
        ("4.1", {"metadata_version": "4.0"}, False),
        ("4.1", {"metadata_version": "4.0", "eligible_leader_replicas": True}, True),
        ("4.1", {"eligible_leader_replicas": False}, False),
        ("4.0", {}, False),
        ("4.0", {"eligible_leader_replicas": True}, True),
        ("3.9", {"mode": "kraft"}, False),
        ("3.9", {}, False),
    ],
)
def test_a_new_cluster_of_4_1_has_eligible_leader_replicas(
    release: str, parts: dict[str, Any], has_elr: bool
) -> None:
    """KIP-966: on by default from 4.1-IV0; an upgraded cluster keeps its metadata.version."""
    assert scenario(release, **parts).has_eligible_leader_replicas() is has_elr


# Settings and costs.


def test_controllers_have_settings_of_their_own() -> None:
    """broker.session.timeout.ms is a setting of the controllers, one value for all brokers."""
    chosen = scenario(
        controllers={"count": 5, "settings": {"broker.session.timeout.ms": 4000}},
        cluster={"broker_settings": {2: {"broker.heartbeat.interval.ms": 500}}},
    )
    plan = ClusterPlan(chosen)
    controller = new_quorum(plan).active_controller[0]
    assert (controller.voters, controller.session_timeout_us) == (5, 4_000_000)
    assert controller.unclean_leader_election_interval_us == 300_000_000
    assert new_raft(plan).voters[4].append_linger_us == 25_000
    brokers = new_brokers(plan, new_topology(plan), reserve=1)
    assert [each.heartbeat_interval_us for each in brokers.lifecycles][:2] == [2_000_000, 500_000]
    assert "broker.session.timeout.ms" not in chosen.settings_of(1)
    assert len(new_quorum(ClusterPlan(scenario("2.6"))).active_controller) == 0


def test_an_old_controller_does_not_look_for_leaderless_partitions() -> None:
    """KAFKA-12670."""
    plan = ClusterPlan(scenario("3.8", mode="kraft"))
    assert new_quorum(plan).active_controller[0].unclean_leader_election_interval_us == 0


def test_a_field_without_a_setting_is_an_error() -> None:
    settings = scenario("2.6").settings_of(1)
    set_by_name(new_record(BrokerSettings), BrokerSettings, settings)
    del settings["replica.lag.time.max.ms"]
    with pytest.raises(KeyError, match=r"replica\.lag\.time\.max\.ms"):
        set_by_name(new_record(BrokerSettings), BrokerSettings, settings)


def test_a_release_that_is_newer_than_known_is_warned_of_and_stands_in_the_manifest() -> None:
    """It keeps its name, so a later Tidegauge that knows it reads it by its own rules."""
    newer = scenario("4.5", metadata_version="4.5-IV1")
    lines = [
        "Kafka 4.5.0 is newer than what is known: it is read as 4.4.0",
        "metadata.version 4.5-IV1 is newer than what is known: it is read as 4.4-IV2",
    ]
    assert warnings_of(newer)[:2] == lines
    manifest = manifest_of(ClusterPlan(newer))
    assert manifest["newer_than_known"] == lines
    assert manifest["scenario"]["release"] == "4.5.0"
    assert newer.settings_of(1) == scenario("4.4").settings_of(1)
    assert manifest_of(ClusterPlan(scenario("4.4")))["newer_than_known"] == []


def test_without_a_release_a_mode_has_the_newest_one_that_has_it() -> None:
    story = {"duration": "1m", "cluster": {"brokers": 3}}
    for mode, release in ((None, "4.4.0"), ("kraft", "4.4.0"), ("zookeeper", "3.9.2")):
        written = story if mode is None else story | {"mode": mode}
        assert scenario_from_mapping(written, "test.yaml").release == release


@pytest.mark.parametrize("release", ["2.6", "4.1"])
def test_a_run_leans_on_costs_of_its_mode(release: str) -> None:
    fault = {"kind": "restart", "at": "30s", "for": "5s", "brokers": [2]}
    chosen = scenario(release, faults=[fault])
    names = {each.name for each in leaned_on(chosen)}
    assert names & {"costs.zookeeper_write", "costs.metadata_fsync"} == {
        "costs.zookeeper_write" if release == "2.6" else "costs.metadata_fsync"
    }
    assert {name.partition(".")[2] for name in names if name.startswith("costs.")} <= set(
        chosen.resolved()["costs"]
    )


# Processes.


def test_with_kraft_the_controllers_of_the_quorum_are_the_last_processes() -> None:
    plan = ClusterPlan(scenario(controllers={"racks": ["b", "c"]}))
    assert [each.name for each in plan.processes] == [
        *("broker 1", "broker 2", "broker 3", "operator"),
        *("controller 3000", "controller 3001", "controller 3002"),
    ]
    ranges = plan.process_ranges
    assert (ranges[BROKER], ranges[CLIENT]) == (range(3), range(3, 4))
    assert len(ranges[CONTROLLER]) == len(ranges[ZOOKEEPER]) == 0
    assert ranges[QUORUM_CONTROLLER] == range(4, 7)
    controllers = [plan.processes[number] for number in ranges[QUORUM_CONTROLLER]]
    assert [each.number for each in controllers] == [0, 1, 2]
    assert [(each.host, each.rack) for each in controllers] == [(-1, 1), (-1, 2), (-1, 1)]


def test_with_zookeeper_the_processes_are_as_they_were() -> None:
    plan = ClusterPlan(scenario("2.6"))
    for role, numbers in enumerate(plan.process_ranges):
        assert all(plan.processes[number].role == role for number in numbers)
    assert plan.process_ranges[ZOOKEEPER] == range(6, 7)
    assert len(plan.process_ranges[QUORUM_CONTROLLER]) == 0


def test_a_cut_can_end_at_the_controllers() -> None:
    cut = {"kind": "cut_link", "at": "5s", "between": [[2, "rack:c"], ["controllers"]]}
    plan = ClusterPlan(scenario(faults=[cut]))
    one, other = plan.scenario.faults[0].sides(plan.scenario)
    assert [plan.process_of(end) for end in one] == [1, 2]
    assert [plan.process_of(end) for end in other] == [4, 5, 6]


@pytest.mark.parametrize("kind", ["crash", "restart", "power_loss", "pause", "slow_disk"])
@pytest.mark.parametrize(
    ("selectors", "hit"),
    [
        ([2], ["broker 2"]),
        (["controller:1"], ["controller 3001"]),
        (["controllers"], ["controller 3000", "controller 3001", "controller 3002"]),
        (["rack:b", "controller:2"], ["broker 2", "controller 3001", "controller 3002"]),
    ],
)
def test_controllers_fail_alone_and_fall_with_their_rack(
    kind: str, selectors: list[int | str], hit: list[str]
) -> None:
    fault: dict[str, Any] = {"kind": kind, "at": "5s", "brokers": selectors}
    if kind == "slow_disk":
        fault["delay"] = "5ms"
    plan = ClusterPlan(scenario(controllers={"racks": ["a", "b", "c"]}, faults=[fault]))
    ends, _ = plan.scenario.faults[0].sides(plan.scenario)
    assert [plan.processes[plan.process_of(end)].name for end in ends] == hit


def test_a_log_directory_of_a_rack_is_one_of_its_brokers() -> None:
    failure = {"kind": "log_directory_failure", "at": "5s", "brokers": ["rack:b"]}
    plan = ClusterPlan(scenario(controllers={"racks": ["b"]}, faults=[failure]))
    ends, _ = plan.scenario.faults[0].sides(plan.scenario)
    assert [plan.processes[plan.process_of(end)].name for end in ends] == ["broker 2"]


def test_each_controller_fails_at_times_of_its_own() -> None:
    rate = {"kind": "crash", "mtbf": "10s", "repair_time": "1s", "brokers": ["controllers", 1]}
    drawn = with_drawn_faults(scenario(fault_rates=[rate])).faults
    names = {str(fault.name).rpartition("-")[0] for fault in drawn}
    assert names == {"crash-1", *(f"crash-controller:{number}" for number in range(3))}


# All of it, written down.


@pytest.mark.parametrize(
    ("release", "parts"),
    [
        ("4.1", {"controllers": {"count": 1}, "eligible_leader_replicas": False}),
        ("3.9", {"mode": "kraft", "metadata_version": "3.6"}),
        ("3.9", {"protocol": "3.6"}),
        ("4.1", {"cluster": {"broker_releases": {2: {"release": "4.1.0"}}}}),
    ],
)
def test_a_resolved_scenario_is_the_same_scenario(release: str, parts: dict[str, Any]) -> None:
    chosen = scenario(release, **parts)
    resolved = chosen.resolved()
    assert ("zookeeper" in resolved) == (chosen.mode == "zookeeper")
    assert ("controllers" in resolved) == (chosen.mode == "kraft")
    again = scenario_from_mapping(resolved, "manifest.json")
    assert again == chosen
    assert again.resolved() == resolved


# What a mode has not.

KRAFT_ONLY = r"has no meaning in mode zookeeper \(release 2\.6\.3\)"
ZOOKEEPER_ONLY = r"has no meaning in mode kraft \(release 4\.1\.2\)"


@pytest.mark.parametrize(
    ("release", "parts", "message"),
    [
        ("4.0", {"mode": "zookeeper"}, r"mode: release 4\.0\.2 has no ZooKeeper mode.* 3\.9\.2"),
        ("3.2", {"mode": "kraft"}, r"mode: release 3\.2\.3 has no KRaft mode.* 3\.3\.0"),
        (
            "4.0",
            {"cluster": {"broker_releases": {2: {"release": "3.2"}}}},
            r"broker_releases\[2\]\.release: release 3\.2\.3 has no KRaft mode",
        ),
        (
            "4.1",
            {"cluster": {"broker_releases": {2: {"release": "4.0"}}}},
            r"metadata\.version 4\.1-IV1 is newer than release 4\.0\.2",
        ),
        ("4.0", {"metadata_version": "4.1"}, r"4\.1-IV1 is newer than release 4\.0\.2"),
        ("4.1", {"metadata_version": "3.3-IV2"}, r"older than 3\.3-IV3, the oldest that release"),
        ("3.9", {"mode": "kraft", "metadata_version": "2.8"}, r"the oldest that is simulated"),
        ("4.1", {"metadata_version": 4.1}, r'must be in quotes: "4\.1"'),
        ("4.1", {"protocol": "3.9"}, rf"protocol: {ZOOKEEPER_ONLY}; use metadata_version"),
        (
            "4.1",
            {"cluster": {"broker_releases": {2: {"protocol": "3.9"}}}},
            rf"broker_releases\[2\]\.protocol: {ZOOKEEPER_ONLY}; use metadata_version",
        ),
        ("2.6", {"metadata_version": "2.6"}, rf"metadata_version: {KRAFT_ONLY}; use protocol"),
        ("2.6", {"eligible_leader_replicas": False}, rf"eligible_leader_replicas: {KRAFT_ONLY}"),
        (
            "3.9",
            {"mode": "kraft", "eligible_leader_replicas": True},
            r"release 3\.9\.2 does not have them: they were added in 4\.0\.0",
        ),
        (
            "4.1",
            {"metadata_version": "3.9", "eligible_leader_replicas": True},
            r"need metadata_version 4\.0-IV1 or newer, not 3\.9-IV0",
        ),
        ("2.6", {"controllers": {"count": 3}}, rf"controllers: {KRAFT_ONLY}; use zookeeper"),
        ("4.1", {"zookeeper": {"servers": 3}}, rf"zookeeper: {ZOOKEEPER_ONLY}; use controllers"),
        ("4.1", {"costs": {"zookeeper_read": "1ms"}}, rf"costs\.zookeeper_read: {ZOOKEEPER_ONLY}"),
        ("2.6", {"costs": {"metadata_fsync": "1ms"}}, rf"costs\.metadata_fsync: {KRAFT_ONLY}"),
        (
            "4.1",
            {"controllers": {"count": 2}},
            r"controllers\.count: must be 1, 3 or 5 without voters, not 2",
        ),
        ("4.1", {"controllers": {"racks": ["d"]}}, r"controllers\.racks\[0\]: there is no rack d"),
        (
            "4.1",
            {"controllers": {"count": 1, "racks": ["a", "b"]}},
            r"controllers\.racks: are 2, for 1 controllers",
        ),
        (
            "4.1",
            {"controllers": {"settings": {"linger.ms": 4}}},
            r"is a setting of producers, not of controllers",
        ),
        (
            "4.1",
            {"controllers": {"settings": {"broker.session.timeout.ms": 0}}},
            r"must be from 1 to",
        ),
        (
            "3.8",
            {
                "mode": "kraft",
                "controllers": {"settings": {"unclean.leader.election.interval.ms": 1000}},
            },
            r"this release does not have it yet: it was added in 3\.9\.0",
        ),
        *(
            (
                "4.1",
                {"cluster": {"settings": {name: value}}},
                rf"has no meaning in mode kraft: it is a setting of ZooKeeper mode{instead}",
            )
            for name, value, instead in (
                ("zookeeper.session.timeout.ms", 6000, "; use broker.session.timeout.ms in"),
                ("zookeeper.connect", "zk:2181", "; use controllers"),
                ("isr_change_notification_quiet_ms", 0, ""),
                ("inter.broker.protocol.version", "3.9", "; use metadata_version"),
                ("controlled.shutdown.max.retries", 1, ""),
            )
        ),
        *(
            (
                "4.1",
                {"cluster": {"settings": {name: value}}},
                r"is a setting of controllers in mode kraft; use controllers\.settings",
            )
            for name, value in (
                ("broker.session.timeout.ms", 6000),
                ("auto.leader.rebalance.enable", False),
            )
        ),
        *(
            (
                "4.1",
                {"faults": [{"kind": kind, "at": "1s"}]},
                rf"faults\[0\]\.kind: {ZOOKEEPER_ONLY}; use a {instead}",
            )
            for kind, instead in (
                ("zookeeper_outage", "pause of controllers"),
                ("controller_move", "crash or restart of a controller"),
            )
        ),
        (
            "4.1",
            {"faults": [{"kind": "cut_link", "at": "1s", "between": [[1], ["zookeeper"]]}]},
            rf"between\[1\]\[0\]: zookeeper {ZOOKEEPER_ONLY}; use controllers",
        ),
        (
            "4.1",
            {"faults": [{"kind": "cut_link", "at": "1s", "between": [["controller:3"], [1]]}]},
            r"between\[0\]\[0\]: the last of 3 controllers is controller:2",
        ),
        (
            "2.6",
            {"faults": [{"kind": "cut_link", "at": "1s", "between": [[1], ["controllers"]]}]},
            rf"controllers {KRAFT_ONLY}; use zookeeper, or controller:ID",
        ),
        (
            "4.1",
            {"faults": [{"kind": "power_loss", "at": "1s", "brokers": [1, "zookeeper"]}]},
            rf"brokers\[1\]: zookeeper {ZOOKEEPER_ONLY}",
        ),
        *(
            (
                "2.6",
                {"faults": [{"kind": kind, "at": "1s", "brokers": [selector]}]},
                rf"brokers\[0\]: {why}",
            )
            for kind in ("crash", "pause", "power_loss")
            for selector, why in (
                ("controllers", f"controllers {KRAFT_ONLY}"),
                ("controller:2", "must be a broker's id, broker:ID or rack:NAME, not controller:2"),
            )
        ),
        (
            "4.1",
            {"fault_rates": [{"kind": "zookeeper_outage", "mtbf": "1h", "repair_time": "5s"}]},
            rf"fault_rates\[0\]\.kind: {ZOOKEEPER_ONLY}",
        ),
        (
            "4.1",
            {"steps": [{"do": "wait", "when": {"controller": 1}, "within": "5s"}]},
            rf"steps\[0\]\.when\.controller: {ZOOKEEPER_ONLY}: no broker is controller",
        ),
    ],
)
def test_what_has_no_meaning_in_the_mode_is_an_error(
    release: str, parts: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScenarioError, match=message):
        scenario(release, **parts)


# Operations of more than 10,000 records.


@pytest.mark.parametrize(("partitions", "may_ask_again"), [(9_999, False), (10_000, True)])
def test_only_a_topic_that_no_batch_has_room_for_may_be_created_by_two_steps(
    partitions: int, may_ask_again: bool
) -> None:
    """One record is the topic's own; KAFKA-14996: the request fails, and may be sent again."""
    parts: dict[str, Any] = {
        "topics": [{"name": "large", "partitions": partitions, "replication_factor": 1}],
        "steps": [{"do": "create_topic", "topic": "large", "at": at} for at in ("5s", "6s")],
    }
    if may_ask_again:
        assert len(scenario("3.4", mode="kraft", **parts).steps) == 2
    else:
        with pytest.raises(ScenarioError, match="large was created by an earlier step"):
            scenario("3.4", mode="kraft", **parts)
