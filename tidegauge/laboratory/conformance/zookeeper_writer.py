"""Writes the steps of a scenario for the steps of a recorded schedule of a ZooKeeper cluster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidegauge.laboratory.conformance.recorded_schedule import REASSIGNED_MS, RecordedStep, middle
from tidegauge.laboratory.conformance.schedule_writer import (
    START_MS,
    PlayedStep,
    ScheduleWriter,
    listed,
    partition_of,
)

#: The time in which the harness detects that a start has failed, and retries.
_RESTART_AFTER_EXIT = "5s"

#: ZooKeeper in a recording.
_ZOOKEEPER = "zk"


class ZooKeeperWriter(ScheduleWriter):
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

    def _write_restart(self, played: PlayedStep) -> None:
        brokers = listed(played.recorded.step["b"])
        self._bring_down("crash", brokers, "bounce")
        self._add("wait", after=f"{self._first_start_ms(played.recorded):.0f}ms")
        self._start(brokers)

    def _first_start_ms(self, recorded: RecordedStep) -> float:
        """How much slower than here a start was; one that failed took time to end, too."""
        middle_ms = middle(recorded.result.ranges_ms.get("t_registered_ms", (0.0, 0.0)))
        attempts = recorded.result.exact.get("attempts", 1)
        first_ms = middle_ms if attempts == 1 else 0.7 * middle_ms / attempts
        return max(0.0, first_ms - START_MS)

    def restart_after_exit(self) -> str:
        """The time from a failed start to the next."""
        for recorded in self.schedule.steps:
            attempts = recorded.result.exact.get("attempts", 1)
            if recorded.op == "restart" and attempts > 1:
                middle_ms = middle(recorded.result.ranges_ms.get("t_registered_ms", (0.0, 0.0)))
                all_ms = middle_ms - self._first_start_ms(recorded) - attempts * START_MS
                return f"{max(1.0, all_ms / (attempts - 1)):.0f}ms"
        return _RESTART_AFTER_EXIT

    def _write_pref(self, _: PlayedStep) -> None:
        self._add("preferred_election")

    def _write_reassign(self, played: PlayedStep) -> None:
        """Request it, and wait until it is done, or for the recorded time in vain.

        While a replica that is added is on a broker that is down, the move stays pending.
        """
        moves = played.recorded.step["to"]
        partitions = [partition_of(name) | {"replicas": ids} for name, ids in moves.items()]
        self._add("reassign", partitions=partitions)
        span = played.recorded.result.ranges_ms.get("step_ms")
        if span is None or f"wait.{REASSIGNED_MS}" in played.recorded.result.ranges_ms:
            self._when(reassigned=True)
        else:
            self._add("wait", after=f"{middle(span):.0f}ms")

    def _write_del_controller(self, _: PlayedStep) -> None:
        self._begin("controller_move", f"controller-move-at-step-{len(self.played)}")

    def _write_wait_reg(self, played: PlayedStep) -> None:
        self._when(registered=listed(played.recorded.step["b"]))

    def _write_wait_unreg(self, played: PlayedStep) -> None:
        brokers = listed(played.recorded.step["b"])
        self._when(unregistered=brokers)
        self._lingering -= set(brokers)
