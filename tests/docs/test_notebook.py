"""The notebooks of the documentation show what their code really gives.

``python tests/docs/test_notebook.py`` executes them again and writes their output.
"""

from __future__ import annotations

import io
import json
import os
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from documented import ROOT, value_of

NOTEBOOKS = sorted((ROOT / "docs").glob("*.ipynb"))


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the output that its cells have in the folder of this process."""
    names: dict[str, Any] = {}
    cells = []
    number = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            outputs = outputs_of("".join(cell["source"]), names, number)
            cells.append({**cell, "execution_count": number, "outputs": outputs})
        else:
            cells.append(cell)
    return {**notebook, "cells": cells}


def outputs_of(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """What a cell prints, and the value of its last line."""
    said = io.StringIO()
    with redirect_stdout(said):
        value = value_of(source, names, f"cell {number}")
    outputs: list[dict[str, Any]] = []
    if said.getvalue():
        text = said.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        for kind, name in (("text/html", "_repr_html_"), ("image/svg+xml", "_repr_svg_")):
            if hasattr(value, name):
                data[kind] = getattr(value, name)().splitlines(keepends=True)
        outputs.append(
            {
                "data": data,
                "execution_count": number,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return outputs


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.name)
def test_the_output_of_a_notebook_is_that_of_its_code(
    notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written = json.loads(notebook.read_text(encoding="utf-8"))
    found = executed(written)
    for cell, again in zip(written["cells"], found["cells"], strict=True):
        assert again == cell, "".join(cell["source"])


def main() -> None:
    """Execute the notebooks, and write them."""
    for notebook in NOTEBOOKS:
        written = json.loads(notebook.read_text(encoding="utf-8"))
        with TemporaryDirectory() as folder:
            os.chdir(folder)
            found = executed(written)
        notebook.write_text(
            json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
