"""``tidegauge scenarios`` and ``docs``: what comes along, and what it is about."""

from __future__ import annotations

import json
import re
from pathlib import Path

from typer.testing import CliRunner

from tidegauge.command_line import app
from tidegauge.scenario.shipped import shipped_scenarios


def listed(*options: str) -> str:
    result = CliRunner().invoke(app, ["scenarios", *options])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_each_scenario_has_one_line_of_a_terminal_below_its_subject() -> None:
    lines = listed().splitlines()
    subjects = [place for place, line in enumerate(lines) if place == 0 or not lines[place - 1]]
    folders = ["scenarios", "mechanisms", "gallery", "incidents"]
    for name, file in shipped_scenarios().items():
        (place,) = (place for place, line in enumerate(lines) if line.startswith(f"{name}  "))
        begun = sum(subject < place for subject in subjects)
        assert file.parent.name == folders[begun - 1]
    assert max(map(len, lines[:-1])) <= 100
    assert len(lines) == len(shipped_scenarios()) + 2 * len(folders) + 5


def test_a_newcomer_reads_of_a_cluster_of_today_first_and_then_of_its_twin() -> None:
    named = [line.split()[0] for line in listed().splitlines()[1:3]]
    assert named == ["quickstart", "quickstart-zookeeper"]


def test_a_word_lists_the_scenarios_about_it() -> None:
    """In the name, or in any paragraph of the description; subjects without any are left out."""
    lines = listed("Unclean").splitlines()
    assert "Questions about a cluster" not in lines
    named = {line.split()[0] for line in lines if line.split("  ")[0] in shipped_scenarios()}
    assert {"17-unclean-election", "incidents/unclean-election"} < named
    assert "15-leader-failure" not in named
    found = {each["name"] for each in json.loads(listed("unclean", "--json"))}
    assert found == named
    nothing = CliRunner().invoke(app, ["scenarios", "exactly-once"])
    assert nothing.exit_code == 2
    assert "no shipped scenario of that name or about it" in nothing.stderr


def test_json_says_the_same_of_each_and_where_its_file_is() -> None:
    found = {each["name"]: each for each in json.loads(listed("--json"))}
    assert found.keys() == shipped_scenarios().keys()
    storm = found["isr-storm"]
    assert (storm["brokers"], storm["partitions"], storm["virtual_seconds"]) == (6, 3000, 60)
    assert (storm["release"], storm["mode"]) == ("2.6.3", "zookeeper")
    assert storm["question"].endswith("with AlterPartition?")
    assert "\n" not in storm["question"]
    for each in found.values():
        assert Path(each["file"]).is_file()
        assert each["is_mechanism"] == (each["name"][:2].isdigit())
        assert each["is_in_gallery"] == (each["name"].startswith("gallery/"))
        assert each["is_incident"] == (each["name"].startswith("incidents/"))


def test_the_manual_comes_along_page_by_page() -> None:
    manual = Path(__file__).parents[2] / "docs"
    listed_pages = CliRunner().invoke(app, ["docs"]).stdout.splitlines()
    pages = sorted(file.stem for file in manual.glob("*.md"))
    assert [line.split()[0] for line in listed_pages] == sorted([*pages, "tables"])
    assert any(re.fullmatch(r"first-hour +The first hour", line) for line in listed_pages)
    page = CliRunner().invoke(app, ["docs", "first-hour"])
    assert page.stdout == (manual / "first-hour.md").read_text(encoding="utf-8")
    unknown = CliRunner().invoke(app, ["docs", "first-our"])
    assert (unknown.exit_code, unknown.stderr) == (
        2,
        "tidegauge: first-our: the manual has no such page; did you mean first-hour?\n",
    )


def test_one_scenario_is_told_with_its_question_and_its_faults_and_times() -> None:
    lines = listed("quickstart").splitlines()
    assert lines[1] == "quickstart   6 brokers of Kafka 4.4.0 with KRaft, 66 partitions, 4m"
    assert lines[2].startswith("    Six brokers and three controllers of a KRaft cluster")
    assert any("After half a minute without faults broker 2 is killed" in line for line in lines)
    assert "          30.000s  crash: broker 2 killed (SIGKILL), for 40s" in lines
    assert lines[-1] == "Run it:   tidegauge run quickstart"
    assert max(map(len, lines[:-2])) <= 100
    told = json.loads(listed("10-truncation-to-high-watermark", "--json"))
    assert told["checks"]["acknowledged_records_lost"] is False
    assert told["question"] in " ".join(told["description"].split())
    assert [each["time_us"] for each in told["timetable"]] == sorted(
        each["time_us"] for each in told["timetable"]
    )


def test_an_unknown_scenario_is_one_line_with_a_near_name() -> None:
    result = CliRunner().invoke(app, ["scenarios", "quickstat"])
    assert result.exit_code == 2
    assert result.stderr.startswith("tidegauge: quickstat: no such file, and no shipped scenario")
    assert "quickstart" in result.stderr
