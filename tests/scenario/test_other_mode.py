"""A scenario in the other mode: what stays, what changes, and what has no counterpart.

The shipped scenarios are the examples. Counterparts of faults have the same cause: the control
plane does not respond, its active member is lost, a broker cannot reach it.
"""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tidegauge.replication.release_versions import Mode
from tidegauge.scenario.model.selectors import CONTROLLER
from tidegauge.scenario.other_mode.converted import ConvertedScenario, converted
from tidegauge.scenario.reading import ScenarioError, written_scenario
from tidegauge.scenario.shipped import shipped_scenarios
from tidegauge.scenario.text.yaml_file import lines_of, read_scenario_file

SHIPPED = shipped_scenarios()
#: A step waits until a broker is controller; a link to a controller, of which the seed decides with
#: ZooKeeper; a topic that KRaft does not create, so that it can be requested again.
WITHOUT_COUNTERPART = {
    "10-truncation-to-high-watermark": "steps[6].when.controller",
    "12-follower-asks-leader": "steps[5].when.controller",
    "23-isolated-controller": "faults[0].between",
    "gallery/01-isolated-controller": "faults[0].between",
    "gallery/14-stuck-observer": "faults[0].between[1]",
    "gallery/20-ready-without-leader": "faults[1].between",
    "gallery/05-empty-disk-in-isr": "faults[1].between[1]",
    "gallery/08-request-fails-controllers": "steps[1].topic",
    "gallery/18-no-producer-ids": "faults[1].kind",
    "incidents/controller-isolated": "faults[0].between",
    "incidents/controller-isolated-before-3-7": "faults[0].between",
}
#: Of both modes, so that the release changes with the mode alone.
RELEASE = "3.9.2"
ZOOKEEPER: dict[str, Any] = {
    "name": "test",
    "duration": "60s",
    "release": RELEASE,
    "mode": "zookeeper",
    "cluster": {"brokers": 3, "start": {3: "0s"}},
    "topics": [{"name": "orders", "partitions": 3, "replication_factor": 3}],
}
KRAFT = {**ZOOKEEPER, "mode": "kraft"}


def in_mode(mode: Mode, data: dict[str, Any], release: str = RELEASE) -> ConvertedScenario:
    return converted(data, "test.yaml", mode, release)


def fault_with_kraft(**fault: Any) -> tuple[dict[str, Any], str]:
    """A fault of a ZooKeeper cluster as it is with KRaft, and what was said about it."""
    found = in_mode("kraft", ZOOKEEPER | {"faults": [{"at": "20s", **fault}]})
    (now,) = found.data["faults"]
    return now, "; ".join(map(str, found.changes))


def fault_with_zookeeper(**fault: Any) -> tuple[list[dict[str, Any]], str]:
    """A fault of a KRaft cluster as it is with ZooKeeper, if it is there at all."""
    found = in_mode("zookeeper", KRAFT | {"faults": [{"at": "20s", **fault}]})
    return found.data["faults"], "; ".join(map(str, found.changes))


def said(found: ConvertedScenario) -> dict[str, str]:
    return dict(str(change).split(": ", 1) for change in found.changes)


# Every shipped scenario.


def shipped_in_other_mode(name: str) -> tuple[dict[str, Any], ConvertedScenario]:
    file = SHIPPED[name]
    data = read_scenario_file(file).data
    assert isinstance(data, dict)
    to_zookeeper = written_scenario(file).has_kraft
    mode: Mode = "zookeeper" if to_zookeeper else "kraft"
    return data, converted(data, name, mode, "3.9" if to_zookeeper else "4.1")


@pytest.mark.parametrize("name", sorted({*SHIPPED} - {*WITHOUT_COUNTERPART}))
def test_a_shipped_scenario_keeps_its_brokers_topics_and_clients(name: str) -> None:
    before = written_scenario(SHIPPED[name])
    _, found = shipped_in_other_mode(name)
    after = found.scenario
    assert after.mode != before.mode
    assert after.broker_ids() == before.broker_ids()
    assert after.cluster.racks == before.cluster.racks
    assert [each.name for each in after.topics] == [each.name for each in before.topics]
    assert [after.assignments(each) for each in after.topics] == [
        before.assignments(each) for each in before.topics
    ]
    assert after.workload == before.workload
    assert len(after.steps) == len(before.steps)


