"""One run in all its outputs: a quantity has the same number wherever it is shown."""

# ruff: noqa: S608 - queries are put together from names of this file

from __future__ import annotations

import json
import re
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from report_page import ReportPage
from tidegauge.command_line import app
from tidegauge.report.quantities import number_text
from tidegauge.runs.run import Run

_CRASH = "{name: crash, kind: crash, at: 30s, for: 25s, brokers: [2]}"
_CUT = "{name: cut, kind: cut_link, at: 65s, for: 2m, between: [[1], [2, 3, 4, 5, 6]]}"
_NO_MEMORY = (
    "{name: shop, topics: [orders], batches_per_second: 200, records_per_batch: 10, settings: {"
    "acks: all, buffer.memory: 100000, max.block.ms: 2000, delivery.timeout.ms: 8000, "
    "request.timeout.ms: 4000}}"
)

#: Each has what another has not: elections in either mode, a roll, lost records, the last known
#: leader (KIP-966), a reassignment, producers without memory.
SCENARIOS = {
    "crash and cut": (
        *("quickstart", "duration=110s", "liveness=false"),
        f"faults=[{_CRASH}, {_CUT}]",
    ),
    "roll": (
        *("quickstart-zookeeper", "duration=140s", "liveness=false"),
        "faults=[{name: roll, kind: rolling_restart, at: 20s, stopped_for: 5s}]",
    ),
    "power": (
        *("quickstart-zookeeper", "duration=100s"),
        "faults=[{name: power, kind: power_loss, at: 30s, for: 20s, brokers: [1, 2, 3]}]",
    ),
    "last known leader": ("18-last-replica-standing",),
    "move": ("throttled-move", "liveness=false"),
    "no memory": (
        *("quickstart", "duration=80s", "liveness=false"),
        f"faults=[{_CRASH}]",
        f"workload.producers=[{_NO_MEMORY}]",
    ),
}
SHORT = ("crash and cut", "move", "no memory")
#: That which a Prometheus sees.
OBSERVED = "crash and cut"
#: As pictures and ``run`` call the conditions.
CONDITIONS = {
    "not_accepting": ("not accepting", "not accepting writes"),
    "offline": ("offline", "offline"),
    "under_min_isr": ("under min ISR", "under min ISR"),
    "at_min_isr": ("at min ISR", "at it"),
}
CHANGES = {
    "isr_shrinks": ("shrink", "ISR shrinks", "ISRs shrunk by leaders"),
    "isr_expands": ("expand", "ISR expands", None),
    "isr_removals": ("removal", "ISR removals", "replicas removed from ISRs by the controller"),
    "leader_elections": (None, "leaders elected", "leaders elected"),
}

_TABLES = (
    *("run_figures", "partition_figures", "control_plane_figures", "clients", "lost"),
    *("unavailable", "fault_outages", "isr_changes", "elections", "described_states"),
)


class Outputs:
    """A run, and what the commands print of it."""

    def __init__(self, name: str, folder: Path) -> None:
        scenario, *changes = SCENARIOS[name]
        self.path = folder / "run"
        options = [word for change in changes for word in ("--set", change)]
        self.scraped = folder / "scraped"
        if name == OBSERVED:
            options += ["--openmetrics", str(self.scraped), "--metrics-level", "topic"]
        self.run = self._said("run", scenario, *options, "-v", "--inline", "--out", str(self.path))
        self.folder = Run(self.path)
        assert self.folder.summary is not None
        self.summary: dict[str, Any] = self.folder.summary
        self.tables = self.folder.tables
        self.tables.make(_TABLES)

    def _said(self, *words: str) -> str:
        result = CliRunner().invoke(app, list(words))
        assert result.exit_code in (0, 1), result.output
        return result.stdout

    @cached_property
    def picture(self) -> dict[str, str]:
        """The numbers in front of the bars of each line."""
        lines = self._said("picture", str(self.path)).splitlines()
        found = (re.match(r"(\S.{16}) *([\d,]+) +([\d,.]+)(?: |$)", line) for line in lines)
        return {each[1].strip(): each[3] for each in found if each}

    @cached_property
    def show(self) -> str:
        return self._said("show", "partitions", str(self.path))

    @cached_property
    def faults(self) -> str:
        return self._said("show", "faults", str(self.path))

    @cached_property
    def report(self) -> ReportPage:
        self._said("report", str(self.path))
        return ReportPage((self.path / "report.html").read_text())

    def described(self, *options: str) -> set[tuple[str, int]]:
        topics = json.loads(self._said("describe", str(self.path), "--json", *options))
        return {(t["topic"], each["partition"]) for t in topics for each in t["partitions"]}

    def one(self, query: str) -> Any:
        """The only value of a query."""
        ((value,),) = (row.values() for row in self.tables.rows(query))
        return value or 0


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(each, marks=() if each in SHORT else pytest.mark.long) for each in SCENARIOS
    ],
)
def outputs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    return Outputs(request.param, tmp_path_factory.mktemp("outputs"))


