"""Writes the steps of a scenario for a recorded schedule about the voters of a quorum (KIP-853).

A harness formats the directory of a new controller and starts its process; many seconds later the
virtual machine is up. The record of its registration shows when, and meanwhile the next steps are
taken.
"""

from operator import itemgetter
from typing import Any

from tidegauge.laboratory.conformance import recorded_schedule, schedule_writer
from tidegauge.laboratory.conformance.control_plane_writers import KRaftWriter
from tidegauge.laboratory.conformance.recorded_quorums import LEADER_CHANGE, Tree, directory_number

#: Answers of controllers that are not active (any more), and none.
_OF_OTHERS = ("NOT_", "NO_RESPONSE")
#: A harness's timeout for a probe.
_PROBE_TIMEOUT = "6s"
#: By feature: its name in a step of a scenario, which has levels of these two alone.
_ELR = "eligible_leader_replicas"
_FEATURES = {"eligible.leader.replicas.version": _ELR, "kraft.version": "kraft_version"}
#: By FeatureUpdate.UpgradeType: its name in a step.
_UPGRADE_TYPES = {1: "upgrade", 2: "safe_downgrade", 3: "unsafe_downgrade"}
#: The time of kafka-metadata-quorum describe, after steps of these kinds.
_DESCRIBING_MS = 3000.0
_DESCRIBED = ("add_voter", "remove_voter", "features")
#: The record with which a controller registers at the active one, once it has its whole log.
_REGISTRATION = "RegisterControllerRecord"
#: An election of a quorum that has got its majority back: up to two election time-outs.
_ELECTION_MS = 1000
#: A new directory of a scenario is empty until its controller starts, which then must not be the
#: beginning of the run.
_NEW = "1s"


