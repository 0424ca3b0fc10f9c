"""Many small answers of Spark, asked for at once: each by itself would wait for its planning."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import DataFrame

#: Answers by their names: tables of Arrow.
Answers = Mapping[str, Any]

#: More would only wait for each other.
_AT_ONCE = 4


def collected(asked: Mapping[str, DataFrame]) -> Answers:
    """The rows of small DataFrames, as tables of Arrow."""
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        waited_for = {name: threads.submit(rows.toArrow) for name, rows in asked.items()}
        return {name: answer.result() for name, answer in waited_for.items()}
