"""The extra ``spark``: packages that only some commands need."""

from __future__ import annotations

from importlib.util import find_spec

from tidegauge.views.output import fail

#: The packages of the extra ``spark`` in ``pyproject.toml``, without Java.
_SPARK = ("plotly", "pyarrow", "pyspark", "scipy")


def has_spark() -> bool:
    """Whether Spark and the other packages of the analyses are installed."""
    return all(find_spec(package) is not None for package in _SPARK)


def need_spark(command: str) -> None:
    """End a command with one line unless it can use Spark."""
    if not has_spark():
        fail(f"{command} needs Spark, which is not installed: pip install 'tidegauge[spark]'")
