"""How time and memory grow with a cluster, and what a run costs: fitted from measured runs.

The runs are those of ``bench/size.py``. Three things are made from their results:

* exponents: set-up, a virtual second of the loop, and memory in proportion to brokers**a *
  partitions**b * rate**c, by least squares of logarithms, for each mode. The chart of
  ``docs/fidelity.md`` shows them with the runs, and its table has the largest runs;
* ``engine/run_costs.yaml``: the cost of each broker, replica, pair, event, from which ``validate``
  predicts. No cost is negative, and errors count in proportion to what is measured.

A machine that is busy takes more wall time, so times are those of processors, or of the wall where
that is less.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls  # type: ignore[import-untyped]  # it comes without types

from bench.size import CASES, GIB, Case, Size, Span, results
from tidegauge.engine.prediction import COSTS, Amounts, RunCosts, cost_of
from tidegauge.replication.release_versions import DEFAULT_RELEASES, Mode

DOCS = Path(__file__).parents[1] / "docs"
CHART = DOCS / "growth.svg"
PAGE = DOCS / "fidelity.md"
#: The line of the page after which the table of a script stands, and the one at its end.
_TABLE_BEGIN, _TABLE_END = "<!-- {} -->", "<!-- end -->"
#: Exponents of three quantities and a factor need more runs.
_FEWEST_RUNS = 5

_CONTENT = ("start", "brokers", "kraft_partitions", "zookeeper_partitions", "replicas", "pairs")
#: The amounts that each part of a run pays for.
TERMS = {
    "set_up_us": (*_CONTENT, "targets"),
    "loop_ns": (
        *("producers", "followers", "idle", "consumers", "scanned", "periodic", "control"),
        *("retries", "distant"),
    ),
    "end_us": (
        *("start", "brokers", "kraft_partitions", "zookeeper_partitions", "control"),
        "recovering",
    ),
    "memory_bytes": (*_CONTENT, "targets", "control"),
}


def worked_s(*spans: Span) -> float:
    """The time that parts of a run take on an idle machine, in seconds."""
    return sum(min(span) for span in spans)


#: What each part of a run was measured to cost.
MEASURED: Mapping[str, Callable[[Size], float]] = {
    "set_up_us": lambda size: worked_s(size.set_up) * 1e6,
    "loop_ns": lambda size: worked_s(size.up, size.clients) * 1e9,
    "end_us": lambda size: worked_s(size.end) * 1e6,
    "memory_bytes": lambda size: size.peak_bytes,
}


class Growth(NamedTuple):
    """A quantity that grows with the size of a cluster."""

    title: str
    unit: str
    of: Callable[[Size], float]


GROWN = (
    Growth("set-up", "s", lambda size: worked_s(size.set_up)),
    Growth(
        "loop", "s for each virtual s", lambda size: worked_s(size.clients) / size.clients_virtual_s
    ),
    Growth("memory", "GiB", lambda size: size.peak_bytes / GIB),
)


class Power(NamedTuple):
    """factor * brokers**a * partitions**b * rate**c."""

    factor: float
    brokers: float
    partitions: float
    rate: float

    def of(self, case: Case) -> float:
        """The value for a case."""
        return float(
            self.factor
            * case.brokers**self.brokers
            * case.partitions**self.partitions
            * case.batches_per_second**self.rate
        )

    def __str__(self) -> str:
        return f"brokers^{self.brokers:.2f} partitions^{self.partitions:.2f} rate^{self.rate:.2f}"


def power_of(runs: Mapping[Case, Size], growth: Growth) -> Power:
    """The exponents by which a quantity grows."""
    rows = [
        (1.0, *np.log((case.brokers, case.partitions, case.batches_per_second))) for case in runs
    ]
    values = np.log([growth.of(size) for size in runs.values()])
    factor, *exponents = np.linalg.lstsq(np.array(rows), values, rcond=None)[0].tolist()
    return Power(float(np.exp(factor)), *exponents)


def growing(runs: Mapping[Case, Size], mode: Mode) -> dict[Case, Size]:
    """The runs with producers and without losses that differ in size only."""
    return {
        case: size
        for case, size in runs.items()
        if case.mode == mode
        and case.batches_per_second
        and not case.loses
        and not case.consumer_groups
        and case.replicas == CASES[f"million {mode}"].replicas
    }


# Costs.


def fitted_costs(sizes: Sequence[Size]) -> RunCosts:
    """The costs of all amounts, for a machine of the median calibration."""
    usual_ns = float(np.median([size.machine_ns for size in sizes]))
    paces = np.array([size.machine_ns / usual_ns for size in sizes])
    parts = {}
    for part, terms in TERMS.items():
        values = np.array([MEASURED[part](size) for size in sizes])
        if part != "memory_bytes":
            values = values / paces
        parts[part] = _fitted(terms, sizes, values)
    return RunCosts(usual_ns, **parts)


def _fitted(
    terms: Sequence[str], sizes: Sequence[Size], values: NDArray[np.float64]
) -> dict[str, float]:
    """Costs that are not negative; of relative errors the squares are least."""
    amounts = np.array([[size.amounts[term] for term in terms] for size in sizes])
    costs, _ = nnls(amounts / values[:, None], np.ones(len(values)))
    return {term: float(f"{cost:.4g}") for term, cost in zip(terms, costs, strict=True) if cost}


def write_costs(costs: RunCosts) -> None:
    """Write the file that predictions read."""
    lines = [
        "# Written by `python -m bench.growth`: the cost of each unit of a run's amounts, which",
        "# `engine/prediction.py` describes. Amounts without cost are left out.",
        f"machine_ns: {costs.machine_ns:.4g}",
    ]
    for part in TERMS:
        lines.append(f"{part}:")
        lines += [f"  {name}: {cost:.12g}" for name, cost in getattr(costs, part).items()]
    COSTS.write_text("\n".join(lines) + "\n")


def errors(costs: RunCosts, runs: Mapping[Case, Size]) -> Iterator[tuple[Case, float, float]]:
    """Of each run: predicted to measured time, and memory."""
    for case, size in runs.items():
        amounts = Amounts(**size.amounts)
        pace = size.machine_ns / costs.machine_ns
        seconds = pace * (
            cost_of(amounts, costs.set_up_us) / 1e6
            + cost_of(amounts, costs.loop_ns) / 1e9
            + cost_of(amounts, costs.end_us) / 1e6
        )
        took_s = worked_s(size.set_up, size.up, size.clients, size.end)
        memory_bytes = cost_of(amounts, costs.memory_bytes)
        yield case, seconds / took_s, memory_bytes / size.peak_bytes


# The chart and the table.

_PANEL, _HEIGHT, _LEFT, _TOP, _BOTTOM = 300, 300, 46, 44, 40
_COLOURS = dict(zip(DEFAULT_RELEASES, ("#c2571a", "#1f6f8b"), strict=True))


class Axis(NamedTuple):
    """A logarithmic axis: whole powers of ten, on so many pixels."""

    low: int
    high: int
    from_px: float
    to_px: float

    def px(self, value: float) -> float:
        """The place of a value."""
        part = (float(np.log10(value)) - self.low) / (self.high - self.low)
        return self.from_px + part * (self.to_px - self.from_px)

    @property
    def ticks(self) -> list[float]:
        """The powers of ten."""
        return [10.0**power for power in range(self.low, self.high + 1)]


def axis_of(values: Sequence[float], from_px: float, to_px: float) -> Axis:
    """The axis that has room for all of these values."""
    low, high = (np.log10(f(values)) for f in (min, max))
    return Axis(int(np.floor(low)), int(np.ceil(high)), from_px, to_px)


def chart(fits: Mapping[Mode, Mapping[Case, Size]]) -> str:
    """The chart: a dot for each run, a line where the exponents have it."""
    width = _PANEL * len(GROWN)
    runs = {case: size for found in fits.values() for case, size in found.items()}
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT}" '
            f'width="{width}" height="{_HEIGHT}" font-family="sans-serif" font-size="11">'
        ),
        f'<rect width="{width}" height="{_HEIGHT}" fill="white"/>',
    ]
    for place, growth in enumerate(GROWN):
        left = place * _PANEL + _LEFT
        across = axis_of([case.partitions for case in runs], left, (place + 1) * _PANEL - 12)
        up = axis_of([growth.of(size) for size in runs.values()], _HEIGHT - _BOTTOM, _TOP)
        lines += _frame(growth, across, up)
        for row, (mode, found) in enumerate(fits.items()):
            power = power_of(found, growth)
            colour = _COLOURS[mode]
            lines.append(
                f'<text x="{left}" y="{26 + 12 * row}" font-size="10" fill="{colour}">'
                f"{mode} ~ {power}</text>"
            )
            lines += _dots(found, growth, power, colour, across, up)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _frame(growth: Growth, across: Axis, up: Axis) -> Iterator[str]:
    """The title, the axes and their ticks."""
    title = f"{growth.title}, {growth.unit}"
    yield f'<text x="{across.from_px}" y="13" font-weight="bold">{title}</text>'
    for value in up.ticks:
        y = up.px(value)
        yield f'<path d="M{across.from_px} {y:.1f}H{across.to_px}" stroke="#ddd"/>'
        yield f'<text x="{across.from_px - 5}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
    for value in across.ticks:
        x = across.px(value)
        yield f'<path d="M{x:.1f} {up.to_px}V{up.from_px}" stroke="#ddd"/>'
        yield f'<text x="{x:.1f}" y="{up.from_px + 14}" text-anchor="middle">{value:,.0f}</text>'
    yield (
        f'<text x="{(across.from_px + across.to_px) / 2}" y="{up.from_px + 30}" '
        'text-anchor="middle">partitions</text>'
    )


def _dots(
    runs: Mapping[Case, Size], growth: Growth, power: Power, colour: str, across: Axis, up: Axis
) -> Iterator[str]:
    """The runs, larger with more brokers, and lines at what the exponents have."""
    for case, size in runs.items():
        x, y, at = across.px(case.partitions), up.px(growth.of(size)), up.px(power.of(case))
        radius = 1 + float(np.log10(case.brokers))
        title = f"{case.brokers:,} brokers, {case.batches_per_second:,} batches/s"
        yield (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}" '
            f'fill-opacity="0.6"><title>{title}</title></circle>'
        )
        yield f'<path d="M{x - 6:.1f} {at:.1f}h12" stroke="{colour}"/>'


def table(runs: Mapping[Case, Size]) -> list[str]:
    """The largest runs as lines of a table in Markdown."""
    lines = [
        "| cluster | mode | set-up | loop | memory |",
        "|---|---|---|---|---|",
    ]
    for case, size in runs.items():
        if case.name.startswith(("idle", "rack", "million")):
            load = f"{case.batches_per_second:,} batches a second"
            lost = ", a rack lost" * (case.loses == "rack")
            cluster = f"{case.brokers:,} brokers, {case.partitions:,} partitions, "
            cluster += load + lost if case.batches_per_second else "idle"
            lines.append(
                f"| {cluster} | {case.mode} | {worked_s(size.set_up):.0f} s "
                f"| {size.clients_virtual_s / worked_s(size.clients):.2g} times real time "
                f"| {size.peak_bytes / GIB:.1f} GiB |"
            )
    return lines


def write_table(script: str, lines: Sequence[str]) -> None:
    """Put the table of a script into its place on the page."""
    before, begin, rest = PAGE.read_text().partition(_TABLE_BEGIN.format(script))
    _, end, after = rest.partition(_TABLE_END)
    assert end, f"{PAGE}: has no place for the table of {script}"
    PAGE.write_text("\n".join([before + begin, *lines, end + after]))


def main() -> None:
    """Fit all from the results that are there, and print how well it fits."""
    runs = {CASES[key]: size for key, size in results().items()}
    costs = fitted_costs([*runs.values()])
    write_costs(costs)
    print("predicted / measured                   time    memory")
    for case, in_time, in_memory in errors(costs, runs):
        print(f"{case.key:39}{in_time:<8.2f}{in_memory:.2f}")
    fits = {mode: growing(runs, mode) for mode in DEFAULT_RELEASES}
    fits = {mode: found for mode, found in fits.items() if len(found) >= _FEWEST_RUNS}
    for mode, found in fits.items():
        for growth in GROWN:
            print(f"{mode}, {growth.title}: {power_of(found, growth)}")
    CHART.write_text(chart(fits))
    write_table("bench/growth.py", table(runs))


if __name__ == "__main__":
    main()
