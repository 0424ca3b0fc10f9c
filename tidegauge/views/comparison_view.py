"""A comparison on the terminal: figures beside each other, their reasons, and the changes."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tidegauge.analysis.over_seeds import OverSeeds
from tidegauge.real_cluster.describe.release_change import ChangedDefault, changed_defaults
from tidegauge.real_cluster.describe.upgrade_path import UpgradePath
from tidegauge.runs.compared import ComparedFigure
from tidegauge.runs.figures import value_text
from tidegauge.scenario.other_mode.settings import Change
from tidegauge.scenario.reading import Scenario

#: Columns of verdicts.
_VERDICT_WIDTH = 19


def show_figures(out: Console, variants: Sequence[str], figures: Sequence[ComparedFigure]) -> None:
    """Print a table with a row for each figure, and a column for each variant.

    Args:
        out: the output.
        variants: the names of the variants.
        figures: their figures.
    """
    table = _new_table("figure", variants)
    most = max((each.seeds for figure in figures for each in _spreads(figure)), default=1)
    for figure in figures:
        if not figure.is_always_zero:
            cells = (_cell(figure, figure.by_variant[variant]) for variant in variants)
            table.add_row(figure.label, *cells, _verdict(figure, most))
    if most > 1:
        out.print(
            f"Means over {most} seeds, and below them where 95 % of such means would be. Less"
            " is better.",
            soft_wrap=True,
        )
    else:
        out.print("This is one seed: --seeds 1..10 shows how figures spread. Less is better.")
    out.print(table)
    zero = [figure.label for figure in figures if figure.is_always_zero]
    if zero:
        out.print(f"0 in all runs: {', '.join(_lower(label) for label in zero)}", soft_wrap=False)


def show_caveats(out: Console, timed_out: Sequence[str], caveat: str) -> None:
    """Print why figures cannot be compared as they are.

    Args:
        out: the output.
        timed_out: the variants in which a step timed out: they have not had all faults and steps.
        caveat: the difference between the partitions of variants, or nothing.
    """
    for variant in timed_out:
        out.print(
            f"{variant}: a step timed out, and the later ones were not taken. Its figures cannot be"
            " compared.",
            style="bold yellow",
        )
    if caveat:
        out.print(caveat, style="bold yellow")


def show_decisions(out: Console, figures: Sequence[ComparedFigure]) -> None:
    """Print the mechanisms behind figures that differ, and where KRaft is not better.

    Args:
        out: the output.
        figures: of one comparison, or of several with the same variants; each is printed once.
    """
    decided = {each.name: f"{each.label}: {each.decides}" for each in figures if each.worse}
    if decided:
        out.print("\nWhat decides", style="bold")
    else:
        out.print("\nNo figure differs by more than its band.")
    for text in decided.values():
        _print_lines(out, text)
    exceptions = {
        each.name: f"{each.label}: {each.exception}"
        for each in figures
        if each.exception and not _favours_kraft(each)
    }
    if exceptions:
        out.print("\nWhere KRaft is not better", style="bold")
    for text in exceptions.values():
        _print_lines(out, text)


def show_changes(out: Console, label: str, changes: Sequence[str]) -> None:
    """Print the changes that the conversion into a variant made."""
    if changes:
        out.print(f"\nChanged for {label}", style="bold")
        for change in changes:
            _print_lines(out, change)


#: The figures of a fault, for the lines of an upgrade: the time of a failover is always shown.
_FAILOVER = "leaderless_last_us"
#: Lines of figures that differ; `--verbose` has all.
_MOST_DIFFERENCES = 10
#: A spread of fewer is no spread.
_LEAST_SEEDS = 3
#: The end of the part of a step that a short text has, and the most settings in it.
_DETAILS = re.compile(r"; |\. |, one by one|: start")
_MOST_REMOVED = 5


def show_upgrade(
    out: Console, variants: Sequence[str], found: Mapping[str, Sequence[ComparedFigure]]
) -> None:
    """Print the time of the failover under each fault, then the figures that differ for certain.

    Args:
        out: the output.
        variants: the names of the cluster before and after.
        found: the figures by the names of the faults.
    """
    table = _new_table("mean over the seeds", variants)
    left = 0
    for fault, figures in found.items():
        shown = [each for each in figures if each.name == _FAILOVER or _is_certain(each)]
        shown.sort(key=lambda each: each.name != _FAILOVER)
        left += max(0, len(shown) - _MOST_DIFFERENCES // len(found))
        for figure in shown[: _MOST_DIFFERENCES // len(found)]:
            means = [figure.by_variant[variant] for variant in variants]
            cells = ["none" if m is None else value_text(m.mean, figure.unit) for m in means]
            verdict = "better" if figure.better == variants[-1] else "worse"
            said = verdict if _is_certain(figure) else ""
            table.add_row(f"{fault}: {_lower(figure.label)}", *cells, said)
    out.print(table)
    if left:
        out.print(f"{left} more figures differ beyond their spread.")


def _is_certain(figure: ComparedFigure) -> bool:
    """Whether a figure differs by more than its spread over enough seeds."""
    spreads = _spreads(figure)
    return bool(figure.worse) and all(each.seeds >= _LEAST_SEEDS for each in spreads)


def show_defaults(
    out: Console, before: Scenario, after: Scenario, removed: Collection[str]
) -> None:
    """Print the settings that change their default, come or go; of those that are simulated.

    Of those that go, only the cluster's own that are not listed as removed.
    """
    found = [
        each
        for each in changed_defaults(before, after)
        if each.after is not None or (each.own is not None and each.name not in removed)
    ]
    both = [each for each in found if each.before is not None and each.after is not None]
    gone = [each for each in found if each.after is None]
    new = [each for each in found if each.before is None]
    _print_group(
        out,
        "Defaults that change, of settings that are simulated",
        both,
        lambda each: f"{_text(each.before)} -> {_text(each.after)}",
    )
    _print_group(out, "Settings that are gone", gone, lambda each: f"was {_text(each.before)}")
    _print_group(out, "Settings that are new", new, lambda each: _text(each.after))
    if not found:
        out.print("\nNo setting that is simulated changes its default.")


def _print_group(
    out: Console,
    title: str,
    group: Sequence[ChangedDefault],
    values: Callable[[ChangedDefault], str],
) -> None:
    if not group:
        return
    out.print(f"\n{title}", style="bold")
    width = max(len(each.name) for each in group)
    for each in group:
        said = "" if each.own is None else f"; this cluster has {_text(each.own)}"
        whose = " (producers)" if each.is_of_clients else ""
        line = f"  {each.name:{width}}  {values(each)}{said}{whose}"
        out.print(line, soft_wrap=True, markup=False)


def show_upgrade_path(
    out: Console, before: str, after: str, path: UpgradePath, *, in_full: bool
) -> None:
    """Print the steps and conditions of an upgrade, and the cluster's settings that are gone."""
    if path.steps:
        out.print(f"\nThe way from {before} to {after}", style="bold")
    for number, step in enumerate(path.steps, 1):
        _print_lines(out, step if in_full else _DETAILS.split(step)[0], f"{number}.")
    for condition in path.conditions:
        _print_lines(out, condition)
    if path.removed:
        out.print(f"\nThe cluster's own settings that {after} does not have", style="bold")
    most = len(path.removed) if in_full else _MOST_REMOVED
    for name, removed in [*path.removed.items()][:most]:
        instead = f"use {removed.instead}" if removed.instead else "nothing takes its place"
        source = f" (gone in {removed.since}, {removed.source})" if in_full else ""
        _print_lines(out, f"{name}: {instead}{source}")
    if len(path.removed) > most:
        _print_lines(out, f"{len(path.removed) - most} more")


