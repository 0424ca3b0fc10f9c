"""How many columns of a table stand beside each other on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

#: Columns are so far apart.
_GAP = 2


def column_widths(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """The widths of columns: of whole headings if a line has room for all, else of their words."""
    whole = [
        max(len(heading), *(len(row[place]) for row in rows))
        for place, heading in enumerate(headings)
    ]
    return whole if sum(whole) + _GAP * len(whole) <= width else _narrowest(headings, rows)


def _narrowest(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [
        max(
            *(len(word) for word in (*heading.split(), "")),
            *(len(row[place]) for row in rows),
        )
        for place, heading in enumerate(headings)
    ]


def table_width(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """The width of a table in which only headings are broken, between words."""
    return sum(width + _GAP for width in _narrowest(headings, rows))


def fitting_columns(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int, least: int = 1
) -> int:
    """How many of the first columns fit beside each other.

    Args:
        headings: the headings of all columns.
        rows: the texts of rows, at least one for each column.
        width: the characters of a line.
        least: so many columns are shown in any case.
    """
    fitting = len(headings)
    while fitting > least and table_width(headings[:fitting], rows) > width:
        fitting -= 1
    return fitting
