"""The environment variables that say how rules are built, read once at import.

=========================== ===========================================================
``TIDEGAUGE_COMPILED=0``      run the rules as plain Python
``TIDEGAUGE_BOUNDS_CHECK=1``  compile with array bounds checked (slower, its own cache)
``TIDEGAUGE_CACHE_DIR``       where compiled code is kept, else ``$XDG_CACHE_HOME/tidegauge``
=========================== ===========================================================
"""

from __future__ import annotations

import os
from pathlib import Path

COMPILED = os.environ.get("TIDEGAUGE_COMPILED", "1") != "0"
BOUNDS_CHECKED = os.environ.get("TIDEGAUGE_BOUNDS_CHECK", "0") == "1"


def cache_base() -> Path:
    """The folder below which compiled code is kept; asked at each use, for the sake of tests."""
    named = os.environ.get("TIDEGAUGE_CACHE_DIR")
    if named is not None:
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "tidegauge"