def show_settings_that_end(
    out: Console, changes: Sequence[Change], removed: Collection[str]
) -> None:
    """Print the cluster's own settings that lose their meaning, or move; removed ones apart."""
    own = [each for each in changes if "settings" in each.path and each.path[-1] not in removed]
    if not own and removed:
        return
    if not own:
        out.print("\nAll of the cluster's own settings keep their meaning.")
        return
    out.print("\nThe cluster's own settings that lose their meaning or their place", style="bold")
    for each in own:
        out.print(f"  {each.path[-1]}: {each.text}", soft_wrap=True, markup=False)


def _spreads(figure: ComparedFigure) -> list[OverSeeds]:
    return [each for each in figure.by_variant.values() if each is not None]


def _verdict(figure: ComparedFigure, seeds: int) -> str:
    """The verdict, without the part that the line above the table has for all figures."""
    if seeds > 1:
        return figure.verdict
    return figure.verdict.removesuffix(" (one seed)").removesuffix(" within the bands")


def _favours_kraft(figure: ComparedFigure) -> bool:
    means = {each.mean for each in _spreads(figure)}
    return len(means) == 1 or (figure.better or "").startswith("KRaft")


def _new_table(first: str, variants: Sequence[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(first)
    for variant in variants:
        table.add_column(variant, justify="right")
    table.add_column("", max_width=_VERDICT_WIDTH)
    return table


def _cell(figure: ComparedFigure, spread: OverSeeds | None) -> str:
    """The mean, and below it its band, if there is one."""
    if spread is None:
        return "none"
    mean = value_text(spread.mean, figure.unit)
    if spread.low is None or spread.high is None:
        return mean
    low, high = (value_text(each, figure.unit) for each in (spread.low, spread.high))
    return mean if low == high else f"{mean}\n[dim]{low.removesuffix(' s')} to {high}[/]"


def _lower(label: str) -> str:
    return label[:1].lower() + label[1:]


def _print_lines(out: Console, text: str, mark: str = "-") -> None:
    """Print an item of a list; its further lines are indented."""
    out.print(Padding(Text(f"{mark} {text}"), (0, 0, 0, 2)))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
