"""A group of processes where it is hosted: it runs in windows, and exchanges frames with its peers.

This is what an actor does, and knows nothing of Ray: a thread can do it as well. Whoever drives the
groups asks all of them for the same in the same order: to listen, to connect, to run to a virtual
time, to heal, to close. While one of them runs it can be asked, from another thread, for a report,
or to stop.

A window: all groups exchange frames, each reckons how far it may go (``simulation/frames.py``), and
goes there. Between two windows nobody asks the driver; rows wait to be fetched with a report.
"""

from __future__ import annotations

import io
import os
import socket
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.engine import GroupFigures
from tidegauge.group import Group
from tidegauge.group_counts import GroupCounts
from tidegauge.group_states import new_states
from tidegauge.grouping import SLEEPER
from tidegauge.liveness import RESTART_US
from tidegauge.loop_sampler import LoopSampler
from tidegauge.simulation.cluster_plan import ClusterPlan
from tidegauge.simulation.frames import NEVER_US, READY, SLEEPS, STOPPED, STRANGE, WAKES
from tidegauge.simulation.judged_rows import judged_rows
from tidegauge.simulation.mesh import Address, FrameError, LinkBroken, Mesh, MeshError
from tidegauge.simulation.pace import Pace
from tidegauge.simulation.scenario import Scenario
from tidegauge.simulation.trace_file import TraceWriter

#: So often rows are handed on, unless there is no more room for them before.
_DRAIN_PERIOD_S = 0.05

# How long rows wait at most for a frame of the trace to be full: at first, and later on, when
# frames that are hardly begun would be many. When an actor dies they are missing.
_FIRST_FLUSH_S = 1.0
_LAST_FLUSH_S = 10.0


class Place(NamedTuple):
    """What a group is told of all groups, and of itself."""

    scenario: Scenario
    switches: dict[str, int | bool]
    #: What people call the groups, and their processes.
    names: Sequence[str]
    grouping: Sequence[Sequence[int]]
    #: Which of them it is.
    number: int
    #: What a peer has to know, and in which life of the run.
    key: bytes
    generation: int
    #: So many times as fast as real time at most; None: as fast as it can.
    speed: float | None


class Outcome(NamedTuple):
    """How a group came to return from running."""

    #: It was asked to stop.
    stopped: bool
    #: What went wrong between it and another group; "" if nothing did.
    complaint: str = ""
    #: The number of the group that is to blame; -1 none.
    blamed: int = -1


class Report(NamedTuple):
    """What a group has to say now."""

    #: All rows of before this time have been handed over, with this report or an earlier one. A
    #: group that sleeps has no more until others go on: ask it last.
    complete_us: int
    figures: GroupFigures
    samples: dict[str, int]
    #: Rows that checks and figures look at, as they lie in memory.
    rows: bytes
    #: More bytes of the trace file.
    trace: bytes
    #: Peers that were refused.
    refused: list[str]