@pytest.mark.parametrize("condition", CONDITIONS)
def test_partition_seconds_are_the_same_everywhere(outputs: Outputs, condition: str) -> None:
    name, words = CONDITIONS[condition]
    seconds = outputs.summary[f"partition_seconds_{condition}"]
    assert f"{seconds:,.1f} {words}" in outputs.run
    assert outputs.picture[name] == f"{seconds:,.1f}"
    of_run = outputs.one(f"select partition_seconds_{condition} from run_figures")
    assert of_run == pytest.approx(seconds)
    intervals = f"select sum(lasted_us) / 1e6 from unavailable where condition = '{condition}'"
    assert outputs.one(intervals) == pytest.approx(seconds)
    if condition in {"not_accepting", "under_min_isr"}:
        of_partitions = outputs.one(f"select sum({condition}_us) / 1e6 from partition_figures")
        assert of_partitions == pytest.approx(seconds)
    if condition != "at_min_isr":
        assert any(
            tile.startswith(f"{number_text(of_run)} partition-seconds")
            for tile in outputs.report.tiles
        )
    charged = outputs.one(
        "select sum(partition_seconds - shared_seconds) from fault_outages"
        f" where condition = '{condition}'"
    )
    assert charged <= seconds + 1e-6


@pytest.mark.parametrize("figure", CHANGES)
def test_changes_are_counted_alike_and_without_start_up(outputs: Outputs, figure: str) -> None:
    change, name, tile = CHANGES[figure]
    count = outputs.summary[figure]
    assert outputs.picture[name] == f"{count:,}"
    assert outputs.one(f"select {figure} from run_figures") == count
    if tile is not None:
        assert f"{count:,} {tile}" in outputs.report.tiles
    if change is None:
        assert f"leaders elected: {count}, {outputs.summary['unclean_elections']}" in outputs.run
        unclean = outputs.one("select sum(unclean_elections) from partition_figures")
        assert unclean == outputs.summary["unclean_elections"]
        return
    assert f"{count:,} {change}" in outputs.run
    # Of a removal each replica counts: an election can take out two.
    times = outputs.one(
        "select sum(case when change = 'removal' then size(brokers) else 1 end) from isr_changes"
        " join run_figures using (run)"
        f" where change = '{change}' and time_us > 1e6 * figures_from_seconds"
    )
    assert times == count


def test_stalls_are_told_alike(outputs: Outputs) -> None:
    """What producers and consumers wait for, in the summary, `run`, pictures and tables."""
    for condition, clients, reads in (
        ("stalled", "producers", ""),
        ("reads_stalled", "consumers", "reads_"),
    ):
        seconds = outputs.summary[f"partition_seconds_{condition}"]
        partitions = outputs.summary[f"partitions_{condition}"]
        said = f"{partitions:,} partition{'s' * (partitions != 1)} ("
        if partitions:
            assert f"stalled for {clients}: {said}" in outputs.run
        for query in (
            f"select sum({condition}_us) / 1e6 from partition_figures",
            f"select sum(lasted_us) / 1e6 from unavailable where condition = '{condition}'",
        ):
            assert (outputs.one(query) or 0) == pytest.approx(seconds, abs=1e-6), query
        longest = outputs.one(
            f"select max(lasted_us) / 1e6 from unavailable where condition = '{condition}'"
        )
        assert (longest or 0) == pytest.approx(outputs.summary[f"longest_{reads}stall_seconds"])
        assert outputs.picture[condition.replace("_", " ")] == f"{seconds:,.1f}"


