"""Writes the steps of a scenario for the steps of a recorded schedule, in either mode."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tidegauge.laboratory.conformance.recorded_schedule import (
    RecordedSchedule,
    RecordedStep,
    RecordingError,
)

#: The time in which the harness looks up the leader and connects to it.
_CONNECTING = "10ms"
#: The time in which the harness reads all files and queries all brokers: a minimum, and by replica.
_OBSERVING_MS, _OBSERVING_REPLICA_MS = 5.0, 3.0
#: Time without a change after which a harness assumes quiescence.
STILL_MS = 1500
#: A start of the simulator's brokers, with small logs.
START_MS = 750
#: The timeouts of a harness for a condition, for quiescence, and for a response.
_WITHIN = "90s"
_PRODUCE_TIMEOUT_MS = 5000
#: The time from the start of the cluster to the first step, by seed: it was not recorded.
_BEFORE_FIRST_STEP = ("4500ms", "3s", "8s", "1500ms", "6s", "3500ms", "12s", "5s", "2s", "20s")
#: The moment within an observation at which most values are read.
_SEEN_AFTER = 0.3

_ENDS_DOWN = {"kill": "crash", "term": "restart", "restart": "crash"}


class Request(NamedTuple):
    """A step of the scenario whose response is compared."""

    step: int
    #: The partition of which the response is; "": of all.
    partition: str = ""
    leader_epoch: int | None = None


@dataclass
class PlayedStep:
    """The steps of the scenario for a recorded step."""

    recorded: RecordedStep
    #: The first of them, and one behind the last.
    first: int = 0
    end: int = 0
    requests: list[Request] = field(default_factory=list)
    #: The steps of the requests of a stream that ends here.
    streamed: list[int] = field(default_factory=list)
    #: The step that observes; None if there was no observation.
    observation: int | None = None
    #: At its end: controllers that have been started and are not up yet, and those whose
    #: directories are not formatted.
    booting: frozenset[int] = frozenset()
    unformatted: frozenset[int] = frozenset()

    @property
    def step(self) -> dict[str, Any]:
        """The recorded operation and its arguments."""
        return self.recorded.step


class NotPlayed(NamedTuple):
    """The first step that is not played."""

    step: RecordedStep
    reason: str


def setting_value(value: Any) -> Any:
    """A setting as a scenario has it: Kafka's tools write numbers and flags as text.

    In recordings DIR1 stands for the path of a broker's first log directory.
    """
    value = value.replace("DIR", "") if isinstance(value, str) else value
    if isinstance(value, str) and value.lstrip("-").isdigit():
        return int(value)
    return {"true": True, "false": False}.get(value, value)


def partition_of(name: str) -> dict[str, Any]:
    """``orders-3`` as a topic and a number."""
    topic, _, number = name.rpartition("-")
    return {"topic": topic, "partition": int(number)}


def listed(value: Any) -> list[Any]:
    """A value that may stand alone."""
    return value if isinstance(value, list) else [value]


class ScheduleWriter:
    """Writes the steps, one after the other, and the faults that they begin and end.

    A subclass for each mode knows the steps and the faults of its control plane.
    """

    def __init__(self, schedule: RecordedSchedule, seed: int) -> None:
        self.schedule = schedule
        self.seed = seed
        #: The duration of an observation that is of no replica.
        self.observing_ms = _OBSERVING_MS
        self.steps: list[dict[str, Any]] = []
        self.faults: list[dict[str, Any]] = []
        self.topics: list[dict[str, Any]] = []
        self.played: list[PlayedStep] = []
        self.not_played: NotPlayed | None = None
        self.duration_ms = 60_000.0
        #: Faults that stop or pause a broker or the control plane, by process.
        self._down: dict[Any, list[str]] = {}
        self._paused: dict[Any, str] = {}
        self._cuts: dict[tuple[Any, Any], str] = {}
        #: Brokers that are down but may still be registered.
        self._lingering: set[int] = set()

    def write_all(self) -> None:
        """Write the schedule, up to the first step that cannot be written."""
        up = set(self.schedule.brokers)
        self._when(registered=sorted(up))
        for broker in self._absent_at_first():
            self._bring_down("restart", [broker], "absent")
            self._when_gone([broker])
        self._quiet()
        self._add("wait", after=_BEFORE_FIRST_STEP[(self.seed - 1) % len(_BEFORE_FIRST_STEP)])
        for recorded in self.schedule.steps:
            played = PlayedStep(recorded, first=len(self.steps))
            reason = self._why_not(recorded)
            if reason is not None:
                self.not_played = NotPlayed(recorded, reason)
                break
            looked = self.played and self.played[-1].recorded.observed is not None
            self._add("wait", after=self._observing(1 - _SEEN_AFTER) if looked else "1ms")
            try:
                getattr(self, f"_write_{recorded.op}")(played)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise RecordingError(
                    f"{self.schedule.name}: steps.{recorded.number}: {recorded.op} cannot be read:"
                    f" {type(error).__name__} {error}"
                ) from error
            self._finish(played)
            self.played.append(played)
        if not self.played:
            assert self.not_played is not None
            raise RecordingError(
                f"{self.schedule.name}: the simulator knows none of its steps: "
                f"{self.not_played.reason}"
            )

    def start(self, broker: int) -> str:
        """The start of a broker that is not the first: all start at once, but one is faster."""
        spread_ms = (10, 100)[self.seed % 2]
        return f"{500 + (self.seed * 7 + broker * 13) % 20 * spread_ms}ms"

    def _observing(self, share: float) -> str:
        """The duration of an observation of the whole cluster."""
        replicas = sum(
            len(brokers)
            for topic in self.topics
            for brokers in topic.get("assignment", {}).values()
        )
        return f"{share * (self.observing_ms + _OBSERVING_REPLICA_MS * replicas):.0f}ms"

    def _absent_at_first(self) -> list[int]:
        """Brokers that are started before anything has stopped them."""
        stopped: set[Any] = set()
        absent: list[int] = []
        for recorded in self.schedule.steps:
            brokers = listed(recorded.step.get("b", []))
            if recorded.op in _ENDS_DOWN:
                stopped |= set(brokers)
            elif recorded.op == "start":
                absent += [each for each in self._brokers_among(brokers) if each not in stopped]
                stopped |= set(brokers)
        return absent

    def _finish(self, played: PlayedStep) -> None:
        """Wait until all is quiet, if the harness did, and observe."""
        quiet_ms = played.recorded.quiet_ms
        self.duration_ms += played.recorded.result.ranges_ms.get("step_ms", (0, 0))[1]
        if quiet_ms is not None:
            self._add("wait", after=f"{quiet_ms + STILL_MS:.0f}ms")
            self._quiet()
            if not quiet_ms:
                # The time was not recorded: the cluster must stay quiet, as for a harness.
                self._add("wait", after=f"{STILL_MS}ms")
                self._quiet()
            self.duration_ms += 2 * (quiet_ms + STILL_MS) + 15_000
        if played.recorded.observed is not None:
            played.observation = len(self.steps)
            self._add("observe", after=self._observing(_SEEN_AFTER))
        played.end = len(self.steps)

    def _quiet(self) -> None:
        """Wait until exactly the running brokers are registered, and no partition is moving."""
        gone = sorted(self._gone())
        if gone:
            self._when_gone(gone)
        up = [broker for broker in self.schedule.brokers if broker not in gone]
        if self._control_plane_is_up():
            if up:
                self._when(registered=up)
            self._when(quiescent=True)

    def _gone(self) -> set[int]:
        """The brokers that the control plane loses while they do not run."""
        return set(self._brokers_among(self._paused)) | set(self._brokers_among(self._down))

    def _brokers_among(self, processes: Iterable[Any]) -> list[int]:
        """Those of the processes that are no part of the control plane."""
        return list(processes)

    # The control plane of the mode.

    def _control_plane_is_up(self) -> bool:
        return True

    def _why_not(self, recorded: RecordedStep) -> str | None:
        """The reason for which a step cannot be played; None if it can."""
        if recorded.op == "create" and "assign" not in recorded.step:
            return f"the recording has no assignment of topic {recorded.step['topic']}"
        if recorded.op == "move_dir" and not recorded.step.keys() >= {"b", "tp", "dir"}:
            return "the recording does not name the replica that moves, and its new directory"
        known = hasattr(self, f"_write_{recorded.op}")
        return None if known else f"the simulator has no step {recorded.op!r}"

    def _processes(self, recorded: RecordedStep) -> list[Any]:
        """The processes that a recorded step hits."""
        return listed(recorded.step["b"])

    def _end(self, end: Any) -> Any:
        """The end of a link, as a scenario has it."""
        return end

    def _target_broker(self, recorded: RecordedStep, name: str) -> int | None:
        """The broker to which a step produces; None: to the leader that the control plane names."""
        del name
        to: int | None = recorded.step.get("to")
        return to

    def _stop(self, kind: str, process: Any, name: str) -> None:
        """Begin the fault that stops a process."""
        self._begin(kind, name, brokers=[process])
        self._lingering.add(process)

    def _pause(self, process: Any, name: str) -> None:
        """Begin the fault that pauses a process."""
        self._paused[process] = self._begin("pause", name, brokers=[process])

    # The parts of a step of the scenario.

    def _add(self, do: str, after: str = "0s", **arguments: Any) -> int:
        self.steps.append({"do": do, "after": after} | arguments)
        return len(self.steps) - 1

    def _when(self, within: str = _WITHIN, **condition: Any) -> None:
        self.steps.append({"do": "wait", "when": condition, "within": within})

    def _when_gone(self, brokers: list[int]) -> None:
        """Wait until the control plane has lost these brokers."""
        self._when(unregistered=brokers)
        self._lingering -= set(brokers)

    def _request(self, played: PlayedStep, do: str, about: str = "", **arguments: Any) -> None:
        """A request to the controller; with ZooKeeper its response is not recorded."""
        del played, about
        self._add(do, **arguments)

    def _begin(self, kind: str, name: str, **arguments: Any) -> str:
        """Begin a fault that is new; its name."""
        self.faults.append({"kind": kind, "name": name} | arguments)
        self._add("begin_fault", fault=name)
        return name

    def _bring_down(self, kind: str, brokers: Iterable[Any], what: str) -> None:
        for broker in brokers:
            name = f"{what}-of-{broker}-at-step-{len(self.played)}"
            self._stop(kind, broker, name)
            self._down.setdefault(broker, []).append(name)
            self._paused.pop(broker, None)

    # One method for each kind of step, named after it.

    def _write_create(self, played: PlayedStep) -> None:
        step = played.step
        settings = {name: setting_value(value) for name, value in step.get("config", {}).items()}
        topic = {
            "name": step["topic"],
            "assignment": {int(number): ids for number, ids in step["assign"].items()},
            "settings": settings,
        }
        # A topic may be created once more: the first time it was refused, or deleted since.
        if topic not in self.topics:
            self.topics.append(topic)
        self._request(played, "create_topic", topic=step["topic"])

    def _write_produce(self, played: PlayedStep) -> None:
        step = played.step
        for name in listed(step["tp"]):
            arguments = self._produce_arguments(step)
            to = self._target_broker(played.recorded, name)
            if to is not None:
                arguments["to"] = to
            for _ in range(step.get("batches", 1)):
                number = self._add("produce", after=_CONNECTING, **partition_of(name), **arguments)
                played.requests.append(Request(number, name))

    def _produce_arguments(self, step: dict[str, Any]) -> dict[str, Any]:
        timeout_ms = step.get("timeout_ms", _PRODUCE_TIMEOUT_MS)
        return {"records": step["n"], "acks": step["acks"], "timeout": f"{timeout_ms}ms"}

    def _write_send_async(self, played: PlayedStep) -> None:
        step = played.step
        arguments = self._produce_arguments(step) | {"to": step["b"], "wait": False}
        number = self._add("produce", **partition_of(step["tp"]), **arguments)
        played.requests.append(Request(number, step["tp"]))

    def _write_collect(self, _: PlayedStep) -> None:
        """The response is recorded when it arrives; this step only waits for it."""
        self._when(answered=True)

    def _write_kill(self, played: PlayedStep) -> None:
        self._bring_down("crash", self._processes(played.recorded), "kill")

    def _write_term(self, played: PlayedStep) -> None:
        brokers = self._processes(played.recorded)
        self._bring_down("restart", brokers, "term")
        self._when_gone(brokers)

    def _write_start(self, played: PlayedStep) -> None:
        self._take_as_long_as_recorded(played.recorded)
        self._start(self._processes(played.recorded))

    def _take_as_long_as_recorded(self, recorded: RecordedStep) -> None:
        """The start of a virtual machine takes the machine's time, not Kafka's.

        The time of the simulator's own brokers is subtracted.
        """
        if "t_registered_ms" in recorded.result.ranges_ms:
            wait_ms = max(0.0, recorded.time_ms("t_registered_ms") - START_MS)
            self._add("wait", after=f"{wait_ms:.0f}ms")
            self.duration_ms += wait_ms

    def _start(self, brokers: list[Any]) -> None:
        for broker in brokers:
            for fault in self._down.pop(broker, []):
                self._add("end_fault", fault=fault)
        restarted = self._brokers_among(brokers)
        lingering = [broker for broker in restarted if broker in self._lingering]
        if lingering:
            self._when_gone(lingering)
        if restarted:
            self._when(registered=restarted)

    def _write_pause(self, played: PlayedStep) -> None:
        for process in self._processes(played.recorded):
            self._pause(process, f"pause-of-{process}-at-step-{len(self.played)}")

    def _write_resume(self, played: PlayedStep) -> None:
        """Resume the processes that are paused; SIGCONT means nothing to others."""
        for process in self._processes(played.recorded):
            if process in self._paused:
                self._add("end_fault", fault=self._paused.pop(process))

    def _write_flap(self, played: PlayedStep) -> None:
        """Pause, send one record to each partition and resume, until the time is over."""
        step = played.step
        for turn in range(round(step["s"] / (step["down"] + step["up"]))):
            self._pause(step["b"], f"flap-{turn}-of-{step['b']}")
            for name in step["produce"]:
                self._add("produce", **partition_of(name), records=1, acks=1)
            self._add("wait", after=f"{step['down'] * 1000:.0f}ms")
            self._add("end_fault", fault=self._paused.pop(step["b"]))
            self._add("wait", after=f"{step['up'] * 1000:.0f}ms")

    def _write_cut(self, played: PlayedStep) -> None:
        for source, destination in played.step["links"]:
            self._cut(source, destination)

    def _cut(self, source: Any, destination: Any) -> None:
        ends = [[self._end(source)], [self._end(destination)]]
        name = f"cut-from-{source}-to-{destination}-at-step-{len(self.played)}"
        cut = self._begin("cut_link", name, between=ends, one_way=True)
        self._cuts[source, destination] = cut

    def _write_heal(self, played: PlayedStep) -> None:
        for source, destination in played.step["links"]:
            self._add("end_fault", fault=self._cuts.pop((source, destination)))

    def _write_drop_tail(self, played: PlayedStep) -> None:
        """A loss of power while the broker is down: it hits the log alone."""
        step = played.step
        kept = {"broker": step["b"], "offset": step["keep"]} | partition_of(step["tp"])
        name = f"power-loss-of-{step['b']}-at-step-{len(self.played)}"
        fault = self._begin("power_loss", name, brokers=[step["b"]], keeps=[kept])
        self._down.setdefault(step["b"], []).append(fault)

    def _write_delete(self, played: PlayedStep) -> None:
        self._request(played, "delete_topic", topic=played.step["topic"])

    def _write_config(self, played: PlayedStep) -> None:
        step = played.step
        settings = {name: setting_value(value) for name, value in step["set"].items()}
        self._request(played, "configure", topic=step["topic"], settings=settings)

    def _write_heal_all(self, _: PlayedStep) -> None:
        for fault in self._cuts.values():
            self._add("end_fault", fault=fault)
        self._cuts.clear()

    def _write_wipe(self, played: PlayedStep) -> None:
        """The disk of a broker that is down is replaced by an empty one."""
        for broker in self._processes(played.recorded):
            kept = [
                {"broker": broker, "topic": topic["name"], "partition": number, "offset": 0}
                for topic in self.topics
                for number, brokers in topic["assignment"].items()
                if broker in brokers
            ]
            name = f"lost-disk-of-{broker}-at-step-{len(self.played)}"
            fault = self._begin("power_loss", name, brokers=[broker], keeps=kept)
            self._down.setdefault(broker, []).append(fault)

    def _write_sleep(self, played: PlayedStep) -> None:
        self._pass(played.step["s"] * 1000)

    def _pass(self, time_ms: float) -> None:
        """Let time pass."""
        self._add("wait", after=f"{time_ms:.0f}ms")

    def _write_wait(self, played: PlayedStep) -> None:
        step = played.step
        for name in listed(step["tp"]):
            if "isr" in step:
                self._when(isr=partition_of(name) | {"is": step["isr"]})
            elif "leader" in step:
                self._when(leader=partition_of(name) | {"is": step["leader"]})
            else:
                self._when(leader=partition_of(name) | {"is_not": step["not_leader"]})

    def _write_wait_reg(self, played: PlayedStep) -> None:
        self._when(registered=self._processes(played.recorded))

    def _write_wait_unreg(self, played: PlayedStep) -> None:
        self._when_gone(self._processes(played.recorded))

    # The same conditions in recordings of KRaft clusters.
    _write_wait_fenced, _write_wait_unfenced = _write_wait_unreg, _write_wait_reg

    def _write_epochs(self, played: PlayedStep) -> None:
        step = played.step
        broker = {} if str(step["b"]).startswith("leader") else {"broker": step["b"]}
        for epoch in step["epochs"]:
            number = self._add(
                "ask_epoch", **partition_of(step["tp"]), leader_epoch=epoch, **broker
            )
            played.requests.append(Request(number, step["tp"], epoch))

    def _write_fetch(self, played: PlayedStep) -> None:
        name = played.step["tp"]
        number = self._add("fetch", **partition_of(name), offset=0)
        played.requests.append(Request(number, name))

    def _write_values(self, played: PlayedStep) -> None:
        """The content of the logs is part of an observation."""
        if played.recorded.observed is None:
            played.observation = self._add("observe")
