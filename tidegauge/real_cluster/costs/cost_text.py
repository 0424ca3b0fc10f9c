"""Fitted parameters as YAML: a file of their own, or a copy of a scenario that has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.real_cluster.costs.calibration import Calibration, Fitted
from tidegauge.scenario.model.costs import Costs
from tidegauge.scenario.model.resources import Resources
from tidegauge.scenario.text.counted import counted
from tidegauge.scenario.text.written_yaml import comment, in_line


class NotBlockStyleError(TidegaugeError):
    """A scenario in which parts cannot be replaced; the message says what is wrong."""


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
