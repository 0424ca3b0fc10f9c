"""Scenarios: what a file says, what follows from it, and that it can be written and read again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tidegauge.scenario.model.component_faults import CutLinkFault, SlowLinkFault
from tidegauge.scenario.model.costs import Latency
from tidegauge.scenario.model.process_faults import PauseFault
from tidegauge.scenario.model.request_steps import FetchStep, ProduceStep
from tidegauge.scenario.model.selectors import LinkEnd
from tidegauge.scenario.reading import Scenario, load_scenario, scenario_from_mapping
from tidegauge.simulation.quantities import MAX_DURATION_US, format_duration, parse_duration

STORY = """
description: Everything that can be said.
seed: 7
duration: 4m
release: "2.6"
trace: all
cluster:
  brokers: 6
  racks: [a, b, c]
  start_spread: 500ms
  start: {2: 300ms}
  settings: {replica.lag.time.max.ms: 10000, zookeeper.session.timeout.ms: 9000}
  broker_settings: {3: {num.io.threads: 1}}
  broker_releases: {3: {release: "2.4", protocol: "2.4"}}
zookeeper: {tick_ms: 1000, rack: a}
topics:
  - name: orders
    partitions: 12
    replication_factor: 3
    settings: {min.insync.replicas: 2, unclean.leader.election.enable: true}
  - name: pinned
    assignment: {0: [3, 1], 1: [1, 2]}
workload:
  producers:
    - {name: shop, clients: 2, topics: [orders], batches_per_second: 12.5, settings: {acks: 1}}
  consumers:
    - {name: billing, topics: [orders, pinned], records_per_second: 500, start: 3s}
network:
  clients: {min: 1ms, p50: 2ms, max: 10ms}
costs:
  append: 30us
faults:
  - {kind: pause, at: 30s, for: 12s, brokers: [2, "rack:c", "broker:1"]}
  - {kind: slow_disk, at: 30s, for: 10s, brokers: [3], delay: 50ms}
  - {kind: slow_link, at: 1s, for: 5s, between: [[1], [2, 3]], delay: 200ms}
  - kind: cut_link
    name: cut-1
    between: [["broker:1", "client:shop"], ["rack:b", "controller:3", zookeeper]]
    one_way: true
  - {kind: zookeeper_outage, at: 1s, for: 5s, how: restart}
steps:
  - {at: 5s, do: produce, topic: orders, partition: 0, records: 3, acks: 0, timeout: 5s}
  - when: {isr: {topic: pinned, partition: 1, is: [2, 1]}}
    within: 20s
    do: fetch
    topic: pinned
    partition: 1
    offset: 7
  - when: {leader: {topic: orders, partition: 0, is: 2}}
    within: 20s
    do: begin_fault
    fault: cut-1
  - {when: {registered: [1, 2, 3]}, within: 20s, do: end_fault, fault: cut-1}
  - {after: 2s, do: fetch, topic: orders, partition: 11, offset: 0}
