"""The observations of a translated schedule's run, step by step, in the form of a recording."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from tidegauge.laboratory.conformance import played_state
from tidegauge.laboratory.conformance.played_quorum import PlayedQuorum
from tidegauge.laboratory.conformance.played_state import KRaftState, StepOutcome, ZooKeeperState
from tidegauge.laboratory.conformance.recorded_quorums import Tree
from tidegauge.laboratory.conformance.recorded_schedule import CREATES
from tidegauge.laboratory.conformance.schedule_writer import PlayedStep
from tidegauge.laboratory.conformance.translation import Translation
from tidegauge.replication import errors
from tidegauge.replication.release_versions import KRAFT_MODE
from tidegauge.replication.releases import rules_of
from tidegauge.runs.trace_events import Names
from tidegauge.simulation.trace_rows import codes
from tidegauge.traces.run_folder import RunFolder, TraceRow

_NAMES_OF_ERRORS = {code: name for name, code in errors.CODES.items()}
#: Names of errors in clients of the recorded releases.
_NAMES_OF_ERRORS[errors.CODES["NOT_LEADER_OR_FOLLOWER"]] = "NOT_LEADER_FOR_PARTITION"

_UNSEEN = {
    int(codes.NOT_UP): None,
    int(codes.NOT_HOSTED): "UNKNOWN_TOPIC_OR_PARTITION",
    int(codes.WAITS_FOR_LOCK): "NO_RESPONSE(TimeoutError)",
    int(codes.NOT_LISTENING): "NO_RESPONSE(ConnectionRefusedError)",
}
#: The harness's timeout of a fetch.
_PATIENCE_US = 3_000_000
_NO_ERROR = "NONE"
#: Steps that wait for a condition.
_WAITS = {
    *("wait", "wait_reg", "wait_unreg", "wait_ctrl", "wait_fenced", "wait_unfenced"),
    *("wait_leader", "wait_newdir", "wait_observer", "wait_voters"),
}
#: Steps with one request to a controller, by op: the names of its answer and of its time.
_ASKS_QUORUM = {
    "add_voter": ("answer", "answer_ms"),
    "remove_voter": ("answer", "answer_ms"),
    "features": ("answer", "answer_ms"),
    "probe": ("probe", "probe_ms"),
}
#: Steps with requests to the active controller.
_ADMINISTERS = {*CREATES, "pref", "reassign", "config", "broker_config", "move_dir", "delete"}


def outcomes_of(translation: Translation, run: RunFolder) -> tuple[list[StepOutcome], str | None]:
    """The outcome of each step, and the failure if the run did not finish."""
    reader = _Reader(translation, run)
    for row in run.all_rows():
        reader.take(row)
    return reader.outcomes, reader.stuck


#: The reason for a missing response, in the harness's words.
_RESET, _REFUSED = "ConnectionError", "ConnectionRefusedError"
_CAUSES = {"NETWORK_EXCEPTION": _RESET, "REQUEST_TIMED_OUT": "TimeoutError"}


class _Reader:
    """Follows a run, row by row."""

    def __init__(self, translation: Translation, run: RunFolder) -> None:
        self.names = Names.of(run)
        self.steps = translation.steps
        self.outcomes = [StepOutcome() for _ in translation.steps]
        self.stuck: str | None = None
        schedule = translation.schedule
        #: The state of the control plane.
        self.held: ZooKeeperState | KRaftState
        #: The quorum, if its voters change.
        self.quorum: PlayedQuorum | None = None
        if schedule.mode == KRAFT_MODE:
            self.held, self.keeps_epochs = KRaftState(self.names, schedule), True
            if schedule.changes_voters:
                self.quorum = PlayedQuorum(self.names, schedule)
        else:
            self.held = ZooKeeperState(self.names, schedule)
            rules = rules_of(schedule.release, schedule.protocol)
            self.keeps_epochs = rules.records_carry_epoch
        self.schedule = schedule
        self.brokers = schedule.brokers
        self.topics: list[str] = []
        #: Index of the recorded step that is being played; -1: before the first.
        self.now = -1
        self._place = {
            number: index
            for index, step in enumerate(self.steps)
            for number in range(step.first, step.end)
        }
        self._requests = {
            request.step: (step, request) for step in self.steps for request in step.requests
        }
        self._observations = {
            step.observation: index
            for index, step in enumerate(self.steps)
            if step.observation is not None
        }
        #: By step of the run that sends a request of a stream: the step at which that ends.
        self._streamed = {
            number: index for index, step in enumerate(self.steps) for number in step.streamed
        }
        #: Of streams, by that step: the time of each response, in ms, and its error.
        self._responses: dict[int, list[tuple[float, str]]] = defaultdict(list)
        #: The time of the last request, and of the last one of a stream.
        self._request_us = self._sent_us = 0
        self._up: dict[int, bool] = dict.fromkeys(self.brokers, False)
        self._stopped_us: dict[int, int] = defaultdict(int)
        self._epochs: dict[tuple[int, int], int] = {}
        #: Batches that were appended: partition, epoch, first offset -> records, tag.
        self._batches: dict[tuple[str, int, int], tuple[int, str]] = {}
        self._observing: dict[int, int] = {}
        self._observed_us: dict[int, int] = {}

    def take(self, row: TraceRow) -> None:
        """Take over the information of one row."""
        outcome = self.outcomes[self.now] if self.now >= 0 else None
        self.held.take(row, outcome)
        if self.quorum is not None:
            self.quorum.take(row, outcome)
        if row.kind == "step_taken":
            self._take_step(row)
        elif row.kind in {"step_answered", "step_unanswered"}:
            of_stream = row["step"] in self._streamed
            (self._take_response_of_stream if of_stream else self._take_answer)(row)
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

    # Steps.

    def _take_step(self, row: TraceRow) -> None:
        number = row["step"]
        if number in self._streamed:
            self._sent_us = row["time_us"]
        index = self._place.get(number)
        if index is None:
            return
        if index != self.now:
            self.now = index
            self.outcomes[index].begin_us = row["time_us"]
            self._request_us = row["time_us"]
            created = self.steps[index].recorded.step
            if created["op"] in CREATES:
                self.topics.append(created["topic"])
        if number == self.steps[index].end - 1:
            self._end_of_step(index, row["time_us"])
        if number in self._observations:
            self._observe(self.steps[index], self.outcomes[index])

    def _observe(self, step: PlayedStep, outcome: StepOutcome) -> None:
        """Observe the control plane and all processes; brokers have rows of their own."""
        observed = self.held.observe(self.topics)
        processes = {str(broker): self._process(broker) for broker in self.brokers}
        processes = observed.get("process", {}) | processes
        if self.quorum is not None:
            silent = {id_ for id_, state in processes.items() if state != played_state.UP}
            observed |= self.quorum.observe(silent, step.unformatted)
        started = dict.fromkeys(map(str, step.booting), played_state.UP)
        outcome.observed = observed | {"process": processes | started}

    def _end_of_step(self, index: int, time_us: int) -> None:
        outcome = self.outcomes[index]
        outcome.end_us = time_us
        recorded = self.steps[index].recorded
        outcome.result.setdefault("quiesce", {})
        if recorded.op == "wait":
            outcome.result["ok"] = True
        if recorded.op == "stream_stop":
            self._end_stream(outcome, self._responses[index])
        if recorded.op == "reassign" and self._is_moving(recorded.step["to"]):
            outcome.result["pending"] = True
        if recorded.op == "wait_leader" and self.quorum is not None:
            outcome.result["leader"] = self.quorum.leader_id
        if recorded.op in _WAITS:
            outcome.times_ms["waited_ms"] = (time_us - outcome.begin_us) / 1000

    @staticmethod
    def _end_stream(outcome: StepOutcome, responses: list[tuple[float, str]]) -> None:
        """The summary of a stream, as a harness writes it."""
        times_ms = sorted(time_ms for time_ms, _ in responses)
        outcome.result["stream"] = {"errors": dict(Counter(error for _, error in responses))}
        for name, share in (("min", 0.0), ("median", 0.5), ("p99", 0.99), ("max", 1.0)):
            place = min(int(share * len(times_ms)), len(times_ms) - 1)
            outcome.times_ms[f"latency.{name}_ms"] = times_ms[place]

    def _is_moving(self, partitions: Iterable[str]) -> bool:
        """Whether a reassignment is in progress; recordings of ZooKeeper do not have it."""
        held = self.held
        return isinstance(held, KRaftState) and any(map(held.is_moving, partitions))

    def _give_up(self, row: TraceRow) -> None:
        index = self._place.get(row["step"], 0)
        self.stuck = f"step {self.steps[index].recorded.number} did not come to an end in time"

    def _take_answer(self, row: TraceRow) -> None:
        if row["step"] not in self._requests:
            return
        step, (_, name, epoch) = self._requests[row["step"]]
        outcome = self.outcomes[self.steps.index(step)]
        if step.recorded.op in {*_ASKS_QUORUM, *_ADMINISTERS}:
            self._take_answer_of_controller(step, outcome, row, name)
            return
        if row.kind == "step_unanswered":
            answer: Tree = {"error": f"NO_RESPONSE({self._cause(row)})", "to": self._id(row)}
        elif row["from_process"] < 0:
            answer = {"error": "NO_LEADER"}
        else:
            answer = self._answer(step, row, name)
        if step.recorded.op == "produce":
            results = outcome.result.setdefault("results", {}).setdefault(name, [])
            path = f"results.{name}.{len(results)}.ms"
            results.append(answer)
            outcome.times_ms[path] = (row["time_us"] - self._request_us) / 1000
            self._request_us = row["time_us"]
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

    def _take_answer_of_controller(
        self, step: PlayedStep, outcome: StepOutcome, row: TraceRow, name: str
    ) -> None:
        """A controller has responded, or not."""
        error = _NAMES_OF_ERRORS[row["error"]]
        if row.kind == "step_unanswered":
            error = f"NO_RESPONSE({_CAUSES.get(error, 'TimeoutError')})"
        if step.recorded.op in _ASKS_QUORUM:
            self._take_answer_of_quorum(step, outcome, row, error)
        else:
            self._take_admin_answer(step, outcome, error, name)

    def _take_answer_of_quorum(
        self, step: PlayedStep, outcome: StepOutcome, row: TraceRow, error: str
    ) -> None:
        """The response to the one request of a step, from the controller that was asked."""
        name, time_name = _ASKS_QUORUM[step.recorded.op]
        asked = self.names.processes[row["from_process"]].number
        outcome.result[name] = {"error": error, "asked": self.schedule.voters[asked]}
        outcome.times_ms[time_name] = (row["time_us"] - outcome.begin_us) / 1000

    def _take_response_of_stream(self, row: TraceRow) -> None:
        error = _NAMES_OF_ERRORS[row["error"]]
        if row.kind == "step_unanswered":
            error = f"NO_RESPONSE({self._cause(row)})"
        elif row["from_process"] < 0:
            error = "NO_LEADER"
        time_ms = (row["time_us"] - self._sent_us) / 1000
        self._responses[self._streamed[row["step"]]].append((time_ms, error))

    @staticmethod
    def _take_admin_answer(step: PlayedStep, outcome: StepOutcome, error: str, name: str) -> None:
        """The response of the active controller: about one partition, or as a whole."""
        admin = outcome.result.setdefault("admin", {"error": _NO_ERROR})
        if name:
            admin.setdefault("results", {})[name] = error
        elif error != _NO_ERROR and step.recorded.op == "reassign":
            # Each partition has a response of its own.
            admin["partitions"] = {each: {"error": error} for each in step.step["to"]}
        elif error != _NO_ERROR:
            admin["error"] = error

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

    def _cause(self, row: TraceRow) -> str:
        """The reason of a missing response; a broker that was down was not reached."""
        cause = _CAUSES.get(_NAMES_OF_ERRORS[row["error"]], "TimeoutError")
        broker = self._id(row)
        was_down = not self._up[broker] and self._stopped_us[broker] < self._request_us
        return _REFUSED if cause == _RESET and was_down else cause

    def _id(self, row: TraceRow) -> int:
        return self.brokers[row["from_process"]]

    # Brokers.

    def _process(self, broker: int) -> str:
        if not self._up[broker]:
            return played_state.DOWN
        is_paused = self.held.is_hit(self.brokers.index(broker), "pause")
        return played_state.PAUSED if is_paused else played_state.UP

    def _take_life(self, row: TraceRow) -> None:
        broker = self.brokers[row["broker"]]
        self._up[broker] = row.kind != "broker_stopped"
        if row.kind == "broker_stopped":
            self._stopped_us[broker] = row["time_us"]
        if self.now < 0:
            return
        outcome = self.outcomes[self.now]
        if row.kind == "broker_started":
            outcome.result["attempts"] = outcome.result.get("attempts", 0) + 1
        elif row.kind == "broker_stopped":
            outcome.times_ms.setdefault("shutdown_ms", (row["time_us"] - outcome.begin_us) / 1000)

    def _take_observation(self, row: TraceRow) -> None:
        process = row["process"]
        if row.kind == "log_end" and row["reason"] != codes.REASON_OBSERVED:
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
