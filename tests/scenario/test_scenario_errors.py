"""What is wrong in a scenario file: where it is, what is wrong, and what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegauge.scenario.reading import ScenarioError, load_scenario, scenario_from_mapping

#: Lines are counted from the first one on.
SOUND = """duration: 1m
release: "2.6"
cluster:
  brokers: 4
  racks: [a, b]
  settings:
    replica.lag.time.max.ms: 10000
  broker_settings: {3: {num.io.threads: 1}}
  broker_releases: {2: {release: "2.4"}}
zookeeper: {rack: a}
topics:
  - name: orders
    partitions: 8
    replication_factor: 3
    settings: {min.insync.replicas: 2}
  - {name: fixed, assignment: {0: [1, 2], 1: [2, 3]}}
workload:
  producers:
    - {name: shop, topics: [orders], batches_per_second: 10, stop: 50s, settings: {acks: all}}
  consumers:
    - {name: billing, topics: [orders], settings: {fetch.min.bytes: 1}}
network:
  within_rack: {min: 100us, p50: 200us}
costs: {append: 20us}
faults:
  - {kind: pause, name: nap, at: 30s, for: 12s, brokers: [2]}
  - {kind: slow_disk, at: 1s, brokers: [3], delay: 50ms}
  - {kind: cut_link, name: cut, between: [[1], ["rack:b", zookeeper]]}
  - {kind: zookeeper_outage, at: 1s, for: 5s}
steps:
  - {at: 5s, do: produce, topic: orders, partition: 0}
  - {do: begin_fault, fault: cut, within: 9s, when: {isr: {topic: fixed, partition: 0, is: [1, 2]}}}
  - {when: {registered: [1, 2]}, within: 9s, do: end_fault, fault: cut}
  - {after: 2s, do: fetch, topic: orders, partition: 7, offset: 0}
