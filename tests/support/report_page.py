"""A report as tests read it: a page that is parsed, without a browser."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

#: Elements that have no end.
_VOID = {"meta", "br", "img", "link", "input", "hr"}


class ReportPage(HTMLParser):
    """What is in a page: texts by the elements that they stand in, addresses, charts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.headings: list[str] = []
        self.commands: list[str] = []
        self.cells: list[str] = []
        self.tiles: list[str] = []
        self.paragraphs: list[str] = []
        self.addresses: list[str] = []
        self.charts: list[dict[str, Any]] = []
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
        if found.get("type") == "application/json":
            tag = "json"
        if tag not in _VOID:
            self.open.append(tag)
        if tag in {"h1", "h2"}:
            self.headings.append("")
        if tag == "li":
            self.tiles.append("")
        if tag == "p":
            self.paragraphs.append("")

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() not in {tag, "json"}:
            pass

    def handle_data(self, data: str) -> None:
        where = self.open[-1] if self.open else ""
        if where in {"h1", "h2"}:
            self.headings[-1] += data
        elif where == "code":
            self.commands.append(data)
        elif where == "td":
            self.cells.append(data)
        elif where == "json":
            self.charts.append(json.loads(data))
        elif "p" in self.open:
            self.paragraphs[-1] += data
        if "li" in self.open:
            self.tiles[-1] += data


def read_page(file: Path) -> ReportPage:
    """A report that was written."""
    return ReportPage(file.read_text())
