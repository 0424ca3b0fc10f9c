"""``tidegauge analyze`` writes a report that says what the summary says, and how to see it."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from report_page import ReportPage, read_page
from small_clusters import cluster_of, producers_of
from tidegauge.analysis.questions.all_questions import QUESTIONS
from tidegauge.analysis.report.charts import seconds
from tidegauge.command_line import app
from tidegauge.engine.simulate import simulate
from tidegauge.traces.run_files import SUMMARY
from tidegauge.traces.run_folder import RunFolder

#: All tables and all questions, even of a run of seconds, take Spark half a minute, and again for
#: each run: one is made each time, the others are not.
another_report = pytest.mark.long

#: Names are free: this one would be an element of the page.
FAULT = "<b>power & light</b>"
MOST_BYTES = 6_000_000


def power_is_lost(folder: Path, acks: int | str) -> RunFolder:
    """The leader is cut off, then loses its power: a follower leads without what it acknowledged.

    With acks=all nothing is acknowledged while it is cut off.
    """
    scenario = cluster_of(
        {"zookeeper.session.timeout.ms": 4000},
        duration="30s",
        liveness=True,
        workload={"producers": [producers_of(200, "2s", "28s", acks=acks)]},
        faults=[
            {"name": "cut", "kind": "cut_link", "at": "7s", "for": "3s", "between": [[1], [2, 3]]},
            {"name": FAULT, "kind": "power_loss", "at": "8s", "for": "9s", "brokers": [1]},
        ],
    )
    return simulate(scenario, folder)


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return power_is_lost(tmp_path_factory.mktemp("runs") / "lost", acks=1)


@pytest.fixture(scope="module")
def page(spark: SparkSession, lost: RunFolder) -> ReportPage:
    assert spark.version >= "4"
    return analyzed(lost.path)


def analyzed(*words: str | Path) -> ReportPage:
    """The report that the command writes, and where it says that it is."""
    result = CliRunner().invoke(app, ["analyze", *map(str, words)])
    assert result.exit_code == 0, result.output
    (place,) = re.findall(r"^Report: (.+)$", result.output, re.MULTILINE)
    file = Path(place)
    assert file.stat().st_size < MOST_BYTES
    return read_page(file)


def test_it_is_one_file_with_a_section_for_each_question(page: ReportPage) -> None:
    assert all(address.startswith("#") for address in page.addresses)
    assert page.headings[:3] == ["Tidegauge: lost", "In short", "Timeline"]
    asked = [each.asks for each in QUESTIONS.values() if each.asks in page.headings]
    assert len(asked) == len(QUESTIONS) - 2  # sweep and first-divergence need several runs
    assert len(page.charts) >= 3


def test_the_headline_says_what_the_summary_says(page: ReportPage, lost: RunFolder) -> None:
    summary = lost.summary
    assert summary is not None
    assert summary["records_acknowledged_lost"] > 0
    verdict = next(each for each in page.paragraphs if "lost, of" in each)
    assert verdict.startswith(
        f"{summary['records_acknowledged_lost']:,} acknowledged records lost, of "
        f"{summary['records_acknowledged']:,} records acknowledged: all of them with acks=1"
    )
    for figure, words in (
        (f"{summary['leader_elections']:,}", "leaders elected"),
        (f"{summary['isr_shrinks']:,}", "ISRs shrunk by leaders"),
        (f"{summary['partition_seconds_not_accepting']:,.1f}", "accepts writes"),
    ):
        assert any(each.startswith(figure) and words in each for each in page.tiles), words


def test_faults_are_drawn_under_their_names_whatever_they_are(page: ReportPage) -> None:
    timeline = page.charts[0]
    (faults, *_) = timeline["data"]
    assert faults["y"] == ["cut", "&lt;b&gt;power &amp; light&lt;/b&gt;"]
    assert faults["base"] == [seconds(7_000_000), seconds(8_000_000)]
    assert faults["x"] == [3, 9]
    bands = timeline["layout"]["shapes"]
    assert [(band["x0"], band["x1"]) for band in bands] == [
        (seconds(7_000_000), seconds(10_000_000)),
        (seconds(8_000_000), seconds(17_000_000)),
    ]
    assert FAULT in page.cells


def test_moments_are_seconds_on_axes_of_numbers(page: ReportPage) -> None:
    """On an axis of dates Plotly reads 1500, and only numbers of four digits, as a year."""
    in_time = [
        (trace, each)
        for chart in page.charts
        for trace in chart["data"]
        if chart["layout"]["xaxis"].get("ticksuffix") == "s"
        and chart["layout"]["xaxis"]["type"] == "linear"
        for each in (trace["base"] if trace.get("orientation") == "h" else trace["x"])
    ]
    assert len(in_time) > 20
    assert min(each for _, each in in_time) >= seconds(0) == 0


def test_the_timeline_shows_that_its_one_partition_had_no_leader(page: ReportPage) -> None:
    traces = {trace.get("name", ""): trace for trace in page.charts[0]["data"]}
    refused = traces["not accepting: no broker actually leads"]
    assert max(refused["y"]) == 1
    assert refused["x"] == sorted(refused["x"])
    (began,) = (
        x for x, y in zip(refused["x"], refused["y"], strict=True) if y and x > seconds(5_000_000)
    )
    assert began == pytest.approx(seconds(8_000_000), abs=0.1)


def test_the_story_is_of_the_partition_that_lost_most(page: ReportPage, lost: RunFolder) -> None:
    assert "The story of story-0, the worst affected partition" in page.headings
    assert lost.summary is not None
    lost_records = lost.summary["records_lost_by_partition"]["story-0"]
    assert f"{lost_records:,} records lost" in page.cells or "1 record lost" in page.cells


def test_every_command_in_it_is_one_of_tidegauge_about_this_run(
    page: ReportPage, lost: RunFolder
) -> None:
    assert len(page.commands) > len(QUESTIONS)
    for command in page.commands:
        words = shlex.split(command)
        assert words[0] == "tidegauge"
        assert str(lost.path) in words
    shown = next(each for each in page.commands if "--partition" in each and "show" in each)
    result = CliRunner().invoke(app, shlex.split(shown)[1:])
    assert result.exit_code == 0, result.output


def test_the_costs_that_it_leaned_on_are_those_of_the_summary(
    page: ReportPage, lost: RunFolder
) -> None:
    assert lost.summary is not None
    for name, used in lost.summary["cost_model"].items():
        place = page.cells.index(name)
        assert page.cells[place + 2] == f"{used['times']:,}"
        own = name in {"costs.request", "costs.append"}
        assert page.cells[place + 4] == ("of the scenario" if own else "default")


def test_it_says_how_to_have_it_again(page: ReportPage, lost: RunFolder) -> None:
    assert lost.summary is not None
    assert lost.summary["trace_sha256"] in page.cells
    assert f"tidegauge replay {lost.path}" in page.commands


@another_report
@pytest.mark.usefixtures("spark")
def test_of_a_run_without_a_loss_it_says_so(tmp_path: Path) -> None:
    """The twin of the run above: acks=all."""
    found = analyzed(power_is_lost(tmp_path / "held", acks="all").path)
    assert any(p.startswith("No acknowledged record was lost:") for p in found.paragraphs)
    assert not any("lost, of" in p for p in found.paragraphs)


@another_report
@pytest.mark.usefixtures("spark")
def test_of_several_runs_it_compares_settings_and_tells_of_the_worst(
    lost: RunFolder, tmp_path: Path
) -> None:
    held = power_is_lost(tmp_path / "held", acks="all")
    found = analyzed(held.path, lost.path, "--out", tmp_path / "analysis")
    assert found.headings[0] == "Tidegauge: 2 runs"
    assert "What does each setting change, and how certain is that over seeds?" in found.headings
    assert "The worst run: lost" in found.headings
    assert found.cells.index("lost") < found.cells.index("held")
    assert any("acks=1" in cell for cell in found.cells)


@another_report
@pytest.mark.usefixtures("spark")
def test_a_run_that_is_still_going_is_told_of_as_far_as_it_is(
    lost: RunFolder, tmp_path: Path
) -> None:
    going = tmp_path / "going"
    shutil.copytree(lost.path, going, ignore=shutil.ignore_patterns(SUMMARY, "tables"))
    found = analyzed(going)
    assert any(p.startswith("The run has not come to its end") for p in found.paragraphs)
    assert "The story of story-0, the worst affected partition" in found.headings
