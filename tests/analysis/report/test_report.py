"""``tidegauge report`` writes a report that says what the summary says, and how to see it."""

from __future__ import annotations

import re
import shlex
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from both_modes import MODES, in_mode
from report_page import ReportPage, read_page
from small_clusters import cluster_of, producers_of
from tidegauge.analysis.questions.all_questions import QUESTIONS
from tidegauge.command_line import app
from tidegauge.engine.simulate import simulate
from tidegauge.report.charts import seconds
from tidegauge.report.quantities import duration_text
from tidegauge.traces.run_files import SUMMARY
from tidegauge.traces.run_folder import RunFolder

#: Names are free: this one would be an element of the page.
FAULT = "<b>power & light</b>"
OVER_SEEDS = "tidegauge run lost.yaml --seeds 1..20"
MOST_BYTES = 6_000_000
NOT_ACCEPTING = "not accepting: no broker actually leads"
COMMITTED = "committed: acknowledged with acks=all, readable"


def power_is_lost(folder: Path, acks: int | str) -> RunFolder:
    """The leader is cut off, then loses its power: a follower leads without what it acknowledged.

    With acks=all nothing is acknowledged while it is cut off. At last it leads again: requests that
    are under way to the other leader are refused.
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
        steps=[{"do": "preferred_election", "at": "27s"}],
    )
    return simulate(scenario, folder, over_seeds=OVER_SEEDS)


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return power_is_lost(tmp_path_factory.mktemp("runs") / "lost", acks=1)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The twin: acks=all."""
    return power_is_lost(tmp_path_factory.mktemp("runs") / "held", acks="all")


@pytest.fixture(scope="module")
def page(lost: RunFolder) -> ReportPage:
    return reported(lost.path)


def reported(*words: str | Path) -> ReportPage:
    """The report that the command writes, and where it says that it is."""
    result = CliRunner().invoke(app, ["report", *map(str, words)])
    assert result.exit_code == 0, result.output
    (place,) = re.findall(r"^Report: (.+)$", result.output, re.MULTILINE)
    file = Path(place)
    assert file.stat().st_size < MOST_BYTES
    return read_page(file)


def test_it_is_one_file_with_a_section_for_each_question(page: ReportPage) -> None:
    assert all(address.startswith("#") for address in page.addresses)
    assert page.headings[:4] == ["Tidegauge: lost", "In short", "What clients saw", "Timeline"]
    asked = [each.asks for each in QUESTIONS.values() if each.asks in page.headings]
    assert len(asked) == len(QUESTIONS) - 2  # sweep and first-divergence need several runs
    assert len(page.charts) >= 3


def test_the_headline_says_what_the_summary_says(page: ReportPage, lost: RunFolder) -> None:
    summary = lost.summary
    assert summary is not None
    assert summary["records_acknowledged_lost"] > 0
    longest = duration_text(1e6 * summary["longest_stall_seconds"])
    assert (
        f"1 of 1 partition stalled for producers, for {longest}; "
        f"{summary['records_acknowledged_lost']:,} acknowledged records lost."
    ) in page.paragraphs
    refused = "1 of 1 partition refused acks=all writes for more than a second, for up to "
    assert any(each.startswith(refused) for each in page.paragraphs)
    because = next(each for each in page.paragraphs if "lost, of" in each)
    assert because.startswith(
        f"{summary['records_acknowledged_lost']:,} acknowledged records lost, of "
        f"{summary['records_acknowledged']:,} records acknowledged: all of them with acks=1"
    )
    chance = next(each for each in page.paragraphs if "chance has decided" in each)
    assert chance.startswith(
        "This is one seed, and chance has decided: the part of each log that survives"
    )
    assert OVER_SEEDS in page.commands
    for figure, words in (
        (f"{summary['leader_elections']:,}", "leaders elected"),
        (f"{summary['isr_shrinks']:,}", "ISRs shrunk by leaders"),
        (f"{summary['partition_seconds_stalled']:,.1f}", "stalled for producers"),
        (f"{summary['partition_seconds_not_accepting']:,.1f}", "accepts writes"),
    ):
        assert any(each.startswith(figure) and words in each for each in page.tiles), words


def chart_with(page: ReportPage, series: str) -> dict[str, Any]:
    """The first chart in which a series of this name is drawn."""
    return next(
        chart for chart in page.charts if any(t.get("name") == series for t in chart["data"])
    )


def test_faults_are_drawn_under_their_names_whatever_they_are(page: ReportPage) -> None:
    (timeline,) = (
        chart
        for chart in page.charts
        if [each["text"] for each in chart["layout"].get("annotations", ())]
        == ["cut", "&lt;b&gt;power &amp; light&lt;/b&gt;"]
    )
    (faults,) = timeline["data"]
    assert faults["base"] == [seconds(7_000_000), seconds(8_000_000)]
    assert faults["x"] == [3, 9]
    bands = chart_with(page, NOT_ACCEPTING)["layout"]["shapes"]
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
    traces = {trace["name"]: trace for trace in chart_with(page, NOT_ACCEPTING)["data"]}
    refused = traces[NOT_ACCEPTING]
    assert max(refused["y"]) == 1
    assert refused["x"] == sorted(refused["x"])
    began = next(x for x, y in zip(refused["x"], refused["y"], strict=True) if y)
    assert began == pytest.approx(seconds(8_000_000), abs=0.1)


