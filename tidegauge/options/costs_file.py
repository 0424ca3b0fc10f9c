"""The file of ``--costs``: costs and resources of a cluster, from ``tidegauge calibrate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.scenario.text.yaml_file import read_scenario_file

_PARTS = ("costs", "resources")

CostsFile = Annotated[
    Path | None,
    typer.Option(
        "--costs",
        metavar="FILE",
        help="Costs and resources of a real cluster, as `tidegauge calibrate` writes them.",
    ),
]


def costs_in(file: Path) -> dict[str, object]:
    """The values of a file by their paths in a scenario; the command ends if it has others."""
    data = read_scenario_file(file).data
    if not isinstance(data, dict) or not data or not set(data) <= set(_PARTS):
        raise TidegaugeError(f"{file}: must have {' and '.join(_PARTS)}, and nothing else")
    values: dict[str, object] = {}
    for part, fields in data.items():
        if not isinstance(fields, dict):
            raise TidegaugeError(
                f"{file}: {part}: must be a mapping, with a line for each parameter"
            )
        values |= {f"{part}.{field}": value for field, value in fields.items()}
    return values
