"""Fitted parameters as text: a file of costs, a copy of a scenario, the tables of the command."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import yaml

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.real_cluster.costs.calibration import QUANTILES, Calibration, Fitted
from tidegauge.real_cluster.costs.recorded_times import CLOSER, ComparedTime
from tidegauge.scenario.model.costs import Costs
from tidegauge.scenario.model.limits import Resources
from tidegauge.scenario.text.errors import counted
from tidegauge.scenario.text.yaml_file import comment, in_line
from tidegauge.simulation.quantities import parse_duration


class NotBlockStyleError(TidegaugeError):
    """A scenario in which parts cannot be replaced; the message has the reason."""


def cost_file_text(calibration: Calibration, origins: Sequence[str]) -> str:
    """A file for ``--costs``: the fitted parts, and why the other parameters are not in it."""
    lines = [
        *comment(f"Made by `tidegauge calibrate` from {', '.join(origins)}."),
        *comment("Use it with: tidegauge run SCENARIO --costs THIS_FILE"),
    ]
    for part in calibration.parts():
        lines += ["", *_part_lines(calibration, part, {})]
    lines += ["", *_unfitted_lines(calibration)]
    return "\n".join(lines) + "\n"


def scenario_text_with(text: str, calibration: Calibration, origins: Sequence[str]) -> str:
    """The text of a scenario with the fitted parts; all other lines stay as they are.

    Values that the scenario has itself and that are not fitted stay.

    Raises:
        NotBlockStyleError: the parts of the scenario are not lines of their own.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        raise NotBlockStyleError("its parts are not lines of their own: it is in braces")
    lines: list[str | None] = [*text.splitlines()]
    added: list[str] = []
    for part in calibration.parts():
        own: dict[str, Any] = {}
        for key, value in root.value:
            if key.value == part:
                own = yaml.safe_load(text)[part] or {}
                _take_away(lines, key.start_mark.line, value.end_mark)
        made = comment(f"Fitted by `tidegauge calibrate` from {', '.join(origins)}.")
        added += ["", *made, *_part_lines(calibration, part, own)]
    kept = [line for line in lines if line is not None]
    while kept and not kept[-1].strip():
        kept.pop()
    return "\n".join([*kept, *added]) + "\n"


def _take_away(lines: list[str | None], first: int, end: yaml.Mark) -> None:
    """Take away the lines of a part; comments within and behind it stay."""
    last = end.line if end.column else end.line - 1
    for at in range(first, min(last, len(lines) - 1) + 1):
        text = (lines[at] or "").strip()
        if at == first or (text and not text.startswith("#")):
            lines[at] = None


def _part_lines(calibration: Calibration, part: str, own: Mapping[str, Any]) -> Iterator[str]:
    yield f"{part}:"
    fitted = {each.field: each for each in calibration.fitted if each.part == part}
    for field, value in own.items():
        if field not in fitted:
            yield f"  {field}: {in_line(value)}"
    for each in fitted.values():
        yield from (f"  {line}" for line in comment(_remark(each, calibration), "  "))
        value = each.value if isinstance(each.value, str) else dict(each.value)
        yield f"  {each.field}: {in_line(value)}"


def _remark(fitted: Fitted, calibration: Calibration) -> str:
    seen = ", ".join(fitted.seen_in)
    words = [
        f"{counted(fitted.samples, 'sample')} in {seen}: {fitted.source}",
        *([fitted.bias] if fitted.bias else []),
        f"default {default_text(fitted.part, fitted.field, calibration)}",
    ]
    return "; ".join(words)


def _unfitted_lines(calibration: Calibration) -> Iterator[str]:
    yield from comment("Parameters that stay at their defaults, and why:")
    for each in calibration.unfitted:
        yield from comment(f"{each.path}: {each.reason}", "  ")


def default_text(part: str, field: str, calibration: Calibration) -> str:
    """The default of a parameter in the mode, its median if it is a table."""
    model = Costs().in_mode(calibration.mode) if part == "costs" else Resources()
    value = model.model_dump(mode="json")[field]
    return str(value["p50"] if isinstance(value, dict) else value)


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
    """The ratio of the longest sample to the shortest."""
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
