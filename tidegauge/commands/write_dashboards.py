"""``tidegauge dashboards``: files for Prometheus and Grafana, to watch a live run."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from tidegauge.compiled.errors import TidegaugeError

#: Folders of the package ``tidegauge.deploy`` that are written.
_FOLDERS = ("grafana", "prometheus")


def write_dashboards(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder for the files; new or empty.")
    ],
) -> None:
    """Write Grafana's dashboard, alert rules and Prometheus's configuration to a folder.

    The files are for a run that serves metrics (`tidegauge run SCENARIO --metrics 9404`). The
    file COVERAGE.md beside them has the meaning of each metric, and the panels of other
    dashboards that stay empty.

    \b
    Examples:
      tidegauge dashboards watching
      prometheus --config.file=watching/prometheus/prometheus.yml
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise TidegaugeError(f"{folder}: is not an empty folder, and no file is overwritten")
    for path, source in _files():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
        typer.echo(target)


def _files() -> Iterator[tuple[Path, Traversable]]:
    """Each file, and its path in the folder."""
    for name in _FOLDERS:
        yield from _files_in(files("tidegauge.deploy") / name, Path(name))
    yield Path("COVERAGE.md"), files("tidegauge.metrics") / "COVERAGE.md"


def _files_in(folder: Traversable, path: Path) -> Iterator[tuple[Path, Traversable]]:
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.is_dir():
            yield from _files_in(each, path / each.name)
        else:
            yield path / each.name, each
