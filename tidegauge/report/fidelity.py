"""The basis of the results: chance, the cost model, the limits, and how to repeat the run."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tidegauge.replication.release_versions import MODE_NAMES
from tidegauge.report.one_run import OneRun
from tidegauge.report.quantities import duration_text
from tidegauge.report.section import Commands, Folded, Grid, Heading, Piece, Section, Words
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
    return Section("basis", "What it depends on", [*_pieces(run)])


def _pieces(run: OneRun) -> Iterator[Piece]:
    if run.is_of_logs:
        yield Words("The times are those of the lines of the logs.")
        yield Words(_OF_LOGS)
        return
    yield from _chance(run)
    yield Words(
        "Absolute times depend on a cost model. Defaults were measured on other brokers than "
        "yours, or are plausible values: measure them on yours before you rely on milliseconds, "
        "and set them in the scenario."
    )
    yield Words(_LIMITS)
    if run.figures["figures_from_seconds"]:
        since = duration_text(run.figures["figures_from_seconds"] * 1e6)
        yield Words(f"Figures begin {since} after the start: start-up does not count.", "note")
    if run.summary is None:
        yield Words("The used parameters are known when the run is over.", "note")
    else:
        used = [_Leaned(name, **each) for name, each in run.summary["cost_model"].items()]
        answer = f"most time went to {used[0].name}: {duration_text(used[0].seconds * 1e6)}."
        yield Folded("Parameters of the cost model:", answer, [_grid(run, used)])
    yield _again(run)


def _chance(run: OneRun) -> Iterator[Piece]:
    decided = run.manifest.get("left_to_chance")
    if decided:
        yield Words(f"This is one seed, and chance has decided: {'; '.join(decided)}.")
        yield Commands([each for each in [run.manifest["over_seeds"]] if each])


def _again(run: OneRun) -> Piece:
    """Commands, and their expected results."""
    trace = (
        "unknown before the end of the run" if run.summary is None else run.summary["trace_sha256"]
    )
    facts = [
        ("Tidegauge", str(run.manifest["tidegauge"])),
        ("scenario, seed", f"{run.scenario['name']}, {run.manifest['seed']}"),
        ("trace", f"{run.manifest['trace']}, schema {run.manifest['schema_version']}"),
        ("trace_sha256", trace),
        ("folder", str(run.run.folder)),
    ]
    return Folded(
        "How to repeat the run:",
        "the same scenario, seed and release of Tidegauge give the same hash.",
        [
            Grid("What the run is", [Heading("Fact"), Heading("Value")], facts),
            Commands([run.command(name, "RUN") for name in ("replay", "report")]),
        ],
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
                _meaning(run, field),
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


def _meaning(run: OneRun, field: str) -> str:
    """The description of a parameter, without sentences about the other control plane."""
    described: Any = Costs.model_fields[field]
    (other,) = (name for mode, name in MODE_NAMES.items() if mode != run.scenario["mode"])
    sentences = str(described.description).rstrip(".").split(". ")
    return f"{'. '.join(each for each in sentences if other not in each)}."
