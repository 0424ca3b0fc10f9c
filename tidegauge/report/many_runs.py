"""Several runs: the effect of each setting, with confidence intervals, and the worst of them.

Nothing is added up over runs: they differ in their settings.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.questions.compared_runs import settings_at
from tidegauge.analysis.questions.sweep import SWEEP
from tidegauge.analysis.requests import from_here
from tidegauge.report import side_by_side
from tidegauge.report.answers import glossary, grid
from tidegauge.report.charts import (
    GOOD,
    WARNING,
    Axis,
    Between,
    Chart,
    Dot,
    Dots,
    Key,
    Line,
    Mark,
    SideBySide,
    Span,
    Spans,
    in_lane,
)
from tidegauge.report.one_run import folders_command
from tidegauge.report.quantities import number_text, plain_words
from tidegauge.report.section import Commands, Folded, Grid, Heading, Piece, Section, Words
from tidegauge.runs.figures import FIGURES, value_text
from tidegauge.scenario.text.errors import counted

#: An answer has a row for each figure and setting.
Answer = Sequence[Mapping[str, Any]]

#: The most settings with a line each, where they are names.
_SETTINGS = 20
#: Means that differ by no more than this part of them are the same.
_NEARLY = 0.01

#: Explanation of the chart.
SAYS = (
    "A line or a dot is the mean over seeds, with the confidence interval of the mean (95 %). A "
    "circle is the worst run. Where intervals overlap, more seeds may distinguish the settings. A "
    "figure that is 0 in most runs has no interval: the table counts the runs above 0."
)


def sweep_curves(answer: Answer) -> SideBySide | None:
    """Curves over a setting that is a number, else means and intervals by setting.

    None if no figure is other than 0 in any run. Figures that settings do not change are left out.
    """
    figures = _by_figure(answer)
    drawn = {name: rows for name, rows in figures.items() if any(row["largest"] for row in rows)}
    same = unchanged(answer)
    drawn = {name: rows for name, rows in drawn.items() if name not in same}
    if not drawn:
        return None
    draw = _curve if all(row["setting_value"] is not None for row in answer) else _intervals
    return SideBySide([draw(_title(name, rows), rows[:_SETTINGS]) for name, rows in drawn.items()])


def always_zero(answer: Answer) -> list[str]:
    """The figures that are 0 in all runs."""
    figures = _by_figure(answer)
    return [name for name, rows in figures.items() if not any(row["largest"] for row in rows)]


def unchanged(answer: Answer) -> list[str]:
    """The figures other than 0 that are the same with each of several settings, or nearly so."""
    found = []
    for name, rows in _by_figure(answer).items():
        means = [abs(row["mean"]) for row in rows]
        if len(rows) > 1 and 0 < max(means) <= (1 + _NEARLY) * min(means):
            found.append(name)
    return found


def _by_figure(answer: Answer) -> dict[str, list[Mapping[str, Any]]]:
    figures: dict[str, list[Mapping[str, Any]]] = {}
    for row in answer:
        figures.setdefault(row["figure"], []).append(row)
    return figures


def _title(name: str, rows: Answer) -> str:
    words = plain_words(name.replace("_ms of ", " of "))
    unit = rows[0]["unit"]
    title = f"{words[0].upper()}{words[1:]}"
    return f"{title} ({unit})" if unit and unit not in words else title


_KEYS = (Key("mean over seeds", GOOD), Key("worst run", WARNING))


def _curve(title: str, rows: Answer) -> Chart:
    rows = sorted(rows, key=lambda row: row["setting_value"])
    low, mean, high = (
        [(row["setting_value"], _known(row, name)) for row in rows]
        for name in ("low", "mean", "high")
    )
    marks: list[Mark] = [
        Between([(x, max(0.0, y)) for x, y in low], high, GOOD),
        Line(mean, GOOD),
        Dots([Dot(at, _text(row)) for at, row in zip(mean, rows, strict=True)], GOOD),
        _worst(rows, [(row["setting_value"], row["worst"]) for row in rows]),
    ]
    setting = rows[0]["setting"].partition("=")[0]
    most = max(row["setting_value"] for row in rows)
    up = Axis(_most(rows)).rounded_up()
    return Chart(f"{title}, by {setting}", Axis(most), marks, _KEYS, up)


def _intervals(title: str, rows: Answer) -> Chart:
    lanes = [_setting_name(row) for row in rows]
    at = [in_lane(lane, len(rows)) for lane in range(len(rows))]
    sure = [
        Span(lane, max(0.0, _known(row, "low")), _known(row, "high"), _text(row))
        for lane, row in enumerate(rows)
    ]
    means = [Dot((row["mean"], y), _text(row)) for row, y in zip(rows, at, strict=True)]
    worst = _worst(rows, [(row["worst"], y) for row, y in zip(rows, at, strict=True)])
    marks: list[Mark] = [Spans(sure, GOOD, height=3), Dots(means, GOOD), worst]
    return Chart(title, Axis(_most(rows)).rounded_up(), marks, _KEYS, lanes=lanes)


def _most(rows: Answer) -> float:
    return max(float(max(_known(row, "high"), row["worst"])) for row in rows)


def _worst(rows: Answer, places: Sequence[tuple[float, float]]) -> Dots:
    says = (f"{row['worst_in']}: {row['worst']:,.4g}" for row in rows)
    dots = [Dot(*each) for each in zip(places, says, strict=True)]
    return Dots(dots, WARNING, is_hollow=True)


def _known(row: Mapping[str, Any], side: str) -> float:
    """The border of an interval; where it is not known, the mean."""
    value = row["mean"] if row[side] is None else row[side]
    return float(value)


def _setting_name(row: Mapping[str, Any]) -> str:
    return str(row["setting"] or "as the scenario is")


def _text(row: Mapping[str, Any]) -> str:
    sure = "" if row["low"] is None else f" ({row['low']:,.4g} to {row['high']:,.4g})"
    above = f", above 0 in {row['above_zero']:,} of {counted(row['seeds'], 'seed')}"
    return f"{_setting_name(row)}: {row['mean']:,.4g}{sure}{above}"


# ruff: noqa: S608 - queries are put together from texts of these rooms


#: The number of runs that are listed, the worst first; and of rows of the comparison.
_RUNS = 30
_ROWS = 60
#: The figures of each run; the first of them make a run the worst, the most important first.
_FIGURES = (
    *("records_acknowledged_lost", "partition_seconds_stalled", "partition_seconds_not_accepting"),
    *("partition_seconds_offline", "partition_seconds_under_min_isr"),
    *("isr_shrinks", "leader_elections", "unclean_elections"),
)
_WORST_BY = _FIGURES[:5]


def compared(tables: RunTables) -> tuple[list[Piece], list[Section]]:
    """The result of all runs; side by side, the effects of settings, and the worst runs."""
    worst = tables.rows(
        f"select * from run_figures order by {', '.join(f'{name} desc' for name in _WORST_BY)},"
        f" run limit {_RUNS}"
    )
    sweep = SWEEP.of(tables)
    sections = [side_by_side.section(tables)]
    if len({row["setting"] for row in sweep}) > 1 or any(row["seeds"] > 1 for row in sweep):
        sections.append(_comparison(tables, sweep))
    sections.append(_worst_runs(tables, worst))
    return [_verdict(tables)], [each for each in sections if each is not None]


def _verdict(tables: RunTables) -> Words:
    """The result in one sentence."""
    (found,) = tables.rows(
        "select count(records_acknowledged) as known,"
        " count_if(records_acknowledged_lost > 0) as with_loss,"
        " max(records_acknowledged_lost) as most_lost,"
        " count_if(partition_seconds_stalled > 0) as stalled,"
        " max(partition_seconds_stalled) as most_stalled, max(longest_stall_seconds) as longest"
        " from run_figures"
    )
    runs = counted(len(tables.runs), "run")
    losses = f"No acknowledged record lost in {runs}"
    if found["with_loss"]:
        most = counted(found["most_lost"], "acknowledged record")
        losses = f"{found['with_loss']:,} of {runs} lost acknowledged records, one {most}"
    if not found["known"]:
        losses = f"The logs of {runs} have no records"
    outages = "nor of producers"
    if found["stalled"]:
        outages = (
            f"in {found['stalled']:,} of them partitions stalled for producers, in the worst for "
            f"{number_text(found['most_stalled'])} partition-seconds, one for up to "
            f"{number_text(found['longest'])} s"
        )
    elif found["most_stalled"] is not None:
        outages = "no partition stalled for producers"
    is_bad = found["with_loss"] or found["stalled"]
    return Words(f"{losses}; {outages}.", "verdict bad" if is_bad else "verdict good")


def _worst_runs(tables: RunTables, worst: Sequence[Mapping[str, Any]]) -> Section:
    says = "The worst have lost most acknowledged records, or else were stalled for longest."
    if len(tables.runs) > len(worst):
        says += f" These are the {len(worst)} worst of {counted(len(tables.runs), 'run')}."
    (run,) = (each for each in tables.runs if each.name == worst[0]["run"])
    of_worst = shlex.join(["tidegauge", "report", str(from_here(run.folder))])
    commands = Commands([of_worst, folders_command(tables.runs, "--table", "run_figures")])
    return Section(
        "runs",
        "The runs, the worst first",
        [Words(says, "note"), _grid(tables, worst), commands],
    )


def _grid(tables: RunTables, worst: Sequence[Mapping[str, Any]]) -> Grid:
    settings = settings_at(tables.runs)
    return Grid(
        "Figures of the worst runs",
        [
            Heading("Run"),
            Heading(
                "Setting", "the differences of its scenario from the others, apart from the seed"
            ),
            Heading("Seed", is_number=True),
            *(Heading(FIGURES[name].label, name, is_number=True) for name in _FIGURES),
        ],
        [
            (
                row["run"],
                settings[row["run"]].text,
                str(settings[row["run"]].seed),
                *(
                    "-" if row[name] is None else value_text(row[name], FIGURES[name].unit)
                    for name in _FIGURES
                ),
            )
            for row in worst
        ],
    )


def _comparison(tables: RunTables, sweep: Sequence[Mapping[str, Any]]) -> Section:
    chart = sweep_curves(sweep)
    zero = always_zero(sweep)
    shown = [row for row in sweep if row["figure"] not in zero]
    pieces: list[Piece] = [Words(SAYS, "note")]
    pieces += [chart] if chart is not None else []
    for text, names in (
        ("0 in all runs", zero),
        ("The same with each setting, to 1 %", unchanged(sweep)),
    ):
        if names:
            listed = ", ".join(plain_words(name) for name in names)
            pieces.append(Words(f"{text}: {listed}.", "note"))
    columns = [column for column in SWEEP.columns if column.name not in _OF_CHARTS]
    first = f"The first {_ROWS} of " if len(shown) > _ROWS else ""
    pieces += [
        Folded(
            "The figures of each setting:",
            f"{first}{counted(len(shown), 'row')}.",
            [grid(SWEEP.asks, columns, shown[:_ROWS]), glossary(columns)],
        ),
        Commands([folders_command(tables.runs, "--question", "sweep")]),
    ]
    return Section(SWEEP.name, SWEEP.asks, pieces)


#: Columns of the answer that only charts need.
_OF_CHARTS = frozenset({"setting_value", "largest_in"})