checks: {}
"""


def errors_in(folder: Path, text: str) -> list[str]:
    """The lines of the error, each without the folder; the text must be wrong."""
    file = folder / "wrong.yaml"
    file.write_text(text)
    with pytest.raises(ScenarioError) as error:
        load_scenario(file)
    return str(error.value).replace(f"{folder}/", "").splitlines()


def test_the_scenario_that_the_others_are_made_wrong_from_is_sound(tmp_path: Path) -> None:
    (tmp_path / "sound.yaml").write_text(SOUND)
    assert len(load_scenario(tmp_path / "sound.yaml").faults) == 4


#: (what is replaced, what by, where that is wrong, what is said about it).
WRONG = [
    # Names and kinds of values.
    ("duration: 1m", "durations: 1m", "1: durations", "did you mean duration?"),
    ("duration: 1m", "seed: 1", " duration", "is missing"),
    ("duration: 1m", "duration: 60", "1: duration", "such as 250ms, not 60"),
    ("duration: 1m", "duration: 0s", "1: duration", "longer than 0"),
    ("duration: 1m", "duration: 1m\nseed: -1", "2: seed", "greater than or equal to 0, not -1"),
    ("duration: 1m", "duration: 1m\nseed: true", "2: seed", "a whole number, not true"),
    ("duration: 1m", "duration: 1m\ntrace: most", "2: trace", "'transitions' or 'all'"),
    ("duration: 1m", "duration: 1m\nname: 5", "2: name", "quotes, not 5"),
    ("cluster:", "cluster: 3\nnetworks:", "4: networks", "did you mean network?"),
    ("costs: {append: 20us}", "costs: []", "24: costs", "must be a mapping"),
    ("costs: {append: 20us}", "costs: {apend: 1us}", "24: costs.apend", "did you mean append?"),
    ("checks: {}", "checks: {StrongIsr: true}", "35: checks.StrongIsr", "did you mean strong_isr?"),
    ("checks: {}", "checks: {strong_isr: 0}", "35: checks.strong_isr", "false, unknown or any"),
    # Releases.
    ('release: "2.6"', "release: 2.6", "2: release", 'in quotes: "2.6"'),
    ('release: "2.6"', 'release: "2.10"', "2: release", "no release '2.10': there are"),
    ('release: "2.6"', 'release: "2.6"\nprotocol: "2.7"', "3: protocol", "versions up to 2.6-IV0"),
    ('{release: "2.4"}', '{protocol: "2.7"}', "9: cluster.broker_releases[2]", "up to 2.6-IV0"),
    # The cluster.
    ("brokers: 4", "brokers: 0", "4: cluster.brokers", "must be from 1 to 2000, not 0"),
    ("brokers: 4", "brokers: []", "4: cluster.brokers", "at least 1 item"),
    ("brokers: 4", "brokers: [1, 2, 2, 3]", "4: cluster.brokers", "2 appears twice"),
    ("brokers: 4", "brokers: [-1]", "4: cluster.brokers[0]", "greater than or equal to 0"),
    ("[a, b]", "[a, a]", "5: cluster.racks", "a appears twice"),
    ("[a, b]", "[1, 2]", "5: cluster.racks", "a list of names, or ids by name"),
    ("[a, b]", "{a: [1, 2, 3]}", "5: cluster.racks", "broker 4 is in no rack"),
    ("[a, b]", "{a: [1, 2, 3, 4, 9]}", "5: cluster.racks.a[4]", "no broker 9, only 1 to 4"),
    ("[a, b]", "{a: [1, 2, 3], b: [4, 1]}", "5: cluster.racks.b[1]", "is already in a rack"),
    ("{3: {num", "{7: {num", "8: cluster.broker_settings[7]", "there is no broker 7"),
    ("{2: {rel", "{x: {rel", "9: cluster.broker_releases.x", 'a whole number, not "x"'),
    ("{rack: a}", "{rack: z}", "10: zookeeper.rack", "no rack z; known names: a, b"),
    ("{rack: a}", "{tick_ms: 0}", "10: zookeeper.tick_ms", "greater than or equal to 1"),
    # Topics.
    ("name: orders", "name: fixed", "16: topics[1].name", "fixed is the name of an earlier one"),
    ("name: orders", "name: my orders", "12: topics[0].name", "match pattern"),
    ("name: orders", "name: ..", "12: topics[0].name", "Kafka refuses the topic name '..'"),
    ("partitions: 8", "partitions: 0", "13: topics[0].partitions", "greater than or equal to 1"),
    ("    partitions: 8\n", "", "12: topics[0].partitions", "there is no assignment"),
    ("factor: 3", "factor: 5", "14: topics[0].replication_factor", "there are 4"),
    ("factor: 3", "factor: 16", "14: topics[0].replication_factor", "less than or equal to 15"),
    ("{0: [1, 2], 1: [2, 3]}", "{}", "16: topics[1].assignment", "partitions 0"),
    ("1: [2, 3]}", "2: [2, 3]}", "16: topics[1].assignment", "partitions 0 to 1"),
    ("1: [2, 3]}", "1: [2, 3]}, replication_factor: 3", "16: topics[1].assignment[0]",
     "as many as"),
    ("1: [2, 3]}", "1: [2, 3]}, partitions: 3", "16: topics[1].assignment", "0 to 2"),
    ("{0: [1, 2]", "{0: [1, 1]", "16: topics[1].assignment[0]", "1 appears twice"),
    ("{0: [1, 2]", "{0: [1, 8]", "16: topics[1].assignment[0][1]", "no broker 8"),
    # Clients.
    ("topics: [orders], batches", "topics: [order], batches", "19: workload.producers[0].topics[0]",
     "there is no topic order; did you mean orders?"),
    ("topics: [orders], batches", "topics: [], batches", "19: workload.producers[0].topics",
     "at least 1 item"),
    ("name: billing", "name: shop", "21: workload.consumers[0].name", (
        "the name shop is already that of another group"
    )),
    ("second: 10,", "second: 0,", "19: workload.producers[0].batches_per_second",
     "greater than or equal to"),
    ("second: 10,", "second: .inf,", "19: workload.producers[0].batches_per_second", "finite"),
    ("second: 10,", "second: x,", "19: workload.producers[0].batches_per_second", "a number"),
    ("stop: 50s", "stop: 2s", "19: workload.producers[0].stop", "after the start, which is at 2s"),
    # Latencies.
    ("p50: 200us", "p50: 20us", "23: network.within_rack", "must not decrease: 20us after 100us"),
    ("min: 100us, ", "", "23: network.within_rack", "must have min and p50, or a table"),
    ("min: 100us, p50: 200us", "table: [1us]", "23: network.within_rack", "17 durations, not 1"),
    ("min: 100us", "table: [1us], min: 1us", "23: network.within_rack", "cannot have min"),
    ("append: 20us", "append: 0us", "24: costs.append", "1us or more"),
    ("append: 20us", "append: 20", "24: costs.append", "such as 250ms, not 20"),
    # Faults.
    ("kind: pause", "kind: flood", "26: faults[0].kind", "pause, crash, power_loss, restart"),
    ("kind: pause, ", "", "26: faults[0].kind", "pause, crash, power_loss, restart"),
    ("at: 30s", "at: 30", "26: faults[0].at", "such as 250ms, not 30"),
    ("at: 30s", "at: 60s", "26: faults[0].at", "1m is too late: the run ends at 1m"),
    ("for: 12s", "for: 0s", "26: faults[0].for", "longer than 0"),
    ("brokers: [2]", "broker: [2]", "26: faults[0].broker", "did you mean brokers?"),
    ("brokers: [2]", "brokers: [5]", "26: faults[0].brokers[0]", "no broker 5, only 1 to 4"),
    ("brokers: [2]", "brokers: [-1]", "26: faults[0].brokers[0]", "must be a broker's id"),
    ("brokers: [2]", "brokers: [clients]", "26: faults[0].brokers[0]", "a broker's id, broker:ID"),
    ("brokers: [2]", "brokers: ['controller:2']", "26: faults[0].brokers[0]", "not controller:2"),
    ("brokers: [2]", "brokers: ['rack:z']", "26: faults[0].brokers[0]", "there is no rack z"),
    (", delay: 50ms", "", "27: faults[1].delay", "is missing"),
    ("slow_disk, at: 1s", "slow_disk, name: slow", "27: faults[1]", "never begins"),
    ("slow_disk, at", "slow_disk, name: nap, at", "27: faults[1].name", "nap is the name of"),
    ('[[1], ["rack:b", zookeeper]]', "[[1]]", "28: faults[2].between[1]", "is missing"),
    ('["rack:b", zookeeper]]', "[2], [3]]", "28: faults[2].between", "at most 2 items, not 3"),
    ('["rack:b", zookeeper]', "['rack:a']", "28: faults[2].between", "rack:a is on both sides"),
    ('["rack:b", zookeeper]', "[zoo]", "28: faults[2].between[1][0]", "client:GROUP, not 'zoo'"),
    ('["rack:b", zookeeper]', "['client:shp']", "28: faults[2].between[1][0]", "did you mean shop"),
    ("at: 1s, for: 5s}", "at: 1s, how: kill}", "29: faults[3].how", "'pause' or 'restart'"),
    # Steps.
    ("do: produce", "do: make", "31: steps[0].do", "ask_epoch, move_log_dir, preferred"),
    ("at: 5s, do", "do", "31: steps[0]", "must begin in one way"),
    ("at: 5s, do", "at: 5s, after: 1s, do", "31: steps[0]", "must begin in one way"),
    ("at: 5s, do", "at: 5s, within: 1s, do", "31: steps[0]", "both are there, or neither"),
    ("within: 9s, when: {isr", "when: {isr", "32: steps[1]", "both are there, or neither"),
    ("at: 5s, do", "at: 2m, do", "31: steps[0].at", "the run ends at 1m"),
    ("after: 2s", "at: 4s", "34: steps[3].at", "a step before this one waits until 5s"),
    ("topic: orders, partition: 0}", "topic: order, partition: 0}", "31: steps[0].topic",
     "did you mean orders?"),
    ("partition: 7", "partition: 8", "34: steps[3].partition", "the last partition of orders is 7"),
    ("offset: 0", "offset: -1", "34: steps[3].offset", "greater than or equal to 0"),
    ("partition: 0}\n", "partition: 0, acks: 2}\n", "31: steps[0].acks", "all, 0 or 1, not 2"),
    ("is: [1, 2]", "is: [1, 3]", "32: steps[1].when.isr.is", "no replica of it, only [1, 2]"),
    ("isr: {topic: fixed", "isr: {topic: x", "32: steps[1].when.isr.topic", "no topic x"),
    ("isr: {", "registered: [1], isr: {", "32: steps[1].when", "must be one condition"),
    ("registered: [1, 2]", "registered: [6]", "33: steps[2].when.registered", "no broker 6"),
    ("end_fault, fault: cut", "end_fault, fault: cat", "33: steps[2].fault", "did you mean cut?"),
    ("begin_fault, fault: cut", "end_fault, fault: cut", "32: steps[1].fault", "has not begun"),
    ("begin_fault, fault: cut", "begin_fault, fault: nap", "32: steps[1].fault", "has `at`"),
    ("end_fault, fault: cut", "begin_fault, fault: cut", "33: steps[2].fault", "an earlier step"),
]  # fmt: skip


#: The same of a step that moves replicas: what is wrong in it, where, and what is said.
WRONG_MOVES = [
    ("{topic: fixd, partition: 0, replicas: [1]}", "partitions[0].topic", "did you mean fixed?"),
    ("{topic: fixed, partition: 2, replicas: [1]}", "partitions[0].partition", "of fixed is 1"),
    ("{topic: fixed, partition: 0, replicas: [7]}", "partitions[0].replicas", "no broker 7"),
    ("{topic: fixed, partition: 0, replicas: [3, 3]}", "partitions[0].replicas", "appears twice"),
    ("{topic: fixed, partition: 0, replicas: []}", "partitions[0].replicas", "at least 1 item"),
    ("", "partitions", "at least 1 item"),
    (
        "{topic: fixed, partition: 0, replicas: [3]}, {topic: fixed, partition: 0, replicas: [4]}",
        "partitions",
        "fixed-0 appears twice",
    ),
]


@pytest.mark.parametrize(("wrong", "place", "message"), WRONG_MOVES)
def test_replicas_move_only_from_where_there_are_some_to_where_they_can(
    wrong: str, place: str, message: str, tmp_path: Path
) -> None:
    step = f"  - {{after: 1s, do: reassign, partitions: [{wrong}]}}\n"
    (error,) = errors_in(tmp_path, SOUND.replace("checks", f"{step}checks"))
    assert f"steps[4].{place}" in error
    assert message in error


def test_a_topic_moves_when_it_is_there_and_controllers_know_how(tmp_path: Path) -> None:
    move = "{after: 1s, do: reassign, partitions: [{topic: fixed, partition: 0, replicas: [3]}]}"
    later = f"  - {move}\n  - {{after: 1s, do: create_topic, topic: fixed}}\n"
    (error,) = errors_in(tmp_path, SOUND.replace("checks", f"{later}checks"))
    assert "fixed is created by a later step" in error
    alter = move.replace("reassign", "alter_reassignments")
    old = SOUND.replace('release: "2.4"', 'release: "2.3"').replace(
        "checks", f"  - {alter}\nchecks"
    )
    (error,) = errors_in(tmp_path, old)
    assert "steps[4].do: is simulated from 2.4 on, and a broker has release 2.3" in error
    gone = "  - {after: 1s, do: delete_topic, topic: fixd}\n"
    (error,) = errors_in(tmp_path, SOUND.replace("checks", f"{gone}checks"))
    assert "steps[4].topic: there is no topic fixd; did you mean fixed?" in error
    waits = "  - {when: {reassigned: true}, within: 9s, do: wait}\n"
    (error,) = errors_in(tmp_path, SOUND.replace("checks", f"{waits}checks"))
    assert "nothing is reassigned: no step before does so" in error


@pytest.mark.parametrize(("sound", "wrong", "place", "message"), WRONG)
def test_a_mistake_is_found_where_it_is(
    tmp_path: Path, sound: str, wrong: str, place: str, message: str
) -> None:
    assert SOUND.count(sound) >= 1
    errors = errors_in(tmp_path, SOUND.replace(sound, wrong, 1))
    assert any(
        error.startswith(f"wrong.yaml:{place}: ") and message in error for error in errors
    ), errors


#: (name, value, what is said about it), in the settings of brokers.
WRONG_SETTINGS = [
    ("log.dirs", "[a, b]", "must be one number, flag or text, not a list"),
    ("log.dirs", "", "must be one number, flag or text, not nothing"),
    ("log.dirs", "{a: 1}", "must be one number, flag or text, not a mapping"),
    ("log.dirs", "2020-01-31", "must be one number, flag or text"),
    ("log.cleaner.min.cleanable.ratio", ".nan", "must be a finite number, not nan"),
    ("log.retention.bytes", "9223372036854775808", "must fit into 64 bits"),
    ("acks", "all", "is a setting of producers, not of brokers"),
    ("retries", "1", "is a setting of producers, not of brokers"),
    ("num.io.threads", "0", "from 1 to 2147483647, not 0"),
    ("num.io.threads", "3000000000", "from 1 to 2147483647"),
    ("num.io.threads", "'8'", "must be a whole number"),
    ("num.io.threads", "true", "must be a whole number"),
    ("num.io.threads", "1.5", "must be a whole number"),
    ("unclean.leader.election.enable", "1", "must be true or false, not 1"),
    # KafkaConfig.validateValues@2.6.0.
    ("replica.lag.time.max.ms", "499", "Kafka does not start if replica.fetch.wait.max.ms (500)"),
    ("replica.socket.timeout.ms", "499", "Kafka does not start if replica.fetch.wait.max.ms (500)"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG_SETTINGS)
def test_a_wrong_setting_is_refused(tmp_path: Path, name: str, value: str, message: str) -> None:
    wrong = SOUND.replace("replica.lag.time.max.ms: 10000", f"{name}: {value}")
    (error,) = errors_in(tmp_path, wrong)
    assert message in error
    assert error.startswith(("wrong.yaml:6: cluster.settings: ", "wrong.yaml:7: cluster.settings"))


def test_settings_at_the_border_of_what_kafka_accepts_are_taken(tmp_path: Path) -> None:
    (tmp_path / "edge.yaml").write_text(SOUND.replace("max.ms: 10000", "max.ms: 500"))
    edge = load_scenario(tmp_path / "edge.yaml")
    assert edge.settings_of(1)["replica.lag.time.max.ms"] == 500


@pytest.mark.parametrize(
    ("sound", "zero"),
    [
        ("replica.lag.time.max.ms: 10000", "replica.fetch.wait.max.ms: 0"),
        ("{acks: all}", "{retries: 0, retry.backoff.ms: 0}"),
        ("{fetch.min.bytes: 1}", "{fetch.min.bytes: 0, fetch.max.wait.ms: 0}"),
    ],
)
def test_zero_is_taken_where_it_means_something(tmp_path: Path, sound: str, zero: str) -> None:
    (tmp_path / "zero.yaml").write_text(SOUND.replace(sound, zero))
    load_scenario(tmp_path / "zero.yaml")


def test_what_stands_for_two_fields_is_wrong_once(tmp_path: Path) -> None:
    assert len(errors_in(tmp_path, SOUND.replace("append: 20us", "append: soon"))) == 1


def test_a_setting_that_came_with_a_later_release_is_refused(tmp_path: Path) -> None:
    wrong = SOUND.replace("{3: {num.io.threads: 1}}", "{2: {fetch.max.bytes: 1024}}")
    (error,) = errors_in(tmp_path, wrong)
    assert error == (
        "wrong.yaml:8: cluster.broker_settings[2][fetch.max.bytes]: this release does not have "
        "it yet: it was added in 2.5.0"
    )


def test_a_setting_of_one_broker_that_kafka_refuses_is_found_there(tmp_path: Path) -> None:
    wrong = SOUND.replace("{num.io.threads: 1}", "{replica.fetch.wait.max.ms: 20000}")
    (error,) = errors_in(tmp_path, wrong)
    assert error.startswith("wrong.yaml:8: cluster.broker_settings[3]: Kafka does not start")


@pytest.mark.parametrize(
    ("sound", "wrong", "message"),
    [
        ("{acks: all}", "{acks: 2}", "must be one of all, 0, 1, -1, not 2"),
        ("{acks: all}", "{acks: true}", "must be one of all"),
        ("{acks: all}", "{fetch.min.bytes: 1}", "a setting of consumers, not of producers"),
        ("{acks: all}", "{retries: few}", "must be a whole number, not few"),
        ("{acks: all}", "{delivery.timeout.ms: 29999}", "Kafka's producer does not start"),
        ("{fetch.min.bytes: 1}", "{auto.offset.reset: newest}", "must be one of earliest, latest"),
        ("{fetch.min.bytes: 1}", "{acks: all}", "a setting of producers, not of consumers"),
        ("{min.insync.replicas: 2}", "{min.insync.replicas: 0}", "must be from 1"),
        ("{min.insync.replicas: 2}", "{num.io.threads: 2}", "a setting of brokers, not of topics"),
    ],
)
def test_a_wrong_setting_of_a_client_or_topic_is_refused(
    tmp_path: Path, sound: str, wrong: str, message: str
) -> None:
    (error,) = errors_in(tmp_path, SOUND.replace(sound, wrong))
    assert message in error


def test_all_mistakes_of_a_kind_are_told_at_once(tmp_path: Path) -> None:
    wrong = SOUND.replace("brokers: 4", "brokers: four").replace("at: 30s", "at: 30")
    assert [error.split(": ")[1] for error in errors_in(tmp_path, wrong)] == [
        *("cluster.brokers", "faults[0].at")
    ]


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    assert errors_in(tmp_path, SOUND + "duration: 2m\n") == [
        "wrong.yaml:36: duration appears twice, on line 1 too"
    ]
    (error,) = errors_in(tmp_path, SOUND.replace("{rack: a}", "{rack: a, rack: b}"))
    assert error == "wrong.yaml:10: rack appears twice, on line 10 too"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "wrong.yaml: is empty"),
        ("- 1", "wrong.yaml: must be a mapping"),
        ("a: 1\nb: [2}", "wrong.yaml:2: is not valid YAML: "),
        ("a: !thing 1", "wrong.yaml:1: is not valid YAML: could not determine a constructor"),
        ("a: 2020-02-31", "wrong.yaml: is not valid YAML: "),
        ("a: \x01", "wrong.yaml: is not valid YAML: "),
        ("a: 1\n---\nb: 2", "wrong.yaml:2: is not valid YAML: "),
        (
            "duration: 1m\ntopics: &a [*a]",
            "wrong.yaml:2: an alias refers to a node that contains it",
        ),
        ("a: !!bool perhaps", "wrong.yaml: is not valid YAML: a value does not match its tag"),
        ("a: " + 101 * "9", "wrong.yaml:1: a number has more than 100 digits"),
        ("a: " + 101 * "[" + 101 * "]", "wrong.yaml:1: has more than 100 levels"),
        ("[" * 100_000, "wrong.yaml"),
    ],
)
def test_what_is_no_scenario_at_all_is_refused(tmp_path: Path, text: str, message: str) -> None:
    assert errors_in(tmp_path, text)[0].startswith(message)


def test_a_file_that_cannot_be_read_is_a_scenario_error(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"none\.yaml: cannot be read: No such file"):
        load_scenario(tmp_path / "none.yaml")
    (tmp_path / "image.yaml").write_bytes(b"\x89PNG\xff")
    with pytest.raises(ScenarioError, match="is not text in UTF-8"):
        load_scenario(tmp_path / "image.yaml")


def test_lines_are_found_through_anchors_and_merged_mappings(tmp_path: Path) -> None:
    text = """duration: 1m
