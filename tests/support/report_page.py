"""A report as tests read it: a page that is parsed, without a browser."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

#: Elements that have no end.
_VOID = {"meta", "br", "img", "link", "input", "hr"}
_HEADINGS = {"h1", "h2", "h3", "h4"}


class ReportPage(HTMLParser):
    """What is in a page: texts by the elements that they stand in, addresses, charts.

    A chart is a picture with a label: the paths that are drawn in it, by its label.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.headings: list[str] = []
        self.commands: list[str] = []
        self.cells: list[str] = []
        self.tiles: list[str] = []
        self.paragraphs: list[str] = []
        self.addresses: list[str] = []
        self.levels: list[str] = []
        self.answers: list[str] = []
        self.captions: list[str] = []
        self.titles: list[str] = []
        self.charts: dict[str, list[str]] = {}
        self.tables = 0
        self.tags: set[str] = set()
        self.policy = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        found = {name: value or "" for name, value in attrs}
        self.addresses += [
            found[name] for name in ("src", "href", "data", "action") if name in found
        ]
        if found.get("http-equiv") == "Content-Security-Policy":
            self.policy = found["content"]
        if found.get("role") == "img":
            self.charts[found.get("aria-label", "")] = []
        if tag == "path":
            [*self.charts.values()][-1].append(found["d"])
        self.tables += tag == "table"
        if tag not in _VOID:
            self.open.append(tag)
        if tag in _HEADINGS:
            self.headings.append("")
            self.levels.append(tag)
        if tag == "summary":
            self.answers.append("")
        if tag == "li":
            self.tiles.append("")
        if tag == "p":
            self.paragraphs.append("")

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        where = self.open[-1] if self.open else ""
        if where in _HEADINGS:
            self.headings[-1] += data
        elif where in (texts := self._texts()):
            texts[where].append(data)
        elif "summary" in self.open:
            self.answers[-1] += data
        elif "p" in self.open:
            self.paragraphs[-1] += data
        if "li" in self.open:
            self.tiles[-1] += data

    def _texts(self) -> dict[str, list[str]]:
        """Texts that are listed as they stand in elements."""
        return {
            "code": self.commands,
            "td": self.cells,
            "caption": self.captions,
            "title": self.titles,
        }

    def chart(self, name: str) -> list[str]:
        """The paths of the only chart whose label begins so."""
        (paths,) = (each for label, each in self.charts.items() if label.startswith(name))
        return paths


def read_page(file: Path) -> ReportPage:
    """A report that was written."""
    return ReportPage(file.read_text())
