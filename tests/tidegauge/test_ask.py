"""``tidegauge ask``: a question in a few words, answered by the figures of many seeds."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from tidegauge.command_line import app
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.views.answer_view import case_lines
from tidegauge.what_if.asked_scenario import asked_scenario
from tidegauge.what_if.question import Given, read_question
from tidegauge.what_if.questions import QUESTIONS

#: No producers, and a fault of its own: the question's takes its place.
CLUSTER: dict[str, Any] = {
    "duration": "1m",
    "release": "4.1",
    "cluster": {"brokers": 6, "racks": ["a", "b", "c"]},
    "controllers": {"count": 3, "racks": ["a", "b", "c"]},
    "topics": [
        {"name": "orders", "partitions": 6, "replication_factor": 3},
        {"name": "clicks", "partitions": 2, "replication_factor": 2},
    ],
    "faults": [{"kind": "crash", "at": "20s", "for": "10s", "brokers": [1]}],
}
MOST_LINES = 17
PAGE = Path(__file__).parents[2] / "docs" / "questions.md"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(yaml.safe_dump(CLUSTER))


def ask(*words: str) -> Result:
    return CliRunner().invoke(app, ["ask", *words])


def spreads(question: str, *options: str) -> dict[str, Any]:
    """How each figure of an answer spreads over three seeds."""
    result = ask("mine.yaml", *question.split(), "--seeds", "3", "--json", *options)
    assert result.exit_code == 0, result.output
    (setting,) = json.loads(result.stdout)["settings"]
    found: dict[str, Any] = setting["distribution"]
    return found


def with_topic(**fields: Any) -> None:
    """A cluster with one topic, with these fields and min.insync.replicas."""
    topic = {"name": "orders", "partitions": 3, **fields}
    Path("mine.yaml").write_text(yaml.safe_dump({**CLUSTER, "topics": [topic]}))


@pytest.mark.usefixtures("ray_here")
def test_three_replicas_in_three_racks_survive_an_az_and_two_do_not() -> None:
    """With min.insync.replicas=2 one of three may be missing; one of two may not."""
    settings = {"min.insync.replicas": 2}
    with_topic(assignment={0: [1, 2, 3], 1: [2, 3, 4], 2: [3, 4, 5]}, settings=settings)
    three = spreads("AZ loss of rack b")
    with_topic(assignment={0: [1, 2], 1: [2, 3], 2: [3, 4]}, settings=settings)
    two = spreads("loss of AZ b")
    # Until the controller fences the brokers, an ISR may shrink first.
    assert three["partition_seconds_under_min_isr"]["largest"] < 60
    assert three["records_failed"]["largest"] == 0
    # Two of the partitions have one of their two replicas there, for three minutes.
    assert two["partition_seconds_under_min_isr"]["smallest"] > 2 * 140
    assert two["records_failed"]["above_zero"] == two["records_failed"]["seeds"] == 3


@pytest.mark.usefixtures("ray_here")
def test_a_rolling_restart_refuses_writes_if_no_replica_may_be_missing() -> None:
    with_topic(replication_factor=3, settings={"min.insync.replicas": 3})
    strict = spreads("rolling restart")
    # Each of the replicas is down for 10 s, or longer.
    assert strict["partition_seconds_under_min_isr"]["smallest"] > 3 * 3 * 10
    assert strict["longest_stall_seconds"]["smallest"] > 10
    assert 6 * 10 < strict["roll.seconds"]["p50"] < 6 * 40


@pytest.mark.usefixtures("ray_here")
def test_the_printed_command_runs_the_worst_seed_again() -> None:
    """The answer fits on a screen, and its last line gives the printed figure."""
    result = ask(
        "mine.yaml", "power", "LOSS", "in", "rack", "c", "for", "1", "minute", "--seeds", "3"
    )
    assert result.exit_code == 0, result.output
    assert "runs into" in result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) <= MOST_LINES
    assert "rack c (2 brokers, 1 controller) without power, for 1m" in lines[1]
    assert "The file's own faults and steps are left out (1)." in lines[2]
    assert "no producers; added: 10 batches a second" in lines[3]
    assert "no consumers; added: 4 that read" in lines[4]
    (row,) = (line for line in lines if line.startswith("longest stall of writes"))
    worst = re.match(r"longest stall of writes +[\d.]+ s +([\d.]+) s", row)
    command = re.match(r"Worst \(longest stall of writes: ([\d.]+) s\): tidegauge (.*)", lines[-1])
    assert worst is not None
    assert command is not None
    assert worst[1] == command[1]
    again = CliRunner().invoke(app, [*shlex.split(command[2]), "--json"])
    assert again.exit_code == 0, again.output
    found_s = json.loads(again.stdout)["longest_stall_seconds"]
    assert found_s == pytest.approx(float(worst[1]), abs=0.001)
    # The scenario stays, so that the command can be typed; without --out the runs do not.
    assert [each.name for each in Path("runs/mine-az-loss").iterdir()] == ["az-loss.yaml"]


@pytest.mark.usefixtures("ray_here")
def test_kept_runs_are_a_sweep_that_goes_on() -> None:
    first = spreads("controller loss for 10s", "--out", "kept")
    result = ask("mine.yaml", "controller crash for 10s", "--seeds", "1..4", "--out", "kept")
    assert "4 of them already finished" in result.stderr
    runs = json.loads(Path("kept/sweep.json").read_text())["runs"]
    assert [run["seed"] for run in runs] == [1, 2, 3, 4]
    assert all((Path("kept") / run["folder"] / "summary.json").exists() for run in runs)
    assert first["records_acknowledged_lost"]["seeds"] == 3
    other = ask("mine.yaml", "controller loss for 20s", "--seeds", "1", "--out", "kept")
    assert other.exit_code == 2
    assert "is of another sweep" in other.stderr


@pytest.mark.parametrize("name", ["AZ los", "reboot everything", "tsunami"])
def test_an_unknown_question_is_answered_with_all_that_there_are(name: str) -> None:
    result = ask("mine.yaml", name)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"tidegauge: {name}: unknown question; ")
    assert ("did you mean AZ loss?" in result.stderr) == (name == "AZ los")
    assert all(question.example in result.stderr for question in QUESTIONS)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("AZ loss of rack z", "AZ loss: there is no rack z; known names: a, b, c"),
        ("slow disk on broker 7", "slow disk: there is no broker 7"),
        ("reassign order to 1,2,3", "reassign: there is no topic order; did you mean orders?"),
        ("reassign orders", "reassign: it needs a topic, and the brokers that get its replicas"),
        ("AZ loss for ever", "AZ loss: must be a duration"),
        ("rolling restart of brokers 1,2 in rack a", "it takes brokers or a rack, not both"),
        ("controller loss for", "controller loss: nothing follows 'for'"),
        ("upgrade to 4.0", "upgrade: 4.0 is older than the cluster's release 4.1"),
        ("upgrade to 3.1", "upgrade: release 3.1.2 has no KRaft mode"),
        ("upgrade for 1m twice", "upgrade: 'twice' is not a part of it (example: upgrade, 2 at"),
        ("quorum loss for 1m twice", "quorum loss: 'twice' is not a part of it"),
    ],
)
def test_parameters_that_do_not_fit_are_named_with_an_example(text: str, error: str) -> None:
    result = ask("mine.yaml", *text.split())
    assert result.exit_code == 2
    assert error in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "name", "given"),
    [
        ("What if rack b loses power?", "AZ loss", Given(rack="b")),
        ("lose AZ b for 90s", "AZ loss", Given(rack="b", lasts_us=90_000_000)),
        ("reassign orders to 1, 2 and 3", "reassign", Given(topics=("orders",), brokers=(1, 2, 3))),
        ("Rolling restart, 2 at a time", "rolling restart", Given(batch=2)),
        ("slow disk 2 delay 300ms", "slow disk", Given(brokers=(2,), delay_us=300_000)),
        ("the controller dies", "controller loss", Given()),
        ("rolling restart for 60s", "rolling restart", Given(lasts_us=60_000_000)),
        ("rolling upgrade to 4.4", "upgrade", Given(release="4.4")),
        (
            "rolling restart, then AZ loss of rack b",
            "AZ loss during rolling restart",
            Given(rack="b"),
        ),
        (
            "reassign orders to 1,2,3 with 2GB a replica",
            "reassign",
            Given(topics=("orders",), brokers=(1, 2, 3), replica_bytes=2_000_000_000),
        ),
    ],
)
def test_words_are_free_in_case_and_order(text: str, name: str, given: Given) -> None:
    asked = read_question(text, QUESTIONS, cluster())
    assert (asked.question.name, asked.given) == (name, given)


def cluster(**parts: Any) -> Scenario:
    return scenario_from_mapping({**CLUSTER, **parts}, "mine.yaml")


def in_question(text: str, **parts: Any) -> tuple[dict[str, Any], tuple[str, ...], Scenario]:
    """The mapping of a question's scenario, the notes about it, and the scenario."""
    data = {name: part for name, part in {**CLUSTER, **parts}.items() if part}
    own = scenario_from_mapping(data, "mine.yaml")
    made = asked_scenario(data, own, read_question(text, QUESTIONS, own))
    return dict(made.data), made.notes, scenario_from_mapping(made.data, "mine.yaml")


