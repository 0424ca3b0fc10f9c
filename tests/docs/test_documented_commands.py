"""README and docs/, followed literally: each command works, and prints what the page shows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from documented import ROOT, Documented, documented, missing_lines, pages
from tidegauge.command_line import app

COMMANDS = [each for page in pages() for each in documented(page)]

#: Words that stand for something of the reader's.
PLACEHOLDERS = {"FILE", "DIR", "DESCRIBE", "FILE.om", "NAME"}

#: Generated pages whose commands are not run, and why; their options have to exist.
NOT_RUN_PAGES = {
    "commands.md": "are examples of --help, which name files and runs of the reader's",
    "gallery.md": "are runs of the gallery, which the page itself is made of",
    "scenarios-shipped.md": "are all scenarios; tests of mechanisms, incidents and scenarios do",
}

#: Commands that are not run, and why.
NOT_RUN = {
    "--metrics": "serves metrics in real time; tests/metrics/test_live_dashboards.py does",
    "--prometheus": "asks a Prometheus of the reader's; tests/real_rates has such",
    "--samples": "reads scrapes of the reader's; tests/real_rates has such",
    "--speed": "goes at the pace of real time",
    "--address": "joins a cluster of Ray that is not here",
    "conform mine.json": "is a recording of the reader's; tests/conformance has such",
    "rules/*.yml": "are rule files of the reader's; test_alerts_command.py has such",
    "kafka-rules.yml": "is a rule file of the reader's",
    "mine.yml": "is a rule file of the reader's",
    "my-": "is a file of the reader's",
}

#: Commands of more than a few seconds.
SLOW = (
    *(
        "demo",
        "runs/demo/rack",
        "rack-power-loss",
        "runs/rack",
        "isr-storm",
        "sweep",
        "compare",
        "analyze",
        "--actors",
        "--ray",
        "gallery",
        "failover-budget",
        "runs/leader",
        "runs/controller-too",
        "failover",
    ),
    *("runs/lag-time", "alerts", "conform", "runs/batched", "--seeds", "upgrade", "ask "),
    "blame",
    "--schedule",
    "explain ",
)


def why_not_run(command: Documented) -> str | None:
    words = " ".join(command.words)
    if PLACEHOLDERS & set(command.words):
        return "has placeholders"
    if command.page in NOT_RUN_PAGES:
        return NOT_RUN_PAGES[command.page]
    return next((why for part, why in NOT_RUN.items() if part in words), None)


def is_slow(command: Documented) -> bool:
    return any(part in " ".join(command.words) for part in SLOW)


def sections() -> Iterator[object]:
    """The commands that are run, section by section: one builds on those before it."""
    for (page, section), group in groupby(COMMANDS, lambda each: (each.page, each.section)):
        commands = [each for each in group if why_not_run(each) is None]
        quick = [each for each in commands if not is_slow(each)]
        if quick:
            yield pytest.param(quick, id=f"{page}: {section}")
        if len(quick) < len(commands):
            yield pytest.param(commands, id=f"{page}: {section}, all of it", marks=pytest.mark.long)


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a reader is, with what the commands name: the repository's folders and own files."""
    for name in ("tests", "scenarios", "deploy"):
        (tmp_path / name).symlink_to(ROOT / name)
    for file in (ROOT / "scenarios" / "real-cluster").iterdir():
        shutil.copy(file, tmp_path)
    page = (ROOT / "docs" / "explaining.md").read_text(encoding="utf-8")
    picture = page.partition("```yaml\n")[2].partition("```")[0]
    (tmp_path / "seen.yaml").write_text(picture, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def every_command() -> Mapping[str, Any]:
    """The commands of the command line by their names."""
    return typer.main.get_command(app).commands  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_options_and_arguments_of_a_documented_command_exist(
    page: Path, every_command: Mapping[str, Any]
) -> None:
    """All of them, those too that cannot be run here; an error names the option."""
    for command in documented(page):
        name, *arguments = command.words
        found = every_command[name]
        if name == "show":
            name, *arguments = arguments
            found = found.commands[name]
        context = found.context_class(found, info_name=name)
        found.make_parser(context).parse_args(list(arguments))


@pytest.mark.parametrize("commands", list(sections()))
@pytest.mark.usefixtures("empty_folder")
def test_documented_commands_run_and_print_what_is_shown(commands: list[Documented]) -> None:
    _make_earlier_runs(commands)
    for command in commands:
        result = CliRunner().invoke(app, list(command.words))
        # A search that finds something says so by its status.
        status = 1 if command.words[0] == "fuzz" else 0
        assert result.exit_code == status, f"{command.place}:\n{result.output}"
        if command.output is not None:
            assert missing_lines(command, result.stdout) == [], command.place


#: Runs and scenarios that a section needs and another has made: a path, and the command.
EARLIER = {
    "mine.yaml": (
        *("import", "topics.txt", "--properties", "server-*.properties", "--release", "4.4"),
        *("-o", "mine.yaml"),
    ),
    "runs/mine": (
        *("run", "mine.yaml", "--out", "runs/mine", "--set"),
        'faults=[{kind: power_loss, at: 60s, for: 2m, brokers: ["rack:use1-az2"]}]',
    ),
    "runs/first": ("run", "quickstart", "--out", "runs/first"),
    "runs/second": ("run", "cut-and-pause", "--out", "runs/second"),
    "runs/demo/rack": ("demo", "--out", "runs/demo"),
    "runs/lag-time": (
        *("sweep", "lag-time", "--seeds", "1..2", "--out", "runs/lag-time"),
        *("--set", "cluster.settings.replica.lag.time.max.ms=10000,60000"),
    ),
}


def _make_earlier_runs(commands: list[Documented]) -> None:
    for path in EARLIER:
        named = [each for each in commands if path in each.words]
        if named and not _makes(named[0], path):
            _make(path)


def _makes(command: Documented, path: str) -> bool:
    """Whether a command writes a path: it is the value of its option for that."""
    return any(
        option in {"--out", "-o"} and value == path
        for option, value in pairwise(command.words)
        if command.words[0] != "analyze"
    )


def _make(path: str) -> None:
    if Path(path).exists():
        return
    command = EARLIER[path]
    for needed in EARLIER.keys() & set(command) - {path}:
        _make(needed)
    result = CliRunner().invoke(app, list(command))
    assert result.exit_code == 0, result.output


# The comparison itself, held against pages that are wrong.

PAGE = """\
# Page

## First steps

```
$ tidegauge releases 2.6          (shortened)
one line
another line ...
```

```
tidegauge run quickstart \\
    --out runs/first      # a comment
$ tidegauge scenarios
all
```
"""


@pytest.fixture
def page(tmp_path: Path) -> list[Documented]:
    file = tmp_path / "page.md"
    file.write_text(PAGE)
    return list(documented(file))


def test_commands_are_found_in_fenced_blocks(page: list[Documented]) -> None:
    assert [(each.line, each.words, each.output) for each in page] == [
        (6, ("releases", "2.6"), ("one line", "another line ...")),
        (12, ("run", "quickstart", "--out", "runs/first"), None),
        (14, ("scenarios",), ("all",)),
    ]
    assert {each.section for each in page} == {"First steps"}


def test_a_shown_line_that_is_not_printed_is_found(page: list[Documented]) -> None:
    shortened, _, whole = page
    assert missing_lines(shortened, "zero\none line\nmore\nanother line, and its end\n") == []
    assert missing_lines(shortened, "another line\none line\n") == ["another line ..."]
    assert missing_lines(whole, "all\n") == []
    assert missing_lines(whole, "all\nand more\n") != []
