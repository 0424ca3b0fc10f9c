"""Links between the pages: each relative link leads to a file, and to a heading in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from documented import ROOT, pages
from tidegauge.laboratory.manual.markdown import anchor

PAGES = [*pages(), ROOT / "CONTRIBUTING.md", ROOT / "deploy" / "README.md"]

_LINK = re.compile(r"\]\((?!https?:)([^)\s]*)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def broken_links(page: Path) -> Iterator[str]:
    """The relative links of a page that lead nowhere."""
    for link in _LINK.findall(_prose(page)):
        path, _, heading = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (heading and heading not in anchors(target)):
            yield link


def anchors(page: Path) -> list[str]:
    """The anchors of a page's headings; a repeated one has a number, as on GitHub."""
    found: list[str] = []
    for heading in _HEADING.findall(_prose(page)):
        name = anchor(heading)
        repeated = sum(
            re.fullmatch(re.escape(name) + r"(-\d+)?", each) is not None for each in found
        )
        found.append(f"{name}-{repeated}" if name in found else name)
    return found


def _prose(page: Path) -> str:
    """A page without its blocks of code."""
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert list(broken_links(page)) == []


def test_each_page_of_the_manual_is_in_its_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages_of_manual = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages_of_manual - {*_LINK.findall(index)} == set()


def test_each_page_opens_with_what_it_covers() -> None:
    for page in (ROOT / "docs").glob("*.md"):
        _, _, opening, *_ = page.read_text(encoding="utf-8").split("\n", 3)
        assert "page" in opening, page.name


def test_the_first_page_is_short() -> None:
    assert len((ROOT / "README.md").read_bytes()) <= 12_000


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text(
        "# Other page\n\n## kind: power_loss\n\n## Twice\n\n## Twice\n"
    )
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n[a](other.md) [b](other.md#kind-power_loss) [c](#page) [d](https://x.org/no)\n"
        "[e](other.md#twice-1) [f](missing.md) [g](other.md#missing) [h](#missing)\n"
        "```\n[i](in-code.md)\n# no heading\n```\n"
    )
    assert list(broken_links(page)) == ["missing.md", "other.md#missing", "#missing"]
    assert anchors(page) == ["page"]