def test_a_topic_that_never_accepts_acks_all_is_named_and_left_out() -> None:
    """Up to 3.6 two required replicas of one refuse every write (KAFKA-15583), fault or none."""
    audit = {"name": "audit", "partitions": 2, "replication_factor": 1}
    audit["settings"] = {"min.insync.replicas": 2}
    parts = {"release": "2.6", "controllers": {}, "topics": [*CLUSTER["topics"], audit]}
    made, notes, _ = in_question("rolling restart", **parts)
    assert [topic["name"] for topic in made["topics"]] == ["orders", "clicks"]
    assert "audit: never accepts acks=all (min.insync.replicas 2 above RF 1)" in notes[0]
    made, notes, _ = in_question("reassign audit to 1", **parts)
    assert "audit" in [topic["name"] for topic in made["topics"]]
    made, *_ = in_question("rolling restart", **parts | {"release": "3.9"})
    assert "audit" in made["workload"]["producers"][0]["topics"]


def test_a_reassignment_says_what_it_copies_or_that_sizes_are_unknown() -> None:
    _, notes, scenario = in_question("reassign topic clicks to brokers 5,6 throttle 10MB/s")
    assert "Logs of clicks are empty" in notes[0]
    (line,) = case_lines(scenario)
    assert "clicks: 2 partitions move" in line
    assert line.endswith("throttle 10MB/s for each broker; sizes unknown: logs begin empty")
    _, notes, scenario = in_question("reassign clicks to 5,6 with 2GB a replica throttle 10MB/s")
    (line,) = case_lines(scenario)
    copies = int(line.partition(" new replica")[0].rpartition(" ")[2])
    assert line.endswith(f"{2 * copies}GB to copy")
    assert scenario.duration_us > copies * 100_000_000


