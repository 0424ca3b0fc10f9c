"""``tidegauge report`` writes a report that says what the summary says, and how to see it."""

from __future__ import annotations

import re
import shlex
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from both_modes import MODES, in_mode
from report_page import ReportPage, read_page
from small_clusters import cluster_of, producers_of
from tidegauge.analysis.questions.all_questions import QUESTIONS
from tidegauge.command_line import app
from tidegauge.engine.simulate import simulate
from tidegauge.report.quantities import duration_text
from tidegauge.scenario.reading import load_scenario
from tidegauge.scenario.shipped import shipped_scenarios
from tidegauge.traces.run_files import SUMMARY
from tidegauge.traces.run_folder import RunFolder

#: Names are free: this one would be an element of the page.
FAULT = "<b>power & light</b>"
OVER_SEEDS = "tidegauge run lost.yaml --seeds 1..20"
MOST_BYTES = 400_000


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


#: Questions that need several runs.
OF_SEVERAL_RUNS = {"sweep", "curves", "over-seeds", "rare-events", "first-divergence"}


def test_it_is_one_file_with_five_sections_and_questions_behind_their_answers(
    page: ReportPage,
) -> None:
    assert all(address.startswith("#") for address in page.addresses)
    assert page.headings == [
        "Tidegauge: lost",
        "What clients saw",
        "What failed, and why",
        "The worst partition: story-0",
        "The faults",
        "What it depends on",
    ]
    for question in QUESTIONS.values():
        told = [each for each in page.answers if each.startswith(question.asks)]
        assert len(told) == (question.name not in OF_SEVERAL_RUNS), question.name
        assert all(len(each) > len(question.asks) + 5 for each in told)


def test_screen_readers_have_headings_in_order_captions_and_figures(page: ReportPage) -> None:
    assert page.levels == ["h1"] + ["h2"] * 5
    assert len(page.captions) == page.tables > 5
    assert len(page.charts) > 8
    assert "" not in page.charts
    assert page.chart("Stalled partitions (partitions); for producers: a batch has waited for ")


@pytest.mark.parametrize(("mode", "other"), [("zookeeper", "KRaft"), ("kraft", "ZooKeeper")])
def test_a_report_has_no_word_about_the_other_control_plane(
    mode: str, other: str, tmp_path: Path
) -> None:
    simulate(in_mode(mode), tmp_path / "run")
    reported(tmp_path / "run")
    text = (tmp_path / "run" / "report.html").read_text()
    assert re.findall(rf".{{80}}{other}.{{80}}", text, re.IGNORECASE) == []
    # The twin: of its own control plane it has the panel, or names it among those without a value.
    assert ("isr_change_notification" in text) == (mode == "zookeeper")


@pytest.mark.long
def test_a_report_of_sixty_brokers_is_as_small(tmp_path: Path) -> None:
    scenario = cluster_of(
        cluster={"brokers": 60, "racks": ["a", "b", "c"]},
        topics=[{"name": "story", "partitions": 240, "replication_factor": 3}],
        workload={"producers": [producers_of(20, "5s", "28s", acks="all")]},
        faults=[{"kind": "power_loss", "at": "12s", "for": "8s", "brokers": ["rack:b"]}],
        duration="30s",
        trace="transitions",
    )
    simulate(scenario, tmp_path / "run")
    found = reported(tmp_path / "run")
    assert "The faults" in found.headings
    assert any(each.startswith("Replay:") for each in found.answers)


def test_the_headline_says_what_the_summary_says(page: ReportPage, lost: RunFolder) -> None:
    summary = lost.summary
    assert summary is not None
    assert summary["records_acknowledged_lost"] > 0
    longest = duration_text(1e6 * summary["longest_stall_seconds"])
    assert (
        f"{summary['records_acknowledged_lost']:,} acknowledged records lost; "
        f"1 of 1 partition stalled for producers, for {longest}."
    ) in page.paragraphs
    without = "1 of 1 partition could not take acks=all writes for more than a second, for up to "
    assert any(each.startswith(without) for each in page.paragraphs)
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


