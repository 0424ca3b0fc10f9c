"""The observations of a translated schedule's run, step by step, in the form of a recording."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tidegauge.conformance.recorded_schedule import Tree
from tidegauge.conformance.schedule_writer import PlayedStep
from tidegauge.conformance.translation import Translation
from tidegauge.history.story import Names
from tidegauge.history.zookeeper_rows import pending_notifications
from tidegauge.replication import errors
from tidegauge.replication.releases import rules_of
from tidegauge.simulation.codes.occasions import (
    BROKER_ACTIVE,
    NOT_HOSTED,
    NOT_LISTENING,
    NOT_UP,
    REASON_OBSERVED,
    STATE_DELETED,
    WAITS_FOR_LOCK,
)
from tidegauge.traces.run_folder import RunFolder, TraceRow

_NAMES_OF_ERRORS = {code: name for name, code in errors.CODES.items()}
#: Names of errors in clients of the recorded releases.
_NAMES_OF_ERRORS[errors.CODES["NOT_LEADER_OR_FOLLOWER"]] = "NOT_LEADER_FOR_PARTITION"

_UNSEEN = {
    int(NOT_UP): None,
    int(NOT_HOSTED): "UNKNOWN_TOPIC_OR_PARTITION",
    int(WAITS_FOR_LOCK): "NO_RESPONSE(TimeoutError)",
    int(NOT_LISTENING): "NO_RESPONSE(ConnectionRefusedError)",
}
#: How long the harness waits for a fetch.
_PATIENCE_US = 3_000_000
#: Rows about what the control plane holds.
_HELD = frozenset(
    {
        *("partition_state", "partition_replicas", "topic_deleted"),
        *("broker_state", "controller_active", "controller_elected"),
    }
)
_UP, _PAUSED, _DOWN = "up", "paused", "down"


@dataclass
class StateWrite:
    """A write of a partition's state: the columns of a recording, and the time."""

    columns: list[Any]
    time_us: int


@dataclass
class StepOutcome:
    """The outcome of one recorded step in the run."""

    begin_us: int = 0
    #: None: the step did not finish.
    end_us: int | None = None
    observed: Tree = field(default_factory=dict)
    result: Tree = field(default_factory=dict)
    #: By partition.
    state_writes: dict[str, list[StateWrite]] = field(default_factory=lambda: defaultdict(list))
    #: Milliseconds since the step began, by path as in a recording.
    times_ms: dict[str, float] = field(default_factory=dict)


def outcomes_of(translation: Translation, run: RunFolder) -> tuple[list[StepOutcome], str | None]:
    """The outcome of each step, and the failure if the run did not finish."""
    reader = _Reader(translation, run)
    for row in run.all_rows():
        reader.take(row)
    return reader.outcomes, reader.stuck


#: The reason for a missing response, in the harness's words.
_CAUSES = {"NETWORK_EXCEPTION": "ConnectionError", "REQUEST_TIMED_OUT": "TimeoutError"}


