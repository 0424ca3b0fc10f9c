"""The figures of a run, counted from its trace files in plain Python, row by row.

It knows the trace format and the meaning of the figures, and nothing of how the product counts:
states of partitions are dictionaries, and time is added up partition by partition.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from plain_stalls import PlainStalls
from tidegauge.replication.replica_list import unpack
from tidegauge.simulation.faults import PAUSE
from tidegauge.simulation.quantities import parse_duration
from tidegauge.simulation.trace_rows.codes import (
    BROKER_ABSENT,
    REASON_LIVENESS,
    STATE_CREATED,
    STATE_DELETED,
)
from tidegauge.traces.run_folder import RunFolder, TraceRow

_COUNTED = {
    "isr_shrunk": "isr_shrinks",
    "isr_expanded": "isr_expands",
    "notification_sent": "isr_notifications",
}

#: Totals of clients, in their rows and in the summary.
_OF_CLIENTS = (
    *("records_offered", "records_acknowledged", "records_failed", "records_unsent"),
    "records_in_flight",
)
#: Figures with which start-up counts, too.
_OF_ALL_TIMES = (*_OF_CLIENTS, "starts", "failovers")

#: Rows of other kinds change no state: the time before them passes with that before the next one.
_CHANGE_STATES = {
    *("partition_state", "partition_replicas", "topic_configured", "broker_state"),
    *("became_leader", "became_follower", "replica_stopped", "log_deleted"),
    *("broker_loading", "broker_started", "broker_stopped", "fault_began", "fault_ended"),
}


class PlainReader:
    """Reads a run and counts."""

    def __init__(self, run: RunFolder) -> None:
        self.brokers = len(run.manifest["brokers"])
        scenario = run.manifest["scenario"]
        self.slots = [
            [run.manifest["brokers"].index(broker) for broker in each["slots"]]
            for each in run.manifest["partitions"]
        ]
        topics = {topic["name"]: topic for topic in scenario["topics"]}
        default = scenario["cluster"]["settings"]["min.insync.replicas"]
        self.topics = list(topics)
        self.topic_of = [self.topics.index(each["topic"]) for each in run.manifest["partitions"]]
        self.min_isr = [
            topics[each["topic"]]["settings"].get("min.insync.replicas", default)
            for each in run.manifest["partitions"]
        ]
        assert run.summary is not None
        self.ends_us = int(run.summary["virtual_seconds"] * 1e6)
        self.states: dict[int, TraceRow] = {}
        #: The ISR before that of the state, and when the last leader was elected.
        self.isr_before: dict[int, list[int]] = {}
        self.elected: dict[int, tuple[int, int]] = {}
        #: The brokers that have begun to start.
        self.loading: set[int] = set()
        self.registered: set[int] = set()
        self.leaders: dict[int, tuple[int, int]] = {}
        self.alive: set[int] = set()
        self.stopped: defaultdict[int, set[int]] = defaultdict(set)
        self.acknowledged: list[tuple[int, int, int, int]] = []
        self.last_logs: defaultdict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)
        #: Below this offset retention has deleted records.
        self.kept_from: Counter[int] = Counter()
        self.figures: Counter[str] = Counter()
        self.stalls = PlainStalls()
        self.queued_us: list[int] = []
        self.busy_us = 0
        self.created = [each["replicas"] for each in run.manifest["partitions"]]
        self.replicas = [len(each) for each in self.created]
        racks = scenario["cluster"]["racks"]
        self.has_racks = len(racks) > 1
        rack_of = {broker: rack for rack, brokers in racks.items() for broker in brokers}
        self.racks = [rack_of[broker] for broker in run.manifest["brokers"]]
        self.broker_ids = run.manifest["brokers"]
        self.isr_of_one: set[int] = set()
        self.in_one_rack_most = 0
        self.most_led = (0, -1)
        to_come: set[str] = set()
        for step in reversed(scenario["steps"]):
            if step["do"] == "create_topic":
                to_come.add(step["topic"])
            elif step["do"] == "delete_topic":
                to_come.discard(step["topic"])
        self.first = sum(each["topic"] not in to_come for each in run.manifest["partitions"])
        planned = scenario.get("measure_from")
        self.measured_from_us = None if planned is None else parse_duration(planned)
        #: Where figures begin; None: they have not begun.
        self.from_us: int | None = None
        self._read(run.all_rows(wanted=lambda kind: kind.canonical))

    def _read(self, rows: Iterator[TraceRow]) -> None:
        now_us = 0
        for row in rows:
            time_us = min(row["time_us"], self.ends_us)
            if self.from_us is None or row.kind in _CHANGE_STATES:
                now_us = self._reach(row, now_us, time_us)
            self._keep_promises(row)
            self.stalls.note(row)
            if row["time_us"] < self.ends_us:
                if self.from_us is None or row["time_us"] > self.from_us:
                    self._count(row)
                if row.kind in {"partition_state", "partition_replicas"}:
                    self._look_at_states()
        self._pass(self.ends_us - now_us)

    def _reach(self, row: TraceRow, now_us: int, time_us: int) -> int:
        """Pass the time until a row, and keep what it changes; returns its time."""
        if self.from_us is None and time_us > now_us:
            now_us = self._maybe_begin(now_us, time_us)
        self._pass(time_us - now_us)
        is_first_fault = row.kind == "fault_began" and self.measured_from_us is None
        if is_first_fault and self.from_us is None and row["time_us"] < self.ends_us:
            self._begin(time_us)
        self._keep_state(row)
        return time_us

    def _maybe_begin(self, now_us: int, time_us: int) -> int:
        """Begin the figures between two rows if it is time; returns until when time has passed."""
        planned_us = self.measured_from_us
        if planned_us is not None:
            if planned_us <= time_us:
                self._pass(planned_us - now_us)
                self._begin(planned_us)
                return planned_us
        elif 0 < self.first <= sum(map(self._accepts, self.states)):
            self._begin(now_us)
        return now_us

    def _begin(self, from_us: int) -> None:
        """Forget what was counted during start-up."""
        self.from_us = from_us
        self.figures = Counter({name: self.figures[name] for name in _OF_ALL_TIMES})
        self.queued_us.clear()
        self.busy_us = 0
        self.isr_of_one = set()
        self.in_one_rack_most, self.most_led = 0, (0, -1)
        self._look_at_states()

    def _accepts(self, partition: int) -> bool:
        broker, epoch = self.leaders.get(partition, (-1, -1))
        epoch_is_held = epoch == self.states[partition]["leader_epoch"]
        return broker in self.alive and not self.stopped[broker] and epoch_is_held

    def _pass(self, passed_us: int) -> None:
        if passed_us <= 0:
            return
        for partition, state in self.states.items():
            leader = self._leader(partition)
            if leader not in self.registered:
                self.figures["partition_seconds_offline"] += passed_us
            if leader is not None:
                margin = len(unpack(state["isr"])) - self.min_isr[partition]
                self.figures["partition_seconds_under_min_isr"] += passed_us * (margin < 0)
                self.figures["partition_seconds_at_min_isr"] += passed_us * (margin == 0)
            self.figures["partition_seconds_isr_of_one"] += passed_us * self._is_of_one(partition)
            self.figures["partition_seconds_isr_in_one_rack"] += passed_us * (
                len(self._racks_of(partition)) == 1
            )
            if not self._accepts(partition):
                self.figures["partition_seconds_not_accepting"] += passed_us

    def _is_of_one(self, partition: int) -> bool:
        return len(unpack(self.states[partition]["isr"])) == 1 < self.replicas[partition]

    def _racks_of(self, partition: int) -> set[str]:
        isr = unpack(self.states[partition]["isr"])
        return {self.racks[self.slots[partition][slot]] for slot in isr}

    def _look_at_states(self) -> None:
        """Whether there is more of something than ever before."""
        of_one = {partition for partition in self.states if self._is_of_one(partition)}
        self.figures["isr_of_one_episodes"] += len(of_one - self.isr_of_one)
        self.isr_of_one = of_one
        in_one_rack = sum(len(self._racks_of(partition)) == 1 for partition in self.states)
        self.in_one_rack_most = max(self.in_one_rack_most, in_one_rack)
        led = Counter(self._leader(partition) for partition in self.states)
        for broker, count in led.items():
            if broker is not None and count > self.most_led[0]:
                self.most_led = (count, self.broker_ids[broker])

    def _leader(self, partition: int) -> int | None:
        leader = self.states[partition]["leader"]
        return leader if leader >= 0 else None

    def _keep_state(self, row: TraceRow) -> None:
        kind = row.kind
        if kind == "partition_state":
            self._keep_partition(row)
        elif kind == "broker_state":
            is_absent = row["state"] == BROKER_ABSENT
            (self.registered.discard if is_absent else self.registered.add)(row["broker"])
        elif kind in {"became_leader", "became_follower", "replica_stopped", "log_deleted"}:
            self._keep_leader(row)
        elif kind in {"broker_loading", "broker_started", "broker_stopped"}:
            self._keep_life(row["process"], lives=kind != "broker_stopped")
        elif kind in {"fault_began", "fault_ended"} and row["fault_kind"] == PAUSE:
            stopped = self.stopped[row["process"]]
            if kind == "fault_ended":
                stopped.discard(row["fault"])
            elif row["process"] in self.alive:
                stopped.add(row["fault"])
        elif kind == "partition_replicas":
            adding = len(unpack(row["adding"]))
            self.replicas[row["partition"]] = len(unpack(row["replicas"])) - adding
        else:
            self._keep_configuration(row)

    def _keep_configuration(self, row: TraceRow) -> None:
        if row.kind == "topic_configured":
            for partition, topic in enumerate(self.topic_of):
                if topic == row["topic"]:
                    self.min_isr[partition] = row["min_insync_replicas"]

    def _keep_leader(self, row: TraceRow) -> None:
        partition, process = row["partition"], row["process"]
        if row.kind == "became_leader":
            self.leaders[partition] = (process, row["leader_epoch"])
        elif self.leaders.get(partition, (-1, -1))[0] == process:
            del self.leaders[partition]

    def _keep_life(self, process: int, *, lives: bool) -> None:
        if lives:
            self.alive.add(process)
            return
        self.alive.discard(process)
        self.stopped.pop(process, None)
        self.leaders = {
            partition: leader for partition, leader in self.leaders.items() if leader[0] != process
        }

    def _keep_partition(self, row: TraceRow) -> None:
        partition = row["partition"]
        if row["change"] == STATE_DELETED:
            del self.states[partition]
            return
        before = self.states.get(partition)
        self.isr_before[partition] = unpack(before["isr"]) if before else []
        if row["change"] == STATE_CREATED:
            self.replicas[partition] = len(self.created[partition])
        self.states[partition] = row

    def _keep_promises(self, row: TraceRow) -> None:
        if row.kind == "acknowledged":
            promised = (row["leader_epoch"], row["first_offset"], row["end_offset"])
            self.acknowledged.append((row["partition"], *promised))
        elif row.kind == "log_end" and row["reason"] == REASON_LIVENESS:
            run = (row["epoch"], row["start_offset"], row["end_offset"])
            self.last_logs[row["partition"], row["process"]].append(run)
        elif row.kind == "log_start_raised":
            kept_from = self.kept_from[row["partition"]]
            self.kept_from[row["partition"]] = max(kept_from, row["log_start_offset"])
        elif row.kind == "client_totals":
            for name in _OF_CLIENTS:
                self.figures[name] += row[name]
        elif row["time_us"] < self.ends_us:
            if row.kind in {"broker_loading", "broker_started", "broker_stopped"}:
                is_new = row["process"] not in self.loading
                self.figures["starts"] += is_new and row.kind != "broker_stopped"
                is_loading = row.kind == "broker_loading"
                (self.loading.add if is_loading else self.loading.discard)(row["process"])
            self.figures["failovers"] += row.kind == "controller_active" and row["broker"] >= 0

    def _count(self, row: TraceRow) -> None:
        if row.kind in _COUNTED:
            self.figures[_COUNTED[row.kind]] += 1
        elif row.kind == "leader_elected":
            self.figures["leader_elections"] += row["leader"] != row["old_leader"]
            self.figures["unclean_elections"] += row["unclean"]
            self.figures["isr_removals"] += len(self._left_by_election(row))
            self.elected[row["partition"]] = (row["time_us"], row["version"])
        elif row.kind == "removed_from_isr":
            slot = self.slots[row["partition"]].index(row["replica"])
            is_counted = self.elected.get(row["partition"]) == (row["time_us"], row["version"])
            self.figures["isr_removals"] += not is_counted and slot not in unpack(row["isr"])
        elif row.kind == "controller_event":
            self.queued_us.append(row["queued_us"])
        elif row.kind == "controller_event_done":
            self.busy_us += row["processing_us"]

    def _left_by_election(self, row: TraceRow) -> set[int]:
        """The slots that were in the ISR before an election: its state is written first or last."""
        state = self.states[row["partition"]]
        names = ("leader", "leader_epoch")
        is_held = all(state[name] == row[name] for name in names)
        before = self.isr_before[row["partition"]] if is_held else unpack(state["isr"])
        return {*before} - {*unpack(row["isr"])}

    def _lost(self) -> tuple[int, int]:
        """Acknowledged records that the last leaders do not have, and those without a leader."""
        lost = unavailable = 0
        for partition, epoch, first, end_offset in self.acknowledged:
            leader = self._leader(partition)
            first_offset = min(max(first, self.kept_from[partition]), end_offset)
            if leader not in self.registered:
                unavailable += end_offset - first_offset
                continue
            held = sum(
                max(0, min(end, end_offset) - max(start, first_offset))
                for run_epoch, start, end in self.last_logs[partition, leader or 0]
                if run_epoch == epoch
            )
            lost += end_offset - first_offset - held
        return lost, unavailable

    def counted(self) -> dict[str, Any]:
        """The figures under the names that the summary gives them."""
        names = (
            *_COUNTED.values(),
            *("leader_elections", "unclean_elections", "isr_removals", "isr_of_one_episodes"),
            *_OF_ALL_TIMES,
        )
        seconds = ["offline", "not_accepting", "under_min_isr", "at_min_isr", "isr_of_one"]
        seconds += ["isr_in_one_rack"] * self.has_racks
        lost, unavailable = self._lost()
        queued = sorted(self.queued_us) or [0]
        return {
            "figures_from_seconds": (self.from_us or 0) / 1e6,
            **{name: self.figures[name] for name in names},
            **self.stalls.figures(self.from_us or 0, self.ends_us),
            **{
                f"partition_seconds_{name}": self.figures[f"partition_seconds_{name}"] / 1e6
                for name in seconds
            },
            **({"isr_in_one_rack_most": self.in_one_rack_most} if self.has_racks else {}),
            "most_leaders": {
                "partitions": self.most_led[0],
                "broker": None if self.most_led[1] < 0 else self.most_led[1],
            },
            "controller_busy_seconds": self.busy_us / 1e6,
            "records_acknowledged_lost": lost,
            "records_acknowledged_unavailable": unavailable,
            "controller_queue_ms": {
                name: queued[max(0, -(-percent * len(queued) // 100) - 1)] / 1000
                for name, percent in (("p50", 50), ("p99", 99), ("max", 100))
            },
        }
