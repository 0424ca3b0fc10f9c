"""What another release or mode means for the settings of a cluster, on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from tidegauge.options.compare_request import Variant
    from tidegauge.real_input.changed_defaults import ChangedDefault
    from tidegauge.scenario.reading import Scenario


def show_defaults(out: Console, before: Scenario, after: Scenario) -> None:
    """Print the settings that change their default, come or go; of those that are simulated."""
    from tidegauge.real_input.changed_defaults import changed_defaults

    found = changed_defaults(before, after)
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


def show_settings_that_end(out: Console, after: Variant) -> None:
    """Print the cluster's own settings that have no meaning any more, or move."""
    own = [each for each in after.changes if "settings" in each.path]
    if not own:
        out.print("\nAll of the cluster's own settings keep their meaning.")
        return
    out.print("\nThe cluster's own settings that lose their meaning or their place", style="bold")
    for each in own:
        out.print(f"  {each.path[-1]}: {each.text}", soft_wrap=True, markup=False)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