def places(path: str) -> list[tuple[float, float]]:
    """The places of a line of steps, in parts of the axes."""
    numbers = [float(each) for each in re.findall(r"-?[\d.]+", path)]
    return [(x / 1000, 1 - y / 1000) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]


def test_faults_are_drawn_under_their_names_whatever_they_are(page: ReportPage) -> None:
    assert f"Active faults; cut; {FAULT}" in page.charts
    told = [each for each in page.titles if each.startswith(("cut: ", f"{FAULT}: "))]
    assert [each.rsplit(", ", 1)[1] for each in told] == ["7.000s to 10.000s", "8.000s to 17.000s"]
    assert FAULT in page.cells


def test_the_chart_shows_that_its_one_partition_had_no_leader(page: ReportPage) -> None:
    not_accepting = places(page.chart("Unhealthy partitions (partitions); not accepting")[0])
    assert max(y for _, y in not_accepting) == 1
    began = next(x for x, y in not_accepting if y)
    assert began == pytest.approx(8 / 30, abs=0.004)


def test_clients_are_told_of_as_the_summary_counts_them(page: ReportPage, lost: RunFolder) -> None:
    assert lost.summary is not None
    # The area, its border, and what was acknowledged; the axis ends above the most that was due.
    *_, offered, acknowledged = (places(each) for each in page.chart("Records of producers"))
    for line, name in ((offered, "offered"), (acknowledged, "acknowledged")):
        drawn = sum(y * (until - x) for (x, y), (until, _) in pairwise(line))
        assert drawn * 400 * 30 == pytest.approx(lost.summary[f"records_{name}"], rel=0.01), name
    ((producer, latency),) = lost.summary["produce_ms"].items()
    # What became of its records comes first, then how long it waited.
    place = page.cells.index(producer)
    assert page.cells[place + 1] == f"{lost.summary['records_offered']:,}"
    assert page.cells[place + 6 : place + 9] == [
        duration_text(latency[each] * 1000) for each in ("p50", "p99", "max")
    ]
    assert "NOT_LEADER_OR_FOLLOWER" in page.cells


def test_the_story_is_of_the_partition_that_lost_most(page: ReportPage, lost: RunFolder) -> None:
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


def test_of_several_runs_it_compares_settings_and_adds_nothing_up(
    lost: RunFolder, held: RunFolder, tmp_path: Path
) -> None:
    found = reported(held.path, lost.path, "--out", tmp_path / "analysis")
    assert found.headings == [
        "Tidegauge: 2 runs",
        "Side by side: acks=-1 and acks=1",
        "What does each setting change, and how certain is that over seeds?",
        "The runs, the worst first",
    ]
    assert lost.summary is not None
    most = f"{lost.summary['records_acknowledged_lost']:,} acknowledged records; "
    assert found.paragraphs[0].startswith(f"1 of 2 runs lost acknowledged records, one {most}")
    assert f"tidegauge report {lost.path}" in found.commands
    assert not any("partition-seconds" in each for each in found.tiles)
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
    assert found.headings[1] == "Side by side: ZooKeeper and KRaft"
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
    assert "The worst partition: story-0" in found.headings


def test_what_is_no_run_is_refused_in_one_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["report", str(tmp_path / "nowhere")])
    assert result.exit_code != 0
    assert "no such folder" in result.output


def test_the_first_screen_names_the_truncation_behind_a_loss(tmp_path: Path) -> None:
    """KIP-101: the fault that elects the short log is not the one that shortened it."""
    simulate(
        load_scenario(shipped_scenarios()["10-truncation-to-high-watermark"]), tmp_path / "run"
    )
    page = reported(tmp_path / "run")
    assert page.paragraphs[1].startswith(
        "2 acknowledged records lost; 1 of 1 partition could not take acks=all writes"
    )
    assert page.paragraphs[2] == (
        "Lost: 2 records of story-0 that broker 2 had acknowledged. Broker 1 led without them "
        "from 24.045s on (death-of-B); it had truncated its log from 5 to 3 at 17.033s "
        "(death-of-A)."
    )
    failover = next(each for each in page.answers if each.startswith("How long did each failover"))
    assert "the longest took 6.0 s, of which" in failover
