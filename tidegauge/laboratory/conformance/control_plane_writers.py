"""Writes the steps of a scenario for a recorded schedule in which ZooKeeper or a quorum takes part.

With KRaft a broker that is registered in the sense of a scenario's conditions is unfenced.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tidegauge.laboratory.conformance import recorded_schedule, schedule_writer
from tidegauge.laboratory.conformance.recorded_dialects import FENCED, fencing_order
from tidegauge.laboratory.conformance.recorded_quorums import is_id

#: The time in which the harness detects that a start has failed, and retries.
_RESTART_AFTER_EXIT = "5s"

#: ZooKeeper in a recording.
_ZOOKEEPER = "zk"


class ZooKeeperWriter(schedule_writer.ScheduleWriter):
    """Steps and faults that ZooKeeper takes part in."""

    def start(self, broker: int) -> str:
        """The start of a broker: all start at once, but the first controller is faster."""
        return "0s" if broker == self.schedule.first_controller else super().start(broker)

    def _brokers_among(self, processes: Iterable[Any]) -> list[int]:
        return [each for each in processes if each != _ZOOKEEPER]

    def _control_plane_is_up(self) -> bool:
        return _ZOOKEEPER not in self._paused and _ZOOKEEPER not in self._down

    def _end(self, end: Any) -> Any:
        return "zookeeper" if end == _ZOOKEEPER else end

    def _stop(self, kind: str, process: Any, name: str) -> None:
        if process == _ZOOKEEPER:
            self._begin("zookeeper_outage", name, how="restart")
        else:
            super()._stop(kind, process, name)

    def _pause(self, process: Any, name: str) -> None:
        if process == _ZOOKEEPER:
            self._paused[process] = self._begin("zookeeper_outage", name, how="pause")
        else:
            super()._pause(process, name)

    def _write_restart(self, played: schedule_writer.PlayedStep) -> None:
        brokers = self._processes(played.recorded)
        self._bring_down("crash", brokers, "bounce")
        self._add("wait", after=f"{self._first_start_ms(played.recorded):.0f}ms")
        self._start(brokers)

    def _first_start_ms(self, recorded: recorded_schedule.RecordedStep) -> float:
        """The ratio of a recorded start to one here; one that failed took time to end, too."""
        middle_ms = recorded.time_ms("t_registered_ms")
        attempts = recorded.result.exact.get("attempts", 1)
        first_ms = middle_ms if attempts == 1 else 0.7 * middle_ms / attempts
        return max(0.0, first_ms - schedule_writer.START_MS)

    def restart_after_exit(self) -> str:
        """The time from a failed start to the next."""
        for recorded in self.schedule.steps:
            attempts = recorded.result.exact.get("attempts", 1)
            if recorded.op == "restart" and attempts > 1:
                all_ms = (
                    recorded.time_ms("t_registered_ms")
                    - self._first_start_ms(recorded)
                    - attempts * schedule_writer.START_MS
                )
                return f"{max(1.0, all_ms / (attempts - 1)):.0f}ms"
        return _RESTART_AFTER_EXIT

    def _write_pref(self, _: schedule_writer.PlayedStep) -> None:
        self._add("preferred_election")

    def _write_reassign(self, played: schedule_writer.PlayedStep) -> None:
        """Request it, and wait until it is done, or, without success, for the recorded time.

        While a replica that is added is on a broker that is down, the move stays pending.
        """
        moves = played.step["to"]
        partitions = [
            schedule_writer.partition_of(name) | {"replicas": ids} for name, ids in moves.items()
        ]
        self._add("reassign", partitions=partitions)
        times = played.recorded.result.ranges_ms
        if "step_ms" not in times or f"wait.{recorded_schedule.REASSIGNED_MS}" in times:
            self._when(reassigned=True)
        else:
            self._add("wait", after=f"{played.recorded.time_ms('step_ms'):.0f}ms")

    def _write_del_controller(self, _: schedule_writer.PlayedStep) -> None:
        self._begin("controller_move", f"controller-move-at-step-{len(self.played)}")


#: The time of an observation, whose minimum includes the metadata log, by seed. The number of
#: NoOpRecords between two steps, two in a second, shows it: 0.05 to 0.5 s on a shared machine.
_OBSERVING_MS = (60.0, 200.0, 450.0)
#: ElectLeaders: the type of an unclean election.
_UNCLEAN = 1

#: The prefix of words that name controllers by their role, such as ``ctrl_follower``.
_ROLES = "ctrl_"
#: A response to a produce request of a stream.
_RESPONSE_MS = 5.0

#: A harness's timeout for quiescence: paused brokers with longer sessions stay unfenced.
_PATIENCE_MS = 30_000
#: The defaults of broker.session.timeout.ms and broker.heartbeat.interval.ms.
_SESSION_MS, _HEARTBEAT_MS = 9000, 2000
#: More than from the fencing of one broker to the next check.
_CHECK_AGAIN_MS = 20
#: The time for which a broker that starts again at once is refused, until its old session is over.
_REFUSED_MS = 1000


@dataclass
class Stream:
    """A producer of its own connection: requests of one record, with one in flight."""

    #: The arguments of each request.
    request: dict[str, Any]
    interval_ms: float
    #: The number of requests that are still to be sent: in all as many as were recorded.
    left: int
    #: The steps that have sent one.
    sent: list[int] = field(default_factory=list)


class KRaftWriter(schedule_writer.ScheduleWriter):
    """Steps and faults that the quorum takes part in."""

    def __init__(self, schedule: recorded_schedule.RecordedSchedule, seed: int) -> None:
        super().__init__(schedule, seed)
        self.observing_ms = _OBSERVING_MS[(seed - 1) % len(_OBSERVING_MS)]
        settings = schedule.controller_settings
        self._session_ms = int(settings.get("broker.session.timeout.ms", _SESSION_MS))
        interval = schedule.settings.get("broker.heartbeat.interval.ms", _HEARTBEAT_MS)
        self._heartbeat_ms = int(interval)
        #: From one check of sessions to the next.
        self._check_ms = self._session_ms // 8
        #: Node id of the active controller.
        self._active = schedule.voters[0]
        #: That of the active controller that was stopped or paused last.
        self._former: int | None = None
        #: Whether a harness has not waited since then until all was quiet.
        self._fails_over = False
        #: The stream that runs.
        self._stream: Stream | None = None

    def _brokers_among(self, processes: Iterable[Any]) -> list[int]:
        """Those that are no controllers, which alone are named by words for their roles."""
        controllers = self.schedule.controllers
        return [each for each in processes if is_id(each) and each not in controllers]

    def _control_plane_is_up(self) -> bool:
        stopped = {*self._down, *self._paused}.intersection(self.schedule.controllers)
        return 2 * len(stopped) < len(self.schedule.controllers)

    def _gone(self) -> set[int]:
        if self._session_ms <= _PATIENCE_MS:
            return super()._gone()
        return set(self._brokers_among(self._down))

    def _quiet(self) -> None:
        super()._quiet()
        self._fails_over = False

    def _controller(self, op: str) -> int:
        """The node id of the controller that a recorded step names by its role."""
        if op in recorded_schedule.BRINGS_BACK and self._former is not None:
            return self._former
        return self._active

    def _processes(self, recorded: recorded_schedule.RecordedStep) -> list[int]:
        """The node ids of brokers and controllers that a recorded step hits."""
        named = schedule_writer.listed(recorded.step["b"])
        if any(str(each).startswith(_ROLES) for each in named):
            if not recorded.chosen:
                raise ValueError(f"{named[0]} needs chosen_by_repeat, the ids that are meant")
            return self.schedule.own(recorded.chosen)
        return [
            self._controller(recorded.op) if each == recorded_schedule.ACTIVE else each
            for each in named
        ]

    def _selector(self, process: int) -> int | str:
        if process in self.schedule.controllers:
            return f"controller:{self.schedule.voters.index(process)}"
        return process

    def _end(self, end: Any) -> Any:
        return self._selector(self._active if end == recorded_schedule.ACTIVE else end)

    def _target_broker(self, recorded: recorded_schedule.RecordedStep, name: str) -> int | None:
        """... or, while no controller names the leader, the one that brokers named to a harness."""
        to = super()._target_broker(recorded, name)
        if to is None and (self._fails_over or not self._control_plane_is_up()):
            results = recorded.result.exact.get("results", {}).get(name, [])
            to = results[0].get("to") if results else None
        return to

    def _stop(self, kind: str, process: Any, name: str) -> None:
        if process not in self.schedule.controllers:
            super()._stop(kind, process, name)
            return
        self._begin(kind, name, brokers=[self._selector(process)])
        self._lose(process)

    def _pause(self, process: Any, name: str) -> None:
        self._paused[process] = self._begin("pause", name, brokers=[self._selector(process)])
        self._lose(process)

    def _lose(self, process: int) -> None:
        """The quorum elects another controller, if it has any: the recorded one with some seeds."""
        if process == self._active and len(self.schedule.controllers) > 1:
            self._active = self.schedule.active_controller_after(process, len(self.played))
            self._former = process
            self._fails_over = True

    def _request(
        self, played: schedule_writer.PlayedStep, do: str, about: str = "", **arguments: Any
    ) -> None:
        """A request to the active controller, whose response is recorded."""
        played.requests.append(schedule_writer.Request(self._add(do, **arguments), about))

    def _write_pref(self, played: schedule_writer.PlayedStep) -> None:
        """One request for each partition: so each has a response of its own."""
        unclean = played.step.get("type") == _UNCLEAN
        for name in self._partitions():
            do = "unclean_election" if unclean else "preferred_election"
            self._request(played, do, name, **schedule_writer.partition_of(name))
        if self._stream is not None:
            self._pass(played.recorded.time_ms("step_ms"))

    def _partitions(self) -> list[str]:
        """The partitions of all topics that have been created and not deleted."""
        there: dict[str, list[str]] = {}
        for played in self.played:
            step = played.step
            refused = played.recorded.result.exact.get("admin", {}).get("error", "NONE") != "NONE"
            if step["op"] in recorded_schedule.CREATES and not refused:
                numbers = step.get("assign") or range(step["partitions"])
                there[step["topic"]] = [f"{step['topic']}-{each}" for each in numbers]
            elif step["op"] == "delete":
                there.pop(step["topic"], None)
        return [name for names in there.values() for name in names]

    def _write_reassign(self, played: schedule_writer.PlayedStep) -> None:
        """Request it, and wait until it is done, or, without success, for the recorded time."""
        moves = played.step["to"]
        partitions = [
            schedule_writer.partition_of(name) | {"replicas": ids} for name, ids in moves.items()
        ]
        self._request(played, "alter_reassignments", partitions=partitions)
        if self._stream is not None:
            self._pass(played.recorded.time_ms("done_ms"))
        if played.recorded.result.exact.get("pending"):
            self._add("wait", after=f"{played.recorded.time_ms('step_ms'):.0f}ms")
        else:
            self._when(reassigned=True)

    def _write_create_auto(self, played: schedule_writer.PlayedStep) -> None:
        """Create a topic whose replicas the controller placed: it draws a broker to begin with."""
        step = played.step
        numbers = range(step["partitions"])
        placed = [self._placed(played.recorded, f"{step['topic']}-{each}") for each in numbers]
        topic: dict[str, Any] = {"name": step["topic"], "settings": {}}
        if all(placed):
            topic["assignment"] = dict(enumerate(placed))
        else:
            topic |= {"partitions": step["partitions"], "replication_factor": step["rf"]}
        self.topics.append(topic)
        self._request(played, "create_topic", topic=step["topic"])
        # The harness looks a second later.
        self._add("wait", after=f"{played.recorded.time_ms('step_ms'):.0f}ms")

    def _placed(self, recorded: recorded_schedule.RecordedStep, name: str) -> list[int] | None:
        """The replicas of a new partition; None: it was not created."""
        observed = recorded.observed or recorded_schedule.Merged()
        repeats = observed.varies.get(f"partitions.{name}.replicas_assigned")
        if repeats:
            return list(self.schedule.own(repeats))
        partition = observed.exact.get("partitions", {}).get(name, {})
        placed: list[int] | None = partition.get("replicas_assigned")
        return placed

    def _write_move_dir(self, played: schedule_writer.PlayedStep) -> None:
        """Move a replica to another log directory of its broker."""
        step = played.step
        directory = schedule_writer.setting_value(step["dir"])
        moved = schedule_writer.partition_of(step["tp"]) | {"broker": step["b"]}
        self._request(played, "move_log_dir", directory=directory, **moved)

    def _write_broker_config(self, played: schedule_writer.PlayedStep) -> None:
        step = played.step
        settings = {
            name: schedule_writer.setting_value(value) for name, value in step["set"].items()
        }
        self._request(played, "configure", brokers=[step["b"]], settings=settings)

    def _write_kill(self, played: schedule_writer.PlayedStep) -> None:
        """Kill brokers in the order in which they were fenced.

        It is that of their last heartbeats before they died together, which no recording contains.
        One interval of heartbeats between the kills brings it about, and another from one check of
        sessions to the next, if sessions end at all. If repeats had several orders, each is played
        with some seeds.
        """
        processes = self._processes(played.recorded)
        brokers = self._brokers_among(processes)
        self._bring_down("crash", [each for each in processes if each not in brokers], "kill")
        apart_ms = self._heartbeat_ms
        if self._session_ms <= _PATIENCE_MS:
            apart_ms += self._check_ms + _CHECK_AGAIN_MS
        timelines = [
            self.schedule.own(step.timelines)
            for step in self.schedule.steps
            if step.timelines and step.number >= played.recorded.number
        ]
        for place, broker in enumerate(fencing_order(brokers, timelines)):
            if place:
                self._add("wait", after=f"{apart_ms}ms")
            self._bring_down("crash", [broker], "kill")

    def _write_term(self, played: schedule_writer.PlayedStep) -> None:
        """SIGTERM, and the end of the processes: a controller hands over before it ends."""
        processes = self._processes(played.recorded)
        brokers = self._brokers_among(processes)
        self._bring_down("restart", processes, "term")
        if brokers:
            self._when_gone(brokers)
        if len(brokers) < len(processes):
            self._add("wait", after=f"{played.recorded.time_ms('shutdown_ms'):.0f}ms")

    def _write_restart(self, played: schedule_writer.PlayedStep) -> None:
        """Kill it and start it at once: it is refused until its old session is over.

        Unless its virtual machine took longer to come up than the session.
        """
        brokers = self._processes(played.recorded)
        self._bring_down("crash", brokers, "bounce")
        registered_ms = request_ms = played.recorded.time_ms("t_registered_ms")
        records = played.recorded.broker_records or {}
        if not any([FENCED, 1] in each.writes for each in records.values()):
            request_ms = min(registered_ms, self._session_ms - _REFUSED_MS)
        self._add("wait", after=f"{max(0.0, request_ms - schedule_writer.START_MS):.0f}ms")
        self._start(brokers)

    def _write_cut(self, played: schedule_writer.PlayedStep) -> None:
        """Cut one link after the other, as a harness does."""
        links = played.step["links"]
        took_ms, _ = played.recorded.result.ranges_ms.get("step_ms", (0.0, 0.0))
        for place, (source, destination) in enumerate(links):
            if place:
                self._add("wait", after=f"{took_ms / len(links):.0f}ms")
            self._cut(source, destination)

    def _write_wait_ctrl(self, _: schedule_writer.PlayedStep) -> None:
        """A harness reads the leader in the log of the metadata, which is there at all times."""

    def _pass(self, time_ms: float) -> None:
        """Let time pass, in which the stream that runs sends its requests."""
        stream = self._stream
        if stream is None:
            super()._pass(time_ms)
        else:
            self._send(stream, min(stream.left, round(time_ms / stream.interval_ms)))

    def _send(self, stream: Stream, requests: int) -> None:
        after = f"{max(1.0, stream.interval_ms - _RESPONSE_MS):.0f}ms"
        stream.left -= requests
        for _ in range(requests):
            stream.sent.append(self._add("produce", after=after, **stream.request))

    def _write_stream(self, played: schedule_writer.PlayedStep) -> None:
        """Begin a stream; the machine decided how many requests it sent until its end."""
        step, rest = played.step, self.schedule.steps[len(self.played) :]
        stop = next(place for place, each in enumerate(rest) if each.op == "stream_stop")
        result = rest[stop].result
        repeats = result.varies.get("stream.requests")
        if repeats is None:
            repeats = [result.exact["stream"]["requests"]]
        requests = self.schedule.own(repeats)
        during_ms = sum(each.time_ms("step_ms") for each in rest[:stop])
        request = schedule_writer.partition_of(step["tp"]) | self._produce_arguments(
            step | {"n": 1}
        )
        self._stream = Stream(request, during_ms / requests, requests)
        self._pass(step.get("warm", 0) * 1000)

    def _write_stream_stop(self, played: schedule_writer.PlayedStep) -> None:
        stream = self._stream
        assert stream is not None
        self._send(stream, stream.left)
        played.streamed = stream.sent
        self._stream = None
