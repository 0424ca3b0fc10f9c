"""The tables of ``tidegauge calibrate``: parameters beside their defaults, figures beside reality."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from tidegauge.calibration.calibration import QUANTILES
from tidegauge.calibration.cost_text import default_text
from tidegauge.scenario.text.counted import counted

if TYPE_CHECKING:
    from rich.console import Console

    from tidegauge.calibration.calibration import Calibration, Fitted
    from tidegauge.calibration.side_by_side import ComparedFigure

_GAP = "  "


def show_calibration(out: Console, calibration: Calibration) -> None:
    """Print each parameter with its quantiles, count, spread and default; then the others."""
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
    if rows:
        for line in _table([headings, *rows]):
            out.print(line, soft_wrap=True)
        out.print("\nSources:")
        for each in calibration.fitted:
            bias = f"; {each.bias}" if each.bias else ""
            seen = ", ".join(each.seen_in)
            out.print(f"  {each.path}: {seen}: {each.source}{bias}", soft_wrap=True, markup=False)
    if calibration.unfitted:
        out.print("\nParameters that stay at their defaults:")
        for other in calibration.unfitted:
            out.print(f"  {other.path}: {other.reason}", soft_wrap=True, markup=False)


def _spread(fitted: Fitted) -> str:
    """How many times as long as the shortest sample the longest one is."""
    from tidegauge.simulation.durations import parse_duration

    if isinstance(fitted.value, str):
        return "-"
    shortest_us, longest_us = (parse_duration(fitted.value[name]) for name in ("min", "max"))
    return f"{longest_us / shortest_us:.3g}x"


def show_comparison(out: Console, compared: Sequence[ComparedFigure]) -> None:
    """Print the medians of each figure in reality, with default and with calibrated costs."""
    headings = ["median of", "real", "default", "calibrated", "closer"]
    rows = [
        [
            each.figure.title,
            *(
                f"{median(durations):.0f} ms ({len(durations)})"
                for durations in (each.real_ms, each.default_ms, each.calibrated_ms)
            ),
            "yes" if each.is_closer else "no",
        ]
        for each in compared
    ]
    for line in _table([headings, *rows]):
        out.print(line, soft_wrap=True)
    closer = sum(each.is_closer for each in compared)
    figures = counted(len(compared), "figure")
    out.print(f"\nCalibrated costs are closer in {closer} of {figures}; (n): times that were seen.")


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
