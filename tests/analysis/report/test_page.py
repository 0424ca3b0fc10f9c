"""The page of a report is one file that fetches nothing, whatever the names in it are like."""

from __future__ import annotations

import pytest

from report_page import ReportPage
from tidegauge.analysis.tables.result_table import Column
from tidegauge.report.charts import (
    GOOD,
    WARNING,
    Axis,
    Bars,
    Between,
    Chart,
    Dot,
    Dots,
    Key,
    Line,
    Mark,
    Place,
    SideBySide,
    Span,
    Spans,
)
from tidegauge.report.many_runs import always_zero, sweep_curves, unchanged
from tidegauge.report.page import page
from tidegauge.report.quantities import column_title, duration_text, value_text
from tidegauge.report.section import (
    Commands,
    Folded,
    Glossary,
    Grid,
    Heading,
    Piece,
    Section,
    Tile,
    Tiles,
    Words,
)
from tidegauge.simulation.quantities import time_text

#: The name of a fault can be anything.
WILD = """</script><script src="//x"></script>&amp;<b onclick='x'>"""


def wild_page() -> ReportPage:
    marks: list[Mark] = [Spans([Span(0, 0, 1, WILD)], GOOD), Dots([Dot((1, 0), WILD)], GOOD)]
    chart = Chart(WILD, Axis(2), marks, [Key(WILD, GOOD, WILD)], lanes=[WILD])
    grid = Grid(WILD, [Heading(WILD, WILD)], [[WILD]])
    pieces: list[Piece] = [Words(WILD), Tiles([Tile(WILD, WILD)]), grid, SideBySide([chart])]
    pieces += [Folded(WILD, WILD, [Glossary([(WILD, WILD)])]), Commands([WILD])]
    return ReportPage(page(WILD, [Words(WILD)], [Section("wild", WILD, pieces)]))


def test_nothing_is_fetched_and_the_browser_is_told_to_refuse_it() -> None:
    found = wild_page()
    assert found.addresses == ["#wild"]
    assert found.policy.startswith("default-src 'none'")
    assert "link" not in found.tags


def test_names_are_shown_as_they_are_and_never_become_elements() -> None:
    found = wild_page()
    assert found.headings == [WILD, WILD]
    assert (found.commands, found.cells, found.captions) == ([WILD], [WILD], [WILD])
    assert found.paragraphs == [WILD, WILD]
    assert found.answers == [f"{WILD} {WILD}", "Meanings of the columns"]
    assert found.titles == [WILD, WILD, WILD]  # of the page, and of the pointer on a bar and a dot
    assert [*found.charts] == [f"{WILD}; {WILD}: {WILD}; {WILD}"]
    assert "onclick" not in found.tags


@pytest.mark.parametrize(
    ("most", "is_whole", "end", "ticks"),
    [
        (240, False, 300, [0, 100, 200, 300]),
        (1, True, 1, [0, 1]),
        (0.7, False, 1, [0, 0.5, 1]),
        (6, True, 6, [0, 2, 4, 6]),
        (0, False, 1, [0, 0.5, 1]),
        (28_135, False, 30_000, [0, 10_000, 20_000, 30_000]),
    ],
)
def test_axes_end_at_a_tick(most: float, is_whole: bool, end: float, ticks: list[float]) -> None:
    axis = Axis(most, is_whole=is_whole).rounded_up()
    assert axis.most == end
    assert axis.ticks(3) == ticks


def test_series_are_drawn_where_their_values_are() -> None:
    """Paths are drawn in a square of 1,000 that the browser stretches; up is 0."""
    along, up = Axis(10), Axis(4)
    line: list[Place] = [(0, 0), (5, 2), (10, 4)]
    assert 'd="M0 1000L500 500L1000 0"' in Line(line, GOOD).svg(along, up)
    assert 'd="M0 1000H500V500H1000V0"' in Line(line, GOOD, is_step=True).svg(along, up)
    # A bar stands on those of the series below it.
    assert 'd="M500 750V250H600V750z"' in Bars([(5, 2)], 1, GOOD, {5: 1}).svg(along, up)
    assert 'cx="50%" cy="25%"' in Dots([Dot((5, 3), "")], GOOD).svg(along, up)
    assert 'x="20%" y="61" width="30%"' in Spans([Span(1, 2, 5, "")], GOOD).svg(along, up)


def test_of_thousands_of_faults_those_that_nothing_is_seen_between_are_one() -> None:
    faults = [{"begin_us": 10_000 * nth, "end_us": 10_000 * nth + 5_000} for nth in range(10_000)]
    faults.append({"begin_us": 200_000_000, "end_us": 250_000_000})
    few, many = (
        Chart("", Axis(300), [], up=Axis(1), faults=some).html() for some in (faults[-2:], faults)
    )
    assert few.count('class="band"') == many.count('class="band"') == 2
    assert 'x="0%" height="100%" width="33.33%"' in many
    assert 'x="66.67%" height="100%" width="16.67%"' in many


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
    assert chart.title == "ISR shrinks per hour (/h), by replica.lag.time.max.ms"
    band, mean, _, worst = chart.marks
    assert mean == Line([(10, 60), (30, 20), (60, 10)], GOOD)
    assert band == Between([(10, 58), (30, 18), (60, 8)], [(10, 62), (30, 22), (60, 12)], GOOD)
    assert worst == Dots(
        [Dot((x, 1200 / x), f"seed-7: {1200 / x:g}") for x in (10, 30, 60)], WARNING, is_hollow=True
    )


def test_of_a_single_run_no_more_is_said_than_is_known() -> None:
    chart = only_chart([sweep_row("isr_shrinks_per_hour", x, 1, 600 / x) for x in (10, 30)])
    assert chart.marks[0] == Between([(10, 60), (30, 20)], [(10, 60), (30, 20)], GOOD)


def test_settings_that_are_names_have_a_lane_each() -> None:
    rows = [sweep_row("unclean_elections", x, 15, 3 * x) | {"setting_value": None} for x in (1, 2)]
    chart = only_chart(rows)
    assert chart.lanes == ["replica.lag.time.max.ms=1", "replica.lag.time.max.ms=2"]
    (sure, *_) = chart.marks
    assert isinstance(sure, Spans)
    assert [(each.lane, each.begin, each.end) for each in sure.spans] == [(0, 1, 5), (1, 4, 8)]


def test_what_is_0_in_all_runs_is_not_drawn() -> None:
    rows = [sweep_row("unclean_elections", x, 3, 0) for x in (1, 2)]
    assert sweep_curves(rows) is None
    assert always_zero(rows) == ["unclean_elections"]


def test_what_settings_do_not_change_is_not_drawn() -> None:
    rows = [sweep_row("isr_shrinks", x, 3, 600 + x) for x in (1, 2)]
    rows += [sweep_row("leader_elections", x, 3, 10 * x) for x in (1, 2)]
    assert unchanged(rows) == ["isr_shrinks"]
    assert only_chart(rows).title.startswith("Leader elections (/h)")
