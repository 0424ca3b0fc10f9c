"""``tidegauge releases``: the differences between releases of Kafka."""

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from tidegauge.commands.rule_options import ReleasesOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication import release_versions
from tidegauge.replication.ablations import ABLATIONS, switches_of
from tidegauge.replication.kraft_releases import KRAFT_CELLS, KRaftRules, kraft_cells_of
from tidegauge.replication.release_defaults import DEFAULTS, default_cells_of
from tidegauge.replication.release_rules import ReleaseRules
from tidegauge.replication.releases import (
    RULE_CELLS,
    checkpoint_format_of,
    rule_cells_of,
    value_name,
)
from tidegauge.views.output import WIDTH, console, print_hanging, print_json

#: Columns of a name in the output.
NAME_WIDTH = 47


def show_releases(options: ReleasesOptions) -> None:
    """Perform ``tidegauge releases``."""
    for option, value, example in (
        ("protocol", options.protocol, "2.0"),
        ("mode", options.mode, "kraft"),
    ):
        if options.release is None and value is not None:
            raise TidegaugeError(
                f"--{option} needs a release, as in: tidegauge releases 3.9 --{option} {example}"
            )
    if options.other is not None and options.protocol is not None:
        raise TidegaugeError("--protocol is that of one release, and two are compared")
    if options.ablations:
        if options.release is not None:
            raise TidegaugeError("--ablations lists all of them: without a release")
        print_json(_ablations()) if options.as_json else _show_ablations(console())
        return
    try:
        if options.release is None:
            print_json(_changes()) if options.as_json else _show_changes(console())
        elif options.other is not None:
            _show_differences(options, _Pair.of(options.release, options.other, options.mode))
        elif options.as_json:
            print_json(_one(options.release, options.protocol, options.mode))
        else:
            _show_one(console(), options.release, options.protocol, options.mode)
    except ValueError as error:
        raise TidegaugeError(str(error)) from error


def _show_ablations(console: Console) -> None:
    """Print each ablation with its meaning, and the checks that break."""
    console.print(
        "Rules that `tidegauge run SCENARIO --without NAME` takes away, each with the release\n"
        "whose other rules stay, and the checks that break in some schedule."
    )
    for name, each in ABLATIONS.items():
        kafka = f"{each.release} with {release_versions.MODE_NAMES[each.mode]}"
        console.print("", Text(f"{name}  {kafka}", style="bold"), sep="\n")
        print_hanging(console, "    ", each.meaning)
        print_hanging(console, "    ", f"breaks: {', '.join(each.breaks) or 'nothing'}")
        if each.model is not None:
            console.print(Text(f"    {each.model}", style="dim"))


def _ablations() -> dict[str, Any]:
    """All ablations, with their switches."""
    return {
        "ablations": {
            name: {**each._asdict(), "switches": switches_of([name])}
            for name, each in ABLATIONS.items()
        }
    }


