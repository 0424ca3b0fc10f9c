"""The elements of a report: sections with text, tables, tiles and charts, as HTML.

All that comes from a run (names of topics, of faults, of scenarios) is escaped here, and nowhere
else: pieces take plain text.
"""

from __future__ import annotations

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
    #: ``good``, ``bad`` or ``note``, by which the page sets it off; empty for what is just text.
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
        """A list: a figure and what it is of in each item."""
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

    headings: Sequence[Heading]
    rows: Sequence[Sequence[str]]

    def html(self) -> str:
        """A table that scrolls sideways where the page is narrow."""
        head = "".join(
            f'<th scope="col" class="{_side(each)}" title="{escape(each.meaning)}">'
            f"{escape(each.title)}</th>"
            for each in self.headings
        )
        body = "".join(f"<tr>{self._cells(row)}</tr>" for row in self.rows)
        return (
            f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
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


class Chart(NamedTuple):
    """A picture that plotly draws, as its JSON has it.

    Colours are names of the style sheet, such as ``var(--grid)``: the page draws it again when it
    goes from light to dark. Texts that come from a run have gone through :func:`plain`.
    """

    #: For those who cannot see it.
    label: str
    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]

    def html(self) -> str:
        """A figure that waits to be drawn, at its height already."""
        drawn = json_in_html({"data": self.data, "layout": self.layout})
        return (
            f'<figure class="chart" role="group" aria-label="{escape(self.label)}" '
            f'style="min-height:{self.layout["height"]}px">'
            f'<script type="application/json">{drawn}</script></figure>'
        )


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
        again = f'<div class="command" aria-label="Commands">{typed}</div>' if typed else ""
        return (
            f'<section id="{escape(self.anchor)}"><h2>{escape(self.title)}</h2>'
            f'<p class="says">{escape(self.says)}</p>{inner}{again}</section>'
        )
