"""Several runs: the effect of each setting, with confidence intervals, and the worst of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.questions.sweep import SWEEP, settings_at
from tidegauge.report import section, side_by_side
from tidegauge.report.answers import glossary, grid
from tidegauge.report.charts import GOOD, LANE, LANE_LOWER, WARNING, axis, lanes, layout
from tidegauge.report.one_run import folders_command
from tidegauge.report.quantities import number_text, plain_words
from tidegauge.runs.figures import FIGURES, value_text
from tidegauge.scenario.text.errors import counted

#: An answer has a row for each figure and setting.
Answer = Sequence[Mapping[str, Any]]

_CURVE = 220
#: The most settings with a line each, where they are names.
_SETTINGS = 40
#: Means that differ by no more than this part of them are the same.
_NEARLY = 0.01

#: Explanation of the chart.
SAYS = (
    "A line or a dot is the mean over seeds, with the confidence interval of the mean (95 %). A "
    "circle is the worst run. Where intervals overlap, more seeds may distinguish the settings. A "
    "figure that is 0 in most runs has no interval: the table counts the runs above 0."
)


def sweep_curves(answer: Answer) -> section.SideBySide | None:
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
    return section.SideBySide(
        [draw(_title(name, rows), rows[:_SETTINGS]) for name, rows in drawn.items()]
    )


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


_KEYS = (section.Key("mean over seeds", GOOD), section.Key("worst run", WARNING))


def _curve(title: str, rows: Answer) -> section.Chart:
    rows = sorted(rows, key=lambda row: row["setting_value"])
    at = [row["setting_value"] for row in rows]
    low = [_known(row, "low") for row in rows]
    high = [_known(row, "high") for row in rows]
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "95 % of the mean",
            "x": at + at[::-1],
            "y": high + low[::-1],
            "fill": "toself",
            "fillcolor": "var(--sure)",
            "line": {"width": 0},
            "hoverinfo": "skip",
        },
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "mean",
            "x": at,
            "y": [row["mean"] for row in rows],
            "text": [_text(row) for row in rows],
            "hovertemplate": "%{text}<extra></extra>",
            "line": {"color": GOOD, "width": 2},
        },
        {**_worst(rows), "x": at, "y": [row["worst"] for row in rows]},
    ]
    setting = section.plain(rows[0]["setting"].partition("=")[0])
    whole = layout(
        _CURVE,
        xaxis=axis(setting, fixedrange=True, nticks=5),
        yaxis=axis(fixedrange=True, nticks=5, rangemode="tozero", tickformat=",~r"),
        margin={"l": 60, "r": 14, "t": 8, "b": 48},
    )
    return section.Chart(title, data, whole, _KEYS)


def _intervals(title: str, rows: Answer) -> section.Chart:
    mean = [row["mean"] for row in rows]
    y = [place + LANE_LOWER for place in range(len(rows))]
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "mean, and 95 % of it",
            "x": mean,
            "y": y,
            "text": [_text(row) for row in rows],
            "hovertemplate": "%{text}<extra></extra>",
            "marker": {"color": GOOD, "size": 9},
            "error_x": {
                "type": "data",
                "symmetric": False,
                "color": GOOD,
                "thickness": 2,
                "array": [_known(row, "high") - row["mean"] for row in rows],
                "arrayminus": [row["mean"] - _known(row, "low") for row in rows],
            },
        },
        {**_worst(rows), "x": [row["worst"] for row in rows], "y": y},
    ]
    whole = layout(
        LANE * len(rows) + 40,
        xaxis=axis(fixedrange=True, nticks=5, rangemode="tozero", tickformat=",~r"),
        margin={"l": 14, "r": 14, "t": 8, "b": 32},
        **lanes([_setting_name(row) for row in rows]),
    )
    return section.Chart(title, data, whole, _KEYS)


def _worst(rows: Answer) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "worst run",
        "text": [section.plain(f"{row['worst_in']}: {row['worst']:,.4g}") for row in rows],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": WARNING, "symbol": "circle-open", "size": 8},
    }


def _known(row: Mapping[str, Any], side: str) -> float:
    """The border of an interval; where it is not known, the mean."""
    value = row["mean"] if row[side] is None else row[side]
    return float(value)


def _setting_name(row: Mapping[str, Any]) -> str:
    return str(row["setting"] or "as the scenario is")


def _text(row: Mapping[str, Any]) -> str:
    sure = "" if row["low"] is None else f" ({row['low']:,.4g} to {row['high']:,.4g})"
    above = f", above 0 in {row['above_zero']:,} of {counted(row['seeds'], 'seed')}"
    return f"{section.plain(_setting_name(row))}: {row['mean']:,.4g}{sure}{above}"


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


def worst_runs(tables: RunTables) -> list[dict[str, Any]]:
    """The figures of the worst runs, the worst one first; there is at least one."""
    return tables.rows(
        f"select * from run_figures order by {', '.join(f'{name} desc' for name in _WORST_BY)},"
        f" run limit {_RUNS}"
    )


def sections(tables: RunTables, worst: Sequence[Mapping[str, Any]]) -> Iterator[section.Section]:
    """A summary of all runs, the effects of settings, and the worst runs."""
    yield _in_short(tables)
    compared = side_by_side.section(tables)
    if compared is not None:
        yield compared
    sweep = SWEEP.of(tables)
    if len({row["setting"] for row in sweep}) > 1 or any(row["seeds"] > 1 for row in sweep):
        yield _comparison(tables, sweep)
    yield _worst_runs(tables, worst)


def _in_short(tables: RunTables) -> section.Section:
    sums = ", ".join(
        f"sum({name} order by run) as {name}" for name in ("records_acknowledged", *_FIGURES)
    )
    (together,) = tables.rows(
        f"select {sums}, count_if(records_acknowledged_lost > 0) as runs_with_loss,"
        " count_if(partition_seconds_stalled > 0) as runs_stalled,"
        " max(partition_seconds_stalled) as most_stalled, max(longest_stall_seconds) as longest"
        " from run_figures"
    )
    verdict = _verdict(tables, together)
    pieces: list[section.Piece] = [
        verdict,
        section.Tiles(
            [
                section.Tile(value_text(together[name], FIGURES[name].unit), FIGURES[name].label)
                for name in _FIGURES[1:]
                if together[name] is not None
            ]
        ),
    ]
    return section.Section(
        "result",
        "In short",
        f"{counted(len(tables.runs), 'run')}, simulated. The figures are sums over all of them.",
        pieces,
        [folders_command(tables.runs, "--table", "run_figures")],
    )


def _verdict(tables: RunTables, together: Mapping[str, Any]) -> section.Words:
    """The result in one sentence."""
    runs = counted(len(tables.runs), "run")
    lost = together["records_acknowledged_lost"]
    known = together["records_acknowledged"]
    acknowledged = f"{known or 0:,} acknowledged"
    losses = (
        f"{counted(lost, 'acknowledged record')} lost, in {together['runs_with_loss']:,} of "
        f"{runs}, of {acknowledged}"
        if lost
        else f"No acknowledged record lost in {runs}, of {acknowledged}"
    )
    if known is None:
        losses = f"The logs of {runs} have no records"
    outages = "nor of producers"
    if together["runs_stalled"]:
        outages = (
            f"in {together['runs_stalled']:,} of them partitions stalled for producers, in the "
            f"worst for {number_text(together['most_stalled'])} partition-seconds, one for up to "
            f"{number_text(together['longest'])} s"
        )
    elif together["most_stalled"] is not None:
        outages = "no partition stalled for producers"
    mood = "verdict bad" if lost or together["runs_stalled"] else "verdict good"
    return section.Words(f"{losses}; {outages}.", mood)


def _worst_runs(tables: RunTables, worst: Sequence[Mapping[str, Any]]) -> section.Section:
    pieces: list[section.Piece] = [_grid(tables, worst)]
    if len(tables.runs) > len(worst):
        pieces.append(
            section.Words(f"The {len(worst)} worst of {counted(len(tables.runs), 'run')}.", "note")
        )
    return section.Section(
        "runs",
        "The runs, the worst first",
        "The worst have lost most acknowledged records, or else were stalled for longest.",
        pieces,
        [folders_command(tables.runs, "--table", "run_figures")],
    )


def _grid(tables: RunTables, worst: Sequence[Mapping[str, Any]]) -> section.Grid:
    settings = settings_at(tables.runs)
    return section.Grid(
        "Figures of the worst runs",
        [
            section.Heading("Run"),
            section.Heading(
                "Setting", "the differences of its scenario from the others, apart from the seed"
            ),
            section.Heading("Seed", is_number=True),
            *(section.Heading(FIGURES[name].label, name, is_number=True) for name in _FIGURES),
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


def _comparison(tables: RunTables, sweep: Sequence[Mapping[str, Any]]) -> section.Section:
    chart = sweep_curves(sweep)
    zero = always_zero(sweep)
    shown = [row for row in sweep if row["figure"] not in zero]
    pieces: list[section.Piece] = [chart] if chart is not None else []
    for text, names in (
        ("0 in all runs", zero),
        ("The same with each setting, to 1 %", unchanged(sweep)),
    ):
        if names:
            listed = ", ".join(plain_words(name) for name in names)
            pieces.append(section.Words(f"{text}: {listed}.", "note"))
    columns = [column for column in SWEEP.columns if column.name != "setting_value"]
    pieces += [grid(SWEEP.asks, columns, shown[:_ROWS]), glossary(columns)]
    if len(shown) > _ROWS:
        pieces.append(section.Words(f"The first {_ROWS} of {counted(len(shown), 'row')}.", "note"))
    return section.Section(
        SWEEP.name, SWEEP.asks, SAYS, pieces, [folders_command(tables.runs, "--question", "sweep")]
    )