class QuorumWriter(KRaftWriter):
    """Steps about voters, and controllers that are new or have lost their disks."""

    def __init__(self, schedule: recorded_schedule.RecordedSchedule, seed: int) -> None:
        super().__init__(schedule, seed)
        first = schedule.quorum.initial if schedule.quorum else schedule.controllers
        #: The controllers that are voters, as requests have changed them.
        self._voters = set(first)
        #: Those whose directories are not formatted, and those whose processes have been started,
        #: with the time until they are up, in milliseconds.
        self._unformatted: set[int] = set()
        self._booting: dict[int, float] = {}

    def controllers(self) -> dict[str, Any]:
        """The controllers of the scenario, without their settings."""
        controllers: dict[str, Any] = {"count": len(self.schedule.controllers)}
        if self.schedule.quorum is None:
            return controllers
        voters = sorted(map(self._number, self.schedule.quorum.initial))
        return controllers | {
            "voters": voters,
            "start": {self._number(each): _NEW for each in self._new()},
        }

    def _new(self) -> list[int]:
        """The controllers that do not run before the first step."""
        running = self.schedule.start_controllers
        return [each for each in self.schedule.controllers if each not in running]

    def _number(self, controller: int) -> int:
        """The number of a controller in the scenario."""
        return self.schedule.voters.index(controller)

    def write_all(self) -> None:
        """Write the schedule; controllers that are new do not run at first."""
        self._bring_down("crash", self._new(), "absence")
        self._unformatted.update(self._new())
        super().write_all()

    def _finish(self, played: schedule_writer.PlayedStep) -> None:
        """... and after a change of the voters describe the quorum by a tool, which takes long."""
        super()._finish(played)
        played.unformatted = frozenset(self._unformatted)
        played.booting = frozenset(self._booting)
        if played.recorded.op in _DESCRIBED and played.observation is not None:
            self._pass(self._describing_ms())
            played.end = len(self.steps)

    def _describing_ms(self) -> float:
        """The time that a tool takes, as recorded of one."""
        tools = (step.time_ms("step_ms") for step in self.schedule.steps if step.op == "tool")
        return next(tools, _DESCRIBING_MS)

    def _control_plane_is_up(self) -> bool:
        stopped = self._voters.intersection({*self._down, *self._paused})
        return 2 * len(stopped) < len(self._voters)

    # Starts.

    def _stop(self, kind: str, process: Any, name: str) -> None:
        super()._stop(kind, process, name)
        self._booting.pop(process, None)

    def _write_start(self, played: schedule_writer.PlayedStep) -> None:
        """Start controllers, if their voters may change; the machine took a time to start them."""
        processes = self._processes(played.recorded)
        brokers = self._brokers_among(processes)
        if self.schedule.quorum is None or brokers:
            super()._write_start(played)
            return
        self._pass(played.recorded.time_ms("step_ms"))
        self._unformatted.difference_update(processes)
        for each in processes:
            self._booting[each] = self._boot_ms(each, played.recorded)

    def _boot_ms(self, controller: int, start: recorded_schedule.RecordedStep) -> float:
        """The time from a start to the controller's registration, less the simulator's own.

        Where the quorum waits for this controller, the election comes in between.
        """
        passed_ms = 0.0
        for step in self.schedule.steps:
            if step.number <= start.number:
                continue
            for time_ms, kind, key, *_ in self.schedule.own(step.timelines or [[]]):
                own_ms = schedule_writer.START_MS + (_ELECTION_MS if kind == LEADER_CHANGE else 0)
                if kind == LEADER_CHANGE or (kind, key) == (_REGISTRATION, f"c{controller}"):
                    return max(0.0, passed_ms + float(time_ms) - own_ms)
            passed_ms += step.time_ms("step_ms")
        return 0.0

    def _pass(self, time_ms: float) -> None:
        """Let time pass, in which controllers come up."""
        passed_ms = 0.0
        for controller, left_ms in sorted(self._booting.items(), key=itemgetter(1)):
            if left_ms > time_ms:
                self._booting[controller] -= time_ms
                continue
            super()._pass(left_ms - passed_ms)
            passed_ms = left_ms
            del self._booting[controller]
            self._start([controller])
        super()._pass(time_ms - passed_ms)

    def _come_up(self) -> None:
        """Let time pass until all controllers that were started are up."""
        self._pass(max(self._booting.values(), default=0.0))

    # Disks.

    def _write_wipe(self, played: schedule_writer.PlayedStep) -> None:
        """The disk of a controller that is down is replaced by an empty one."""
        controllers = set(self._processes(played.recorded)) & set(self.schedule.controllers)
        if not controllers:
            super()._write_wipe(played)
        self._bring_down("disk_loss", sorted(controllers), "lost-disk")
        self._unformatted |= controllers

    # Requests.

    def _write_add_voter(self, played: schedule_writer.PlayedStep) -> None:
        added = self._change_voters(played, "add_controller")
        if added is not None:
            self._voters.add(added)

    def _write_remove_voter(self, played: schedule_writer.PlayedStep) -> None:
        removed = self._change_voters(played, "remove_controller")
        if removed is not None:
            self._voters.discard(removed)
            self._lose(removed)

    def _change_voters(self, played: schedule_writer.PlayedStep, do: str) -> int | None:
        """A request for a change; the voter, or None if it was refused."""
        (controller,) = self._processes(played.recorded)
        answer = self._recorded(played, "answer")
        changed: dict[str, Any] = {"controller": self._number(controller)}
        if "directory" in answer:
            changed["directory"] = directory_number(answer["directory"], controller)
        self._request(played, do, **changed, **self._receiver(answer))
        return controller if answer.get("error", "NONE") == "NONE" else None

    def _recorded(self, played: schedule_writer.PlayedStep, name: str) -> Tree:
        """A part of the recorded result of the repeat that is played."""
        result, above = played.recorded.result, f"{name}."
        varied = {
            path.removeprefix(above): self.schedule.own(values)
            for path, values in result.varies.items()
            if path.startswith(above)
        }
        exact: Tree = result.exact.get(name, {})
        return exact | varied

    def _receiver(self, answer: Tree) -> dict[str, Any]:
        """The controller that gets a request: the active one, unless a harness asked another."""
        if not answer.get("error", "").startswith(_OF_OTHERS):
            return {}
        return {"to": self._number(answer.get("asked", self._active))}

    def _write_probe(self, played: schedule_writer.PlayedStep) -> None:
        """Whether the quorum commits: a setting of the first topic is written, as it is."""
        self._request(
            played,
            "configure",
            topic=self.topics[0]["name"],
            settings={"unclean.leader.election.enable": False},
            timeout=_PROBE_TIMEOUT,
            **self._receiver(self._recorded(played, "probe")),
        )

    def _write_features(self, played: schedule_writer.PlayedStep) -> None:
        """Other levels of features, by UpdateFeatures."""
        levels = {_FEATURES[name]: level for name, level in played.step["set"].items()}
        if _ELR in levels:
            levels[_ELR] = levels[_ELR] > 0
        kind = _UPGRADE_TYPES[played.step.get("type", 1)]
        self._request(played, "update_features", **levels, upgrade_type=kind)

    def _why_not(self, recorded: recorded_schedule.RecordedStep) -> str | None:
        """... or a feature that a step of a scenario does not change."""
        others = set(recorded.step.get("set", ())) - _FEATURES.keys()
        if recorded.op == "features" and others:
            return f"the simulator has no request for feature {min(others)}"
        return super()._why_not(recorded)

    def _write_tool(self, played: schedule_writer.PlayedStep) -> None:
        """A tool of Kafka's prints the state of the quorum; that only takes time."""
        self._pass(played.recorded.time_ms("step_ms"))

    # Conditions.

    def _write_wait_leader(self, played: schedule_writer.PlayedStep) -> None:
        self._come_up()
        others = [each for each in self.schedule.controllers if each not in played.step["not"]]
        self._when(leads=sorted(map(self._number, others)))

    def _write_wait_observer(self, played: schedule_writer.PlayedStep) -> None:
        (observer,) = self._processes(played.recorded)
        self._pass(self._booting.get(observer, 0.0))
        self._when(observes=self._number(observer))

    def _write_wait_voters(self, played: schedule_writer.PlayedStep) -> None:
        self._come_up()
        self._wait_for(set(played.step["voters"]))

    def _write_wait_newdir(self, _: schedule_writer.PlayedStep) -> None:
        """A controller with a new directory has taken the former one's place among the voters."""
        returning = {each for each in self._booting if each in self._voters}
        self._come_up()
        self._wait_for(self._voters - returning)
        self._wait_for(self._voters | returning)

    def _wait_for(self, voters: set[int]) -> None:
        self._voters = voters
        self._when(voters=sorted(map(self._number, voters)))
