"""The page around the sections: one file that loads no other resource, and opens anywhere."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from tidegauge.report.section import Piece, Section

_HERE = Path(__file__).parent

#: The style sheet, also of charts alone.
STYLE = (_HERE / "page.css").read_text()

# The browser enforces that no resource is loaded.
_NOTHING_FROM_ELSEWHERE = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)


def page(title: str, result: Sequence[Piece], sections: Sequence[Section]) -> str:
    """The whole page, as HTML.

    Args:
        title: the subject of the report.
        result: what happened, for the first screen.
        sections: in the order in which they are read.
    """
    contents = "".join(
        f'<li><a href="#{escape(each.anchor)}">{escape(each.title)}</a></li>' for each in sections
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_NOTHING_FROM_ELSEWHERE}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<header><h1>{escape(title)}</h1><button type="button" id="theme">Light or dark</button></header>
<main>{"".join(each.html() for each in result)}
<nav aria-label="Sections"><ul>{contents}</ul></nav>
{"".join(each.html() for each in sections)}</main>
<script>{(_HERE / "page.js").read_text()}</script>
</body>
</html>
"""
