"""The table of the generated pages, and the folder that they are written to."""

from collections.abc import Callable, Iterator
from pathlib import Path

from tidegauge.laboratory.manual import catalogue_pages, reference_pages, scenario_page, state_page
from tidegauge.laboratory.manual.markdown import closing

#: The folder of the manual in a checkout.
FOLDER = Path(__file__).resolve().parents[3] / "docs"

#: The function that makes each page, by the page's file name.
PAGES: dict[str, Callable[[], str]] = {
    "ablations.md": catalogue_pages.ablations_page,
    "checks.md": catalogue_pages.checks_page,
    "commands.md": reference_pages.commands_page,
    "gallery.md": catalogue_pages.gallery_page,
    "lint.md": catalogue_pages.lint_page,
    "scenario-reference.md": scenario_page.documentation,
    "scenarios-shipped.md": catalogue_pages.scenarios_page,
    "state-machines.md": state_page.documentation,
    "trace-rows.md": reference_pages.rows_page,
}


def page_text(name: str) -> str:
    """A page as it is written."""
    return f"{PAGES[name]().rstrip()}\n\n{closing()}"


def write_pages(folder: Path) -> Iterator[Path]:
    """Write all pages; yields each file."""
    for name in PAGES:
        file = folder / name
        file.write_text(page_text(name), encoding="utf-8")
        yield file


def stale_pages(folder: Path) -> list[str]:
    """The names of pages that are missing, or differ from the ones that would be written now."""
    return [
        name
        for name in PAGES
        if not (folder / name).is_file()
        or (folder / name).read_text(encoding="utf-8") != page_text(name)
    ]
