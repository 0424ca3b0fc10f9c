"""Intervals: those of a partition tile its time, and say what rows say at every moment."""

# ruff: noqa: S608 - queries are put together from names and numbers of these tests

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from analysed_runs import RUNS
from recorded_tables import Row, bent, table
from scenario_runs import rows_of
from tidegauge.analysis.making.duckdb_engine import connected
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.tables.dialect import ORDER, merged, overlaid, tiled
from tidegauge.replication.replica_list import unpack
from tidegauge.simulation.trace_rows.codes import STATE_WRITTEN
from tidegauge.traces.run_folder import RunFolder

END_US = 1_000


def by_partition(intervals: Iterable[Row], *more: str) -> dict[tuple[Any, ...], list[Row]]:
    """Intervals of each partition (and what else tells them apart), in the order of time."""
    found: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for interval in intervals:
        found[tuple(interval[name] for name in ("run", "partition", *more))].append(interval)
    for each in found.values():
        each.sort(key=lambda row: row["begin_us"])
    return found


def tears(intervals: list[Row]) -> list[tuple[int, int]]:
    """Where one does not end as the next one begins."""
    pairs = pairwise(intervals)
    ends = [(one["end_us"], other["begin_us"]) for one, other in pairs]
    return [pair for pair in ends if pair[0] != pair[1]]


@pytest.mark.parametrize("name", ["partition_states", "isr_intervals", "leader_intervals"])
def test_intervals_of_a_partition_tile_the_time_that_it_exists(
    name: str, tables: RunTables, recorded: dict[str, RunFolder]
) -> None:
    """From its first state on, to the end of the run: no topic is deleted in these runs."""
    intervals = by_partition(table(tables, name))
    assert len(intervals) == sum(len(run.manifest["partitions"]) for run in recorded.values())
    for (run, partition), tiles in intervals.items():
        states = rows_of(recorded[run], "partition_state", partition=partition)
        summary = recorded[run].summary
        assert summary is not None
        assert tears(tiles) == []
        assert all(tile["begin_us"] < tile["end_us"] for tile in tiles)
        assert tiles[0]["begin_us"] == states[0]["time_us"]
        assert tiles[-1]["end_us"] == summary["virtual_seconds"] * 1e6


def test_a_state_that_is_gone_tears_the_tiles(
    recorded: dict[str, RunFolder], tmp_path: Path
) -> None:
    """The twin of the test above: without one write of a state the tiles are others."""
    run = recorded["quickstart-zookeeper"]
    written = next(row for row in run.rows("partition_state") if row["change"] == STATE_WRITTEN)
    partition, time_us = written["partition"], written["time_us"]
    others = f"from rows where time_us <> {time_us} or partition <> {partition}"
    tables = bent(run, tmp_path, {"partition_state": others})
    tiles = by_partition(table(tables, "isr_intervals"))[run.path.name, partition]
    assert time_us not in {tile["begin_us"] for tile in tiles}


@pytest.mark.parametrize(("name", "key"), [("isr_members", "broker"), ("unavailable", "condition")])
def test_intervals_without_a_break_are_apart(name: str, key: str, tables: RunTables) -> None:
    """Those that touch would be one."""
    for tiles in by_partition(table(tables, name), key).values():
        pairs = pairwise(tiles)
        assert all(one["end_us"] < other["begin_us"] for one, other in pairs)


def test_isrs_are_told_as_broker_ids_in_their_order(
    tables: RunTables, recorded: dict[str, RunFolder]
) -> None:
    """The last ISR of each partition, unpacked by ``replica_list``."""
    for run in RUNS:
        last: dict[int, int] = {}
        summary = recorded[run].summary
        assert summary is not None
        for row in recorded[run].rows("partition_state"):
            if row["time_us"] < summary["virtual_seconds"] * 1e6:
                last[row["partition"]] = row["isr"]
        found = by_partition(table(tables, "isr_intervals", run))
        for number, isr in last.items():
            slots = recorded[run].manifest["partitions"][number]["slots"]
            tile = found[run, number][-1]
            assert tile["isr"] == [slots[slot] for slot in unpack(isr)]
            assert tile["in_sync"] == len(tile["isr"])


