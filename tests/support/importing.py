"""A folder in which ``tidegauge import`` is given files, as a person gives them."""

from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner, Result

from tidegauge.command_line import app
from tidegauge.scenario.reading import load_scenario


def in_one_line(output: str) -> str:
    """Output without the line breaks of its width."""
    return " ".join(output.split())


class Importing:
    """The files, and the results of importing them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, name: str, text: str) -> Path:
        """A file of this text."""
        path = self.folder / name
        path.write_text(text)
        return path

    def imported(self, *words: str | Path) -> tuple[dict[str, Any], str]:
        """The scenario, which is valid, and the output in one line."""
        result = self._run(*words)
        assert result.exit_code == 0, result.output
        load_scenario(self._out)
        return yaml.safe_load(self._out.read_text()), in_one_line(result.output)

    def refused(self, *words: str | Path) -> str:
        """The error, without the folder of its file."""
        result = self._run(*words)
        assert result.exit_code == 2, result.output
        assert len(result.stderr.splitlines()) == 1, result.stderr
        return result.stderr.strip().replace(f"{self.folder}/", "").removeprefix("tidegauge: ")

    @property
    def _out(self) -> Path:
        return self.folder / "mine.yml"

    def _run(self, *words: str | Path) -> Result:
        self._out.unlink(missing_ok=True)
        return CliRunner().invoke(app, ["import", *map(str, words), "-o", str(self._out)])