@pytest.mark.parametrize(("name", "path"), WITHOUT_COUNTERPART.items())
def test_a_shipped_scenario_without_counterpart_is_one_clear_error(name: str, path: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        shipped_in_other_mode(name)
    release = "4.1.2" if "when.controller" in path else "3.9.2"
    (line,) = str(refusal.value).splitlines()
    assert f"release {release}: {path}: " in line


@pytest.mark.parametrize("name", sorted({*SHIPPED} - {*WITHOUT_COUNTERPART}))
def test_a_converted_scenario_is_the_same_when_it_is_read_from_its_file(name: str) -> None:
    _, found = shipped_in_other_mode(name)
    text = "\n".join(lines_of(found.data))
    assert yaml.safe_load(text) == found.data


# Settings.


def test_the_session_timeout_is_not_converted_but_has_the_default_of_the_other_mode() -> None:
    """Both have a timeout, of other meaning: that of a client's session, and of heartbeats."""
    cluster = ZOOKEEPER["cluster"] | {"settings": {"zookeeper.session.timeout.ms": 6000}}
    with_kraft = in_mode("kraft", ZOOKEEPER | {"cluster": cluster})
    (text,) = said(with_kraft).values()
    assert text == "left out, not converted: broker.session.timeout.ms has its default (9000)"
    assert with_kraft.scenario.controller_settings()["broker.session.timeout.ms"] == 9000
    controllers = {"settings": {"broker.session.timeout.ms": 6000}}
    with_zookeeper = in_mode("zookeeper", KRAFT | {"controllers": controllers})
    assert with_zookeeper.scenario.settings_of(1)["zookeeper.session.timeout.ms"] == 18000
    assert "has its default (18000)" in str(with_zookeeper.changes[0])


def test_controllers_stand_in_the_racks_of_the_brokers_and_are_lost_with_them() -> None:
    """Outside of all racks the loss of one would spare a quorum that it hits in a real cluster."""
    data = ZOOKEEPER | {
        "cluster": {"brokers": 3, "racks": ["c", "a", "b"]},
        "faults": [{"kind": "power_loss", "at": "20s", "brokers": ["rack:b"]}],
    }
    found = in_mode("kraft", data)
    assert said(found) == {"controllers.racks": "assumed are those of the brokers: a, b, c"}
    (lost,) = found.scenario.faults
    ends, _ = lost.sides(found.scenario)
    assert [end.broker for end in ends if end.kind == CONTROLLER] == [1]
    alone = in_mode("kraft", data | {"zookeeper": {"servers": 1}})
    assert alone.data["controllers"] == {"count": 1, "racks": ["a"]}


def test_settings_of_the_controller_move_to_the_controllers_and_back() -> None:
    name = "auto.leader.rebalance.enable"
    cluster = ZOOKEEPER["cluster"] | {"settings": {name: False, "num.replica.fetchers": 2}}
    there = in_mode("kraft", ZOOKEEPER | {"cluster": cluster})
    assert there.data["controllers"] == {"settings": {name: False}}
    assert there.data["cluster"]["settings"] == {"num.replica.fetchers": 2}
    back = in_mode("zookeeper", there.data)
    assert back.data["cluster"]["settings"] == cluster["settings"]
    assert "controllers" not in back.data


def test_a_setting_that_the_release_does_not_have_is_left_out() -> None:
    """delivery.timeout.ms is KIP-91, of 2.1."""
    settings = {"delivery.timeout.ms": 60000}
    shop = {"name": "shop", "topics": ["orders"], "batches_per_second": 4, "settings": settings}
    data = ZOOKEEPER | {"workload": {"producers": [shop]}}
    found = in_mode("zookeeper", data, "2.0")
    assert said(found) == {
        "workload.producers[0].settings[delivery.timeout.ms]": "left out: release 2.0.1 does not"
        " have it"
    }
    assert in_mode("zookeeper", data, "2.1").changes == ()


def test_cordoned_log_directories_are_of_kraft_from_4_3_on() -> None:
    """KIP-1066: an older release, or ZooKeeper, gets the scenario without them."""
    cordons = {"cordoned.log.dirs": "*"}
    step = {"do": "configure", "at": "5s", "brokers": [3], "settings": cordons}
    data = KRAFT | {"release": "4.4", "steps": [step]}
    data["cluster"] = {"brokers": 3, "settings": cordons}
    others: list[tuple[Mode, str]] = [("kraft", "4.1.1"), ("zookeeper", "3.9.2")]
    for mode, release in others:
        found = in_mode(mode, data, release)
        assert found.data["steps"] == [{"at": "5s", "do": "wait"}]
        assert said(found)["cluster.settings[cordoned.log.dirs]"].endswith("does not have it")
    assert in_mode("kraft", data, "4.3.0").data["steps"] == [step]


def test_throttles_stay_in_the_other_mode() -> None:
    """KIP-73: znodes with ZooKeeper, records of the metadata log with KRaft."""
    moves = [{"topic": "orders", "partition": 0, "replicas": [2, 3, 1]}]
    rate = {"leader.replication.throttled.rate": 1000000}
    data = ZOOKEEPER | {
        "steps": [
            {"at": "20s", "do": "reassign", "throttle": 1000000, "partitions": moves},
            {"at": "30s", "do": "configure", "brokers": [1], "settings": rate},
        ]
    }
    data["topics"] = [
        topic | {"settings": {"follower.replication.throttled.replicas": "*"}}
        for topic in ZOOKEEPER["topics"]
    ]
    found = in_mode("kraft", data)
    assert found.data["steps"] == data["steps"]
    assert found.data["topics"] == data["topics"]


def test_costs_checks_and_alerts_of_the_other_mode_are_left_out_by_name() -> None:
    found = in_mode(
        "kraft",
        ZOOKEEPER
        | {
            "protocol": "3.9",
            "zookeeper": {"tick_ms": 1000, "servers": 5},
            "costs": {"zookeeper_write": "2ms", "log_load": "1ms"},
            "checks": {"strong_isr": False},
            "alerts": {"silent": "all"},
        },
    )
    assert list(said(found)) == [
        "protocol",
        "zookeeper.tick_ms",
        "zookeeper.servers",
        "costs.zookeeper_write",
        "checks.strong_isr",
        "alerts",
    ]
    assert found.data["costs"] == {"log_load": "1ms"}
    assert found.data["controllers"] == {"count": 5}
    assert found.scenario.checks == {}


def test_the_same_mode_and_release_changes_nothing() -> None:
    assert in_mode("kraft", KRAFT).changes == ()
    assert in_mode("kraft", KRAFT).data == KRAFT


# Faults.


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (
            {"kind": "zookeeper_outage", "for": "10s"},
            {"kind": "pause", "for": "10s", "brokers": ["controllers"]},
        ),
        (
            {"kind": "zookeeper_outage", "how": "restart"},
            {"kind": "crash", "brokers": ["controllers"]},
        ),
        (
            {"kind": "controller_move"},
            {"kind": "restart", "for": "10s", "brokers": ["controller:0"]},
        ),
        (
            {"kind": "power_loss", "brokers": [2, "zookeeper"]},
            {"kind": "power_loss", "brokers": [2, "controllers"]},
        ),
        (
            {"kind": "cut_link", "between": [["broker:1"], ["zookeeper", "controller:3"]]},
            {"kind": "cut_link", "between": [["broker:1"], ["controllers"]]},
        ),
        (
            {"kind": "cut_link", "between": [["controller:3"], ["zookeeper"]]},
            {"kind": "cut_link", "between": [["controller:0"], ["controller:1", "controller:2"]]},
        ),
    ],
)
def test_a_fault_of_zookeeper_is_one_of_the_quorum(
    fault: dict[str, Any], expected: dict[str, Any]
) -> None:
    now, text = fault_with_kraft(**fault)
    assert now == {"at": "20s", **expected}
    assert text.startswith("faults[0]")


