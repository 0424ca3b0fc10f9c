"""The basis of the results: the parameters of the cost model, and the limits of the simulation."""

from typing import Any, NamedTuple

from tidegauge.report.one_run import OneRun
from tidegauge.report.quantities import duration_text
from tidegauge.report.section import Grid, Heading, Piece, Section, Words
from tidegauge.scenario.model.costs import Costs, Latency
from tidegauge.scenario.reading import scenario_from_mapping

_LIMITS = (
    "The simulation has the rules of replication, elections and ISRs of this release, with its "
    "control plane; the duration of each step follows from the parameters below. Records are "
    "counts without content; compaction, transactions and tiered storage are not simulated. The "
    "docs/limits.md lists all simplifications."
)
_OF_LOGS = (
    "Logs have the states of partitions, changes of ISRs, elections, brokers and controllers. They "
    "do not have records, acknowledgements, requests or clients: such figures are absent. Clocks "
    "of nodes are corrected by estimated offsets, which manifest.json has."
)
_ORIGIN = "of the scenario"


class _Leaned(NamedTuple):
    """A parameter that was used."""

    name: str
    times: int
    seconds: float


def section(run: OneRun) -> Section:
    """The parameters, those with the largest sums first."""
    if run.is_of_logs:
        return Section(
            "fidelity",
            "Basis of these results",
            "These are the logs of a real cluster, and their times are those of its lines.",
            [Words(_OF_LOGS)],
            [run.command("show", "controller", "RUN")],
        )
    pieces: list[Piece] = [Words(_LIMITS)]
    if run.summary is None:
        pieces.append(Words("The used parameters are known when the run is over.", "note"))
    else:
        used = [_Leaned(name, **each) for name, each in run.summary["cost_model"].items()]
        pieces.append(_grid(run, used))
    return Section(
        "fidelity",
        "Basis of these results",
        "Absolute times depend on a cost model. Defaults were measured on other brokers than "
        "yours, or are plausible values: measure them on yours before you rely on milliseconds, "
        "and set them in the scenario.",
        pieces,
        [run.command("show", "controller", "RUN")],
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
        "Parameters of the cost model that the run used",
        [
            Heading("Parameter", "its path in a scenario"),
            Heading("Median", "the median of its draws", is_number=True),
            Heading("Used", "number of draws", is_number=True),
            Heading("In all", "the sum of all draws", is_number=True),
            Heading("Value"),
            Heading("Meaning, and source of the default"),
        ],
        rows,
    )


def _meaning(field: str) -> str:
    described: Any = Costs.model_fields[field]
    return str(described.description)