checks: {}
"""


def scenario(**parts: Any) -> Scenario:
    """The shortest scenario that runs, and these parts."""
    return scenario_from_mapping(
        {"duration": "1m", "release": "2.6", "cluster": {"brokers": 3}} | parts, "test.yaml"
    )


@pytest.fixture
def story(tmp_path: Path) -> Scenario:
    (tmp_path / "story.yaml").write_text(STORY)
    return load_scenario(tmp_path / "story.yaml")


# Durations.


@pytest.mark.parametrize(
    ("text", "duration_us"),
    [
        *(("0s", 0), ("30us", 30), ("250ms", 250_000), ("5s", 5_000_000), ("4m", 240_000_000)),
        *(("1h", 3_600_000_000), ("1.5s", 1_500_000), ("0.001ms", 1), (" 2 s ", 2_000_000)),
    ],
)
def test_a_duration_is_whole_microseconds(text: str, duration_us: int) -> None:
    assert parse_duration(text) == duration_us


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        *(
            (wrong, "a number and its unit")
            for wrong in ("5", "s", "-1s", "5 days", "1e3s", "", "1.s")
        ),
        *((5, "a number and its unit"), (None, "a number and its unit")),
        ("0.5us", "whole microseconds"),
        ("39001h", "39000h at most"),
    ],
)
def test_what_is_no_duration_is_refused(text: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_duration(text)


@pytest.mark.parametrize("text", ["0us", "999us", "1500us", "2s", "90s", "61m", "3h"])
def test_a_duration_is_written_in_its_largest_whole_unit(text: str) -> None:
    assert format_duration(parse_duration(text)) == text


def test_a_quantile_of_the_longest_duration_fits_into_64_bits() -> None:
    assert MAX_DURATION_US * 2**16 < 2**63


# Latencies.


def test_a_plain_duration_is_the_same_at_every_probability() -> None:
    assert Latency.model_validate("50us").quantiles_us() == [50] * 17


def test_a_latency_is_linear_between_its_points() -> None:
    latency = Latency.model_validate(
        {"min": "100us", "p50": "500us", "p90": "1140us", "p99": "4ms", "max": "9ms"}
    )
    # 1/16 is an eighth of the way to p50, 9/16 a tenth and a bit more of 0.4 on to p90.
    assert latency.quantiles_us() == [
        *(100, 150, 200, 250, 300, 350, 400, 450, 500),
        *(600, 700, 800, 900, 1000, 1100),
        # 15/16 is 60/144 of the way from p90 to p99.
        1140 + 2860 * 60 // 144,
        9000,
    ]


def test_a_point_that_is_not_given_is_like_the_one_before() -> None:
    short = Latency.model_validate({"min": "1us", "p50": "5us"})
    whole = {"min": "1us", "p50": "5us", "p90": "5us", "p99": "5us", "max": "5us"}
    assert short.quantiles_us() == Latency.model_validate(whole).quantiles_us()
    assert short.quantiles_us()[8:] == [5] * 9


def test_a_table_is_taken_as_it_is() -> None:
    table = [f"{value}us" for value in range(1, 18)]
    assert Latency.model_validate({"table": table}).quantiles_us() == list(range(1, 18))


# What a scenario is if nothing is said.


def test_what_is_not_said_is_kafkas_or_named_in_the_model() -> None:
    plain = scenario()
    assert (plain.name, plain.seed, plain.duration_us) == ("test", 1, 60_000_000)
    assert (plain.release, plain.protocol, plain.trace) == ("2.6.3", None, "transitions")
    assert plain.cluster.start_spread_us == 1_000_000
    assert (plain.zookeeper.tick_ms, plain.zookeeper.rack) == (2_000, None)
    assert plain.network.within_rack.quantiles_us()[8] == 200
    assert plain.network.retransmission_after_cut.quantiles_us()[0] == 2_000_000
    assert plain.costs.zookeeper_write.quantiles_us()[8] == 570
    assert {plain.rack_of(broker) for broker in plain.broker_ids()} == {"default"}


def test_the_name_is_that_of_the_file(story: Scenario) -> None:
    assert story.name == "story"


def test_durations_are_microseconds(story: Scenario) -> None:
    pause = story.faults[0]
    assert isinstance(pause, PauseFault)
    assert (pause.at_us, pause.for_us) == (30_000_000, 12_000_000)
    produce = story.steps[0]
    assert isinstance(produce, ProduceStep)
    assert (produce.at_us, produce.timeout_us) == (5_000_000, 5_000_000)
    assert story.cluster.start_us == {2: 300_000}


def test_conditions_and_acks_are_read(story: Scenario) -> None:
    produce, fetch, begin, end, last = story.steps
    assert isinstance(produce, ProduceStep)
    assert produce.acks == 0
    assert isinstance(fetch, FetchStep)
    assert fetch.when is not None
    assert fetch.when.isr is not None
    assert fetch.when.isr.members == (2, 1)
    assert begin.when is not None
    assert begin.when.leader is not None
    assert begin.when.leader.leader == 2
    assert end.when is not None
    assert end.when.registered == (1, 2, 3)
    assert last.after_us == 2_000_000


# Brokers.


def test_a_number_of_brokers_is_their_ids_from_1_on() -> None:
    assert scenario(cluster={"brokers": 4}).broker_ids() == (1, 2, 3, 4)


def test_brokers_are_in_ascending_order_however_they_were_listed() -> None:
    assert scenario(cluster={"brokers": [5, 0, 2]}).broker_ids() == (0, 2, 5)


def test_brokers_are_dealt_to_racks_in_turn() -> None:
    dealt = scenario(cluster={"brokers": [5, 1, 2, 9], "racks": ["a", "b", "c"]})
    assert [dealt.rack_of(broker) for broker in (1, 2, 5, 9)] == ["a", "b", "c", "a"]


def test_racks_can_name_their_brokers() -> None:
    named = scenario(cluster={"brokers": 3, "racks": {"a": [3, 1], "b": [2], "empty": []}})
    assert [named.rack_of(broker) for broker in (1, 2, 3)] == ["a", "b", "a"]


def test_a_broker_has_its_own_settings_then_the_clusters_then_its_releases(
    story: Scenario,
) -> None:
    assert story.settings_of(1)["num.io.threads"] == 8
    assert story.settings_of(3)["num.io.threads"] == 1
    assert story.settings_of(3)["replica.lag.time.max.ms"] == 10_000
    assert story.settings_of(1)["isr_change_notification_quiet_ms"] == 5_000
    assert story.settings_of(1)["isr_change_notification_batching"] is True


def test_a_broker_of_another_release_has_the_defaults_of_that_release() -> None:
    mixed = scenario(
        cluster={
            "brokers": 3,
            "broker_releases": {2: {"release": "2.4"}},
            "settings": {"fetch.max.bytes": 1024},
        }
    )
    assert mixed.settings_of(1)["replica.lag.time.max.ms"] == 30_000
    assert mixed.settings_of(2)["replica.lag.time.max.ms"] == 10_000
    assert mixed.settings_of(1)["fetch.max.bytes"] == 1024
    assert "fetch.max.bytes" not in mixed.settings_of(2)
    assert "acks" not in mixed.settings_of(1)


def test_a_broker_speaks_its_own_protocol_or_the_scenarios() -> None:
    upgrade = scenario(
        release="2.6.1",
        protocol="2.4",
        cluster={
            "brokers": 4,
            "broker_releases": {
                2: {"release": "2.4"},
                3: {"protocol": "2.5"},
                4: {"release": "2.3.0", "protocol": "2.3-IV0"},
            },
        },
    )
    assert [upgrade.release_of(broker)[:2] for broker in upgrade.broker_ids()] == [
        *(("2.6.1", "2.4-IV1"), ("2.4.1", "2.4-IV1")),
        *(("2.6.1", "2.5-IV0"), ("2.3.0", "2.3-IV0")),
    ]


# Topics.


def test_an_assignment_implies_partitions_and_replicas(story: Scenario) -> None:
    pinned = story.topic("pinned")
    assert pinned.partition_count == 2
    assert story.replication_factor(pinned) == 2
    assert story.assignments(pinned) == [[3, 1], [1, 2]]


def test_partitions_are_assigned_over_racks(story: Scenario) -> None:
    assignments = story.assignments(story.topic("orders"))
    assert assignments[0] == [1, 2, 3]
    # In the second round the followers have moved on by one broker of each rack.
    assert assignments[6] == [1, 5, 6]


def test_the_replication_factor_is_that_of_the_cluster_unless_the_topic_has_one() -> None:
    plain = {"name": "t", "partitions": 1}
    settings = {"default.replication.factor": 2}
    two = scenario(cluster={"brokers": 3, "settings": settings}, topics=[plain])
    assert two.assignments(two.topic("t")) == [[1, 2]]
    one = scenario(topics=[plain])
    assert one.assignments(one.topic("t")) == [[1]]


def test_a_topics_setting_stands_before_the_brokers(story: Scenario) -> None:
    broker = story.settings_of(1) | {"min.insync.replicas": 5}
    name, unclean = "min.insync.replicas", "unclean.leader.election.enable"
    assert story.topic("orders").effective(broker) == {name: 2, unclean: True}
    assert story.topic("pinned").effective(broker) == {name: 5, unclean: False}


# Clients.


def producers_settings(release: str, **settings: Any) -> dict[str, int]:
    group = {"name": "p", "topics": ["t"], "batches_per_second": 1, "settings": settings}
    topics = [{"name": "t", "partitions": 1}]
    made = scenario(release=release, topics=topics, workload={"producers": [group]})
    return made.producer_settings(made.workload.producers[0])


@pytest.mark.parametrize(
    ("acks", "number"), [("all", -1), ("-1", -1), (-1, -1), ("0", 0), (0, 0), ("1", 1), (1, 1)]
)
def test_acks_are_a_number(acks: int | str, number: int) -> None:
    assert producers_settings("2.6", acks=acks)["acks"] == number


def test_a_producer_has_the_defaults_of_the_release() -> None:
    assert producers_settings("2.8")["acks"] == 1
    assert producers_settings("3.0")["acks"] == -1
    assert "delivery.timeout.ms" not in producers_settings("2.0")
    assert producers_settings("2.0")["retries"] == 0


def test_producers_are_idempotent_by_default_from_3_0_1_on() -> None:
    """KIP-679; 3.0.0 and 3.1.0 do not apply their default (KAFKA-13598)."""
    releases = ("2.8", "3.0.0", "3.0.1", "3.1.0", "3.1.1", "3.9")
    found = [producers_settings(release)["enable.idempotence"] for release in releases]
    assert found == [False, False, True, False, True, True]
    assert "enable.idempotence" not in producers_settings("0.10.2")


def test_a_setting_that_contradicts_the_default_disables_idempotence() -> None:
    """ProducerConfig.postProcessAndValidateIdempotenceConfigs@3.2.0."""
    for contradiction in (
        {"acks": 1},
        {"retries": 0},
        {"max.in.flight.requests.per.connection": 6},
    ):
        assert not producers_settings("3.9", **contradiction)["enable.idempotence"]


def test_an_idempotent_producer_changes_the_defaults_of_other_settings() -> None:
    """KafkaProducer.configureAcks, configureRetries and configureInflightRequests@0.11.0.0."""
    settings = producers_settings("0.11", **{"enable.idempotence": True})
    assert (settings["acks"], settings["retries"]) == (-1, 2**31 - 1)
    assert settings["max.in.flight.requests.per.connection"] == 1
    assert producers_settings("1.1", **{"enable.idempotence": True})[
        "max.in.flight.requests.per.connection"
    ] == 5  # fmt: skip


def test_a_delivery_timeout_that_nobody_set_grows_with_the_request_timeout() -> None:
    settings = {"request.timeout.ms": 200_000}
    assert producers_settings("2.6", **settings)["delivery.timeout.ms"] == 200_000
    assert producers_settings("2.6")["delivery.timeout.ms"] == 120_000


def test_a_consumer_has_the_defaults_of_the_release_and_begins_with_the_topic() -> None:
    for release, timeout_ms in (("1.1", 305_000), ("2.0", 30_000)):
        made = scenario(
            release=release,
            topics=[{"name": "t", "partitions": 1}],
            workload={"consumers": [{"name": "c", "topics": ["t"]}]},
        )
        settings = made.consumer_settings(made.workload.consumers[0])
        assert settings["request.timeout.ms"] == timeout_ms
        assert settings["auto.offset.reset"] == "earliest"
        assert settings["max.partition.fetch.bytes"] == 1024 * 1024


# What faults hit.


def test_brokers_are_selected_by_id_and_by_rack(story: Scenario) -> None:
    pause = story.faults[0]
    assert isinstance(pause, PauseFault)
    assert story.brokers_of(pause.brokers) == [1, 2, 3, 6]


def test_a_broker_or_a_controller_can_be_selected_without_the_other(story: Scenario) -> None:
    cut = story.faults[3]
    assert isinstance(cut, CutLinkFault)
    first, second = map(story.endpoints_of, cut.between)
    assert first == [
        LinkEnd("broker", 1),
        LinkEnd("client", group="shop", client=0),
        LinkEnd("client", group="shop", client=1),
    ]
    assert second == [
        *(LinkEnd("broker", 2), LinkEnd("controller", 2)),
        *(LinkEnd("broker", 5), LinkEnd("controller", 5)),
        *(LinkEnd("controller", 3), LinkEnd("zookeeper")),
    ]


def test_an_id_selects_a_host_with_its_controller(story: Scenario) -> None:
    slow = story.faults[2]
    assert isinstance(slow, SlowLinkFault)
    assert story.endpoints_of(slow.between[0]) == [LinkEnd("broker", 1), LinkEnd("controller", 1)]


def test_what_is_selected_twice_is_one_end() -> None:
    fault = {
        "kind": "cut_link",
        "at": "1s",
        "between": [[1, "broker:1", "rack:default"], ["clients"]],
    }
    cut = scenario(faults=[fault])
    assert isinstance(cut.faults[0], CutLinkFault)
    ends = cut.endpoints_of(cut.faults[0].between[0])
    assert len(ends) == len(set(ends)) == 6
    assert cut.endpoints_of(cut.faults[0].between[1]) == []


# Writing it all down.


def test_a_resolved_scenario_is_json_that_reads_as_an_equal_one(story: Scenario) -> None:
    written = json.loads(json.dumps(story.resolved()))
    assert written == story.resolved()
    again = scenario_from_mapping(written, "manifest.json")
    assert again == story
    assert again.resolved() == written


def test_a_resolved_scenario_means_the_same(story: Scenario) -> None:
    again = scenario_from_mapping(story.resolved(), "manifest.json")
    for broker in story.broker_ids():
        assert again.settings_of(broker) == story.settings_of(broker)
        assert again.rack_of(broker) == story.rack_of(broker)
        assert again.release_of(broker)[0] == story.release_of(broker)[0]
    for topic in story.topics:
        assert again.assignments(again.topic(topic.name)) == story.assignments(topic)
    assert again.faults == story.faults
    assert again.steps == story.steps
    assert again.network.clients.quantiles_us() == story.network.clients.quantiles_us()


def test_a_resolved_scenario_has_the_defaults_filled_in(story: Scenario) -> None:
    resolved = story.resolved()
    assert (resolved["release"], resolved["protocol"]) == ("2.6.3", "2.6-IV0")
    cluster = resolved["cluster"]
    assert cluster["brokers"] == [1, 2, 3, 4, 5, 6]
    assert cluster["racks"]["b"] == [2, 5]
    assert cluster["settings"]["num.replica.fetchers"] == 1
    assert cluster["settings"]["unclean.leader.election.enable"] is False
    assert cluster["broker_settings"] == {"3": {"num.io.threads": 1}}
    assert cluster["broker_releases"] == {"3": {"release": "2.4.1", "protocol": "2.4-IV1"}}
    assert resolved["topics"][0]["assignment"]["6"] == [1, 5, 6]
    assert resolved["topics"][1]["replication_factor"] == 2
    (shop,) = resolved["workload"]["producers"]
    assert shop["stop"] == "4m"
    assert shop["settings"]["acks"] == 1
    assert shop["settings"]["retries"] == 2**31 - 1
    assert resolved["network"]["clients"] == {
        "min": "1ms",
        **dict.fromkeys(("p50", "p90", "p99"), "2ms"),
        "max": "10ms",
    }
    assert resolved["costs"]["append"] == "30us"
    assert resolved["faults"][0]["brokers"] == [2, "rack:c", "broker:1"]


def test_scenarios_are_equal_if_they_come_to_the_same_however_written() -> None:
    short = scenario(cluster={"brokers": 2}, costs={"append": "200us"})
    long = scenario(
        seed=1,
        release="2.6.3",
        cluster={"brokers": [2, 1], "racks": {"default": [1, 2]}, "start_spread": "1000ms"},
    )
    assert short == long
    assert short != scenario(cluster={"brokers": 2}, seed=2)
    assert short != scenario(cluster={"brokers": 2}, costs={"append": "20us"})
    assert short != scenario(cluster={"brokers": 2, "settings": {"num.io.threads": 7}})


def test_a_scenario_does_not_change() -> None:
    with pytest.raises(ValidationError):
        scenario().seed = 2


def test_every_scenario_that_ships_can_be_read_and_written() -> None:
    shipped = Path(__file__).resolve().parents[2] / "scenarios"
    for file in sorted(shipped.rglob("*.yaml")):
        read = load_scenario(file)
        assert scenario_from_mapping(read.resolved(), os.fspath(file)) == read
