"""Faults of the machine and of its user: each ends a command in one line that names it."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from small_clusters import cluster_of
from tidegauge.command_line import app
from tidegauge.engine.contract import EngineInput
from tidegauge.engine.inline_engine import InlineEngine, inline
from tidegauge.engine.simulate import simulate
from tidegauge.report import page

TINY = """\
name: tiny
duration: 5s
cluster: {brokers: 1}
topics: [{name: story, partitions: 1, replication_factor: 1}]
"""


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, words)])


def error_of(result: Result) -> str:
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    return line


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    return file


@contextmanager
def full_disk() -> Iterator[None]:
    """No file can grow: as on a full disk, but for the name of the error."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_of_two_runs_into_one_folder_the_second_is_an_error(tmp_path: Path) -> None:
    """Both find the folder empty; one of them makes the folder of traces first."""
    scenario, out = cluster_of(), tmp_path / "run"

    def overtaken(begun: EngineInput) -> InlineEngine:
        simulate(scenario, out)
        engine = inline()(begun)
        assert isinstance(engine, InlineEngine)
        return engine

    with pytest.raises(FileExistsError, match=r"/run: another run has begun in it$"):
        simulate(scenario, out, make_engine=overtaken)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "tiny.yaml", "--out", "again"),
        ("run", "tiny.yaml", "--openmetrics", "tiny.om", "--out", "again"),
        ("show", "faults", "run"),
        ("report", "run"),
        ("replay-view", "run"),
        ("dashboards", "boards"),
        ("generate", "-o", "mine.yaml"),
    ],
    ids=" ".join,
)
def test_a_full_disk_is_one_line(
    words: tuple[str, ...], tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("run", tiny, "--out", "run").exit_code == 0
    with full_disk():
        result = run(*words)
    assert result.exit_code == 2, result.output
    assert result.stderr.splitlines()[-1].startswith("tidegauge: ")
    assert result.stderr.splitlines()[-1].endswith(": File too large")


def test_charts_without_their_library_are_one_line_that_names_the_extra(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("run", tiny, "--out", tmp_path / "run")
    monkeypatch.setattr(page, "find_spec", lambda _name: None)
    for command in ("report", "replay-view"):
        line = error_of(run(command, tmp_path / "run"))
        assert line.endswith("pip install 'tidegauge[report]'")
    assert not (tmp_path / "run" / "tables").exists()