def test_members_are_in_the_isrs_of_their_time(tables: RunTables) -> None:
    """Replica-seconds in sync are the same, counted by replicas and by ISRs."""
    for run in RUNS:
        by_members = sum(r["end_us"] - r["begin_us"] for r in table(tables, "isr_members", run))
        by_isrs = sum(
            (r["end_us"] - r["begin_us"]) * r["in_sync"]
            for r in table(tables, "isr_intervals", run)
        )
        assert by_members == by_isrs > 0


# The three functions by themselves, held against what changes say at each moment.


def changes_of(draw: Random, keys: int) -> list[tuple[Any, ...]]:
    """Changes of many keys, often several in one microsecond and some after the end."""
    return [
        ("run", key, draw.randrange(0, END_US + 50, 10), process, sequence, 0, draw.randrange(3))
        for key in range(keys)
        for process in range(2)
        for sequence in range(draw.randrange(12))
    ]


def value_at(changes: list[tuple[Any, ...]], key: int, time_us: int) -> int | None:
    """What the last change of a key up to a time has made of it."""
    before = [each for each in changes if each[1] == key and each[2] <= time_us]
    return max(before, key=lambda each: each[2:6])[6] if before else None


def values_at(intervals: list[Row], key: int, time_us: int, column: str) -> list[Any]:
    """What intervals of a key that contain a time say: of tiles at most one does."""
    return [
        row[column]
        for row in intervals
        if row["key"] == key and row["begin_us"] <= time_us < row["end_us"]
    ]


def made(
    queries: dict[str, str], changes: dict[str, tuple[str, list[tuple[Any, ...]]]]
) -> dict[str, list[Row]]:
    """The rows of each query, over changes of a column and over the queries before it."""
    database = connected()
    database.execute("create table runs as select 'run' as run, ? as ends_us", [END_US])
    order = ", ".join(f"{name} bigint" for name in ORDER)
    for name, (column, rows) in changes.items():
        database.execute(f"create table {name} (run text, key bigint, {order}, {column} bigint)")
        database.executemany(f"insert into {name} values (?, ?, ?, ?, ?, ?, ?)", rows)
    for name, sql in queries.items():
        database.execute(f"create table {name} as {sql}")
    return {name: database.table(name).to_arrow_table().to_pylist() for name in queries}


def test_tiles_and_what_is_made_of_them_say_what_the_changes_say() -> None:
    draw = Random(11)  # noqa: S311  # nothing here is a secret
    keys = 12
    one, other = changes_of(draw, keys), changes_of(draw, keys)
    object_ = ("run", "key")
    queries = {
        "tiles": tiled("ones", object_, ["one"]),
        "others": tiled("others_changes", object_, ["other"]),
        "laid_over": overlaid("tiles", "others", object_, ["one"], ["other"]),
        "merged": merged("laid_over", object_, ["one"]),
    }
    found = made(queries, {"ones": ("one", one), "others_changes": ("other", other)})
    assert len(found["merged"]) < len(found["laid_over"])
    for key in range(keys):
        for time_us in range(0, END_US, 10):
            says, others_say = value_at(one, key, time_us), value_at(other, key, time_us)
            expected = [] if says is None else [says]
            assert values_at(found["tiles"], key, time_us, "one") == expected
            if others_say is None:
                expected = []
            assert values_at(found["laid_over"], key, time_us, "one") == expected
            assert values_at(found["merged"], key, time_us, "one") == expected
            assert values_at(found["laid_over"], key, time_us, "other") == (
                [others_say] if expected else []
            )
        assert values_at(found["tiles"], key, END_US, "one") == []
