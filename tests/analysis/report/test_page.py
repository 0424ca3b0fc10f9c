"""The page of a report is one file that fetches nothing, whatever the names in it are like."""

from __future__ import annotations

import pytest

from report_page import ReportPage
from tidegauge.analysis.tables.result_table import Column
from tidegauge.report.charts import GOOD, layout
from tidegauge.report.many_runs import always_zero, sweep_curves, unchanged
from tidegauge.report.page import page
from tidegauge.report.quantities import column_title, duration_text, value_text
from tidegauge.report.section import (
    Chart,
    Grid,
    Heading,
    Key,
    Piece,
    Section,
    SideBySide,
    Span,
    Tile,
    Tiles,
    Words,
    Zoom,
    plain,
)
from tidegauge.simulation.quantities import time_text

#: The name of a fault can be anything.
WILD = """</script><script src="//x"></script>&amp;<b onclick='x'>"""
MEGABYTE = 1_000_000


def wild_section() -> Section:
    chart = Chart(WILD, [{"type": "bar", "y": [plain(WILD)]}], layout(100), [Key(WILD, GOOD)])
    grid = Grid(WILD, [Heading(WILD, WILD)], [[WILD]])
    pieces: list[Piece] = [Words(WILD), Tiles([Tile(WILD, WILD)]), grid, chart]
    pieces += [Zoom([Span(WILD, 0, 1)]), SideBySide([chart])]
    return Section("wild", WILD, WILD, pieces, [WILD])


def test_nothing_is_fetched_and_the_browser_is_told_to_refuse_it() -> None:
    found = ReportPage(page("runs/first", [wild_section()]))
    assert found.addresses == ["#wild", "#wild"]
    assert found.policy.startswith("default-src 'none'")
    assert "link" not in found.tags


def test_plotly_is_in_it_once_and_it_stays_small() -> None:
    text = page("runs/first", [wild_section()] * 3)
    assert text.count("plotly.js v") == 1
    assert MEGABYTE < len(text.encode()) < 6 * MEGABYTE


def test_a_page_without_charts_is_without_the_library_that_draws_them() -> None:
    words = Section("words", "Words", "They are read.", [Words("Nothing happened.")])
    assert len(page("runs/first", [words]).encode()) < MEGABYTE // 10


def test_names_are_shown_as_they_are_and_never_become_elements() -> None:
    found = ReportPage(page(WILD, [wild_section()]))
    assert found.headings == [WILD, WILD]
    assert (found.commands, found.cells) == ([WILD], [WILD])
    assert "b" in found.tags  # of a tile, and of nothing else
    assert page(WILD, [wild_section()]).count("<b ") == 0
    # What plotly is given it would read tags in, so they are escaped once more.
    chart = found.charts[0]
    assert chart["data"][0]["y"] == [plain(WILD)]
    assert "<" not in plain(WILD)


@pytest.mark.parametrize(
    ("value", "unit", "name", "text"),
    [
        (None, "us", "total_us", ""),
        (812, "us", "total_us", "812 us"),
        (16_350_000, "us", "detection_us", "16.4 s"),
        (16_350_000, "us", "begin_us", "16.350s"),
        (10_000, "ms", "lag_ms", "10.0 s"),
        ([1, 2, 3], "broker id", "isr", "1,2,3"),
        (1_001, "broker id", "broker", "1001"),
        (23_121.04, "s", "partition_seconds_offline", "23,121.0"),
        (99.5, "%", "online_percent", "99.5 %"),
        (True, "", "unclean", "yes"),
        ("under_min_isr", "", "condition", "under min ISR"),
        ("audit_log", "", "topic", "audit_log"),
    ],
)
def test_values_are_told_with_their_unit(value: object, unit: str, name: str, text: str) -> None:
    assert value_text(value, unit, name) == text


@pytest.mark.parametrize(
    ("name", "unit", "title"),
    [
        ("partition_seconds_under_min_isr", "s", "Partition seconds under min ISR"),
        ("p50_us", "us", "Median"),
        ("lag_ms", "ms", "Lag"),
    ],
)
def test_columns_have_plain_titles(name: str, unit: str, title: str) -> None:
    assert column_title(Column(name, "double", unit, "")) == title


def test_durations_and_moments_roll_over_as_clocks_do() -> None:
    assert [duration_text(each) for each in (999_999, 119_960_000, 3_599_600_000)] == [
        "1.0 s",
        "2 min 0 s",
        "1 h 0 min",
    ]
    assert [time_text(each) for each in (59_999_600, 3_600_000_000)] == ["59.999s", "3600.000s"]


def sweep_row(figure: str, setting: float, seeds: int, mean: float) -> dict[str, object]:
    sure = None if seeds == 1 else 2.0
    return {
        "figure": figure,
        "unit": "/h",
        "setting": f"replica.lag.time.max.ms={setting:g}",
        "setting_value": setting,
        "seeds": seeds,
        "above_zero": seeds,
        "mean": mean,
        "low": None if sure is None else mean - sure,
        "high": None if sure is None else mean + sure,
        "largest": 2 * mean,
        "worst": 2 * mean,
        "worst_in": "seed-7",
    }


def only_chart(rows: list[dict[str, object]]) -> Chart:
    found = sweep_curves(rows)
    assert found is not None
    (chart,) = found.charts
    return chart


def test_a_setting_that_is_a_number_has_a_curve_with_a_band() -> None:
    rows = [sweep_row("isr_shrinks_per_hour", x, 15, 600 / x) for x in (60, 10, 30)]
    chart = only_chart(rows)
    assert chart.title == "ISR shrinks per hour (/h)"
    band, mean, worst = chart.data
    assert (mean["x"], mean["y"]) == ([10, 30, 60], [60, 20, 10])
    assert (band["x"], band["y"]) == ([10, 30, 60, 60, 30, 10], [62, 22, 12, 8, 18, 58])
    assert worst["y"] == [120, 40, 20]


def test_of_a_single_run_no_more_is_said_than_is_known() -> None:
    chart = only_chart([sweep_row("isr_shrinks_per_hour", x, 1, 600 / x) for x in (10, 30)])
    assert chart.data[0]["y"] == [60, 20, 20, 60]


def test_settings_that_are_names_have_a_lane_each() -> None:
    rows = [sweep_row("unclean_elections", x, 15, x) | {"setting_value": None} for x in (1, 2)]
    chart = only_chart(rows)
    assert [each["text"] for each in chart.layout["annotations"]] == [
        "replica.lag.time.max.ms=1",
        "replica.lag.time.max.ms=2",
    ]
    assert chart.data[0]["error_x"]["array"] == [2, 2]


def test_what_is_0_in_all_runs_is_not_drawn() -> None:
    rows = [sweep_row("unclean_elections", x, 3, 0) for x in (1, 2)]
    assert sweep_curves(rows) is None
    assert always_zero(rows) == ["unclean_elections"]


def test_what_settings_do_not_change_is_not_drawn() -> None:
    rows = [sweep_row("isr_shrinks", x, 3, 600 + x) for x in (1, 2)]
    rows += [sweep_row("leader_elections", x, 3, 10 * x) for x in (1, 2)]
    assert unchanged(rows) == ["isr_shrinks"]
    assert only_chart(rows).title == "Leader elections (/h)"
