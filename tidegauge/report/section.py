"""The elements of a report: sections with text, tables, tiles and folded parts, as HTML.

All that comes from a run (names of topics, of faults, of scenarios) is escaped here and in
``charts.py``, and nowhere else: pieces take plain text.
"""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple, Protocol


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

    #: The subject of the table.
    caption: str
    headings: Sequence[Heading]
    rows: Sequence[Sequence[str]]

    def html(self) -> str:
        """A table; where it has no room, its rows are cards that name each value."""
        head = "".join(
            f'<th scope="col" class="{_side(each)}" title="{escape(each.meaning)}">'
            f"{escape(each.title)}</th>"
            for each in self.headings
        )
        body = "".join(f"<tr>{self._cells(row)}</tr>" for row in self.rows)
        look = ' class="cards"' if len(self.headings) > _COLUMNS else ""
        return (
            f"<table{look}><caption>{escape(self.caption)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def _cells(self, row: Sequence[str]) -> str:
        return "".join(
            f'<td class="{_side(heading)}" data-of="{escape(heading.title)}">{escape(text)}</td>'
            for heading, text in zip(self.headings, row, strict=True)
        )


#: The most columns that a wide page has room for.
_COLUMNS = 11


def _side(heading: Heading) -> str:
    return "number" if heading.is_number else ""


class Folded(NamedTuple):
    """Pieces behind the line that says what is in them."""

    subject: str
    #: The answer in one line.
    answer: str
    pieces: Sequence[Piece]

    def html(self) -> str:
        """An element that opens."""
        inner = "".join(piece.html() for piece in self.pieces)
        return (
            f"<details><summary><b>{escape(self.subject)}</b> {escape(self.answer)}</summary>"
            f"{inner}</details>"
        )


class Glossary(NamedTuple):
    """The meanings of words; folded up."""

    meanings: Sequence[tuple[str, str]]

    def html(self) -> str:
        """A list that opens."""
        items = "".join(
            f"<dt>{escape(word)}</dt><dd>{escape(meaning)}</dd>" for word, meaning in self.meanings
        )
        return f"<details><summary>Meanings of the columns</summary><dl>{items}</dl></details>"


class Commands(NamedTuple):
    """Commands that show the same on a terminal, or make it again."""

    commands: Sequence[str]

    def html(self) -> str:
        """A line for each."""
        typed = "".join(f"<code>{escape(command)}</code>" for command in self.commands)
        return f'<div class="command">{typed}</div>' if typed else ""


class Section(NamedTuple):
    """A part of the report under a heading of its own."""

    #: Its address within the page.
    anchor: str
    title: str
    pieces: Sequence[Piece]

    def html(self) -> str:
        """The section."""
        inner = "".join(piece.html() for piece in self.pieces)
        anchor = escape(self.anchor)
        return (
            f'<section id="{anchor}" aria-labelledby="{anchor}-title">'
            f'<h2 id="{anchor}-title">{escape(self.title)}</h2>{inner}</section>'
        )