def test_a_crash_of_the_controllers_broker_is_one_of_a_broker_with_kraft() -> None:
    now, text = fault_with_kraft(kind="crash", brokers=[3])
    assert now == {"at": "20s", "kind": "crash", "brokers": [3]}
    assert "broker 3, the active controller with ZooKeeper, is a broker only" in text
    assert fault_with_kraft(kind="crash", brokers=[1])[1] == ""


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (
            {"kind": "pause", "brokers": ["controllers"]},
            {"kind": "zookeeper_outage", "how": "pause"},
        ),
        (
            {"kind": "crash", "brokers": ["controller:0", "controller:1"]},
            {"kind": "zookeeper_outage", "how": "restart"},
        ),
        (
            {"kind": "restart", "for": "9s", "brokers": ["controller:0"]},
            {"kind": "controller_move"},
        ),
        ({"kind": "crash", "brokers": ["controller:0"]}, {"kind": "crash", "brokers": [3]}),
        (
            {"kind": "cut_link", "between": [[1], ["controllers"]]},
            {"kind": "cut_link", "between": [[1], ["zookeeper"]]},
        ),
        (
            {"kind": "cut_link", "between": [["controller:0"], ["controller:1", "controller:2"]]},
            {"kind": "cut_link", "between": [["controller:3"], ["zookeeper"]]},
        ),
    ],
)
def test_a_fault_of_the_quorum_is_one_of_zookeeper(
    fault: dict[str, Any], expected: dict[str, Any]
) -> None:
    (now,), text = fault_with_zookeeper(**fault)
    assert now == {"at": "20s", **expected}
    assert text.startswith("faults[0]")


