"""The page around the sections: one file that loads no other resource, and opens anywhere."""

from collections.abc import Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.report.section import Chart, Section

_HERE = Path(__file__).parent

# The browser enforces that no resource is loaded.
_NOTHING_FROM_ELSEWHERE = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)

#: Kafka's abbreviations in anchors, which are in small letters.
_ACRONYMS = {"isr": "ISR", "hw": "HW"}


def page(title: str, sections: Sequence[Section]) -> str:
    """The whole page, as HTML.

    Args:
        title: the subject of the report.
        sections: in the order in which they are read.
    """
    contents = "".join(
        f'<li><a href="#{escape(each.anchor)}">{escape(_short(each))}</a></li>' for each in sections
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_NOTHING_FROM_ELSEWHERE}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{(_HERE / "page.css").read_text()}</style>
{_plotly(sections)}
</head>
<body>
<a class="skip" href="#{escape(sections[0].anchor)}">Skip to the result</a>
<header><h1>{escape(title)}</h1><button type="button" id="theme">Light or dark</button></header>
<noscript><p class="bad">Charts and replay need JavaScript; the rest does not.</p></noscript>
<nav aria-label="Sections"><ul>{contents}</ul></nav>
<main>{"".join(each.html() for each in sections)}</main>
<script>{(_HERE / "page.js").read_text()}</script>
</body>
</html>
"""


def _plotly(sections: Sequence[Section]) -> str:
    """The library that draws charts, which is most of a page; nothing if there is no chart."""
    if not any(isinstance(piece, Chart) for each in sections for piece in each.pieces):
        return ""
    return f"<script>{chart_library().read_text('utf-8')}</script>"


def chart_library() -> Path:
    """The file of the library that draws charts.

    Its package is not imported: that takes longer than to write a page.

    Raises:
        TidegaugeError: it is not installed.
    """
    package = find_spec("plotly")
    if package is None or package.origin is None:
        raise TidegaugeError(
            "a page with charts needs tidegauge[report], which is not installed: "
            "pip install 'tidegauge[report]'"
        )
    return Path(package.origin).parent / "package_data" / "plotly.min.js"


def _short(section: Section) -> str:
    """The short title of a section."""
    words = (_ACRONYMS.get(word, word) for word in section.anchor.split("-"))
    label = " ".join(words)
    return label[0].upper() + label[1:]