class _Reader:
    """Follows a run, row by row."""

    def __init__(self, translation: Translation, run: RunFolder) -> None:
        self.names = Names.of(run)
        self.pending = pending_notifications(run.directory)
        self.steps = translation.steps
        self.outcomes = [StepOutcome() for _ in translation.steps]
        self.stuck: str | None = None
        schedule = translation.schedule
        self.keeps_epochs = rules_of(schedule.release, schedule.protocol).records_carry_epoch
        self.brokers = schedule.brokers
        self.topics: list[str] = []
        #: Numbers of topics that were deleted.
        self._deleted: set[int] = set()
        #: By partition: the last rows about its state, and about its replicas.
        self._states: dict[int, TraceRow] = {}
        self._moved: dict[int, TraceRow] = {}
        self._registered: set[int] = set()
        #: Id of the active controller's broker, and the newest controller epoch.
        self._controller: int | None = None
        self._controller_epoch: int | None = None
        #: Index of the recorded step that is being played; -1: before the first.
        self.now = -1
        self._place = {
            number: index
            for index, step in enumerate(self.steps)
            for number in range(step.first, step.end)
        }
        self._requests = {
            number: (step, name, epoch)
            for step in self.steps
            for number, name, epoch in step.requests
        }
        self._observations = {
            step.observation: index
            for index, step in enumerate(self.steps)
            if step.observation is not None
        }
        #: When the wait for the next response began.
        self._asked_us = 0
        self._up: dict[int, bool] = dict.fromkeys(self.brokers, False)
        self._paused: dict[int, set[int]] = defaultdict(set)
        #: Faults during which ZooKeeper does not respond to the harness either.
        self._outages: set[int] = set()
        self._epochs: dict[tuple[int, int], int] = {}
        #: Batches that were appended: partition, epoch, first offset -> records, tag.
        self._batches: dict[tuple[str, int, int], tuple[int, str]] = {}
        self._observing: dict[int, int] = {}
        self._observed_us: dict[int, int] = {}

    def take(self, row: TraceRow) -> None:
        """Take over the information of one row."""
        self.pending.take(row)
        if row.kind in _HELD:
            self._take_held(row)
        elif row.kind == "step_taken":
            self._take_step(row)
        elif row.kind in {"step_answered", "step_unanswered"}:
            self._take_answer(row)
        elif row.kind == "step_timed_out":
            self._give_up(row)
        elif row.kind == "high_watermark_told":
            self._take_late_high_watermark(row)
        elif row.kind in {"observed", "epoch_observed", "log_end"}:
            self._take_observation(row)
        elif row.kind == "became_leader":
            self._epochs[row["process"], row["partition"]] = row["leader_epoch"]
        elif row.kind in {"broker_started", "broker_loading", "broker_stopped"}:
            self._take_life(row)
        elif row.kind in {"fault_began", "fault_ended"}:
            self._take_fault(row)

    # Steps.

    def _take_step(self, row: TraceRow) -> None:
        number = row["step"]
        index = self._place.get(number)
        if index is None:
            return
        if index != self.now:
            self.now = index
            self.outcomes[index].begin_us = row["time_us"]
            self._asked_us = row["time_us"]
            created = self.steps[index].recorded.step
            if created["op"] == "create":
                self.topics.append(created["topic"])
        if number == self.steps[index].end - 1:
            self._end_of_step(index, row["time_us"])
        if number in self._observations:
            self.outcomes[index].observed = self._observe_cluster()

    def _end_of_step(self, index: int, time_us: int) -> None:
        outcome = self.outcomes[index]
        outcome.end_us = time_us
        recorded = self.steps[index].recorded
        outcome.result.setdefault("quiesce", {})
        if recorded.op == "wait":
            outcome.result["ok"] = True
        if recorded.op in {"wait", "wait_reg", "wait_unreg"}:
            outcome.times_ms["waited_ms"] = (time_us - outcome.begin_us) / 1000

    def _give_up(self, row: TraceRow) -> None:
        index = self._place.get(row["step"], 0)
        self.stuck = f"step {self.steps[index].recorded.number} did not come to an end in time"

    def _take_answer(self, row: TraceRow) -> None:
        if row["step"] not in self._requests:
            return
        step, name, epoch = self._requests[row["step"]]
        outcome = self.outcomes[self.steps.index(step)]
        if row.kind == "step_unanswered":
            cause = _CAUSES.get(_NAMES_OF_ERRORS[row["error"]], "TimeoutError")
            answer: Tree = {"error": f"NO_RESPONSE({cause})", "to": self._id(row)}
        elif row["from_process"] < 0:
            answer = {"error": "NO_LEADER"}
        else:
            answer = self._answer(step, row, name)
        if step.recorded.op == "produce":
            results = outcome.result.setdefault("results", {}).setdefault(name, [])
            path = f"results.{name}.{len(results)}.ms"
            results.append(answer)
            outcome.times_ms[path] = (row["time_us"] - self._asked_us) / 1000
            self._asked_us = row["time_us"]
        elif step.recorded.op == "epochs":
            outcome.result.setdefault("answers", {})[str(epoch)] = answer
        elif step.recorded.op == "fetch":
            outcome.result["fetch"] = answer
        else:
            # The response to this request is collected later.
            later = self.steps.index(step) + 1
            for other in range(later, len(self.steps)):
                if self.steps[other].recorded.op == "collect":
                    answer.pop("to", None)
                    self.outcomes[other].result["result"] = answer
                    break

    def _answer(self, step: PlayedStep, row: TraceRow, name: str) -> Tree:
        error = _NAMES_OF_ERRORS[row["error"]]
        if step.recorded.op == "epochs":
            answer: Tree = {"error": error, "end_offset": row["end_offset"]}
            answer["leader_epoch"] = row["epoch"]
            return answer
        if step.recorded.op == "fetch":
            return {
                "error": error,
                "hw": row["high_watermark"],
                "last_offset_returned": row["end_offset"] - 1,
            }
        self._note_batch(step, row, name)
        if step.recorded.step["acks"] == 0:
            return {"error": "SENT_NO_REPLY", "to": self._id(row)}
        return {"base_offset": row["offset"], "error": error, "to": self._id(row)}

    def _note_batch(self, step: PlayedStep, row: TraceRow, name: str) -> None:
        epoch = self._epochs.get((row["from_process"], self.names.partitions[name]), -1)
        tag = step.recorded.step.get("tag", "")
        if row["offset"] >= 0:
            records = step.recorded.step["n"]
            self._batches[name, epoch, row["offset"]] = (records, tag)

    def _id(self, row: TraceRow) -> int:
        return self.brokers[row["from_process"]]

    # What the control plane holds.

    def _take_held(self, row: TraceRow) -> None:
        if row.kind == "topic_deleted":
            self._deleted.add(row["topic"])
        elif row.kind == "partition_replicas":
            self._moved[row["partition"]] = row
        elif row.kind == "partition_state":
            self._take_state(row)
        else:
            self._take_member(row)

    def _take_state(self, row: TraceRow) -> None:
        if row["change"] == STATE_DELETED:
            self._states.pop(row["partition"], None)
        else:
            self._states[row["partition"]] = row
            if self.now >= 0:
                self._note_write(row)

    def _note_write(self, row: TraceRow) -> None:
        state = self._state(row)
        columns = [
            f"b{self.brokers[row['writer'] % len(self.brokers)]}",
            *(state[each] for each in ("leader", "isr", "leader_epoch", "controller_epoch")),
            state["version"],
        ]
        name = self.names.partition(row["partition"])
        self.outcomes[self.now].state_writes[name].append(StateWrite(columns, row["time_us"]))

    def _state(self, row: TraceRow) -> Tree:
        """A partition's state in the form of a recording."""
        return {
            "controller_epoch": row["controller_epoch"],
            "leader": self.brokers[row["leader"]] if row["leader"] >= 0 else row["leader"],
            "version": row["partition_epoch"],
            "leader_epoch": row["leader_epoch"],
            "isr": self.names.brokers_in(row["isr"], row["partition"]),
        }

    def _take_member(self, row: TraceRow) -> None:
        if row.kind == "controller_active":
            self._controller = self.names.broker_id(row["broker"])
        elif row.kind == "controller_elected":
            self._controller_epoch = row["controller_epoch"]
        elif row["state"] == BROKER_ACTIVE:
            self._registered.add(self.brokers[row["broker"]])
        else:
            self._registered.discard(self.brokers[row["broker"]])

    def _observe_cluster(self) -> Tree:
        """Take over what the control plane and the operating system say; brokers have own rows."""
        tree: Tree = {
            "controller": self._controller,
            "controller_epoch": self._controller_epoch,
            "isr_change_notifications": len(self.pending.numbers),
            "registered": [broker for broker in self.brokers if broker in self._registered],
            "process": {str(broker): self._process(broker) for broker in self.brokers},
            "partitions": {},
        }
        for name, number in self.names.partitions.items():
            named = self.names.all_partitions[number]
            if named.topic not in self.topics or named.topic_number in self._deleted:
                continue
            row, moved = self._states.get(number), self._moved.get(number)
            tree["partitions"][name] = {
                "replicas_assigned": (
                    self.names.replicas(number)
                    if moved is None
                    else self.names.brokers_in(moved["replicas"], number)
                ),
                "zk": None if row is None or self._outages else self._state(row),
                "logs": {},
            }
        return tree

    # Brokers.

    def _process(self, broker: int) -> str:
        if not self._up[broker]:
            return _DOWN
        return _PAUSED if self._paused[broker] else _UP

    def _take_life(self, row: TraceRow) -> None:
        broker = self.brokers[row["broker"]]
        self._up[broker] = row.kind != "broker_stopped"
        if row.kind == "broker_stopped":
            self._paused[broker].clear()
        if self.now < 0:
            return
        outcome = self.outcomes[self.now]
        if row.kind == "broker_started":
            outcome.result["attempts"] = outcome.result.get("attempts", 0) + 1
        elif row.kind == "broker_stopped":
            outcome.times_ms.setdefault("shutdown_ms", (row["time_us"] - outcome.begin_us) / 1000)

    def _take_fault(self, row: TraceRow) -> None:
        if self.names.fault_kind(row["fault"]) == "zookeeper_outage":
            (self._outages.add if row.kind == "fault_began" else self._outages.discard)(
                row["fault"]
            )
            return
        broker = self.names.broker_of_process(row["process"])
        if broker < 0 or self.names.fault_kind(row["fault"]) != "pause":
            return
        paused = self._paused[self.brokers[broker]]
        if row.kind == "fault_began":
            paused.add(row["fault"])
        else:
            paused.discard(row["fault"])

    def _take_observation(self, row: TraceRow) -> None:
        process = row["process"]
        if row.kind == "log_end" and row["reason"] != REASON_OBSERVED:
            return
        if row.kind != "log_end":
            self._observing[process] = row["step"]
        index = self._observations.get(self._observing.get(process, -1))
        if index is None:
            return
        name = self.names.partition(row["partition"])
        partition = self.outcomes[index].observed["partitions"].get(name)
        if partition is None:
            return
        broker = str(self.brokers[process])
        if row.kind == "observed":
            self._observed_us[row["step"]] = row["time_us"]
            partition["logs"][broker] = self._log(row)
            return
        log = partition["logs"][broker]
        if row.kind == "epoch_observed":
            log["epoch_ckpt"].append([row["epoch"], row["start_offset"]])
            return
        self._add_run(log["runs"], row)
        self._add_values(index, name, broker, row)

    def _take_late_high_watermark(self, row: TraceRow) -> None:
        """A locked replica delayed the harness, within its limit."""
        index = self._observations.get(row["step"])
        if index is None or row["time_us"] - self._observed_us[row["step"]] > _PATIENCE_US:
            return
        name = self.names.partition(row["partition"])
        logs = self.outcomes[index].observed["partitions"].get(name, {}).get("logs", {})
        logs[str(self.brokers[row["process"]])]["hw_live"] = row["high_watermark"]

    def _log(self, row: TraceRow) -> Tree:
        recovery_point = row["recovery_point"]
        return {
            "leo": row["log_end_offset"],
            "hw_live": _UNSEEN.get(row["high_watermark"], row["high_watermark"]),
            "hw_ckpt": max(0, row["checkpointed"]),
            "recovery_point": None if recovery_point < 0 else recovery_point,
            "epoch_ckpt": [] if self.keeps_epochs else None,
            "runs": [],
        }

    def _add_run(self, runs: list[list[int]], row: TraceRow) -> None:
        """One epoch's records; where messages have no epochs, all are one run."""
        start_offset, end_offset = row["start_offset"], row["end_offset"]
        if end_offset <= start_offset:
            return
        epoch = row["epoch"] if self.keeps_epochs else -1
        if runs and runs[-1][0] == epoch:
            runs[-1][2] = end_offset
        else:
            runs.append([epoch, start_offset, end_offset])

    def _add_values(self, index: int, name: str, broker: str, row: TraceRow) -> None:
        """The batches of one epoch that a log holds, each with its tag."""
        if self.steps[index].recorded.op != "values":
            return
        values = self.outcomes[index].result.setdefault("values", {}).setdefault(broker, [])
        values.extend(
            value
            for offset in range(row["start_offset"], row["end_offset"])
            for value in self._values_at(name, row["epoch"], offset, row["end_offset"])
        )

    def _values_at(self, name: str, epoch: int, offset: int, end: int) -> Iterable[list[Any]]:
        batch = self._batches.get((name, epoch, offset))
        if batch is None:
            return
        records, tag = batch
        records = min(records, end - offset)
        if self.keeps_epochs:
            yield [offset, records, tag]
        else:
            # The old message format has no batches: each record stands by itself.
            yield from ([offset + record, 1, tag] for record in range(records))
