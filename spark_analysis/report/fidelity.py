"""What the answer leans on: the parameters of the cost model, and where the simulation ends."""

from __future__ import annotations

from typing import Any, NamedTuple

from pyspark.sql import DataFrame

from tidegauge.scenario.model.costs import Costs, Latency
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.spark_analysis.report.collected import Answers
from tidegauge.spark_analysis.report.one_run import OneRun
from tidegauge.spark_analysis.report.quantities import duration_text
from tidegauge.spark_analysis.report.section import Grid, Heading, Piece, Section, Words

_LIMITS = (
    "Simulated are the rules of replication, elections and ISRs of this release, with ZooKeeper, "
    "and how long each step takes by the parameters below. Records are counts without content; "
    "there is no KRaft, no compaction, no transaction and no tiered storage. The README lists all "
    "that is simplified."
)
_ORIGIN = "of the scenario"


class _Leaned(NamedTuple):
    """A parameter that was used."""

    name: str
    times: int
    seconds: float


def asks(_run: OneRun) -> dict[str, DataFrame]:
    """Nothing: it stands in the manifest and the summary."""
    return {}


def tells(run: OneRun, _answers: Answers) -> Section:
    """The parameters, those that came to most first."""
    pieces: list[Piece] = [Words(_LIMITS)]
    if run.summary is None:
        pieces.append(Words("Which parameters were used is known when the run is over.", "note"))
    else:
        used = [_Leaned(name, **each) for name, each in run.summary["cost_model"].items()]
        pieces.append(_grid(run, used))
    return Section(
        "fidelity",
        "What this answer leans on",
        "Absolute times depend on a cost model. What has a default was measured on somebody "
        "else's brokers, or is plausible: measure it on yours before you rely on milliseconds, "
        "and set it in the scenario.",
        pieces,
        [run.command("show", "RUN", "--controller")],
    )


def _grid(run: OneRun, used: list[_Leaned]) -> Grid:
    costs = scenario_from_mapping(run.scenario, run.run.name).costs
    defaults = Costs()
    rows = []
    for each in used:
        field = each.name.removeprefix("costs.")
        latency: Latency = getattr(costs, field)
        is_default = latency == getattr(defaults, field)
        rows.append(
            (
                each.name,
                duration_text(latency.quantiles_us()[8]),
                f"{each.times:,}",
                duration_text(each.seconds * 1e6),
                "default" if is_default else _ORIGIN,
                _meaning(field),
            )
        )
    return Grid(
        [
            Heading("parameter", "its path in a scenario"),
            Heading("median", "half of the time it takes no longer", is_number=True),
            Heading("asked for", "how often", is_number=True),
            Heading("in all", "all that it came to", is_number=True),
            Heading("value"),
            Heading("what it is, and where its default comes from"),
        ],
        rows,
    )


def _meaning(field: str) -> str:
    described: Any = Costs.model_fields[field]
    return str(described.description)