def _show_changes(console: Console) -> None:
    releases, with_kraft = (
        release_versions.all_releases(release_versions.ZOOKEEPER_MODE),
        release_versions.all_releases(release_versions.KRAFT_MODE),
    )
    console.print(
        f"Releases {releases[0]} to {releases[-1]} with ZooKeeper, {with_kraft[0]} to "
        f"{with_kraft[-1]} with KRaft. "
        f"Default: {release_versions.DEFAULT_RELEASE}.\n"
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
    parsed = release_versions.Release.parse(release)
    chosen = parsed.mode(mode)
    version = parsed.version(chosen, protocol)
    spoken = (
        f"Release {parsed} with KRaft, metadata.version {version}"
        if chosen == release_versions.KRAFT_MODE
        else f"Release {parsed} with ZooKeeper, inter.broker.protocol.version {version}"
    )
    console.print(f"{spoken}, reads checkpoint files as {checkpoint_format_of(release).name}")
    for line in filter(None, (parsed.newer_than_known, version.newer_than_known)):
        console.print(line)
    _print_sourced(console, "Rules", rule_cells_of(release, protocol, chosen))
    if chosen == release_versions.KRAFT_MODE:
        _print_sourced(console, "Rules of KRaft", kraft_cells_of(release, protocol))
    _print_sourced(console, "Defaults", default_cells_of(release, chosen))


class _Compared(NamedTuple):
    """A release beside another one."""

    release: release_versions.Release
    mode: release_versions.Mode

    @property
    def words(self) -> str:
        return f"{self.release} with {release_versions.MODE_NAMES[self.mode]}"

    def cells(self, kind: str) -> Mapping[str, release_versions.Cell]:
        """The rules, rules of KRaft or defaults of the release; nothing where it has none."""
        release = str(self.release)
        if kind == "rules":
            return rule_cells_of(release, mode=self.mode)
        if kind == "defaults":
            return default_cells_of(release, self.mode)
        return kraft_cells_of(release) if self.mode == release_versions.KRAFT_MODE else {}


class _Pair(NamedTuple):
    """Two releases to compare."""

    first: _Compared
    second: _Compared

    @classmethod
    def of(cls, first: str, second: str, mode: str | None) -> "_Pair":
        """Both with this control plane, or each with its own.

        Raises:
            ValueError: one is no release, or does not have that control plane.
        """
        parsed = (release_versions.Release.parse(first), release_versions.Release.parse(second))
        return cls(*(_Compared(each, each.mode(mode)) for each in parsed))

    def differing(self, kind: str) -> dict[str, tuple[release_versions.Cell, ...]]:
        """The cells of both releases, of each rule or default that both have and that differs."""
        first, second = self.first.cells(kind), self.second.cells(kind)
        return {
            name: (cell, second[name])
            for name, cell in first.items()
            if name in second and value_name(cell.value) != value_name(second[name].value)
        }


#: The kinds of differences between two releases, and their titles.
_KINDS = {"rules": "rule", "kraft_rules": "rule of KRaft", "defaults": "default"}


def _show_differences(options: ReleasesOptions, pair: _Pair) -> None:
    """Print the rules and defaults that differ between two releases, side by side."""
    differing = {kind: pair.differing(kind) for kind in _KINDS}
    if options.as_json:
        print_json(
            {
                "releases": [
                    {"release": str(each.release), "mode": each.mode, "kafka": each.words}
                    for each in pair
                ],
                **{
                    kind: {name: [_cell(cell) for cell in cells] for name, cells in found.items()}
                    for kind, found in differing.items()
                },
            }
        )
        return
    out = console()
    out.print(f"{pair.first.words}, and {pair.second.words}; only what differs")
    meanings = switch_meanings()
    for kind, found in differing.items():
        if not found:
            continue
        grid = Grid(_KINDS[kind], *(str(each.release) for each in pair), box=SIMPLE_HEAD)
        grid.pad_edge = grid.show_edge = False
        for name, cells in found.items():
            grid.add_row(Text(name, style="bold"), *(value_name(cell.value) for cell in cells))
            if name in meanings:
                grid.add_row(Text(meanings[name], style="dim"))
        out.print("", grid, sep="\n")
    if not any(differing.values()):
        out.print("No rule and no default differs.")
    if pair.first.mode != pair.second.mode:
        out.print("\nRules of KRaft are compared with --mode kraft, where both releases have it.")


def _changes() -> dict[str, Any]:
    """All values of each rule and default, the first one first."""
    return {
        "releases": [str(release) for release in release_versions.all_releases()],
        "default_release": release_versions.DEFAULT_RELEASE,
        "rules": {name: [_cell(cell) for cell in cells] for name, cells in RULE_CELLS.items()},
        "kraft_rules": {
            name: [_cell(cell) for cell in cells] for name, cells in KRAFT_CELLS.items()
        },
        "defaults": {name: [_cell(cell) for cell in cells] for name, cells in DEFAULTS.items()},
    }


def _one(release: str, protocol: str | None, mode: str | None) -> dict[str, Any]:
    """The rules and defaults of one release, and the source of each."""
    parsed = release_versions.Release.parse(release)
    chosen = parsed.mode(mode)
    defaults = default_cells_of(release, chosen)
    has_kraft = chosen == release_versions.KRAFT_MODE
    return {
        "release": str(parsed),
        "newer_than_known": parsed.newer_than_known,
        "mode": chosen,
        "metadata_version" if has_kraft else "protocol": str(parsed.version(chosen, protocol)),
        "checkpoint_format": checkpoint_format_of(release).name,
        "rules": _meant(rule_cells_of(release, protocol, chosen)),
        "kraft_rules": _meant(kraft_cells_of(release, protocol)) if has_kraft else {},
        "defaults": {name: _cell(cell) for name, cell in defaults.items()},
    }


def _meant(rules: Mapping[str, release_versions.Cell]) -> dict[str, Any]:
    """Rules with their meanings."""
    meanings = switch_meanings()
    return {name: {**_cell(cell), "meaning": meanings.get(name)} for name, cell in rules.items()}


def _cell(cell: release_versions.Cell) -> dict[str, Any]:
    """A value for programs: true, -1, or the name of a constant of the rules."""
    is_constant = type(cell.value) not in {bool, int, str}
    value = value_name(cell.value) if is_constant else cell.value
    return {**cell._asdict(), "value": value}


def _history(cells: tuple[release_versions.Cell, ...]) -> Text:
    """``no, 2.7.0 if 2.7-IV2: yes, 3.1.0: no``, the releases in colour; long ones in lines."""
    parts = []
    for cell in cells:
        part = Text()
        if cell.since != str(release_versions.all_releases()[0]) or cell.mode is not None:
            conditions = [each for each in (cell.protocol, cell.mode) if each is not None]
            condition = f" if {' and '.join(conditions)}" if conditions else ""
            part.append(f"{cell.since}{condition}", style="bold cyan").append(": ")
        parts.append(part.append(value_name(cell.value)))
    line = Text(", ").join(parts)
    return line if len(line) <= WIDTH - NAME_WIDTH else Text("\n").join(parts)


def _print_histories(console: Console, title: str, rows: release_versions.Table) -> None:
    grid = Grid(title, "value", box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=0)
    grid.columns[0].width = NAME_WIDTH
    for name, cells in rows.items():
        grid.add_row(name, _history(cells))
    console.print("", grid, sep="\n")


def _print_sourced(
    console: Console, title: str, cells: Mapping[str, release_versions.Cell]
) -> None:
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