cluster: {brokers: 2}
faults:
  - &nap {kind: pause, at: 1s, brokers: [1]}
  - {<<: *nap, at: 5h}
  - {<<: *nap, brokers: [7]}
"""
    assert [error.split(": ")[0] for error in errors_in(tmp_path, text)] == [
        *("wrong.yaml:5", "wrong.yaml:6")
    ]


def test_an_error_in_a_mapping_names_its_source_without_a_line() -> None:
    with pytest.raises(ScenarioError, match=r"^notebook: cluster\.brokers: must be from 1"):
        scenario_from_mapping({"duration": "1s", "cluster": {"brokers": 0}}, "notebook")


@pytest.mark.parametrize(
    ("sound", "wrong", "error"),
    [
        ("name: nap", "id: nap", "faults[0].id: unknown name; did you mean name?"),
        (
            "brokers: [2]}",
            "brokers: all}",
            'faults[0].brokers: must be a list in brackets, not "all"',
        ),
        ("brokers: [2]}", "brokers: [b:1]}", "faults[0].brokers[0]: must be a broker's id"),
    ],
)
def test_a_slip_in_a_fault_is_one_error(tmp_path: Path, sound: str, wrong: str, error: str) -> None:
    """A list whose only item is refused is not called empty, too."""
    (line,) = errors_in(tmp_path, SOUND.replace(sound, wrong, 1))
    assert line.startswith(f"wrong.yaml:26: {error}")
