"""The elements of a report: sections with text, tables, tiles and charts, as HTML.

All that comes from a run (names of topics, of faults, of scenarios) is escaped here, and nowhere
else: pieces take plain text.
"""

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple, Protocol


class Piece(Protocol):
    """A part of a section."""

    def html(self) -> str:
        """The HTML of the piece."""
        ...


class Words(NamedTuple):
    """A paragraph."""

    text: str
    #: ``good`` or ``bad``: set off; ``verdict good``, ``verdict bad``: the first of all; ``note``;
    #: empty for plain text.
    mood: str = ""

    def html(self) -> str:
        """A paragraph."""
        return f'<p class="{self.mood}">{escape(self.text)}</p>'


class Tile(NamedTuple):
    """One figure that matters."""

    figure: str
    #: The meaning of the figure.
    of: str
    #: Whether the figure is a problem.
    is_bad: bool = False


class Tiles(NamedTuple):
    """Figures that are seen at a glance."""

    tiles: Sequence[Tile]

    def html(self) -> str:
        """A list: a figure and its subject in each item."""
        items = (
            f'<li class="{"bad" if tile.is_bad else ""}"><b>{escape(tile.figure)}</b> '
            f"<span>{escape(tile.of)}</span></li>"
            for tile in self.tiles
        )
        return f'<ul class="tiles">{"".join(items)}</ul>'


class Heading(NamedTuple):
    """The heading of a column of a table."""

    title: str
    #: A longer text, shown on hover.
    meaning: str = ""
    #: Numbers stand to the right.
    is_number: bool = False


class Grid(NamedTuple):
    """A table of texts."""

    #: The subject of the table, for readers who cannot see it.
    label: str
    headings: Sequence[Heading]
    rows: Sequence[Sequence[str]]

    def html(self) -> str:
        """A table that scrolls sideways where the page is narrow, by keys, too."""
        head = "".join(
            f'<th scope="col" class="{_side(each)}" title="{escape(each.meaning)}">'
            f"{escape(each.title)}</th>"
            for each in self.headings
        )
        body = "".join(f"<tr>{self._cells(row)}</tr>" for row in self.rows)
        label = escape(self.label)
        return (
            f'<div class="wide" role="region" tabindex="0" aria-label="{label}">'
            f'<table aria-label="{label}"><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )

    def _cells(self, row: Sequence[str]) -> str:
        return "".join(
            f'<td class="{"long" if len(text) > _LONG else _side(heading)}">{escape(text)}</td>'
            for heading, text in zip(self.headings, row, strict=True)
        )


#: From so many letters on the text of a cell has several lines.
_LONG = 48


def _side(heading: Heading) -> str:
    return "number" if heading.is_number else ""


class Glossary(NamedTuple):
    """The meanings of words; folded up."""

    meanings: Sequence[tuple[str, str]]

    def html(self) -> str:
        """A list that opens."""
        items = "".join(
            f"<dt>{escape(word)}</dt><dd>{escape(meaning)}</dd>" for word, meaning in self.meanings
        )
        return f"<details><summary>Meanings of the columns</summary><dl>{items}</dl></details>"


class Key(NamedTuple):
    """The meaning of a colour in a chart."""

    name: str
    colour: str
    #: A figure of the content, such as the most.
    figure: str = ""

    def html(self) -> str:
        """An item of a list."""
        figure = f" <em>{escape(self.figure)}</em>" if self.figure else ""
        return (
            f'<li><i style="background:{escape(self.colour)}"></i>{escape(self.name)}{figure}</li>'
        )


class Chart(NamedTuple):
    """A picture that plotly draws, as its JSON has it; its title and its keys are the page's.

    Colours are names of the style sheet, such as ``var(--grid)``: the page draws it again when it
    goes from light to dark. Texts that come from a run have gone through :func:`plain`.
    """

    title: str
    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    keys: Sequence[Key] = ()
    #: Its horizontal axis is the time of the run, and is zoomed together with all others.
    is_over_time: bool = False

    def html(self) -> str:
        """A figure that waits to be drawn, at its height already."""
        drawn = json_in_html({"data": self.data, "layout": self.layout})
        keys = "".join(key.html() for key in self.keys)
        listed = f'<ul class="keys">{keys}</ul>' if keys else ""
        label = "; ".join(
            (self.title, *(f"{key.name}: {key.figure}" for key in self.keys if key.figure))
        )
        return (
            f'<figure class="{"chart over-time" if self.is_over_time else "chart"}">'
            f"<figcaption><b>{escape(self.title)}</b>{listed}</figcaption>"
            f'<div class="plot" role="img" aria-label="{escape(label)}" '
            f'style="min-height:{self.layout["height"]}px"></div>'
            f'<script type="application/json">{drawn}</script></figure>'
        )


class SideBySide(NamedTuple):
    """Small charts, as many in a row as the page has room for."""

    charts: Sequence[Chart]

    def html(self) -> str:
        """All of them."""
        return f'<div class="charts">{"".join(chart.html() for chart in self.charts)}</div>'


class Span(NamedTuple):
    """A part of the run that a reader may want to see."""

    name: str
    begin_s: float
    end_s: float


class Zoom(NamedTuple):
    """Buttons that zoom all charts over time."""

    spans: Sequence[Span]

    def html(self) -> str:
        """A button for each part."""
        buttons = "".join(
            f'<button type="button" data-from="{each.begin_s:.6f}" data-to="{each.end_s:.6f}">'
            f"{escape(each.name)}</button>"
            for each in self.spans
        )
        return f'<div class="zoom" role="group" aria-label="Zoom to">{buttons}</div>'


def plain(text: str) -> str:
    """A text that plotly shows as it is: else it reads some tags in it."""
    return escape(text, quote=False)


def json_in_html(content: object) -> str:
    """JSON that cannot end its surrounding element."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


class Section(NamedTuple):
    """A part of the report under a heading of its own."""

    #: Its address within the page.
    anchor: str
    title: str
    #: An explanation of the content.
    says: str
    pieces: Sequence[Piece]
    #: Commands that show the same on a terminal, or make it again.
    commands: Sequence[str] = ()

    def html(self) -> str:
        """The section."""
        inner = "".join(piece.html() for piece in self.pieces)
        typed = "".join(f"<code>{escape(command)}</code>" for command in self.commands)
        again = f'<div class="command">{typed}</div>' if typed else ""
        anchor = escape(self.anchor)
        return (
            f'<section id="{anchor}" aria-labelledby="{anchor}-title">'
            f'<h2 id="{anchor}-title">{escape(self.title)}</h2>'
            f'<p class="says">{escape(self.says)}</p>{inner}{again}</section>'
        )
