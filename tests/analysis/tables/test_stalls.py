"""An outage in the tables of clients: stalls, acknowledgements, service during a fault."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analysed_runs import RUNS
from recorded_tables import figures, table
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.report.stalled_writes import stalled_partitions
from tidegauge.traces.run_files import MANIFEST
from tidegauge.traces.run_folder import RunFolder
from written_rows import MANIFEST_OF_TESTS, ZOOKEEPER, S, WrittenRows, named_partition

LEADER, SHOP_0, SHOP_1 = 0, 5, 6
CRASH = 5
ALL = -1

MANIFEST_OF_THE_OUTAGE: dict[str, Any] = {
    **MANIFEST_OF_TESTS,
    "scenario": {
        "name": "outage",
        "duration": "60s",
        "sample_every": "1s",
        "topics": [],
        "workload": {"producers": [{"topics": ["orders"]}]},
    },
    "processes": [
        *MANIFEST_OF_TESTS["processes"],
        {"process": SHOP_1, "name": "client shop-1", "role": "client", "number": 1},
    ],
    "partitions": [named_partition(0, [1, 2, 3]), named_partition(1, [1, 2, 3], min_isr=3)],
}


def an_outage() -> WrittenRows:
    """A follower is dead from 20 s to 30 s, and stays in the ISR: no write gets an outcome.

    Partition 0 gets 100 records a second before it, and 200 a second for 10 s after it.
    """
    rows = WrittenRows()
    for broker in range(3):
        rows.write("broker_started", 0, broker, broker=broker)
        rows.write("broker_state", 0, ZOOKEEPER, broker=broker)
    for partition in (0, 1):
        rows.held(0, partition, leader=LEADER, isr=0x321)
        rows.write("became_leader", 0, LEADER, partition=partition, isr=0x321)
    for second in range(1, 21):
        _sampled(rows, second, 100 * second)
        rows.write(
            "producer_sampled", second * S, SHOP_0, batches=10, taken_us=100_000, longest_us=20_000
        )
    rows.write("fault_began", 20 * S, 2, fault=0, fault_kind=CRASH)
    rows.write("produce_stalled", 21 * S, SHOP_0, partition=0, waited_us=S)
    rows.write("produce_stalled", 25 * S, SHOP_1, partition=0, waited_us=S)
    rows.write("fault_ended", 30 * S, 2, fault=0, fault_kind=CRASH)
    rows.write("produce_resumed", 28 * S, SHOP_0, partition=0, stalled_us=7 * S)
    rows.write("produce_resumed", 30 * S, SHOP_1, partition=0, stalled_us=5 * S)
    rows.write("producer_sampled", 30 * S, SHOP_0, batches=2, taken_us=10 * S, longest_us=7_500_000)
    for second in range(21, 31):
        _sampled(rows, second, 2_000)
    for second in range(31, 41):
        _sampled(rows, second, 2_000 + 200 * (second - 30))
    rows.write("produce_stalled", 50 * S, SHOP_1, partition=0, waited_us=S)
    rows.write("consume_stalled", 50 * S, SHOP_0, partition=1, waited_us=S)
    rows.write("consume_resumed", 51 * S, SHOP_0, partition=1, stalled_us=S)
    rows.write(
        "acknowledged", 60 * S, LEADER, partition=0, acks=ALL, first_offset=0, end_offset=4_050
    )
    for client in (SHOP_0, SHOP_1):
        rows.write(
            "client_totals", 60 * S, client, records_offered=2_100, records_acknowledged=2_025,
            records_unsent=75, blocked_us=3 * S,
        )  # fmt: skip
    return rows


def _sampled(rows: WrittenRows, second: int, high_watermark: int) -> None:
    rows.write(
        "sampled", second * S, LEADER, partition=0, leads=1, high_watermark=high_watermark,
        log_end_offset=high_watermark + 10,
    )  # fmt: skip


@pytest.fixture(scope="module")
def outage(tmp_path_factory: pytest.TempPathFactory) -> RunTables:
    folder = an_outage().run(tmp_path_factory.mktemp("runs") / "outage")
    (folder / MANIFEST).write_text(json.dumps(MANIFEST_OF_THE_OUTAGE))
    return RunTables(folder, tmp_path_factory.mktemp("tables"))


def spans(rows: list[dict[str, Any]], *columns: str) -> list[tuple[Any, ...]]:
    return [(*(row[each] for each in columns), row["begin_us"] / S, row["end_us"] / S)
            for row in rows]  # fmt: skip


def test_a_partition_is_stalled_while_any_producer_waits_for_it(outage: RunTables) -> None:
    assert spans(table(outage, "stalls"), "client", "condition", "partition") == [
        ("shop-0", "stalled", 0, 21, 28),
        ("shop-1", "stalled", 0, 25, 30),
        ("shop-1", "stalled", 0, 50, 60),
        ("shop-0", "reads_stalled", 1, 50, 51),
    ]
    conditions = outage.rows(
        "select * from unavailable where condition like '%stalled' order by partition, begin_us"
    )
    assert spans(conditions, "condition", "partition") == [
        ("stalled", 0, 21, 30),
        ("stalled", 0, 50, 60),
        ("reads_stalled", 1, 50, 51),
    ]
    found = figures(outage, "outage")
    assert (found["partitions_stalled"], found["partitions_stalled_most"]) == (1, 1)
    assert (found["partition_seconds_stalled"], found["longest_stall_seconds"]) == (19, 10)
    assert found["partition_seconds_reads_stalled"] == 1
    stalled = stalled_partitions(outage)
    assert stalled is not None
    assert stalled.text == "1 of 2 partitions stalled for producers, for 10.0 s"


def test_a_group_of_clients_is_told_what_became_of_its_records(outage: RunTables) -> None:
    (shop,) = table(outage, "client_groups")
    assert (shop["client_group"], shop["clients"]) == ("shop", 2)
    assert shop["records_offered"] == 4_200 == shop["records_acknowledged"] + shop["records_unsent"]
    assert (shop["blocked_us"], shop["stalled_us"]) == (6 * S, 20 * S)


def test_records_count_in_the_second_in_which_they_were_acknowledged(outage: RunTables) -> None:
    """Those at the log end, behind the high watermark, are not acknowledged with acks=all."""
    seconds = {row["begin_us"] // S: row["records"] for row in table(outage, "acknowledgements")}
    before, after = dict.fromkeys(range(20), 100), dict.fromkeys(range(30, 40), 200)
    # The samples end at 40 s; the last records of the range were acknowledged by its end.
    assert seconds == {**before, **after, 59: 50}


def test_a_fault_is_told_with_what_clients_got_before_it_and_meanwhile(outage: RunTables) -> None:
    (crash,) = table(outage, "fault_service")
    assert (crash["begin_us"], crash["until_us"]) == (20 * S, 30 * S)
    assert (crash["acknowledged_per_second"], crash["before_acknowledged_per_second"]) == (0, 100)
    assert (crash["silent_us"], crash["before_silent_us"]) == (10 * S, 0)
    assert (crash["batch_us"], crash["before_batch_us"]) == (5 * S, 10_000)
    assert (crash["longest_batch_us"], crash["before_longest_batch_us"]) == (7_500_000, 20_000)


@pytest.mark.parametrize("run", RUNS)
def test_acknowledgements_are_those_of_leaders_to_the_last_record(
    run: str, tables: RunTables, recorded: dict[str, RunFolder]
) -> None:
    brokers = len(recorded[run].manifest["brokers"])
    ends_us = recorded[run].end_us
    acknowledged = sum(
        row["end_offset"] - row["first_offset"]
        for row in recorded[run].rows("acknowledged")
        if row["process"] < brokers and row["time_us"] <= ends_us
    )
    assert sum(row["records"] for row in table(tables, "acknowledgements", run)) == acknowledged
