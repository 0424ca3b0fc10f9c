"""Files that docstrings, comments and pages name: each is where a reader looks for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: ``handshake.py`` or ``engine/layout/step_tables.py``, and not a part of a longer path.
MENTIONED = re.compile(r"(?<![\w/.*-])((?:\w+/)*\w+\.py)\b")

#: The text of a link: the page that it leads to is tested with the links.
LINK_TEXT = re.compile(r"\[[^\]]*\](?=\()")

#: Pages outside of rooms, and scripts.
READ = ("*.md", "docs/**/*.md", "bench/*.py", "deploy/**/*.md")


def unknown_files(text: str, folder: Path) -> list[str]:
    """The files that a text in this folder names, and that are not there.

    A name stands for a file beside the text, for one below the same folder at the top, or for a
    path from the top.
    """
    relative = folder.relative_to(ROOT)
    top = ROOT / relative.parts[0] if relative.parts else ROOT
    return [
        name
        for name in MENTIONED.findall(LINK_TEXT.sub("", text))
        if not (ROOT / name).is_file()
        and not (folder / name).is_file()
        and not any(top.rglob(name) if top != ROOT else ())
    ]


def texts() -> Iterator[Path]:
    """Modules of the house, and pages."""
    for package in ROOT.glob("*/__init__.py"):
        yield from package.parent.rglob("*.py")
        yield from package.parent.rglob("*.md")
    for pattern in READ:
        # The change log names files of earlier releases.
        yield from (file for file in ROOT.glob(pattern) if file.name != "CHANGELOG.md")


def test_a_file_that_is_mentioned_exists() -> None:
    unknown = {
        str(file.relative_to(ROOT)): unknown_files(file.read_text(encoding="utf-8"), file.parent)
        for file in set(texts())
    }
    assert {file: names for file, names in unknown.items() if names} == {}


def test_a_file_that_does_not_exist_is_found() -> None:
    text = "``follower.py``, ``clients/steps.py``, ``new_tables.py``, https://example.org/x.py"
    assert unknown_files(text, ROOT / "actors") == ["new_tables.py"]
