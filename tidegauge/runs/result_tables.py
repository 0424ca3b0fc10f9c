"""The result tables of one run, for views that read them: in its folder, as ``analyze`` has them.

They are made when they are first asked for, and again if the trace has grown or the tables of this
Tidegauge are others. If the folder of the run cannot be written, they lie in a temporary folder
until the process ends.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidegauge.analysis.making.run_tables import RunTables
    from tidegauge.traces.run_folder import RunFolder

#: The folder within that of a run; ``analyze`` uses the same.
TABLES_FOLDER = "tables"

#: Temporary folders, which are removed as the process ends.
_temporary: list[TemporaryDirectory[str]] = []


def tables_of(run: RunFolder) -> RunTables:
    """The result tables of a run; none is made yet.

    Raises:
        RunError: the folder is not that of a run.
    """
    # It is heavy, and `--help` stays quick.
    from tidegauge.analysis.making.run_tables import RunTables  # noqa: PLC0415

    folder = run.path / TABLES_FOLDER
    if not os.access(folder if folder.exists() else run.path, os.W_OK):
        _temporary.append(TemporaryDirectory(prefix="tidegauge-"))
        folder = Path(_temporary[-1].name)
    return RunTables(run.path, folder)
