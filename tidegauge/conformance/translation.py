"""Translation of a recorded schedule into a scenario that can be run.

The same release, protocol, settings, assignment and first controller; the same steps in the same
order, each when the one before is over, and after it the same quiet time. The recorded outcome is
not read here, only the times of the recording machine: until quiescence, until a broker's virtual
machine was up, and the number of its starts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tidegauge.conformance.recorded_costs import (
    CONNECTING,
    COSTS,
    OBSERVING_MS,
    OBSERVING_REPLICA_MS,
)
from tidegauge.conformance.recorded_schedule import (
    REASSIGNED_MS,
    RecordedSchedule,
    RecordedStep,
    RecordingError,
    middle,
)
from tidegauge.scenario.model.settings import NAMES
from tidegauge.scenario.reading import Scenario, scenario_from_mapping

#: Time without a change after which a harness assumes quiescence.
STILL_MS = 1500
#: The timeouts of a harness for a condition, for quiescence, and for a response.
_WITHIN = "90s"
_PRODUCE_TIMEOUT_MS = 5000
#: The time from the start of the cluster to the first step, by seed: it was not recorded.
_BEFORE_FIRST_STEP = ("4500ms", "3s", "8s", "1500ms", "6s", "3500ms", "12s", "5s", "2s", "20s")
#: The moment within an observation at which most values are read.
_SEEN_AFTER = 0.3
#: A start of the simulator's brokers, with small logs.
_START_MS = 750
#: The time in which the harness detects that a start has failed, and retries.
_RESTART_AFTER_EXIT = "5s"

_ZOOKEEPER = "zk"
_ENDS_DOWN = {"kill": "crash", "term": "restart", "restart": "crash"}


@dataclass
class PlayedStep:
    """The steps of the scenario for a recorded step."""

    recorded: RecordedStep
    #: The first of them, and one behind the last.
    first: int = 0
    end: int = 0
    #: The steps with requests, and their subjects: (partition, epoch or None).
    requests: list[tuple[int, str, int | None]] = field(default_factory=list)
    #: The step that observes; None if there was no observation.
    observation: int | None = None


@dataclass
class Translation:
    """A scenario, and the place of each recorded step in it."""

    schedule: RecordedSchedule
    scenario: Scenario
    steps: list[PlayedStep]
    #: Settings of the recording that the simulator does not have.
    not_modelled: list[str]
    #: The first unknown step: from it on no step is played.
    not_played: RecordedStep | None = None


def translate(schedule: RecordedSchedule, *, seed: int = 1) -> Translation:
    """Make the scenario of a schedule, up to the first step that the simulator does not know.

    Raises:
        RecordingError: a step lacks something, or the first one cannot be played. ScenarioError:
        the schedule is not a valid scenario.
    """
    writer = _Writer(schedule, seed)
    writer.write_all()
    settings, not_modelled = _settings(schedule.settings)
    story: dict[str, Any] = {
        "name": schedule.name,
        "description": schedule.about,
        "duration": f"{writer.duration_ms:.0f}ms",
        # The recorded behaviour ends here.
        "liveness": False,
        "seed": seed,
        "release": schedule.release,
        **({} if schedule.protocol is None else {"protocol": schedule.protocol}),
        "trace": "transitions",
        "cluster": {
            "brokers": schedule.brokers,
            "start": {
                broker: "0s" if broker == schedule.first_controller else writer.start(broker)
                for broker in schedule.brokers
            },
            "restart_after_exit": writer.restart_after_exit(),
            "settings": settings,
            "broker_settings": {
                broker: _settings(own)[0] for broker, own in schedule.per_broker.items()
            },
        },
        "zookeeper": {"tick_ms": schedule.zookeeper.get("tickTime", 1000), "servers": 1},
        "costs": COSTS,
        "topics": writer.topics,
        "faults": writer.faults,
        "steps": writer.steps,
    }
    scenario = scenario_from_mapping(story, schedule.name)
    return Translation(schedule, scenario, writer.played, not_modelled, writer.not_played)


def _settings(recorded: dict[str, Any]) -> tuple[dict[str, int], list[str]]:
    """The settings that the simulator has, and the names of the others."""
    known = {name: _value(value) for name, value in recorded.items() if name in NAMES["brokers"]}
    return known, sorted(recorded.keys() - known.keys())


def _value(value: Any) -> Any:
    """A setting as a scenario has it: Kafka's tools write numbers and flags as text."""
    if isinstance(value, str) and value.lstrip("-").isdigit():
        return int(value)
    return {"true": True, "false": False}.get(value, value)


