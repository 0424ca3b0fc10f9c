"""Several runs: their comparison, and the worst of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidegauge.analysis.questions.run_settings import settings_at
from tidegauge.analysis.questions.sweep import SWEEP
from tidegauge.analysis.report.answers import glossary, grid
from tidegauge.analysis.report.collected import Answers
from tidegauge.analysis.report.one_run import folders_command
from tidegauge.analysis.report.quantities import number_text
from tidegauge.analysis.report.section import (
    Grid,
    Heading,
    Piece,
    Section,
    Tile,
    Tiles,
    Words,
)
from tidegauge.analysis.report.sweep_curves import SAYS, always_zero, sweep_curves
from tidegauge.analysis.tables.run_tables import RunTables
from tidegauge.scenario.text.counted import counted

#: So many runs are listed, the worst first; so many rows of the comparison.
_RUNS = 30
_ROWS = 60
_FIGURES = {
    "records_acknowledged_lost": "lost",
    "partition_seconds_offline": "offline",
    "partition_seconds_not_accepting": "not accepting",
    "partition_seconds_under_min_isr": "under min ISR",
    "isr_shrinks": "ISR shrinks",
    "leader_elections": "elections",
    "unclean_elections": "unclean",
}


def asks(tables: RunTables) -> dict[str, DataFrame]:
    """Figures of the worst runs, of all runs together, and the comparison."""
    figures = tables["run_figures"]
    in_order = [f.desc(name) for name in list(_FIGURES)[:4]]
    return {
        "worst runs": figures.orderBy(*in_order, "run").limit(_RUNS),
        "all runs": figures.agg(
            *(f.sum(name).alias(name) for name in ("records_acknowledged", *_FIGURES)),
            f.sum(f.expr("int(records_acknowledged_lost > 0)")).alias("runs_with_loss"),
        ),
        "sweep": SWEEP.of(tables),
    }


def tells(tables: RunTables, answers: Answers) -> Iterator[Section]:
    """A summary of all runs, the worst of them, and the effects of settings."""
    yield _in_short(tables, answers)
    sweep = answers["sweep"].to_pylist()
    if len({row["setting"] for row in sweep}) > 1 or any(row["seeds"] > 1 for row in sweep):
        yield _comparison(tables, sweep)


def _in_short(tables: RunTables, answers: Answers) -> Section:
    (together,) = answers["all runs"].to_pylist()
    lost = together["records_acknowledged_lost"]
    acknowledged = counted(together["records_acknowledged"], "record")
    verdict = (
        Words(
            f"{counted(lost, 'acknowledged record')} lost, in {together['runs_with_loss']:,} of "
            f"{counted(len(tables.runs), 'run')}, of {acknowledged} acknowledged.",
            "bad",
        )
        if lost
        else Words(f"No acknowledged record was lost in any run: {acknowledged}.", "good")
    )
    worst = answers["worst runs"].to_pylist()
    pieces: list[Piece] = [
        verdict,
        Tiles(
            [
                Tile(number_text(together[name]), title)
                for name, title in (
                    ("partition_seconds_offline", "partition-seconds offline, all runs"),
                    ("partition_seconds_under_min_isr", "partition-seconds under min ISR"),
                    ("isr_shrinks", "ISRs shrunk by leaders"),
                    ("leader_elections", "leaders elected"),
                    ("unclean_elections", "... uncleanly"),
                )
            ]
        ),
        _grid(tables, worst),
    ]
    if len(tables.runs) > len(worst):
        pieces.append(
            Words(f"The {len(worst)} worst of {counted(len(tables.runs), 'run')}.", "note")
        )
    return Section(
        "result",
        "In short",
        f"{counted(len(tables.runs), 'run')}, simulated. The worst come first: those that lost "
        "most acknowledged records, else were offline for longest. Offline, not accepting and "
        "under min ISR are partition-seconds.",
        pieces,
        [folders_command(tables.runs, "--table", "run_figures")],
    )


def _grid(tables: RunTables, worst: Sequence[Mapping[str, Any]]) -> Grid:
    settings = settings_at(tables.runs)
    return Grid(
        [
            Heading("run"),
            Heading(
                "setting", "the differences of its scenario from the others, apart from the seed"
            ),
            Heading("seed", is_number=True),
            *(Heading(title, name, is_number=True) for name, title in _FIGURES.items()),
        ],
        [
            (
                row["run"],
                settings[row["run"]].text,
                str(settings[row["run"]].seed),
                *(number_text(row[name]) for name in _FIGURES),
            )
            for row in worst
        ],
    )


def _comparison(tables: RunTables, sweep: Sequence[Mapping[str, Any]]) -> Section:
    chart = sweep_curves(sweep)
    zero = always_zero(sweep)
    shown = [row for row in sweep if row["figure"] not in zero]
    pieces: list[Piece] = [chart] if chart is not None else []
    if zero:
        names = ", ".join(name.replace("_", " ") for name in zero)
        pieces.append(Words(f"0 in all runs: {names}.", "note"))
    columns = [column for column in SWEEP.columns if column.name != "setting_value"]
    pieces += [grid(columns, shown[:_ROWS]), glossary(columns)]
    if len(shown) > _ROWS:
        pieces.append(Words(f"The first {_ROWS} of {counted(len(shown), 'row')}.", "note"))
    return Section(
        SWEEP.name, SWEEP.asks, SAYS, pieces, [folders_command(tables.runs, "--question", "sweep")]
    )