class HostedGroup:
    """One group, to be driven from elsewhere."""

    def __init__(self, place: Place, node: str, tcp_host: str | None) -> None:
        """Lay out the group's tables, and listen for its peers.

        Args:
            place: which group it is.
            node: which machine this is: peers on it come by a Unix socket.
            tcp_host: where peers on other machines find this one; None: there are none.
        """
        plan = ClusterPlan(place.scenario, place.switches)
        self._plan = plan
        self._names = place.names
        self._name = place.names[place.number]
        self._folder = tempfile.TemporaryDirectory(prefix="tidegauge-")
        hosted = place.grouping[place.number]
        self._group = Group(plan, hosted, Path(self._folder.name))
        self._group.join(place.grouping, place.number, place.generation, SLEEPER)
        self._mesh = Mesh(
            place.number, place.names, place.key, place.generation, node=node, tcp_host=tcp_host
        )
        # One of them holds all back, since the others wait for its frames: not one that sleeps.
        paces = place.speed is not None and place.number == SLEEPER + 1
        self._pace = Pace(place.speed) if paces and place.speed is not None else None
        self._sampler = LoopSampler([self._group])
        self._stops = threading.Event()
        self._windows = 0
        self._exchange_cpu_seconds = 0.0
        self._kernel_cpu_seconds = 0.0
        self._cpu_since_ns = time.thread_time_ns()
        self._trace_bytes = _Bytes()
        self._writer = TraceWriter(self._trace_bytes)
        self._next_drain = 0.0
        self._flush_period_s = _FIRST_FLUSH_S
        self._next_flush = time.monotonic() + _FIRST_FLUSH_S
        # What the next report takes along.
        self._lock = threading.Lock()
        self._rows: list[NDArray[np.void]] = []
        self._complete_us = 0

    def whereabouts(self) -> str:
        """Where it is, for people: process and machine."""
        return f"process {os.getpid()} on {socket.gethostname()}"

    def address(self) -> Address:
        """Where it listens for its peers."""
        return self._mesh.address

    def connect(self, addresses: Sequence[Address]) -> None:
        """Join all groups.

        Raises:
            MeshError: one of them did not come.
        """
        own = self._mesh.address.node
        here = sum(
            address.node == own for group, address in enumerate(addresses) if group != SLEEPER
        )
        self._mesh.connect(addresses, is_eager=here <= len(os.sched_getaffinity(0)))

    def run_to(self, end_us: int) -> Outcome:
        """Handle every event earlier than ``end_us``, in windows with all others."""
        try:
            with self._sampler:
                stopped = self._run_windows(end_us)
        except LinkBroken as error:
            self._mesh.close()
            return Outcome(False, str(error), error.peer)
        except MeshError as error:
            self._mesh.close()
            return Outcome(False, str(error))
        except BaseException:
            # The others would wait for a frame.
            self._mesh.close()
            raise
        finally:
            self._drain()
        return Outcome(stopped)

    def _run_windows(self, end_us: int) -> bool:
        """Go on until the end, or until somebody wants to stop: then True."""
        group, mesh = self._group, self._mesh
        self._cpu_since_ns = time.thread_time_ns()
        while True:
            mesh.exchange(group.write_frames())
            outcome = group.read_frames(mesh.incoming, mesh.place_words, end_us)
            if outcome == WAKES:
                continue
            if outcome == SLEEPS:
                self._drain(NEVER_US)
                continue
            if outcome != READY:
                break
            if self._pace is not None:
                self._pace.wait_for(group.earliest_us, self._stops)
            group.run_window(self._take)
            self._windows += 1
            if time.monotonic() > self._next_drain:
                self._drain()
        if outcome == STRANGE:
            strange = group.strange_group
            raise FrameError(f"{self._names[strange]} has sent a frame of another window", strange)
        return bool(outcome == STOPPED)

    def _take(self, rows: NDArray[np.void]) -> None:
        """Keep rows for the next report."""
        self._writer.write(rows)
        with self._lock:
            self._rows.append(judged_rows(rows))

    def _drain(self, complete_us: int | None = None) -> None:
        """Hand on what there is, and add up what the windows since the last time have cost.

        Rows are complete up to ``complete_us``, or else up to the horizon.
        """
        begun_ns = time.thread_time_ns()
        self._group.drain(self._take)
        now = time.monotonic()
        if now > self._next_flush:
            self._writer.begin_flush()
            self._flush_period_s = min(2 * self._flush_period_s, _LAST_FLUSH_S)
            self._next_flush = now + self._flush_period_s
        self._next_drain = now + _DRAIN_PERIOD_S
        kernel_cpu_seconds = self._group.kernel_cpu_seconds
        with self._lock:
            self._complete_us = self._group.horizon_us if complete_us is None else complete_us
            self._exchange_cpu_seconds += (begun_ns - self._cpu_since_ns) / 1e9 - (
                kernel_cpu_seconds - self._kernel_cpu_seconds
            )
        self._kernel_cpu_seconds = kernel_cpu_seconds
        self._cpu_since_ns = time.thread_time_ns()

    def heal(self, time_us: int) -> None:
        """Begin the liveness phase in all processes of this group."""
        self._group.heal(time_us, RESTART_US, self._take)

    def close(self, time_us: int, reason: int) -> None:
        """Write down what can be judged only at the end."""
        self._group.close(time_us, self._take, reason)

    def counts(self) -> GroupCounts:
        """What only the processes of this group know themselves, now."""
        return self._group.counts()

    def states(self) -> tuple[bytes, bytes]:
        """Replicas and partitions as this group knows them, as they lie in memory."""
        replicas, partitions = new_states(self._plan)
        self._group.look_at_states(replicas, partitions)
        return np.asarray(replicas).tobytes(), np.asarray(partitions).tobytes()

    def finish(self) -> dict[str, bytes]:
        """End the trace, for the last report; the files that brokers have written, by path."""
        self._writer.close()
        self._mesh.close()
        folder = Path(self._folder.name)
        files = {
            str(file.relative_to(folder)): file.read_bytes()
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        }
        self._folder.cleanup()
        return files

    # What can be asked while it runs.

    def report(self) -> Report:
        """What there is to say now; rows and bytes are handed over once."""
        with self._lock:
            rows, self._rows = self._rows, []
            figures = GroupFigures(
                self._name,
                self._group.events,
                self._windows,
                self._group.kernel_cpu_seconds,
                self._exchange_cpu_seconds,
            )
            complete_us = self._complete_us
        return Report(
            complete_us,
            figures,
            dict(self._sampler.seen),
            b"".join(part.tobytes() for part in rows),
            self._trace_bytes.take(),
            list(self._mesh.refused),
        )

    def stop(self) -> None:
        """Have all groups stop after this window."""
        self._group.ask_to_stop()
        self._stops.set()


class _Bytes(io.BytesIO):
    """Bytes that one thread writes and another one takes away."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def write(self, data: Any, /) -> int:
        """Put bytes behind those that nobody has taken."""
        with self._lock:
            return super().write(data)

    def take(self) -> bytes:
        """All that was written since the last time."""
        with self._lock:
            taken = self.getvalue()
            self.seek(0)
            self.truncate()
        return taken

    def close(self) -> None:
        """What was written stays to be taken."""
