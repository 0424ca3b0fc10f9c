"""The output of ``tidegauge dashboards --check``: the metrics of each panel."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from tidegauge.metrics.spellings.spelling import Spelling
from tidegauge.rehearsal.dashboards import Dashboard, PanelNeeds
from tidegauge.scenario.text.errors import counted
from tidegauge.views.alert_matrix import folded

Checked = Sequence[tuple[Dashboard, Sequence[PanelNeeds]]]


def show_dashboards(out: Console, checked: Checked, spelling: Spelling) -> None:
    """Print each panel with its metrics, and a line for each dashboard."""
    for dashboard, panels in checked:
        out.print(f"\n{dashboard.path}: {dashboard.title}", style="bold", markup=False)
        for panel in panels:
            _show_panel(out, panel)
    out.print(
        "\n" + folded(f"Metrics named as by {spelling.exporter} ({spelling.name})", out.width),
        markup=False,
    )
    for dashboard, panels in checked:
        text = folded(f"{dashboard.path}: {_summary(panels)}", out.width, then="  ")
        out.print(text, markup=False)


_WORDS = {"all": "with all metrics", "some": "with some", "none": "with none"}


def _summary(panels: Sequence[PanelNeeds]) -> str:
    numbers = [
        f"{sum(each.data == data for each in panels)} {words}" for data, words in _WORDS.items()
    ]
    wrong = sum(each.is_wrong for each in panels)
    text = f"{counted(len(panels), 'panel')}: {', '.join(numbers)}"
    return f"{text}; {wrong} with names that are misspelt or never exported" if wrong else text


def _show_panel(out: Console, panel: PanelNeeds) -> None:
    out.print(folded(f"{panel.data:4}  {panel.title}", out.width, "  ", "        "), markup=False)
    parts = {
        "simulated": panel.simulated,
        "alternatives": panel.alternatives,
        "misspelt": [f"{name} (did you mean {own}?)" for name, own in panel.misspelt.items()],
        "never exported": [_with_own(*each) for each in panel.never_made.items()],
        "not simulated": panel.not_simulated,
    }
    for words, names in parts.items():
        if names:
            text = folded(f"{words}: {', '.join(names)}", out.width, " " * 8, " " * 10)
            style = "red" if words in ("misspelt", "never exported") else "dim"
            out.print(text, style=style, markup=False)


def _with_own(name: str, own: str | None) -> str:
    return name if own is None else f"{name} (here {own})"


def content_of(checked: Checked, spelling: Spelling) -> Mapping[str, Any]:
    """The whole report as JSON."""
    return {
        "metrics_spelling": spelling.name,
        "dashboards": [
            {
                "file": str(dashboard.path),
                "title": dashboard.title,
                "panels": [each._asdict() for each in panels],
            }
            for dashboard, panels in checked
        ],
    }
