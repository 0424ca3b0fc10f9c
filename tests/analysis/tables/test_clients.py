"""What clients saw is what the rows of the trace say, counted second by second in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from analysed_runs import RUNS
from recorded_tables import table
from sampled_replicas import samples_of
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.simulation.quantities import parse_duration
from tidegauge.traces.run_folder import RunFolder

PRODUCE, FETCH = 0, 1

#: Topic and second, and the name of a count.
Counts = Counter[tuple[str, int, str]]


class Counting:
    """Counts the rows of a run."""

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self.topics = [each["topic"] for each in run.manifest["partitions"]]
        self.ends_us = parse_duration(run.manifest["scenario"]["duration"])
        #: Those that are not 0.
        self.counts: Counts = Counter()
        self._count_errors()
        self._count_growth()

    def _count(self, partition: int, time_us: int, name: str, number: int = 1) -> None:
        if time_us < self.ends_us and partition >= 0 and number > 0:
            self.counts[self.topics[partition], time_us // 1_000_000, name] += number

    def _count_errors(self) -> None:
        processes = self.run.manifest["processes"]
        clients = {each["process"] for each in processes if each["role"] == "client"}
        names = {PRODUCE: "writes_refused", FETCH: "fetches_refused"}
        for row in self.run.rows("request_refused"):
            if row["from_process"] in clients and row["api_key"] in names:
                self._count(row["partition"], row["time_us"], names[row["api_key"]])
        for kind in ("batch_failed", "send_failed"):
            for row in self.run.rows(kind):
                self._count(row["partition"], row["time_us"], "batches_failed")
                self._count(row["partition"], row["time_us"], "records_failed", row["records"])
        for row in self.run.rows("batch_duplicated"):
            self._count(row["partition"], row["time_us"], "batches_duplicated")

    def _count_growth(self) -> None:
        """From each sample of a partition with a leader to the next one.

        What the first sample has is not counted, nor a high watermark that rises again.
        """
        ends: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for row in samples_of(self.run, leads=1):
            if row["time_us"] < self.ends_us:
                at = (row["partition"], row["time_us"])
                ends[at].append((row["log_end_offset"], row["high_watermark"]))
        before: dict[int, tuple[int, int]] = {}
        for (partition, time_us), leaders in sorted(ends.items()):
            log_end, committed = (max(each) for each in zip(*leaders, strict=True))
            old_log_end, old_committed = before.get(partition, (log_end, log_end))
            committed = max(committed, old_committed)
            self._count(partition, time_us, "records_written", log_end - old_log_end)
            self._count(partition, time_us, "records_committed", committed - old_committed)
            before[partition] = log_end, committed


@pytest.mark.parametrize("run", RUNS)
def test_clients_are_counted_topic_by_topic_and_second_by_second(
    run: str, tables: RunTables, recorded: dict[str, RunFolder]
) -> None:
    found: Counts = Counter()
    for row in table(tables, "clients", run):
        at = (row.pop("topic"), row.pop("time_us") // 1_000_000)
        del row["run"]
        assert any(row.values())
        found.update({(*at, name): number for name, number in row.items() if number})
    assert found == Counting(recorded[run]).counts


@pytest.mark.parametrize("run", RUNS)
def test_refusals_have_the_names_of_kafkas_protocol(
    run: str, tables: RunTables, recorded: dict[str, RunFolder]
) -> None:
    """Writes and fetches that the table of clients counts are refused with some error each."""
    refused: Counter[str] = Counter()
    for row in table(tables, "refusals", run):
        assert row["error"].isupper()
        assert row["first_us"] <= row["last_us"]
        refused[row["request"]] += row["requests"]
    in_all: Counter[str] = Counter()
    for (_, _, name), number in Counting(recorded[run]).counts.items():
        in_all[name] += number
    assert refused["PRODUCE"] == in_all["writes_refused"]
    assert refused["FETCH"] == in_all["fetches_refused"]


def test_the_runs_have_refusals_and_writes(tables: RunTables) -> None:
    """The twin of the tests above: they are not equal because all is 0."""
    clients = table(tables, "clients")
    for name in ("records_written", "records_committed", "writes_refused"):
        assert any(row[name] for row in clients), name
