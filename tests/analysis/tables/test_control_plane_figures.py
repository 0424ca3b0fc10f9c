"""The cost of a control plane: the table against a plain recount of the rows, in either mode."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from both_modes import MIN_ISR, MODES, in_mode
from recorded_tables import table
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.engine.simulate import simulate
from tidegauge.replication.replica_list import unpack
from tidegauge.simulation.messages.kinds import NAMES
from tidegauge.simulation.trace_rows.codes import BROKER_ACTIVE, STOP_CLEAN
from tidegauge.traces.directory import Directory
from tidegauge.traces.run_folder import RunFolder, TraceRow

_RESTART = 7
_ASKED_OF_BROKERS = {"LEADER_AND_ISR", "UPDATE_METADATA", "STOP_REPLICA"}
_ASKED_BY_BROKERS = {"ALTER_PARTITION", "CONTROLLED_SHUTDOWN", "BROKER_REGISTRATION"}


@pytest.fixture(scope="module", params=MODES)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return simulate(in_mode(request.param), tmp_path_factory.mktemp("runs") / request.param)


@pytest.fixture(scope="module")
def figures(run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    tables = RunTables([run.path], tmp_path_factory.mktemp("tables"))
    (found,) = table(tables, "control_plane_figures")
    return found


class Recount:
    """The rows of a run, gone through one by one: what holds between two of them is added up."""

    def __init__(self, run: RunFolder) -> None:
        assert run.summary is not None
        self.from_us = round(run.summary["figures_from_seconds"] * 1e6)
        self.ends_us = round(run.summary["virtual_seconds"] * 1e6)
        self.hosts = [
            [run.manifest["brokers"].index(broker) for broker in each["slots"]]
            for each in run.manifest["partitions"]
        ]
        self.roles = {n: each.role for n, each in Directory(run.manifest).processes.items()}
        self.is_kraft = "quorum controller" in self.roles.values()
        self.rows = [row for row in run.all_rows() if row["time_us"] < self.ends_us]
        #: The ISR and the leader that the control plane holds, and who leads in fact.
        self.isr: dict[int, list[int]] = {}
        self.leader: dict[int, int] = {}
        self.epoch: dict[int, int] = {}
        self.leads: dict[int, int] = {}
        self.leads_in: dict[int, int] = {}
        self.active: set[int] = set()
        self.controllers: dict[int, int] = {}
        self.first_fault_us = min(each["time_us"] for each in self.of("fault_began"))
        self.counted: defaultdict[str, int] = defaultdict(int)
        self.begun_us: dict[int, int] = {}
        self.longest: defaultdict[int, int] = defaultdict(int)
        self.out_since: dict[int, int] = {}
        self.outs: list[tuple[int, int, int]] = []
        self._go()

    def of(self, *kinds: str) -> Iterator[TraceRow]:
        return (row for row in self.rows if row.kind in kinds)

    def _go(self) -> None:
        now_us = 0
        for row in self.rows:
            if row["time_us"] > now_us:
                self._pass(now_us, row["time_us"])
                now_us = row["time_us"]
            if row["time_us"] > self.from_us:
                self._count(row)
            self._keep(row)
        self._pass(now_us, self.ends_us)
        self._look(self.ends_us, at_end=True)

    def _outside(self, partition: int) -> list[int]:
        return [each for each in self.hosts[partition] if each not in self.isr[partition]]

    def _pass(self, from_us: int, to_us: int) -> None:
        self._look(from_us)
        passed_us = to_us - max(from_us, self.from_us)
        if passed_us > 0:
            self.counted["out_of_isr_us"] += passed_us * sum(map(len, map(self._outside, self.isr)))
            refusing = [each for each in self.isr if not self._takes_writes(each)]
            self.counted["unwritable_us"] += passed_us * len(refusing)
            self.counted["controller_less_us"] += passed_us * (not self.active)
            most = max(self.counted["active_controllers_most"], len(self.active))
            self.counted["active_controllers_most"] = most

    def _takes_writes(self, partition: int) -> bool:
        """With acks=all, in the newest epoch."""
        is_led = partition in self.leads and self.leads_in[partition] == self.epoch[partition]
        return is_led and len(self.isr[partition]) >= MIN_ISR

    def _look(self, now_us: int, *, at_end: bool = False) -> None:
        """Intervals that have begun and ended, once all rows of a moment are kept."""
        out = {each for partition in self.isr for each in self._outside(partition)}
        for broker in out - self.out_since.keys():
            self.out_since[broker] = now_us
        for broker in [each for each in self.out_since if at_end or each not in out]:
            self.outs.append((broker, self.out_since.pop(broker), now_us))
        for partition, leader in self.leader.items():
            is_led = self.leads.get(partition, -1) == leader >= 0
            if not is_led:
                self.begun_us.setdefault(partition, now_us)
            if (is_led or at_end) and partition in self.begun_us:
                begun_us = self.begun_us.pop(partition)
                if begun_us >= self.first_fault_us:
                    self.longest[partition] = max(self.longest[partition], now_us - begun_us)

    def _count(self, row: TraceRow) -> None:
        if row.kind == "partition_state":
            isr = self._members(row)
            self.counted["isr_changes"] += isr != self.isr[row["partition"]]
            self.counted["leader_epochs"] += row["leader_epoch"] != self.epoch[row["partition"]]
            self.counted["state_writes"] += 1
        elif row.kind == "became_follower":
            self.counted["follower_starts"] += 1
        elif row.kind == "message":
            name, sender = NAMES[row["message_kind"]], self.roles[row["from_process"]]
            if name in _ASKED_OF_BROKERS | _ASKED_BY_BROKERS:
                self.counted["control_requests"] += 1
            elif name in {"ZK_PING", "BROKER_HEARTBEAT"}:
                self.counted["heartbeats"] += 1
            elif name.startswith("ZK_") and sender == "broker":
                self.counted["control_requests"] += 1
            elif name == "RAFT_FETCH" and sender == "broker":
                self.counted["metadata_fetches"] += 1

    def _members(self, row: TraceRow) -> list[int]:
        return [self.hosts[row["partition"]][slot] for slot in unpack(row["isr"])]

    def _keep(self, row: TraceRow) -> None:
        if row.kind == "partition_state":
            self.isr[row["partition"]] = self._members(row)
            self.leader[row["partition"]] = row["leader"]
            self.epoch[row["partition"]] = row["leader_epoch"]
        elif row.kind == "became_leader":
            self.leads[row["partition"]] = row["process"]
            self.leads_in[row["partition"]] = row["leader_epoch"]
        elif row.kind == "became_follower":
            if self.leads.get(row["partition"]) == row["process"]:
                del self.leads[row["partition"]]
        elif row.kind == "broker_stopped":
            self.leads = {p: each for p, each in self.leads.items() if each != row["process"]}
            self.active.discard(self.controllers.get(row["process"], -1))
        elif row.kind == "controller_elected":
            self.controllers[row["broker"]] = row["process"]
            self.active.add(row["process"])
        elif row.kind == "controller_resigned":
            self.active.discard(row["process"])
        elif row.kind == "controller_active" and self.is_kraft:
            (self.active.add if row["broker"] >= 0 else self.active.discard)(row["process"])

    def exits_us(self) -> list[int]:
        """From the signal to the end of the process."""
        return [
            row["time_us"]
            - max(
                each["time_us"]
                for each in self.of("fault_began")
                if each["process"] == row["process"] and each["fault_kind"] == _RESTART
            )
            for row in self.of("broker_stopped")
            if row["stop"] == STOP_CLEAN
        ]

    def returns_us(self) -> list[int]:
        """From the start of each process to the last of its ISRs; each broker is away once."""
        found = []
        for up in self.of("broker_loading"):
            active_us = next(
                row["time_us"]
                for row in self.of("broker_state")
                if row["time_us"] > up["time_us"]
                and row["broker"] == up["process"]
                and row["state"] == BROKER_ACTIVE
            )
            back_us = next(
                end_us
                for broker, begin_us, end_us in self.outs
                if broker == up["process"] and begin_us <= active_us < end_us
            )
            found.append(back_us - up["time_us"])
        return found


@pytest.fixture(scope="module")
def recount(run: RunFolder) -> Recount:
    return Recount(run)


def test_counts_and_times_are_those_of_a_plain_recount(
    figures: dict[str, Any], recount: Recount
) -> None:
    counted = dict(recount.counted)
    assert {name: figures[name] for name in counted} == counted
    assert {"state_writes", "isr_changes", "leader_epochs", "out_of_isr_us"} <= counted.keys()
    assert {"control_requests", "heartbeats", "follower_starts"} <= counted.keys()
    assert figures["controller_less_us"] > 0
    assert figures["unwritable_us"] > figures["leaderless_last_us"]
    assert figures["exit_longest_us"] == max(recount.exits_us())
    assert figures["return_longest_us"] == max(recount.returns_us())


def test_a_partition_is_leaderless_from_the_loss_of_its_leader_until_the_next_one_leads(
    figures: dict[str, Any], recount: Recount
) -> None:
    longest = sorted(recount.longest.values())
    assert figures["first_fault_us"] == recount.first_fault_us
    assert figures["leaderless_partitions"] == len(longest) > 1
    assert figures["leaderless_first_us"] == longest[0]
    assert figures["leaderless_median_us"] == longest[ceil(len(longest) / 2) - 1]
    assert figures["leaderless_last_us"] == longest[-1]


def test_what_one_mode_does_not_have_is_null_there(
    figures: dict[str, Any], recount: Recount
) -> None:
    assert (figures["mode"] == "kraft") == recount.is_kraft
    assert (figures["metadata_fetches"] is not None) == recount.is_kraft
    if recount.is_kraft:
        assert figures["controller_reload_longest_us"] is None
        assert figures["state_commits"] < figures["state_writes"]
    else:
        assert figures["state_commits"] == figures["state_writes"]


@pytest.mark.parametrize("mode", MODES)
def test_requests_are_null_where_they_are_not_recorded(mode: str, tmp_path: Path) -> None:
    """Level ``transitions`` has no rows of them: 0 would be a claim."""
    quiet = in_mode(mode, trace="transitions", duration="10s", faults=[])
    run = simulate(quiet, tmp_path / "run")
    (found,) = table(RunTables([run.path], tmp_path / "tables"), "control_plane_figures")
    of_requests = ("control_requests", "heartbeats", "metadata_fetches")
    assert [found[name] for name in of_requests] == [None] * 3
    assert found["first_fault_us"] is None
    assert found["exit_longest_us"] is None
    assert found["return_longest_us"] is None
    assert (found["leaderless_partitions"], found["controller_less_us"]) == (0, 0)
