"""Answers from result tables and those of an oracle, from the same rows, are the same.

Two ways to count: ``duckdb_oracle.py`` knows the meaning of rows, and nothing of result tables.
"""

# ruff: noqa: S608 - queries name the runs of this test

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from analysed_runs import RUNS
from duckdb_oracle import Oracle, Row
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.questions.all_questions import QUESTIONS
from tidegauge.analysis.tables.elections import PARTS
from tidegauge.traces.run_folder import RunFolder

OracleOf = Callable[[RunFolder], Oracle]

SMALL = "crashed"
SPAN_US = 2_000_000


class Asked:
    """The answers to questions about some runs, each asked once."""

    def __init__(self, tables: RunTables) -> None:
        self.tables = tables
        self._answers: dict[str, list[Row]] = {}

    def answer(self, question: str, run: str) -> list[Row]:
        if question not in self._answers:
            self._answers[question] = QUESTIONS[question].of(self.tables)
        return [row for row in self._answers[question] if row["run"] == run]


@pytest.fixture(scope="module")
def small(crashed: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    return Asked(RunTables(crashed.path, tmp_path_factory.mktemp("tables")))


@pytest.fixture(scope="module")
def large(tables: RunTables) -> Asked:
    return Asked(tables)


@pytest.fixture(scope="module")
def oracle_of() -> OracleOf:
    """The oracle of a run, which is read once."""
    return cache(Oracle)


def shrinks(asked: Asked, run: str) -> Any:
    rows = asked.answer("isr-flapping", run)
    return {row["broker"]: row["shrinks"] for row in rows if row["shrinks"]}


def unavailability(asked: Asked, run: str) -> Any:
    """Without what the trace does not tell directly: who accepts writes in truth."""
    rows = asked.answer("unavailability", run)
    same = ("topic", "condition", "intervals", "partitions", "p50_us", "p99_us", "longest_us")
    found = [
        {name: row[name] for name in same} | {"total_us": round(row["total_seconds"] * 1e6)}
        for row in rows
        if row["condition"] != "not_accepting"
    ]
    return sorted(found, key=lambda row: (row["topic"], row["condition"]))


def hw_lag(asked: Asked, run: str) -> Any:
    same = ("begin_us", "samples", "p50", "p95", "p99", "largest")
    return [{name: row[name] for name in same} for row in asked.answer("hw-lag", run)]


def notifications(asked: Asked, run: str) -> Any:
    rows = asked.answer("notification-batching", run)
    same = ("begin_us", "changes", "notifications", "largest", "delay_p50_us", "delay_longest_us")
    return [{name: row[name] for name in same} for row in rows]


def promises(asked: Asked, run: str) -> Any:
    """Acknowledged records of all acks; lost ones by acks."""
    lost: Counter[str] = Counter()
    for row in asked.answer("lost-records", run):
        lost[row["acks"]] += row["records"]
    acknowledged = asked.tables.rows(
        f"select acks, sum(records) as records from acknowledged where run = '{run}' group by acks"
    )
    return {
        row["acks"]: (row["records"], lost["all" if row["acks"] == -1 else str(row["acks"])])
        for row in acknowledged
    }


#: What is compared, and rows of the trace without which it would be something else.
COMPARED: dict[str, tuple[Callable[[Asked, str], Any], Callable[[Oracle], Any], str]] = {
    "shrinks": (
        shrinks,
        Oracle.shrunk_out,
        (
            "update isr_shrunk set isr = old_isr where sequence ="
            " (select max(sequence) from isr_shrunk)"
        ),
    ),
    "unavailability": (
        unavailability,
        Oracle.unavailability,
        (
            "delete from broker_state where state = 0;"
            " delete from partition_state where time_us > 60000000"
        ),
    ),
    "hw_lag": (
        hw_lag,
        lambda oracle: oracle.hw_lag(SPAN_US),
        "update samples set high_watermark = high_watermark - 1 where time_us > 9000000",
    ),
    "notifications": (
        notifications,
        Oracle.notifications,
        (
            "update isr_expanded set time_us = 0 where sequence ="
            " (select max(sequence) from isr_expanded)"
        ),
    ),
    "promises": (
        promises,
        Oracle.promises,
        (
            "update acknowledged set end_offset = end_offset + 1 where sequence ="
            " (select max(sequence) from acknowledged)"
        ),
    ),
}


def check_same(what: str, asked: Asked, run: RunFolder, oracle: Oracle) -> None:
    of_tables, of_oracle, bend = COMPARED[what]
    found = of_tables(asked, run.path.name)
    assert found == of_oracle(oracle)
    # The twin: had the rows been others, it would have been noticed.
    if found:
        with oracle.bent(bend):
            assert found != of_oracle(oracle)


@pytest.mark.parametrize("what", [name for name in COMPARED if name not in {"hw_lag", "shrinks"}])
def test_questions_are_answered_as_by_the_oracle(
    what: str, small: Asked, crashed: RunFolder, oracle_of: OracleOf
) -> None:
    check_same(what, small, crashed, oracle_of(crashed))


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("what", COMPARED)
def test_large_runs_are_answered_as_by_the_oracle(
    what: str, run: str, large: Asked, recorded: dict[str, RunFolder], oracle_of: OracleOf
) -> None:
    check_same(what, large, recorded[run], oracle_of(recorded[run]))


def test_the_runs_have_something_to_compare(large: Asked, recorded: dict[str, RunFolder]) -> None:
    """Equal answers are not equal because all of them are empty."""
    for of_tables, _, _ in COMPARED.values():
        assert any(of_tables(large, run) for run in recorded)


def changes(asked: Asked, run: str) -> Row:
    (found,) = asked.tables.rows(f"""
        select count_if(change = 'shrink') as shrink, count_if(change = 'expand') as expand,
            coalesce(sum(size(brokers)) filter (where change = 'removal'), 0) as removal,
            any_value(elections) as elections, any_value(unclean) as unclean
        from isr_changes cross join (
            select count_if(is_new) as elections, count_if(unclean) as unclean
            from elections where run = '{run}'
        ) as e
        where run = '{run}'
    """)
    return found


@pytest.mark.parametrize("run", RUNS)
def test_shrinks_expands_and_elections_are_those_that_the_oracle_counts(
    run: str, large: Asked, recorded: dict[str, RunFolder], oracle_of: OracleOf
) -> None:
    oracle = oracle_of(recorded[run])
    found = changes(large, run)
    assert found == oracle.changes()
    for kind in ("isr_expanded", "leader_elected"):
        with oracle.bent(f"delete from {kind}"):
            assert found != oracle.changes()


def test_every_second_of_a_failover_is_accounted_for(
    small: Asked, crashed: RunFolder, oracle_of: OracleOf
) -> None:
    """From the crash until somebody leads again; the session has to expire first."""
    failovers = small.answer("failover-budget", SMALL)
    for row in failovers:
        assert sum(row[part] or 0 for part in PARTS) == row["total_us"]
    counted = oracle_of(crashed).failovers()
    assert sorted(row["partitions"] for row in failovers) == sorted(counted.values())
    (first,) = [row for row in failovers if row["event"] == "BrokerChange"]
    assert first["fault_name"] == "crash-1"
    assert first["detection_us"] > 4_000_000 > 10 * (first["total_us"] - first["detection_us"])


def test_the_longest_failover_ends_as_its_leader_takes_over(
    large: Asked, recorded: dict[str, RunFolder], oracle_of: OracleOf
) -> None:
    """Its total is the time from the fault to the row in which the slowest leader begins."""
    oracle = oracle_of(recorded["quickstart-zookeeper"])
    (failover,) = large.answer("failover-budget", "quickstart-zookeeper")
    (crash,) = oracle.rows("select min(time_us) as began_us from fault_began")
    led = oracle.rows(
        "select became_leader.time_us from leader_elected"
        " join became_leader using (partition, leader_epoch)"
        " where leader_elected.leader_epoch > 0 and became_leader.process = leader"
    )
    assert failover["partitions"] == len(led)
    assert failover["total_us"] == max(row["time_us"] for row in led) - crash["began_us"]
    assert sum(failover[part] or 0 for part in PARTS) == failover["total_us"]


@pytest.mark.parametrize("run", RUNS)
def test_all_that_is_elected_in_one_event_is_one_failover(
    run: str, large: Asked, recorded: dict[str, RunFolder], oracle_of: OracleOf
) -> None:
    """Also in the event in which a controller is elected, which it takes from no queue."""
    failovers = large.answer("failover-budget", run)
    for row in failovers:
        assert sum(row[part] or 0 for part in PARTS) == row["total_us"]
    counted = oracle_of(recorded[run]).failovers()
    assert sorted(row["partitions"] for row in failovers) == sorted(counted.values())


def test_bounces_are_told_in_fewer_notifications_than_changes(large: Asked) -> None:
    """KAFKA-2722: leaders gather what they change, so that the controller is told less often."""
    rows = [row for run in RUNS for row in large.answer("notification-batching", run)]
    told = [row for row in rows if row["notifications"] > 1]
    assert told
    assert all(row["notifications"] <= row["changes"] for row in told)
    assert any(5 * row["notifications"] < row["changes"] for row in told)
