"""``tidegauge releases``: the differences between releases of Kafka."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.kraft_releases import KRAFT_CELLS, kraft_cells_of
from tidegauge.replication.kraft_rules import KRaftRules
from tidegauge.replication.release_defaults import DEFAULTS, default_cells_of
from tidegauge.replication.release_rules import ReleaseRules
from tidegauge.replication.release_versions import (
    KRAFT_MODE,
    ZOOKEEPER_MODE,
    Cell,
    Release,
    Table,
    all_releases,
)
from tidegauge.replication.releases import (
    DEFAULT_RELEASE,
    RULE_CELLS,
    checkpoint_format_of,
    rule_cells_of,
    value_name,
)
from tidegauge.views.output import WIDTH, console, print_json

#: Columns of a name in the output.
NAME_WIDTH = 47


def show_releases(
    release: Annotated[
        str | None,
        typer.Argument(help="A release such as 2.6.3, or a line such as 2.6 for its last patch."),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            help="inter.broker.protocol.version of the brokers, or with KRaft metadata.version of "
            "the cluster. Default: the release's own.",
        ),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            metavar="MODE",
            help="zookeeper (up to 3.9) or kraft (from 3.3). Default: zookeeper up to 3.9.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the same as JSON, with all sources.")
    ] = False,
) -> None:
    """Show the rules and defaults of a release.

    Without a release the command prints the differences between releases.

    Each rule is a switch from Kafka's source. The method and release of the source are printed
    with it.

    \b
    Examples:
      tidegauge releases                           each rule, and where it changed
      tidegauge releases 2.6                       rules and defaults of 2.6.3
      tidegauge releases 2.0.0                     rules and defaults of 2.0.0
      tidegauge releases 2.6.3 --protocol 0.10.2   with the protocol of 0.10.2
      tidegauge releases 3.9 --mode kraft          without ZooKeeper
      tidegauge releases 4.1 --protocol 4.0        with metadata.version 4.0-IV3
      tidegauge releases 2.6 --json                JSON for programs
    """
    for option, value, example in (("protocol", protocol, "2.0"), ("mode", mode, "kraft")):
        if release is None and value is not None:
            raise TidegaugeError(
                f"--{option} needs a release, as in: tidegauge releases 3.9 --{option} {example}"
            )
    try:
        if as_json:
            print_json(_changes() if release is None else _one(release, protocol, mode))
        elif release is None:
            _show_changes(console())
        else:
            _show_one(console(), release, protocol, mode)
    except ValueError as error:
        raise TidegaugeError(str(error)) from error


def _show_changes(console: Console) -> None:
    releases, with_kraft = all_releases(ZOOKEEPER_MODE), all_releases(KRAFT_MODE)
    console.print(
        f"Releases {releases[0]} to {releases[-1]} with ZooKeeper, {with_kraft[0]} to "
        f"{with_kraft[-1]} with KRaft. Default: {DEFAULT_RELEASE}.\n"
        "A row has its first value, then each release that changes it. 'if' means: only with that\n"
        "inter.broker.protocol.version or a newer one (with KRaft: metadata.version), or only in\n"
        "that mode. The last applicable value counts."
    )
    _print_histories(console, "rule", RULE_CELLS)
    _print_histories(console, "rule of KRaft", KRAFT_CELLS)
    first = str(releases[0])
    changing = {
        name: cells for name, cells in DEFAULTS.items() if len(cells) > 1 or cells[0].since != first
    }
    _print_histories(console, "default", changing)


def _show_one(console: Console, release: str, protocol: str | None, mode: str | None) -> None:
    parsed = Release.parse(release)
    chosen = parsed.mode(mode)
    version = parsed.version(chosen, protocol)
    spoken = (
        f"Release {parsed} with KRaft, metadata.version {version}"
        if chosen == KRAFT_MODE
        else f"Release {parsed} with ZooKeeper, inter.broker.protocol.version {version}"
    )
    console.print(f"{spoken}, reads checkpoint files as {checkpoint_format_of(release).name}")
    _print_sourced(console, "Rules", rule_cells_of(release, protocol, chosen))
    if chosen == KRAFT_MODE:
        _print_sourced(console, "Rules of KRaft", kraft_cells_of(release, protocol))
    _print_sourced(console, "Defaults", default_cells_of(release, chosen))


def _changes() -> dict[str, Any]:
    """All values of each rule and default, the first one first."""
    return {
        "releases": [str(release) for release in all_releases()],
        "default_release": DEFAULT_RELEASE,
        "rules": {name: [_cell(cell) for cell in cells] for name, cells in RULE_CELLS.items()},
        "kraft_rules": {
            name: [_cell(cell) for cell in cells] for name, cells in KRAFT_CELLS.items()
        },
        "defaults": {name: [_cell(cell) for cell in cells] for name, cells in DEFAULTS.items()},
    }


def _one(release: str, protocol: str | None, mode: str | None) -> dict[str, Any]:
    """The rules and defaults of one release, and the source of each."""
    parsed = Release.parse(release)
    chosen = parsed.mode(mode)
    defaults = default_cells_of(release, chosen)
    has_kraft = chosen == KRAFT_MODE
    return {
        "release": str(parsed),
        "mode": chosen,
        "metadata_version" if has_kraft else "protocol": str(parsed.version(chosen, protocol)),
        "checkpoint_format": checkpoint_format_of(release).name,
        "rules": _meant(rule_cells_of(release, protocol, chosen)),
        "kraft_rules": _meant(kraft_cells_of(release, protocol)) if has_kraft else {},
        "defaults": {name: _cell(cell) for name, cell in defaults.items()},
    }


def _meant(rules: Mapping[str, Cell]) -> dict[str, Any]:
    """Rules with their meanings."""
    meanings = switch_meanings()
    return {name: {**_cell(cell), "meaning": meanings.get(name)} for name, cell in rules.items()}


def _cell(cell: Cell) -> dict[str, Any]:
    """A value for programs: true, -1, or the name of a constant of the rules."""
    is_constant = type(cell.value) not in {bool, int, str}
    value = value_name(cell.value) if is_constant else cell.value
    return {**cell._asdict(), "value": value}


def _history(cells: tuple[Cell, ...]) -> Text:
    """``no, 2.7.0 if 2.7-IV2: yes, 3.1.0: no``, the releases in colour; long ones in lines."""
    parts = []
    for cell in cells:
        part = Text()
        if cell.since != str(all_releases()[0]) or cell.mode is not None:
            conditions = [each for each in (cell.protocol, cell.mode) if each is not None]
            condition = f" if {' and '.join(conditions)}" if conditions else ""
            part.append(f"{cell.since}{condition}", style="bold cyan").append(": ")
        parts.append(part.append(value_name(cell.value)))
    line = Text(", ").join(parts)
    return line if len(line) <= WIDTH - NAME_WIDTH else Text("\n").join(parts)


def _print_histories(console: Console, title: str, rows: Table) -> None:
    grid = Grid(title, "value", box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=0)
    grid.columns[0].width = NAME_WIDTH
    for name, cells in rows.items():
        grid.add_row(name, _history(cells))
    console.print("", grid, sep="\n")


def _print_sourced(console: Console, title: str, cells: Mapping[str, Cell]) -> None:
    """Print each name with its value; below it the meaning and the source."""
    meanings = switch_meanings()
    console.print("", Text(title, style="bold"), sep="\n")
    for name, cell in cells.items():
        console.print(Text(name.ljust(NAME_WIDTH)).append(value_name(cell.value), style="bold"))
        if name in meanings:
            console.print(Text(f"    {meanings[name]}"))
        console.print(Text(f"    {cell.source}", style="dim"))


def switch_meanings() -> dict[str, str]:
    """The meaning of each switch: the comment above its field in its record."""
    meanings: dict[str, str] = {}
    comment: list[str] = []
    sources = inspect.getsource(ReleaseRules) + inspect.getsource(KRaftRules)
    for line in map(str.strip, sources.splitlines()):
        if line.startswith("#:"):
            comment.append(line.removeprefix("#:").strip())
        elif comment:
            meanings[line.partition(":")[0]] = " ".join(comment).replace("``", "")
            comment = []
    return meanings
