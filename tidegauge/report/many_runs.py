"""Several runs: their comparison, and the worst of them."""

# ruff: noqa: S608 - queries are put together from texts of these rooms

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.questions.run_settings import settings_at
from tidegauge.analysis.questions.sweep import SWEEP
from tidegauge.report import side_by_side
from tidegauge.report.answers import glossary, grid
from tidegauge.report.one_run import folders_command
from tidegauge.report.quantities import number_text, plain_words
from tidegauge.report.section import Grid, Heading, Piece, Section, Tile, Tiles, Words
from tidegauge.report.sweep_curves import SAYS, always_zero, sweep_curves, unchanged
from tidegauge.runs.figures import FIGURES, value_text
from tidegauge.scenario.text.counted import counted

#: So many runs are listed, the worst first; so many rows of the comparison.
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


def sections(tables: RunTables, worst: Sequence[Mapping[str, Any]]) -> Iterator[Section]:
    """A summary of all runs, the effects of settings, and the worst runs."""
    yield _in_short(tables)
    compared = side_by_side.section(tables)
    if compared is not None:
        yield compared
    sweep = SWEEP.of(tables)
    if len({row["setting"] for row in sweep}) > 1 or any(row["seeds"] > 1 for row in sweep):
        yield _comparison(tables, sweep)
    yield _runs(tables, worst)


def _in_short(tables: RunTables) -> Section:
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
    pieces: list[Piece] = [
        verdict,
        Tiles(
            [
                Tile(value_text(together[name], FIGURES[name].unit), FIGURES[name].label)
                for name in _FIGURES[1:]
                if together[name] is not None
            ]
        ),
    ]
    return Section(
        "result",
        "In short",
        f"{counted(len(tables.runs), 'run')}, simulated. The figures are sums over all of them.",
        pieces,
        [folders_command(tables.runs, "--table", "run_figures")],
    )


def _verdict(tables: RunTables, together: Mapping[str, Any]) -> Words:
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
        losses = f"The logs of {runs} do not tell of records"
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
    return Words(f"{losses}; {outages}.", mood)


def _runs(tables: RunTables, worst: Sequence[Mapping[str, Any]]) -> Section:
    pieces: list[Piece] = [_grid(tables, worst)]
    if len(tables.runs) > len(worst):
        pieces.append(
            Words(f"The {len(worst)} worst of {counted(len(tables.runs), 'run')}.", "note")
        )
    return Section(
        "runs",
        "The runs, the worst first",
        "The worst have lost most acknowledged records, or else were stalled for longest.",
        pieces,
        [folders_command(tables.runs, "--table", "run_figures")],
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
    pieces: list[Piece] = [chart] if chart is not None else []
    for text, names in (
        ("0 in all runs", zero),
        ("The same with each setting, to 1 %", unchanged(sweep)),
    ):
        if names:
            listed = ", ".join(plain_words(name) for name in names)
            pieces.append(Words(f"{text}: {listed}.", "note"))
    columns = [column for column in SWEEP.columns if column.name != "setting_value"]
    pieces += [grid(SWEEP.asks, columns, shown[:_ROWS]), glossary(columns)]
    if len(shown) > _ROWS:
        pieces.append(Words(f"The first {_ROWS} of {counted(len(shown), 'row')}.", "note"))
    return Section(
        SWEEP.name, SWEEP.asks, SAYS, pieces, [folders_command(tables.runs, "--question", "sweep")]
    )