def test_a_rack_is_lost_while_a_broker_of_another_one_restarts() -> None:
    """Half of the brokers are through, and the one that is down is not of the lost rack."""
    question = "rolling restart with AZ loss of rack {}"
    own = cluster()
    for rack in own.cluster.racks:
        (_, loss) = in_question(question.format(rack))[2].faults
        assert loss.at_us is not None
        down = int((loss.at_us - 60_000_000) / (13_000_000))
        assert own.broker_ids()[down] not in own.cluster.racks[rack]
        assert down >= 3


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: each.name)
def test_every_question_is_in_the_help_and_in_the_manual(question: Any) -> None:
    assert f"ask mine.yaml {question.example}\n" in ask("--help").output
    assert f"| `{question.example}` | {question.meaning} |\n" in PAGE.read_text()


@pytest.mark.parametrize(
    "question", [each for each in QUESTIONS if each.plans is None], ids=lambda each: each.name
)
@pytest.mark.parametrize("release", ["3.9", "4.1"])
def test_every_question_about_a_fault_fits_both_modes(question: Any, release: str) -> None:
    """Its example makes a valid scenario, whose fault begins with all brokers up."""
    data = {**CLUSTER, "release": release}
    if release == "3.9":
        data.pop("controllers")
    own = scenario_from_mapping(data, "mine.yaml")
    made = asked_scenario(data, own, read_question(question.example, QUESTIONS, own))
    scenario = scenario_from_mapping(made.data, "mine.yaml")
    assert scenario.trouble_begins_us() == 60_000_000
    assert [*made.without_fault()["faults"], *made.without_fault()["steps"]] == []


@pytest.mark.parametrize(
    ("release", "mode", "rolls", "last"),
    [
        ("2.6", "zookeeper", ["roll", "protocol"], {"do": "begin_fault", "fault": "protocol"}),
        (
            "3.3",
            "kraft",
            ["roll", "controllers"],
            {"do": "update_features", "metadata_version": "3.9-IV0"},
        ),
    ],
)
def test_an_upgrade_to_a_release_ends_with_the_version_that_all_nodes_follow(
    release: str, mode: str, rolls: list[str], last: dict[str, str]
) -> None:
    """With ZooKeeper that is inter.broker.protocol.version, which needs a second roll."""
    data = {**CLUSTER, "release": release, "mode": mode}
    if mode == "zookeeper":
        data.pop("controllers")
    own = scenario_from_mapping(data, "mine.yaml")
    asked = read_question("upgrade to 3.9", QUESTIONS, own)
    made = asked_scenario(data, own, asked).data
    assert [fault["name"] for fault in made["faults"]] == rolls
    step = made["steps"][-1]
    assert {name: step[name] for name in last} == last
    assert step["when"] == {"rolled": "roll"}
    scenario_from_mapping(made, "mine.yaml")
