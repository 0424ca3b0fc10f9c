"""The files of a run's folder: how they are called, and what its manifest and summary hold.

``tidegauge/run_folder.py`` says what each of them is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tidegauge.simulation.row_kinds import SCHEMA_VERSION
from tidegauge.simulation.trace_file import newer_schema

#: What a manifest says that it is of.
FORMAT = "tidegauge-run"

MANIFEST = "manifest.json"
SUMMARY = "summary.json"
TRACE = "trace"

#: What a manifest lists, since rows call it by a number.
NAMED = ("processes", "brokers", "partitions", "faults")


class RunError(ValueError):
    """A folder that is no run, or one that cannot be read; the message is one line."""


def read_manifest(folder: Path) -> dict[str, Any]:
    """What is run in this folder, and what the numbers in its rows stand for.

    Raises:
        RunError: there is no manifest in it that this Tidegauge can read.
    """
    file = folder / MANIFEST
    manifest = _read_json(file)
    if manifest is None:
        raise RunError(f"{folder}: not the folder of a run: it has no {MANIFEST}")
    if manifest.get("format") != FORMAT:
        raise RunError(f"{file}: not the manifest of a run of Tidegauge")
    schema_version = manifest.get("schema_version", 0)
    if schema_version > SCHEMA_VERSION:
        raise RunError(newer_schema(file, schema_version, manifest.get("tidegauge")))
    missing = [name for name in NAMED if not isinstance(manifest.get(name), list)]
    if missing:
        raise RunError(f"{file}: has no list of {missing[0]}")
    return manifest


def read_summary(folder: Path) -> dict[str, Any] | None:
    """What came of the run in this folder; None if it has not come to its end.

    Raises:
        RunError: the summary cannot be read.
    """
    return _read_json(folder / SUMMARY)


def trace_files(folder: Path) -> list[Path]:
    """The trace files of a run that have been begun: an empty one has not been."""
    files = sorted((folder / TRACE).glob("*.msgpack"))
    return [file for file in files if file.stat().st_size]


def _read_json(file: Path) -> dict[str, Any] | None:
    """What a JSON file holds; None if there is no such file."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise RunError(f"{file}: cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise RunError(f"{file}: cannot be read: it holds no JSON object")
    return content
