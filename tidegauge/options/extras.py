"""The extra ``spark``, which only some commands need."""

from __future__ import annotations

from importlib.util import find_spec

from tidegauge.compiled.errors import TidegaugeError


def has_spark() -> bool:
    """Whether Spark is installed."""
    return find_spec("pyspark") is not None


def need_spark(command: str) -> None:
    """End a command with one line unless it can use Spark."""
    if not has_spark():
        raise TidegaugeError(
            f"{command} needs Spark, which is not installed: pip install 'tidegauge[spark]'"
        )
