"""What a scenario says of crashes, lost power, restarts and controller moves, and wrongly says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidegauge.replication.release_versions import ZOOKEEPER_MODE, Release, all_releases
from tidegauge.scenario.model.component_faults import ControllerMoveFault
from tidegauge.scenario.model.costs import Costs
from tidegauge.scenario.model.process_faults import (
    CrashFault,
    PowerLossFault,
    RestartFault,
    SurvivingLog,
)
from tidegauge.scenario.model.request_steps import (
    AskEpochStep,
    FetchStep,
    ObserveStep,
    ProduceStep,
    WaitStep,
)
from tidegauge.scenario.model.topic_steps import (
    ConfigureStep,
    CreateTopicStep,
    PreferredElectionStep,
)
from tidegauge.scenario.reading import Scenario, ScenarioError, load_scenario, scenario_from_mapping
from tidegauge.simulation.links import NETWORK_TABLES
from tidegauge.simulation.rows import (
    APPEND,
    BROKER_START_COST,
    BROKER_STOP,
    BROKER_STOP_INTERRUPTING,
    CONTROLLER_FAILOVER_PARTITION,
    COST_NAMES,
    LOG_LOAD,
    LOG_RECOVERY,
    LOG_RECOVERY_MEBIBYTE,
    REQUEST,
)

#: Lines are counted from the first one on.
SOUND = """duration: 4m
checkpoint_files: true
cluster: {brokers: 4, racks: [a, b], restart_after_exit: never, write_back: 10s}
topics:
  - {name: orders, assignment: {0: [1, 2, 3], 1: [2, 3, 4]}}
  - {name: late, assignment: {0: [3, 2]}}
costs: {log_recovery: 3ms}
faults:
  - {kind: crash, at: 10s, for: 5s, brokers: [1, "broker:2"]}
  - {kind: crash, name: kill, at: 30s, brokers: [4]}
  - kind: power_loss
    at: 50s
    for: 20s
    brokers: ["rack:a", 4]
    keeps: [{topic: orders, partition: 0, broker: 3, offset: 17}]
  - {kind: restart, name: roll, at: 90s, brokers: ["rack:b"]}
  - {kind: controller_move, name: move}
steps:
  - {at: 1s, do: produce, topic: orders, partition: 0, to: 1}
  - {after: 0s, do: fetch, topic: orders, partition: 0, offset: 3, to: 2}
  - {when: {unregistered: [4]}, within: 30s, do: end_fault, fault: kill}
  - {when: {quiescent: true}, within: 2m, do: begin_fault, fault: move}
  - {when: {controller: 2}, within: 20s, do: preferred_election}
  - {after: 1s, do: preferred_election, topic: orders, partition: 1}
  - {after: 1s, do: ask_epoch, topic: orders, partition: 1, broker: 3, leader_epoch: 2}
  - {after: 1s, do: configure, topic: orders, settings: {unclean.leader.election.enable: true}}
  - {after: 1s, do: create_topic, topic: late}
  - {when: {leader: {topic: late, partition: 0, is: 3}}, within: 9s, do: wait}
  - {after: 0s, do: produce, topic: late, partition: 0, wait: false}
  - {when: {leader: {topic: late, partition: 0, is_not: 3}}, within: 9s, do: observe}