def test_a_controller_that_is_not_active_has_no_counterpart_and_steps_about_it_wait() -> None:
    fault = {"name": "spare", "kind": "crash", "brokers": ["controller:2"]}
    steps = [{"at": "20s", "do": "begin_fault", "fault": "spare"}]
    found = in_mode("zookeeper", KRAFT | {"faults": [fault], "steps": steps})
    assert found.data["faults"] == []
    assert found.data["steps"] == [{"at": "20s", "do": "wait"}]
    assert "no controller waits beside the active one (controller:2)" in str(found.changes[0])


def test_a_crash_of_brokers_and_the_quorum_at_once_is_an_error() -> None:
    fault = {"at": "20s", "kind": "crash", "brokers": [1, "controllers"]}
    with pytest.raises(ScenarioError, match=r"faults\[0\]\.brokers: .* is two faults with ZooK"):
        in_mode("zookeeper", KRAFT | {"faults": [fault]})


def test_an_outage_drawn_from_a_rate_hits_all_controllers_together() -> None:
    rate = {"kind": "zookeeper_outage", "mtbf": "20s", "repair_time": "2s"}
    found = in_mode("kraft", ZOOKEEPER | {"fault_rates": [rate]})
    assert {str(fault.kind) for fault in found.scenario.faults} == {"pause"}
    assert all(len(fault.sides(found.scenario)[0]) == 3 for fault in found.scenario.faults)


# There and back.

SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "min.insync.replicas": st.integers(1, 3),
        "auto.leader.rebalance.enable": st.booleans(),
        "replica.lag.time.max.ms": st.integers(1000, 60000),
    },
)
FAULTS = st.lists(
    st.one_of(
        st.builds(
            lambda broker: {"kind": "crash", "at": "20s", "for": "5s", "brokers": [broker]},
            st.integers(1, 3),
        ),
        st.just({"kind": "zookeeper_outage", "at": "20s", "for": "5s", "how": "pause"}),
        st.just({"kind": "zookeeper_outage", "at": "30s", "for": "5s", "how": "restart"}),
        st.just({"kind": "controller_move", "at": "20s"}),
        st.just({"kind": "cut_link", "at": "20s", "between": [[1], ["zookeeper", 2]]}),
        st.just({"kind": "cut_link", "at": "20s", "between": [["controller:3"], ["zookeeper"]]}),
    ),
    max_size=4,
)


@given(SETTINGS, FAULTS)
def test_there_and_back_is_the_same_scenario(
    settings: dict[str, Any], faults: list[dict[str, Any]]
) -> None:
    cluster = ZOOKEEPER["cluster"] | ({"settings": settings} if settings else {})
    data = ZOOKEEPER | {"cluster": cluster, "faults": faults}
    there = in_mode("kraft", data)
    back = in_mode("zookeeper", there.data)
    assert back.scenario == in_mode("zookeeper", data).scenario


def test_pins_are_left_out_and_a_step_that_releases_one_waits() -> None:
    """LeaderAndIsr has no counterpart: brokers fetch the metadata log."""
    pins = [{"name": "late", "hold": "LEADER_AND_ISR", "to": "broker:2"}]
    steps = [{"do": "release", "at": "10s", "pin": "late"}]
    found = in_mode("kraft", ZOOKEEPER | {"pins": pins, "steps": steps})
    assert "pins" not in found.data
    assert found.data["steps"] == [{"do": "wait", "at": "10s"}]
    assert {"pins", "steps[0]"} <= said(found).keys()
