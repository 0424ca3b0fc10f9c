"""The costs of faults in words and numbers, for people: on the terminal and in the report."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from tidegauge.analysis.over_seeds import over_seeds
from tidegauge.runs.fault_costs import (
    FaultCosts,
    FigureCosts,
    Part,
    caused_by,
    none,
    rest,
    saved_without,
    together,
    whole,
)
from tidegauge.runs.figures import value_text
from tidegauge.scenario.text.errors import counted

#: The most figures in one sentence, and the least change of one, by the figure.
_TOLD = 5
_LEAST_SHARE = Decimal("0.001")

_NOTHING = "no figure above differs by 0.1 % or more"

#: From so many milliseconds on a latency is in seconds; from so much on one decimal is enough.
_MANY_MS = 1000
_SOME = 10


def title_of(costs: FaultCosts) -> str:
    """The runs that costs are made of."""
    seeds = f"seed {costs.seeds[0]}" if len(costs.seeds) == 1 else f"{len(costs.seeds)} seeds"
    judged = counted(len(costs.faults), "fault")
    if costs.others:
        judged += f" of {len(costs.faults) + costs.others}, while the others stay"
    runs = counted(costs.runs, "more run")
    if costs.from_snapshots:
        runs += f", {costs.from_snapshots} of them from a snapshot"
    return f"{costs.scenario}, {seeds}: {judged}; {runs}"


def headings_of(costs: FaultCosts) -> list[str]:
    """The headings of a table: of values, then of what each fault causes, and they together."""
    return ["with all", "with none", *costs.faults, *["together"] * (len(costs.faults) > 1)]


def cells_of(costs: FaultCosts, figure: FigureCosts) -> Iterator[str]:
    """The row of a figure below these headings."""
    yield part_text(figure, whole, signed=False)
    yield part_text(figure, none, signed=False)
    for place in range(len(costs.faults)):
        yield part_text(figure, caused_by(frozenset({place})))
    if len(costs.faults) > 1:
        yield part_text(figure, together)


def sentences_of(costs: FaultCosts, figures: Sequence[FigureCosts]) -> Iterator[tuple[str, str]]:
    """Words about these figures: what sets of faults cause, and what would differ without each."""
    # The table has what the only pair causes.
    for faults in costs.sets if len(costs.faults) > 2 else ():  # noqa: PLR2004 - a pair
        said = _largest(figures, caused_by(faults)) if len(faults) > 1 else ""
        if said:
            yield f"only {costs.name_of(faults)}", said
    if costs.rest_name is not None:
        yield costs.rest_name, _largest(figures, rest) or _NOTHING
    for place, fault in enumerate(costs.faults):
        yield f"without {fault}", _largest(figures, saved_without(place)) or _NOTHING


def part_text(figure: FigureCosts, part: Part, *, signed: bool = True) -> str:
    """A part of a figure: with several seeds their median, the least and the most."""
    values = [float(value) for value in figure.values(part)]
    unit = figure.figure.unit
    if unit == "ms" and max(map(abs, values)) >= _MANY_MS:
        values, unit = [value / 1000 for value in values], "s"
    median, low, high = over_seeds(values).p50, min(values), max(values)
    texts = [_number_text(value, unit, signed=signed) for value in (median, low, high)]
    text = texts[0] if low == high else "{} ({}..{})".format(*texts)
    return f"{text} {unit}" if unit in {"s", "ms"} and text != "0" else text


def _number_text(value: float, unit: str, *, signed: bool) -> str:
    size = abs(value) if abs(value) < _SOME else round(abs(value), 1)
    text = value_text(size, unit).removesuffix(" s")
    if text == "0":
        return text
    return f"-{text}" if value < 0 else f"+{text}" if signed else text


def _largest(figures: Sequence[FigureCosts], part: Part) -> str:
    """The largest changes of some figures; empty: there is none that matters."""
    changed = [each for each in figures if _share(each, part) >= _LEAST_SHARE]
    changed.sort(key=lambda each: _share(each, part), reverse=True)
    more = f"; and {counted(len(changed) - _TOLD, 'more figure')}" if len(changed) > _TOLD else ""
    return "; ".join(_words(each, part) for each in changed[:_TOLD]) + more


def _share(figure: FigureCosts, part: Part) -> Decimal:
    """The size of a part by that of its figure, the most with any seed."""
    return max(
        abs(part(costs)) / max(abs(costs.whole), abs(part(costs)), Decimal(1))
        for costs in figure.by_seed
    )


def _words(figure: FigureCosts, part: Part) -> str:
    is_word = not figure.label.startswith("ISR")
    label = f"{figure.label[:1].lower()}{figure.label[1:]}" if is_word else figure.label
    return f"{label} {part_text(figure, part)}"
