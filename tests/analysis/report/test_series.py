"""Buckets of time keep what matters: the most at once, however short it was, and what is left."""

# ruff: noqa: S608 - our own text

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tidegauge.analysis.making.duckdb_engine import connected
from tidegauge.report.panels import Point, counts, in_order, levels, measured, steps

SECOND = 1_000_000


@pytest.fixture
def database() -> Any:
    database = connected()
    yield database
    database.close()


def made(database: Any, columns: str, rows: Sequence[Sequence[object]]) -> None:
    database.execute(f"create table given ({columns})")
    places = ", ".join("?" * len(rows[0]))
    database.executemany(f"insert into given values ({places})", rows)


def test_the_most_within_a_bucket_is_seen_however_short_it_was(database: Any) -> None:
    made(
        database,
        "series varchar, begin_us bigint, end_us bigint",
        [
            ("offline", 0, 9 * SECOND),
            ("offline", 2 * SECOND + 1, 2 * SECOND + 2),  # within the bucket of 2 s to 3 s
            ("offline", 2 * SECOND + 2, 2 * SECOND + 3),  # begins as that ends: not one more
            ("under_min_isr", 5 * SECOND, 20 * SECOND),  # until the run ends
        ],
    )
    found = levels("select * from given", SECOND, run_us=20 * SECOND)
    assert database.execute(in_order([found])).fetchall() == [
        ("offline", 0, 1, 1),
        ("offline", 2 * SECOND, 2, 1),
        ("offline", 9 * SECOND, 1, 0),
        ("under_min_isr", 5 * SECOND, 1, 1),
    ]


def test_what_happened_is_counted_where_it_happened(database: Any) -> None:
    made(
        database,
        "series varchar, time_us bigint",
        [("shrink", 0), ("shrink", SECOND - 1), ("shrink", SECOND), ("expand", 5 * SECOND)],
    )
    assert database.execute(in_order([counts("select * from given", SECOND)])).fetchall() == [
        ("expand", 5 * SECOND, 1.0, None),
        ("shrink", 0, 2.0, None),
        ("shrink", SECOND, 1.0, None),
    ]


def test_each_aggregate_of_samples_is_a_series(database: Any) -> None:
    made(database, "time_us bigint, lag bigint", [(100, 1), (200, 5), (SECOND, 7), (2, None)])
    found = measured("given", SECOND, {"most": "max(lag)", "least": "min(lag)"})
    assert database.execute(in_order([found])).fetchall() == [
        ("least", 0, 1.0, None),
        ("least", SECOND, 7.0, None),
        ("most", 0, 5.0, None),
        ("most", SECOND, 7.0, None),
    ]


def test_a_level_is_drawn_as_steps_from_the_most_to_what_is_left() -> None:
    """Two are open for a moment in the bucket of 2 s, one until 9 s; the run ends at 20 s."""
    points = [Point(2 * SECOND, 2.0, 1.0), Point(9 * SECOND, 1.0, 0.0)]
    assert [(p.at_us // SECOND, p.value) for p in steps(points, SECOND, 20 * SECOND)] == [
        (0, 0.0),
        (2, 2.0),
        (3, 1.0),
        (10, 0.0),
        (20, 0.0),
    ]