def _partition(name: str) -> dict[str, Any]:
    """``orders-3`` as a topic and a number."""
    topic, _, number = name.rpartition("-")
    return {"topic": topic, "partition": int(number)}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


class _Writer:
    """Writes the steps, one after the other, and the faults that they begin and end."""

    def __init__(self, schedule: RecordedSchedule, seed: int) -> None:
        self.schedule = schedule
        self.seed = seed
        self.steps: list[dict[str, Any]] = []
        self.faults: list[dict[str, Any]] = []
        self.topics: list[dict[str, Any]] = []
        self.played: list[PlayedStep] = []
        self.not_played: RecordedStep | None = None
        self.duration_ms = 60_000.0
        #: Faults that stop or pause a broker or ZooKeeper, by process.
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
            self._when(unregistered=[broker])
            self._lingering.discard(broker)
        self._quiet()
        self._add("wait", after=_BEFORE_FIRST_STEP[(self.seed - 1) % len(_BEFORE_FIRST_STEP)])
        for recorded in self.schedule.steps:
            played = PlayedStep(recorded, first=len(self.steps))
            write = getattr(self, f"_write_{recorded.op}", None)
            if write is None:
                self.not_played = recorded
                break
            looked = self.played and self.played[-1].recorded.observed is not None
            self._add("wait", after=self._observing(1 - _SEEN_AFTER) if looked else "1ms")
            try:
                write(played)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise RecordingError(
                    f"{self.schedule.name}: steps.{recorded.number}: {recorded.op} cannot be read:"
                    f" {type(error).__name__} {error}"
                ) from error
            self._finish(played)
            self.played.append(played)
        if not self.played:
            raise RecordingError(f"{self.schedule.name}: the simulator knows none of its steps")

    def start(self, broker: int) -> str:
        """The start of a broker that is not the first: all start at once, but one is faster."""
        spread_ms = (10, 100)[self.seed % 2]
        return f"{500 + (self.seed * 7 + broker * 13) % 20 * spread_ms}ms"

    def _observing(self, share: float) -> str:
        """The duration of an observation of the whole cluster."""
        replicas = sum(
            len(brokers) for topic in self.topics for brokers in topic["assignment"].values()
        )
        return f"{share * (OBSERVING_MS + OBSERVING_REPLICA_MS * replicas):.0f}ms"

    def _absent_at_first(self) -> list[int]:
        """Brokers that are started before anything has stopped them."""
        stopped: set[Any] = set()
        absent: list[int] = []
        for recorded in self.schedule.steps:
            brokers = _listed(recorded.step.get("b", []))
            if recorded.op in _ENDS_DOWN:
                stopped |= set(brokers)
            elif recorded.op == "start":
                absent += [each for each in brokers if each not in stopped | {_ZOOKEEPER}]
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
            self._when(unregistered=gone)
            self._lingering -= set(gone)
        up = [broker for broker in self.schedule.brokers if broker not in gone]
        if _ZOOKEEPER not in self._paused and _ZOOKEEPER not in self._down:
            if up:
                self._when(registered=up)
            self._when(quiescent=True)

    def _gone(self) -> set[int]:
        still = {each for each in self._paused if each != _ZOOKEEPER}
        return still | {each for each in self._down if each != _ZOOKEEPER}

    # The parts of a step of the scenario.

    def _add(self, do: str, after: str = "0s", **arguments: Any) -> int:
        self.steps.append({"do": do, "after": after} | arguments)
        return len(self.steps) - 1

    def _when(self, within: str = _WITHIN, **condition: Any) -> None:
        self.steps.append({"do": "wait", "when": condition, "within": within})

    def _begin(self, kind: str, name: str, **arguments: Any) -> str:
        """Begin a fault that is new; its name."""
        self.faults.append({"kind": kind, "name": name} | arguments)
        self._add("begin_fault", fault=name)
        return name

    def _bring_down(self, kind: str, brokers: Iterable[Any], what: str) -> None:
        for broker in brokers:
            name = f"{what}-of-{broker}-at-step-{len(self.played)}"
            if broker == _ZOOKEEPER:
                self._begin("zookeeper_outage", name, how="restart")
            else:
                self._begin(kind, name, brokers=[broker])
                self._lingering.add(broker)
            self._down.setdefault(broker, []).append(name)
            self._paused.pop(broker, None)

    # One method for each kind of step; its name says which.

    def _write_create(self, played: PlayedStep) -> None:
        step = played.recorded.step
        settings = {name: _value(value) for name, value in step.get("config", {}).items()}
        self.topics.append(
            {
                "name": step["topic"],
                "assignment": {int(number): ids for number, ids in step["assign"].items()},
                "settings": settings,
            }
        )
        self._add("create_topic", topic=step["topic"])

    def _write_produce(self, played: PlayedStep) -> None:
        step = played.recorded.step
        arguments = self._produce_arguments(step)
        if "to" in step:
            arguments["to"] = step["to"]
        for name in _listed(step["tp"]):
            for _ in range(step.get("batches", 1)):
                number = self._add("produce", after=CONNECTING, **_partition(name), **arguments)
                played.requests.append((number, name, None))

    def _produce_arguments(self, step: dict[str, Any]) -> dict[str, Any]:
        timeout_ms = step.get("timeout_ms", _PRODUCE_TIMEOUT_MS)
        return {"records": step["n"], "acks": step["acks"], "timeout": f"{timeout_ms}ms"}

    def _write_send_async(self, played: PlayedStep) -> None:
        step = played.recorded.step
        arguments = self._produce_arguments(step) | {"to": step["b"], "wait": False}
        number = self._add("produce", **_partition(step["tp"]), **arguments)
        played.requests.append((number, step["tp"], None))

    def _write_collect(self, _: PlayedStep) -> None:
        """The response is recorded when it arrives; this step only waits for it."""
        self._when(answered=True)

    def _write_kill(self, played: PlayedStep) -> None:
        self._bring_down("crash", _listed(played.recorded.step["b"]), "kill")

    def _write_term(self, played: PlayedStep) -> None:
        brokers = _listed(played.recorded.step["b"])
        self._bring_down("restart", brokers, "term")
        self._when(unregistered=brokers)
        self._lingering -= set(brokers)

    def _write_start(self, played: PlayedStep) -> None:
        self._take_as_long_as_recorded(played.recorded)
        self._start(_listed(played.recorded.step["b"]))

    def _take_as_long_as_recorded(self, recorded: RecordedStep) -> None:
        """How long a virtual machine takes to come up is the machine's, not Kafka's.

        The time of the simulator's own brokers is subtracted.
        """
        span = recorded.result.ranges_ms.get("t_registered_ms")
        if span is not None:
            wait_ms = max(0.0, middle(span) - _START_MS)
            self._add("wait", after=f"{wait_ms:.0f}ms")
            self.duration_ms += wait_ms

    def _start(self, brokers: list[Any]) -> None:
        for broker in brokers:
            for fault in self._down.pop(broker, []):
                self._add("end_fault", fault=fault)
        mortal = [broker for broker in brokers if broker != _ZOOKEEPER]
        lingering = [broker for broker in mortal if broker in self._lingering]
        if lingering:
            self._when(unregistered=lingering)
            self._lingering -= set(lingering)
        if mortal:
            self._when(registered=mortal)

    def _write_restart(self, played: PlayedStep) -> None:
        brokers = _listed(played.recorded.step["b"])
        self._bring_down("crash", brokers, "bounce")
        self._add("wait", after=f"{self._first_start_ms(played.recorded):.0f}ms")
        self._start(brokers)

    def _first_start_ms(self, recorded: RecordedStep) -> float:
        """How much slower than here a start was; one that failed took time to end, too."""
        middle_ms = middle(recorded.result.ranges_ms.get("t_registered_ms", (0.0, 0.0)))
        attempts = recorded.result.exact.get("attempts", 1)
        first_ms = middle_ms if attempts == 1 else 0.7 * middle_ms / attempts
        return max(0.0, first_ms - _START_MS)

    def restart_after_exit(self) -> str:
        """The time from a failed start to the next."""
        for recorded in self.schedule.steps:
            attempts = recorded.result.exact.get("attempts", 1)
            if recorded.op == "restart" and attempts > 1:
                middle_ms = middle(recorded.result.ranges_ms.get("t_registered_ms", (0.0, 0.0)))
                all_ms = middle_ms - self._first_start_ms(recorded) - attempts * _START_MS
                return f"{max(1.0, all_ms / (attempts - 1)):.0f}ms"
        return _RESTART_AFTER_EXIT

    def _write_pause(self, played: PlayedStep) -> None:
        for broker in _listed(played.recorded.step["b"]):
            self._pause(broker, f"pause-of-{broker}-at-step-{len(self.played)}")

    def _pause(self, broker: Any, name: str) -> None:
        if broker == _ZOOKEEPER:
            self._paused[broker] = self._begin("zookeeper_outage", name, how="pause")
        else:
            self._paused[broker] = self._begin("pause", name, brokers=[broker])

    def _write_resume(self, played: PlayedStep) -> None:
        for broker in _listed(played.recorded.step["b"]):
            self._add("end_fault", fault=self._paused.pop(broker))

    def _write_flap(self, played: PlayedStep) -> None:
        """Pause, send one record to each partition and resume, until the time is over."""
        step = played.recorded.step
        for turn in range(round(step["s"] / (step["down"] + step["up"]))):
            self._pause(step["b"], f"flap-{turn}-of-{step['b']}")
            for name in step["produce"]:
                self._add("produce", **_partition(name), records=1, acks=1)
            self._add("wait", after=f"{step['down'] * 1000:.0f}ms")
            self._add("end_fault", fault=self._paused.pop(step["b"]))
            self._add("wait", after=f"{step['up'] * 1000:.0f}ms")

    def _write_cut(self, played: PlayedStep) -> None:
        for source, destination in played.recorded.step["links"]:
            ends = [[self._end(source)], [self._end(destination)]]
            name = f"cut-from-{source}-to-{destination}-at-step-{len(self.played)}"
            cut = self._begin("cut_link", name, between=ends, one_way=True)
            self._cuts[source, destination] = cut

    def _write_heal(self, played: PlayedStep) -> None:
        for source, destination in played.recorded.step["links"]:
            self._add("end_fault", fault=self._cuts.pop((source, destination)))

    def _end(self, end: Any) -> Any:
        return "zookeeper" if end == _ZOOKEEPER else end

    def _write_drop_tail(self, played: PlayedStep) -> None:
        """A loss of power while the broker is down: it hits the log alone."""
        step = played.recorded.step
        kept = {"broker": step["b"], "offset": step["keep"]} | _partition(step["tp"])
        name = f"power-loss-of-{step['b']}-at-step-{len(self.played)}"
        fault = self._begin("power_loss", name, brokers=[step["b"]], keeps=[kept])
        self._down.setdefault(step["b"], []).append(fault)

    def _write_pref(self, _: PlayedStep) -> None:
        self._add("preferred_election")

    def _write_delete(self, played: PlayedStep) -> None:
        self._add("delete_topic", topic=played.recorded.step["topic"])

    def _write_reassign(self, played: PlayedStep) -> None:
        """Request it, and wait until it is done, or for the recorded time in vain.

        While a replica that is added is on a broker that is down, the move stays pending.
        """
        moves = played.recorded.step["to"]
        partitions = [_partition(name) | {"replicas": ids} for name, ids in moves.items()]
        self._add("reassign", partitions=partitions)
        span = played.recorded.result.ranges_ms.get("step_ms")
        if span is None or f"wait.{REASSIGNED_MS}" in played.recorded.result.ranges_ms:
            self._when(reassigned=True)
        else:
            self._add("wait", after=f"{middle(span):.0f}ms")

    def _write_del_controller(self, _: PlayedStep) -> None:
        self._begin("controller_move", f"controller-move-at-step-{len(self.played)}")

    def _write_config(self, played: PlayedStep) -> None:
        step = played.recorded.step
        settings = {name: _value(value) for name, value in step["set"].items()}
        self._add("configure", topic=step["topic"], settings=settings)

    def _write_sleep(self, played: PlayedStep) -> None:
        self._add("wait", after=f"{played.recorded.step['s'] * 1000:.0f}ms")

    def _write_wait(self, played: PlayedStep) -> None:
        step = played.recorded.step
        for name in _listed(step["tp"]):
            if "isr" in step:
                self._when(isr=_partition(name) | {"is": step["isr"]})
            elif "leader" in step:
                self._when(leader=_partition(name) | {"is": step["leader"]})
            else:
                self._when(leader=_partition(name) | {"is_not": step["not_leader"]})

    def _write_wait_reg(self, played: PlayedStep) -> None:
        self._when(registered=_listed(played.recorded.step["b"]))

    def _write_wait_unreg(self, played: PlayedStep) -> None:
        brokers = _listed(played.recorded.step["b"])
        self._when(unregistered=brokers)
        self._lingering -= set(brokers)

    def _write_epochs(self, played: PlayedStep) -> None:
        step = played.recorded.step
        broker = {} if str(step["b"]).startswith("leader") else {"broker": step["b"]}
        for epoch in step["epochs"]:
            number = self._add("ask_epoch", **_partition(step["tp"]), leader_epoch=epoch, **broker)
            played.requests.append((number, step["tp"], epoch))

    def _write_fetch(self, played: PlayedStep) -> None:
        name = played.recorded.step["tp"]
        number = self._add("fetch", **_partition(name), offset=0)
        played.requests.append((number, name, None))

    def _write_values(self, played: PlayedStep) -> None:
        """The content of the logs is part of an observation."""
        if played.recorded.observed is None:
            played.observation = self._add("observe")
