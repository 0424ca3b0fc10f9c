"""Packages that only some commands need: the extra ``spark``."""

from __future__ import annotations

from importlib.util import find_spec

from tidegauge.views.output import fail

#: What the extra ``spark`` of ``pyproject.toml`` installs, but for Java.
_SPARK = ("plotly", "pyarrow", "pyspark", "scipy")


def has_spark() -> bool:
    """Whether Spark, and what the analyses need beside it, is installed."""
    return all(find_spec(package) is not None for package in _SPARK)


def need_spark(command: str) -> None:
    """End a command with one line unless it can use Spark."""
    if not has_spark():
        fail(f"{command} needs Spark, which is not installed: pip install 'tidegauge[spark]'")
