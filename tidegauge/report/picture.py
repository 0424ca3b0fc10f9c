"""A picture of a run over time: charts of its report, one below the other, as one SVG.

Programs that show an SVG, and notebooks that show it within a page of their own, know no style
sheet: each element has its style, in the light colours of the report.
"""

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.report import clients, failures, faults
from tidegauge.report.charts import Chart, Key
from tidegauge.report.one_run import OneRun
from tidegauge.report.page import STYLE
from tidegauge.report.panels import panel_chart
from tidegauge.traces.run_folder import write_text_atomically, written_to

#: In pixels: the picture, the room left of charts for numbers, below them for times, and a line.
_WIDTH, _LEFT, _BELOW, _LINE = 900, 60, 44, 18

#: The light colours of the style sheet, and its styles of elements of charts by their classes.
_COLOURS = dict(re.findall(r"--(\w+): light-dark\((#\w+|rgba\(.*?\)), ", STYLE))
_STYLES = dict(re.findall(r"^\.plot \.(\w+) \{ (.*) \}$", STYLE, re.MULTILINE))


class RunPicture:
    """Charts of a run, as an SVG."""

    def __init__(self, title: str, charts: Sequence[Chart]) -> None:
        """Draw charts, one below the other."""
        self.title = title
        self._charts = charts

    def __repr__(self) -> str:
        return f"<RunPicture {self.title}: {', '.join(each.title for each in self._charts)}>"

    def _repr_svg_(self) -> str:
        """The SVG, for a notebook."""
        y, drawn = 2 * _LINE, []
        for each in self._charts:
            head = [_text(each.title, y, "bold")]
            head += [_key(key, y + _LINE * nth) for nth, key in enumerate(each.keys, 1)]
            y += _LINE * len(head)
            place = f'x="{_LEFT}" y="{y}" width="{_WIDTH - 2 * _LEFT}" height="{each.height}"'
            drawn += [*head, f'<svg {place} overflow="visible">{each.drawn()}</svg>']
            y += each.height + _BELOW
        label = "; ".join((self.title, *(each.label for each in self._charts)))
        return _styled(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y}" width="{_WIDTH}" '
            f'height="{y}" role="img" aria-label="{escape(label)}" font-family="sans-serif" '
            f'font-size="12" fill="var(--ink)"><rect width="100%" height="100%" '
            f'fill="var(--paper)"/>{_text(self.title, _LINE, "bold")}{"".join(drawn)}</svg>'
        )

    def save(self, path: str | Path) -> Path:
        """Write the SVG to a file, and return the file.

        Raises:
            TidegaugeError: it cannot be written.
        """
        file = Path(path)
        with written_to(file):
            write_text_atomically(file, self._repr_svg_())
        return file


def picture_of(tables: RunTables, title: str) -> RunPicture:
    """The picture of the one run of these tables: its faults, and the panels with anything."""
    (found,) = tables.runs
    run = OneRun(tables, found)
    charts = [faults.lanes(run)] if run.faults else []
    for section in (clients, failures):
        series = section.series(run)
        made = (panel_chart(run, panel, series) for panel in section.PICTURED)
        charts += [chart for chart in made if chart is not None]
    return RunPicture(title, charts)


def _text(text: str, y: int, weight: str = "normal", x: int = _LEFT) -> str:
    return f'<text x="{x}" y="{y}" font-weight="{weight}">{escape(text)}</text>'


def _key(key: Key, y: int) -> str:
    box = f'<rect x="{_LEFT}" y="{y - 9}" width="10" height="10" fill="{key.colour}"/>'
    return box + _text(key.text, y, x=_LEFT + _LINE)


def _styled(svg: str) -> str:
    """An SVG with styles and colours in place of the names in the style sheet."""
    styled = re.sub(
        r'class="(\w+)"',
        lambda found: f'style="{_STYLES[found[1]]}"' if found[1] in _STYLES else "",
        svg,
    )
    return re.sub(r"var\(--(\w+)\)", lambda found: _COLOURS.get(found[1], found[0]), styled)
