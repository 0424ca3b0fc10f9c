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


def test_each_scenario_is_listed_once_and_mechanisms_come_last() -> None:
    lines = listed().splitlines()
    heading = lines.index("Mechanisms of replication, one by one")
    for name, file in shipped_scenarios().items():
        (place,) = (place for place, line in enumerate(lines) if line.startswith(f"{name}   "))
        folder = file.parent.name
        assert (place > heading) == (folder in {"mechanisms", "gallery", "incidents"})
        assert lines[place + 1].startswith("    ") or folder in {"gallery", "incidents"}


def test_a_newcomer_reads_of_a_cluster_of_today_first_and_then_of_its_twin() -> None:
    named = [line for line in listed().splitlines() if re.match(r"\S+   \d+ broker", line)]
    assert named[:2] == [
        "quickstart   6 brokers of Kafka 4.4.0 with KRaft, 66 partitions, 4m",
        "quickstart-zookeeper   6 brokers of Kafka 2.6.3 with ZooKeeper, 66 partitions, 4m",
    ]


def test_incidents_come_after_all_others_and_take_one_line_each() -> None:
    lines = listed().splitlines()
    heading = lines.index("Incidents on which `tidegauge alerts` tests alert rules")
    named = [line.split()[0] for line in lines[heading + 2 :] if line.startswith("incidents/")]
    assert named == sorted(name for name in shipped_scenarios() if name.startswith("incidents/"))
    assert len(lines) == heading + 2 + len(named) + 2


def test_bugs_of_kraft_take_one_line_each() -> None:
    lines = listed().splitlines()
    heading = lines.index("Bugs of KRaft, which `tidegauge gallery` runs in two releases")
    bugs = [name for name in shipped_scenarios() if name.startswith("gallery/")]
    assert [line.split()[0] for line in lines[heading + 2 :][: len(bugs)]] == bugs


def test_what_a_scenario_is_stands_beside_its_name_and_what_it_asks_below() -> None:
    lines = listed().splitlines()
    place = lines.index(
        "rolling-restart   6 brokers of Kafka 2.6.3 with ZooKeeper, 300 partitions, 5m"
    )
    assert lines[place + 1].startswith("    Does my rolling restart ever land on min ISR?")


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
    assert [line.split()[0] for line in listed_pages] == sorted(
        file.stem for file in manual.glob("*.md")
    )
    assert any(re.fullmatch(r"first-hour +The first hour", line) for line in listed_pages)
    page = CliRunner().invoke(app, ["docs", "first-hour"])
    assert page.stdout == (manual / "first-hour.md").read_text(encoding="utf-8")
    unknown = CliRunner().invoke(app, ["docs", "first-our"])
    assert (unknown.exit_code, unknown.stderr) == (
        2,
        "tidegauge: first-our: the manual has no such page; did you mean first-hour?\n",
    )
