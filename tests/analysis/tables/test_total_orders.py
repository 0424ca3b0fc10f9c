"""No result table depends on the order of rows: windows and aggregates order them in full."""

# ruff: noqa: S608 - queries are put together from texts of tables and of this test

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb

from tidegauge.analysis.making.duckdb_engine import DuckDBEngine
from tidegauge.analysis.making.engine import sql_of
from tidegauge.analysis.making.grouped_files import part_file
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.tables.all_tables import TABLES, VIEWS
from tidegauge.analysis.tables.dialect import merged, united
from tidegauge.analysis.tables.result_table import ResultTable, View
from tidegauge.analysis.tables.topology import Topology
from total_orders import OBJECTS, declared_keys, doubles, has_order, varying

#: United intervals as they once were: equal ones are ordered twice, and not alike.
_UNITED_BY_TIES = """
    select sum(is_first) over (
        partition by run, partition order by begin_us, end_us
        rows between unbounded preceding and current row
    ) as place
    from (
        select *, max(end_us) over (
            partition by run, partition order by begin_us, end_us
            rows between unbounded preceding and 1 preceding
        ) >= begin_us as is_first
        from charged_outages
    ) as compared
"""

#: Queries whose result depends on the order of rows, and the windows of each that make it so.
VARYING = {
    _UNITED_BY_TIES: ["sum by begin_us, end_us as place", "max by begin_us, end_us"],
    merged("charged_outages", ("run", "partition"), ()): [
        "sum by begin_us as place",
        "lag by begin_us",
    ],
    "select lag(isr) over (partition by run order by time_us) from isr_shrunk": ["lag by time_us"],
    "select row_number() over (partition by run) as nth from elections": ["row_number as nth"],
    "select min_by(topic, led_us) from elections group by run": ["min_by"],
    "select any_value(leader) as one from elections group by run": ["any_value as one"],
    "select list(leader) from elections group by run": ["list"],
    "select string_agg(topic, ', ' order by leader) from elections group by run": ["string_agg"],
    "select sum(partition_seconds) as whole from fault_outages": ["sum as whole"],
    "select sum(part) from (select lasted_us / 3 as part from unavailable) as those": ["sum"],
    "select * from elections order by time_us limit 5": ["limit"],
}

#: The same with what orders the rows in full.
NOT_VARYING = (
    f"select * from ({united('charged_outages', ('run', 'partition'))}) as spans",
    merged("leader_intervals", ("run", "partition"), ("leader",)),
    "select lag(isr) over (partition by run, process order by sequence) from isr_shrunk",
    "select sum(records) over (partition by run order by time_us) from lost",
    "select min_by(topic, place(led_us, time_us, process, sequence)) from elections group by run",
    "select max_by(leader, row(queue_us, leader)) from elections group by run",
    "select list(leader order by process, sequence) from elections group by run",
    "select string_agg(distinct topic, ', ' order by topic) from elections group by run",
    "select sum(partition_seconds order by run, fault, condition) from fault_outages",
    "select sum(lasted_us) / 3 from unavailable group by run",
    "select * from elections order by time_us, run, process, sequence limit 5",
)


def test_no_query_depends_on_the_order_of_rows() -> None:
    keys, real = declared_keys(), doubles()
    found = {name: varying(sql_of(name) or "", keys, real) for name in (*VIEWS, *TABLES)}
    assert {name: its for name, its in found.items() if its} == {}


def test_queries_that_depend_on_the_order_of_rows_are_found() -> None:
    found = {sql: varying(sql, declared_keys(), doubles()) for sql in VARYING}
    assert found == VARYING
    assert [sql for sql in NOT_VARYING if varying(sql, declared_keys(), doubles())] == []


def test_an_answer_has_an_order_if_its_rows_cannot_come_in_another_one() -> None:
    keys = declared_keys()
    assert has_order("select * from elections order by run, process, sequence", keys)
    assert has_order("select run, topic from clients group by all order by all", keys)
    assert has_order("select sum(records) from lost", keys)
    assert not has_order("select * from elections", keys)
    assert not has_order("select * from elections order by time_us", keys)
    assert not has_order("select * from partition_states order by partition, begin_us", keys)
    assert has_order(
        "select * from partition_states order by partition, begin_us", keys, of_one_run=True
    )


def test_rows_of_a_table_are_written_in_the_order_of_its_key() -> None:
    for name, each in TABLES.items():
        assert each.key[:1] == ("run",), name
        assert each.order[: len(each.key)] == each.key
        assert {*each.order} == {column.name for column in each.columns}


def test_no_two_rows_have_the_same_key(tables: RunTables, tmp_path: Path) -> None:
    """As declared for tables, for views, and for the objects behind numbers."""
    every: list[ResultTable | View] = [*TABLES.values(), *VIEWS.values()]
    keyed = [each for each in every if each.key]
    made = [ResultTable(each.name, "", (), each.sql, each.key) for each in keyed]
    runs = [run for run in tables.runs if run.name == "schedule"]
    DuckDBEngine().write(runs, made, tmp_path, lambda _: None)
    for each in keyed:
        own = ", ".join(each.key[1:]) or "true"
        file = part_file(tmp_path, each.name, 0)
        twice = f"select 1 from '{file}' group by {own} having count(*) > 1"
        assert duckdb.execute(twice).fetchall() == [], each.name
    known = Topology(runs)
    for name, keys in OBJECTS.items():
        for key in keys:
            rows = Counter(tuple(row[column] for column in key) for row in known[name].to_pylist())
            assert max(rows.values(), default=1) == 1, (name, key)
