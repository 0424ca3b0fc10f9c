"""The tables of ``tidegauge calibrate``: parameters by their defaults, figures by reality."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from tidegauge.real_cluster.costs.calibration import QUANTILES, Calibration, Fitted
from tidegauge.real_cluster.costs.cost_text import default_text
from tidegauge.real_cluster.costs.side_by_side import CLOSER, ComparedTime
from tidegauge.scenario.text.counted import counted
from tidegauge.simulation.durations import parse_duration

_GAP = "  "


def calibration_lines(calibration: Calibration) -> Iterator[str]:
    """Each parameter with its quantiles, count, spread and default; then the others."""
    headings = ["parameter", *QUANTILES, "samples", "spread", "default"]
    rows = [
        [
            each.path,
            *(each.quantile(name) for name in QUANTILES),
            str(each.samples),
            _spread(each),
            default_text(each.part, each.field, calibration),
        ]
        for each in calibration.fitted
    ]
    yield from _table([headings, *rows])
    yield ""
    yield "Sources:"
    for each in calibration.fitted:
        bias = f"; {each.bias}" if each.bias else ""
        yield f"  {each.path}: {', '.join(each.seen_in)}: {each.source}{bias}"
    if calibration.unfitted:
        yield ""
        yield "Parameters that stay at their defaults:"
        for other in calibration.unfitted:
            yield f"  {other.path}: {other.reason}"


def _spread(fitted: Fitted) -> str:
    """How many times as long as the shortest sample the longest one is."""
    if isinstance(fitted.value, str):
        return "-"
    shortest_us, longest_us = (parse_duration(fitted.value[name]) for name in ("min", "max"))
    return f"{longest_us / shortest_us:.3g}x"


def comparison_lines(compared: Sequence[ComparedTime]) -> Iterator[str]:
    """The medians of each time in reality, with default and with calibrated costs."""
    headings = ["median of", "real", "default", "calibrated", "closer"]
    rows = [
        [
            each.measured.title,
            *(
                f"{median(durations):.0f} ms ({len(durations)})"
                for durations in (each.real_ms, each.default_ms, each.calibrated_ms)
            ),
            each.verdict,
        ]
        for each in compared
    ]
    yield from _table([headings, *rows])
    yield ""
    closer = sum(each.verdict == CLOSER for each in compared)
    times = counted(len(compared), "time")
    yield f"Calibrated costs are closer in {closer} of {times}. (n): so many times were seen."


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the first column to the left, the others to the right."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        _GAP.join(
            cell.ljust(width) if not place else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