release: "2.6"
"""


@pytest.fixture
def story(tmp_path: Path) -> Scenario:
    (tmp_path / "story.yaml").write_text(SOUND)
    return load_scenario(tmp_path / "story.yaml")


def in_cluster(**fields: Any) -> Scenario:
    """The shortest scenario that runs, and these fields of its cluster."""
    data = {"duration": "1m", "cluster": {"brokers": 3} | fields}
    return scenario_from_mapping(data, "test.yaml")


# What is accepted.


def test_brokers_crash_lose_power_and_restart(story: Scenario) -> None:
    crash, kill, power_loss, restart, move = story.faults
    assert isinstance(crash, CrashFault)
    assert story.brokers_of(crash.brokers) == [1, 2]
    assert (crash.at_us, crash.for_us) == (10_000_000, 5_000_000)
    assert isinstance(kill, CrashFault)
    assert kill.for_us is None
    assert isinstance(power_loss, PowerLossFault)
    assert story.brokers_of(power_loss.brokers) == [1, 3, 4]
    assert power_loss.keeps == (SurvivingLog(topic="orders", partition=0, broker=3, offset=17),)
    assert isinstance(restart, RestartFault)
    assert story.brokers_of(restart.brokers) == [2, 4]
    assert isinstance(move, ControllerMoveFault)
    assert (move.at_us, move.for_us) == (None, None)


def test_where_a_log_ends_after_a_loss_of_power_is_drawn_unless_it_is_said() -> None:
    fault = {"kind": "power_loss", "at": "1s", "brokers": [1]}
    data = {"duration": "1m", "cluster": {"brokers": 1}, "faults": [fault]}
    (power_loss,) = scenario_from_mapping(data, "test.yaml").faults
    assert isinstance(power_loss, PowerLossFault)
    assert power_loss.keeps == ()


def test_a_request_goes_to_the_leader_or_to_the_broker_that_is_named(story: Scenario) -> None:
    produce, fetch = story.steps[:2]
    assert isinstance(produce, ProduceStep)
    assert isinstance(fetch, FetchStep)
    assert (produce.to, fetch.to) == (1, 2)
    step = {"at": "1s", "do": "fetch", "topic": "orders", "partition": 0, "offset": 0}
    plain = scenario_from_mapping(story.resolved() | {"steps": [step], "faults": []}, "test.yaml")
    assert isinstance(plain.steps[0], FetchStep)
    assert plain.steps[0].to is None


def test_steps_wait_for_controllers_absence_and_quiet(story: Scenario) -> None:
    absence, quiet, controller = (step.when for step in story.steps[2:5])
    assert absence is not None
    assert absence.unregistered == (4,)
    assert quiet is not None
    assert quiet.quiescent is True
    assert controller is not None
    assert controller.controller == 2


def test_steps_ask_for_elections_epochs_and_settings(story: Scenario) -> None:
    everywhere, one, ask, configure = story.steps[4:8]
    assert isinstance(everywhere, PreferredElectionStep)
    assert (everywhere.topic, everywhere.partition) == (None, None)
    assert isinstance(one, PreferredElectionStep)
    assert (one.topic, one.partition) == ("orders", 1)
    assert isinstance(ask, AskEpochStep)
    assert (ask.broker, ask.leader_epoch) == (3, 2)
    assert isinstance(configure, ConfigureStep)
    assert configure.settings == {"unclean.leader.election.enable": True}


def test_steps_create_wait_and_look(story: Scenario) -> None:
    create, wait, produce, observe = story.steps[8:]
    assert isinstance(create, CreateTopicStep)
    assert create.topic == "late"
    assert isinstance(wait, WaitStep)
    assert isinstance(produce, ProduceStep)
    assert produce.wait is False
    assert isinstance(observe, ObserveStep)
    assert observe.when is not None
    assert observe.when.leader is not None
    assert (observe.when.leader.leader, observe.when.leader.former) == (None, 3)


def test_a_broker_that_exits_is_started_again_after_5_seconds_unless_said_otherwise() -> None:
    assert in_cluster().cluster.restart_after_exit_us == 5_000_000
    assert in_cluster(restart_after_exit="0s").cluster.restart_after_exit_us == 0
    assert in_cluster(restart_after_exit="never").cluster.restart_after_exit_us is None


def test_the_operating_system_writes_back_after_30_seconds_unless_said_otherwise() -> None:
    assert in_cluster().cluster.write_back_us == 30_000_000
    assert in_cluster(write_back="1ms").cluster.write_back_us == 1_000


def test_checkpoints_are_files_only_if_that_is_said(story: Scenario) -> None:
    assert story.checkpoint_files
    assert not in_cluster().checkpoint_files


#: Settings on which crashes, restarts and elections depend, and their defaults in Kafka.
SETTINGS = {
    "log.flush.interval.messages": 2**63 - 1,
    "log.flush.offset.checkpoint.interval.ms": 60_000,
    "replica.high.watermark.checkpoint.interval.ms": 5_000,
    "controlled.shutdown.enable": True,
    "controlled.shutdown.max.retries": 3,
    "controlled.shutdown.retry.backoff.ms": 5_000,
    "auto.leader.rebalance.enable": True,
    "leader.imbalance.check.interval.seconds": 300,
    "leader.imbalance.per.broker.percentage": 10,
    "controller.socket.timeout.ms": 30_000,
    "log.initial.task.delay.ms": 30_000,
}


@pytest.mark.parametrize("release", all_releases(ZOOKEEPER_MODE), ids=str)
def test_the_settings_they_depend_on_are_known_to_every_release(release: Release) -> None:
    cluster = {"brokers": 1}
    plain = {"duration": "1m", "release": str(release), "cluster": cluster}
    defaults = scenario_from_mapping(plain, "test.yaml").settings_of(1)
    assert {name: defaults[name] for name in SETTINGS} == SETTINGS
    changed = {name: not value if value is True else 7 for name, value in SETTINGS.items()}
    own = scenario_from_mapping(plain | {"cluster": cluster | {"settings": changed}}, "test.yaml")
    assert {name: own.settings_of(1)[name] for name in SETTINGS} == changed


# What it costs.


def test_every_cost_has_one_table() -> None:
    assert sorted(COST_NAMES) == sorted(Costs.model_fields)


@pytest.mark.parametrize(
    ("name", "table", "cost_us"),
    [
        ("request", REQUEST, 200),
        ("append", APPEND, 200),
        ("broker_start", BROKER_START_COST, 700_000),
        ("log_load", LOG_LOAD, 460),
        ("log_recovery", LOG_RECOVERY, 4_600),
        ("log_recovery_mebibyte", LOG_RECOVERY_MEBIBYTE, 400),
        ("broker_stop", BROKER_STOP, 1_700_000),
        ("broker_stop_interrupting", BROKER_STOP_INTERRUPTING, 700_000),
        ("controller_failover_partition", CONTROLLER_FAILOVER_PARTITION, 100),
    ],
)
def test_a_cost_is_found_in_its_table_and_always_the_same(
    name: str, table: int, cost_us: int
) -> None:
    assert COST_NAMES[int(table) - int(NETWORK_TABLES)] == name
    assert getattr(Costs(), name).quantiles_us() == [cost_us] * 17


# Writing it all down.


def test_all_of_it_can_be_written_and_read_again(story: Scenario) -> None:
    written = json.loads(json.dumps(story.resolved()))
    again = scenario_from_mapping(written, "manifest.json")
    assert again.resolved() == written
    assert again == story
    assert again.faults == story.faults
    assert again.steps == story.steps
    assert again.cluster.restart_after_exit_us is None


def test_it_is_written_as_it_would_be_in_a_file(story: Scenario) -> None:
    resolved = story.resolved()
    assert resolved["checkpoint_files"] is True
    assert resolved["cluster"]["restart_after_exit"] == "never"
    assert resolved["cluster"]["write_back"] == "10s"
    assert resolved["costs"]["log_recovery"] == "3ms"
    assert resolved["costs"]["broker_stop"] == "1700ms"
    assert resolved["faults"][2] == {
        "kind": "power_loss",
        "at": "50s",
        "for": "20s",
        "brokers": ["rack:a", 4],
        "keeps": [{"topic": "orders", "partition": 0, "broker": 3, "offset": 17}],
    }
    assert resolved["faults"][4] == {"kind": "controller_move", "name": "move"}
    assert resolved["steps"][1]["to"] == 2
    assert resolved["steps"][3]["when"] == {"quiescent": True}
    assert resolved["steps"][4] == {
        "when": {"controller": 2},
        "within": "20s",
        "do": "preferred_election",
    }
    assert resolved["steps"][7]["settings"] == {"unclean.leader.election.enable": True}


@pytest.mark.parametrize(("said", "written"), [({}, "5s"), ({"restart_after_exit": "2s"}, "2s")])
def test_a_time_until_the_restart_is_written_as_a_duration(
    said: dict[str, str], written: str
) -> None:
    assert in_cluster(**said).resolved()["cluster"]["restart_after_exit"] == written
    assert in_cluster(**said) != in_cluster(restart_after_exit="never")


# What is wrong.

_KEPT = "{topic: orders, partition: 0, broker: 3, offset: 17}"
_UNCLEAN = "unclean.leader.election.enable"
_NO_DURATION = "must be a duration: a number and its unit (us, ms, s, m or h), such as 250ms, not "
_NO_BROKERS = "must be a broker's id, broker:ID or rack:NAME, not "
_NO_SERVERS = "must be a broker's id, broker:ID, rack:NAME, controller:NUMBER or controllers, not "
_NO_CONDITION = (
    "must be one condition: isr, leader, registered, unregistered, controller, answered, "
    "reassigned, quiescent, rolled, observes, voters or leads"
)
_NOT_ONE_LEADER = "must have either `is` or `is_not`"

#: (what is replaced, what by, where that is wrong, what is said about it).
WRONG = [
    # The cluster.
    ("exit: never", "exit: x", "3: cluster.restart_after_exit", f"{_NO_DURATION}'x'; or never"),
    ("exit: never", "exit: null", "3: cluster.restart_after_exit", f"{_NO_DURATION}None; or never"),
    ("back: 10s", "back: 0s", "3: cluster.write_back", "must be longer than 0"),
    ("files: true", "files: 1", "2: checkpoint_files", "must be true or false, not 1"),
    # Faults.
    ("for: 5s, brokers", "for: 0s, brokers", "9: faults[0].for", "must be longer than 0"),
    ("at: 10s", "at: 5m", "9: faults[0].at", "5m is too late: the run ends at 4m"),
    (', brokers: [1, "broker:2"]', "", "9: faults[0].brokers", "is missing"),
    ('[1, "broker:2"]', "[9]", "9: faults[0].brokers[0]", "there is no broker 9, only 1 to 4"),
    ('"broker:2"', '"controller:2"', "9: faults[0].brokers[1]", f"{_NO_BROKERS}controller:2"),
    ('"rack:a"', '"rack:z"', "14: faults[2].brokers[0]", "there is no rack z; known names: a, b"),
    ('["rack:b"]', "[1, zookeeper]", "16: faults[3].brokers[1]", f"{_NO_SERVERS}zookeeper"),
    ("name: roll, at: 90s", "name: roll", "16: faults[3]",
     "never begins: it needs `at`, or a name and a step begin_fault"),
    ("_move, name: move", "_move, name: move, for: 5s", "17: faults[4].for",
     "a controller move is over at once, so it has no `for`"),
    ("_move, name: move", "_move, name: move, brokers: [1]", "17: faults[4].brokers",
     "unknown name; known names: at, for, kind, name"),
    # Logs that are kept.
    ("orders, partition: 0, broker", "order, partition: 0, broker", "15: faults[2].keeps[0].topic",
     "there is no topic order; did you mean orders?"),
    ("partition: 0, broker", "partition: 2, broker", "15: faults[2].keeps[0].partition",
     "the last partition of orders is 1"),
    ("broker: 3, offset", "broker: 7, offset", "15: faults[2].keeps[0].broker",
     "there is no broker 7, only 1 to 4"),
    ("broker: 3, offset", "broker: 2, offset", "15: faults[2].keeps[0].broker",
     "broker 2 does not lose power in this fault, only [1, 3, 4]"),
    ("broker: 3, offset", "broker: 4, offset", "15: faults[2].keeps[0].broker",
     "broker 4 is no replica of it, only [1, 2, 3]"),
    (_KEPT, f"{_KEPT}, {_KEPT}", "15: faults[2].keeps[1].broker",
     "the log of this partition on this broker is named twice"),
    ("offset: 17", "offset: -1", "15: faults[2].keeps[0].offset",
     "must be greater than or equal to 0, not -1"),
    (", offset: 17", "", "15: faults[2].keeps[0].offset", "is missing"),
    # Steps.
    ("fault: kill", "fault: move", "21: steps[2].fault",
     "move is a controller move, which is over at once"),
    ("to: 1}", "to: 5}", "19: steps[0].to", "there is no broker 5, only 1 to 4"),
    ("to: 2}", "to: 0}", "20: steps[1].to", "there is no broker 0, only 1 to 4"),
    ("partition: 1, broker", "partition: 9, broker", "25: steps[6].partition",
     "the last partition of orders is 1"),
    ("broker: 3, leader", "broker: 5, leader", "25: steps[6].broker",
     "there is no broker 5, only 1 to 4"),
    ("leader_epoch: 2", "leader_epoch: -2", "25: steps[6].leader_epoch",
     "must be greater than or equal to -1, not -2"),
    (", leader_epoch: 2", "", "25: steps[6].leader_epoch", "is missing"),
    ("orders, partition: 1}", "orders}", "24: steps[5]",
     "topic and partition name one partition: both are there, or neither"),
    ("topic: orders, partition: 1}", "partition: 1}", "24: steps[5]",
     "topic and partition name one partition: both are there, or neither"),
    ("orders, partition: 1}", "order, partition: 1}", "24: steps[5].topic",
     "there is no topic order; did you mean orders?"),
    ("orders, partition: 1}", "orders, partition: 2}", "24: steps[5].partition",
     "the last partition of orders is 1"),
    ("orders, settings", "order, settings", "26: steps[7].topic",
     "there is no topic order; did you mean orders?"),
    (f"{{{_UNCLEAN}: true}}", "{}", "26: steps[7].settings", "must have a setting to change"),
    ("enable: true", "enable: 1", f"26: steps[7].settings[{_UNCLEAN}]",
     "must be true or false, not 1"),
    (f"{_UNCLEAN}: true", "num.io.threads: 2", "26: steps[7].settings[num.io.threads]",
     "is a setting of brokers, not of topics"),
    # Conditions.
    ("quiescent: true", "quiescent: false", "22: steps[3].when.quiescent",
     "must be True, not false"),
    ("quiescent: true", "quiescent: true, controller: 1", "22: steps[3].when", _NO_CONDITION),
    ("{quiescent: true}", "{}", "22: steps[3].when", _NO_CONDITION),
    ("unregistered: [4]", "unregistered: [4, 8]", "21: steps[2].when.unregistered",
     "there is no broker 8, only 1 to 4"),
    ("controller: 2}", "controller: 6}", "23: steps[4].when.controller",
     "there is no broker 6, only 1 to 4"),
    ("controller: 2}", "controller: -1}", "23: steps[4].when.controller",
     "must be greater than or equal to 0, not -1"),
    ("create_topic, topic: late", "create_topic, topic: latte", "27: steps[8].topic",
     "there is no topic latte; did you mean late?"),
    ("do: wait", "do: create_topic, topic: late", "28: steps[9].topic",
     "late was created by an earlier step"),
    ("create_topic, topic: late", "create_topic", "27: steps[8].topic", "is missing"),
    ("do: observe", "do: observe, broker: 1", "30: steps[11].broker",
     "unknown name; known names: after, at, do, when, within"),
    ("wait: false", "wait: 5s", "29: steps[10].wait", 'must be true or false, not "5s"'),
    ("0, is_not: 3", "0, is_not: 4", "30: steps[11].when.leader.is_not",
     "broker 4 is no replica of it, only [3, 2]"),
    ("0, is: 3", "0, is: 4", "28: steps[9].when.leader.is",
     "broker 4 is no replica of it, only [3, 2]"),
    ("0, is_not: 3", "0, is: 2, is_not: 3", "30: steps[11].when.leader", _NOT_ONE_LEADER),
    ("0, is_not: 3", "0", "30: steps[11].when.leader", _NOT_ONE_LEADER),
    ("0, is_not: 3", "0, is_not: -1", "30: steps[11].when.leader.is_not",
     "must be greater than or equal to 0, not -1"),
]  # fmt: skip


@pytest.mark.parametrize(("sound", "wrong", "place", "message"), WRONG)
def test_a_mistake_is_found_where_it_is(
    tmp_path: Path, sound: str, wrong: str, place: str, message: str
) -> None:
    assert SOUND.count(sound) == 1
    file = tmp_path / "wrong.yaml"
    file.write_text(SOUND.replace(sound, wrong))
    with pytest.raises(ScenarioError) as error:
        load_scenario(file)
    assert str(error.value) == f"{file}:{place}: {message}"