def test_what_is_offered_is_told_alike(outputs: Outputs) -> None:
    """Each record is in one place (KIP-91 gives up some), wherever the places are named."""
    places = ("acknowledged", "failed", "unsent", "in_flight")
    counts = [outputs.summary[f"records_{place}"] for place in places]
    offered = outputs.summary["records_offered"]
    words = " + ".join(
        f"{count:,} {place.replace('_', ' ')}" for count, place in zip(counts, places, strict=True)
    )
    assert sum(counts) == offered
    assert f"records: {offered:,} offered = {words}\n" in outputs.run


def test_records_are_given_up_once(outputs: Outputs) -> None:
    """Whether they were sent or not: max.block.ms is over before there is a batch."""
    failed = outputs.summary["records_failed"]
    assert f" + {failed:,} failed + " in outputs.run
    for column, table in (
        ("records_given_up", "partition_figures"),
        ("records_failed", "clients"),
    ):
        assert outputs.one(f"select sum({column}) from {table}") == failed, table
    said = re.search(r"Producers gave up ([\d,]+) records? in the whole run", outputs.faults)
    assert (said[1] if said else "0") == f"{failed:,}"


def test_records_are_lost_alike(outputs: Outputs) -> None:
    lost = outputs.summary["records_acknowledged_lost"]
    assert f" of the acknowledged ones {lost:,} lost, " in outputs.run
    assert f"{lost:,} acknowledged record" in outputs.show or not lost
    for query in (
        "select sum(records) from lost",
        "select sum(records_lost) from partition_figures",
    ):
        assert outputs.one(query) == lost, query
    by_partition = outputs.summary["records_lost_by_partition"]
    assert sum(by_partition.values()) == lost
    said = f"{lost:,} acknowledged record" if lost else "no acknowledged record lost"
    assert any(said in paragraph for paragraph in outputs.report.paragraphs)


def test_a_part_is_never_more_than_its_whole(outputs: Outputs) -> None:
    unwritable = outputs.one("select unwritable_us / 1e6 from control_plane_figures")
    not_accepting = outputs.summary["partition_seconds_not_accepting"]
    under_min_isr = outputs.summary["partition_seconds_under_min_isr"]
    assert max(not_accepting, under_min_isr) <= unwritable + 1e-6
    assert unwritable <= not_accepting + under_min_isr + 1e-6
    for topic in outputs.tables.rows(
        "select topic, sum(records_committed) as committed, sum(records_written) as written"
        " from clients group by topic"
    ):
        assert topic["committed"] <= topic["written"], topic
    offline = outputs.described("--unavailable-partitions")
    under = outputs.described("--under-min-isr-partitions")
    no_leader = outputs.tables.rows(
        "select topic, topic_partition from described_states"
        " where end_us is null and leader is null"
    )
    assert len(no_leader) <= len(offline & under)


def test_a_reassignment_is_the_answer_of_a_run_with_one(outputs: Outputs) -> None:
    moved = outputs.summary["reassignments"]
    for each in moved.values():
        text = f"moved {each['partitions']} partitions in {each['seconds']:,.1f} s"
        assert text in outputs.run
        assert text in outputs.show
        assert any(text in paragraph for paragraph in outputs.report.paragraphs)
    said = re.search(r"new replicas fetched ([\d.]+) MB", outputs.run)
    assert bool(said) == bool(moved)
    if said:
        # Four partitions of eight, which had 2 MB/s together for 60 s, and some more meanwhile.
        assert 60 <= float(said[1]) <= 80


@pytest.mark.parametrize("outputs", [OBSERVED], indirect=True)
def test_the_last_scrape_is_what_describe_prints(outputs: Outputs) -> None:
    """JMX counts under-min-ISR partitions at their leaders; the tool adds those without one."""
    last: dict[str, dict[str, float]] = {}
    for line in outputs.scraped.read_text().splitlines():
        found = re.match(r'(\w+)\{.*?instance="([^"]+)".*\} (\S+) \S+$', line)
        if found:
            last.setdefault(found[1], {})[found[2]] = float(found[3])
    at_once = {name: sum(values.values()) for name, values in last.items()}
    gauge = "kafka_server_replicamanager_{}"
    under_replicated = outputs.described("--under-replicated-partitions")
    assert at_once[gauge.format("underreplicatedpartitions")] == len(under_replicated) > 0
    without_leader = outputs.described("--unavailable-partitions")
    under = outputs.described("--under-min-isr-partitions") - without_leader
    assert at_once[gauge.format("underminisrpartitioncount")] == len(under) > 0