def test_clients_are_told_of_as_the_summary_counts_them(page: ReportPage, lost: RunFolder) -> None:
    """What was committed is what acks=1 acknowledged, but what was lost before it was copied."""
    assert lost.summary is not None
    committed = chart_with(page, COMMITTED)["data"][-1]
    assert committed["name"] == COMMITTED
    bucket_s = committed["x"][1] - committed["x"][0]
    in_all = sum(committed["y"]) * bucket_s
    acknowledged = lost.summary["records_acknowledged"]
    assert acknowledged - lost.summary["records_acknowledged_lost"] == pytest.approx(
        in_all, rel=0.05
    )
    ((producer, latency),) = lost.summary["produce_ms"].items()
    # What became of its records comes first, then how long it waited.
    place = page.cells.index(producer)
    assert page.cells[place + 1] == f"{lost.summary['records_offered']:,}"
    place = page.cells.index(producer, place + 1)
    assert page.cells[place + 1 : place + 4] == [
        duration_text(latency[each] * 1000) for each in ("p50", "p99", "max")
    ]
    assert "NOT_LEADER_OR_FOLLOWER" in page.cells


def test_the_story_is_of_the_partition_that_lost_most(page: ReportPage, lost: RunFolder) -> None:
    assert "The story of story-0, the worst affected partition" in page.headings
    assert lost.summary is not None
    lost_records = lost.summary["records_lost_by_partition"]["story-0"]
    losses = [cell for cell in page.cells if " lost: offsets " in cell]
    assert sum(int(each.split()[0].replace(",", "")) for each in losses) == lost_records
    assert any("leader is now broker " in cell for cell in page.cells)


def test_every_command_in_it_is_one_of_tidegauge_about_this_run(
    page: ReportPage, lost: RunFolder
) -> None:
    assert len(page.commands) > len(QUESTIONS)
    for command in page.commands:
        words = shlex.split(command)
        assert words[0] == "tidegauge"
        # That of the spread runs its scenario.
        assert str(lost.path) in words or "--seeds" in words
    shown = next(each for each in page.commands if "show partition " in each)
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


def test_of_a_run_without_a_loss_it_says_so(held: RunFolder) -> None:
    found = reported(held.path)
    assert any(p.startswith("No acknowledged record was lost:") for p in found.paragraphs)
    assert any(p.endswith("; no acknowledged record lost.") for p in found.paragraphs)
    assert not any("lost, of" in p for p in found.paragraphs)


def test_of_several_runs_it_compares_settings_before_it_tells_of_the_worst(
    lost: RunFolder, held: RunFolder, tmp_path: Path
) -> None:
    found = reported(held.path, lost.path, "--out", tmp_path / "analysis")
    assert found.headings[:5] == [
        "Tidegauge: 2 runs",
        "In short",
        "Side by side: acks=-1 and acks=1",
        "What does each setting change, and how certain is that over seeds?",
        "The runs, the worst first",
    ]
    assert found.headings[5] == "The worst run: lost"
    in_order = [
        (cell, after)
        for cell, after in pairwise(found.cells)
        if cell in {"lost", "held"} and after.startswith("acks=")
    ]
    assert in_order == [("lost", "acks=1"), ("held", "acks=-1")]


def test_modes_are_compared_row_by_row_and_where_kraft_is_not_better_it_says_so(
    tmp_path: Path,
) -> None:
    """The sessions make KRaft faster; a process that gets SIGTERM is gone sooner with ZooKeeper."""
    runs = [simulate(in_mode(mode), tmp_path / mode).path for mode in MODES]
    found = reported(*runs, "--out", tmp_path / "analysis")
    assert found.headings[2] == "Side by side: ZooKeeper and KRaft"
    kraft = next(each for each in found.paragraphs if each.startswith("KRaft is better in"))
    zookeeper = next(each for each in found.paragraphs if each.startswith("ZooKeeper is better in"))
    assert "leaderless time, last partition" in kraft
    assert "time without an active controller" in kraft
    assert "SIGTERM until the process is gone, longest" in zookeeper
    said = "\n".join(found.paragraphs)
    for case in ("quick restart", "dies together with a leader", "unclean election", "a crash"):
        assert re.search(f"Where KRaft is not better: .*{case}", said), case
    assert "Published, unknown conditions: Controlled shutdown at 2 million partitions" in said
    assert "KRaft better (one seed)" in found.cells


def test_a_run_that_is_still_going_is_told_of_as_far_as_it_is(
    lost: RunFolder, tmp_path: Path
) -> None:
    going = tmp_path / "going"
    shutil.copytree(lost.path, going, ignore=shutil.ignore_patterns(SUMMARY, "tables"))
    found = reported(going)
    assert any(p.startswith("The run is not complete") for p in found.paragraphs)
    assert "The story of story-0, the worst affected partition" in found.headings


def test_what_is_no_run_is_refused_in_one_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["report", str(tmp_path / "nowhere")])
    assert result.exit_code != 0
    assert "no such folder" in result.output
