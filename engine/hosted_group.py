"""A group of processes where it is hosted: it runs in windows, and exchanges frames with others.

This is the work of an actor, without Ray: a thread can do it as well. The driver calls the same
methods of all groups in the same order: to meet, to run to a virtual time, to heal, to close. While
they run, another thread can request a report from them, and a stop from the hub.

The hub starts groups, window by window, and waits for them (``exchange/frames.py``), without the
driver. Rows wait until a report fetches them.
"""

import io
import math
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

from tidegauge.engine.contract import GroupFigures, Pace
from tidegauge.engine.exchange import frame_exchange
from tidegauge.engine.exchange.frame_links import FrameError, FrameLinks, LinkError
from tidegauge.engine.exchange.frames import LENGTH
from tidegauge.engine.exchange.handshake import Address, Reception, dial
from tidegauge.engine.group import Group
from tidegauge.engine.group_states import GroupCounts, new_states
from tidegauge.engine.liveness import RESTART_US
from tidegauge.engine.loop_sampler import LoopSampler
from tidegauge.metrics.snapshots.snapshot import SnapshotPart, part_of
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario
from tidegauge.simulation.kernel import HUB
from tidegauge.traces.checks.breaches import judged_rows
from tidegauge.traces.trace_file import TraceWriter

#: The time that the running thread waits between two checks whether a report is being made.
_LET_IN_S = 0.0002

#: The errors of a frame that arrived completely.
_WRONG = {
    int(frame_exchange.DAMAGED): "is damaged: it has a checksum that does not match",
    int(frame_exchange.STRANGE): "is of another generation or window",
}

# The longest time that rows wait for a full frame of the trace: at first, and later, when there
# would be many small frames. If an actor dies, the waiting rows are lost.
_FIRST_FLUSH_S = 1.0
_LAST_FLUSH_S = 10.0


class Place(NamedTuple):
    """A group's information about all groups, and about itself."""

    scenario: Scenario
    switches: dict[str, int | bool]
    is_measured: bool
    #: Names of the groups for people, and their processes.
    names: Sequence[str]
    grouping: Sequence[Sequence[int]]
    #: Its number among the groups.
    number: int
    #: The secret that a peer has to know, and the generation of the run.
    key: bytes
    generation: int
    #: The speed limit, as a multiple of real time; None: no limit.
    speed: float | None


class GroupOutcome(NamedTuple):
    """The reason why a group returned from running."""

    #: A stop was requested.
    stopped: bool
    #: The error between it and another group; "" if there is none.
    complaint: str = ""


class GroupReport(NamedTuple):
    """The news of a group since its last report."""

    #: From the hub: all groups have handled all events before this time. Later reports of other
    #: groups have all rows from before it.
    reached_us: int
    figures: GroupFigures
    samples: dict[str, int]
    #: Rows that checks and figures read, as they lie in memory.
    rows: bytes
    #: More bytes of the trace file.
    trace: bytes
    #: Peers that were refused.
    refused: list[str]
    #: The metrics of its processes, if requested.
    snapshot: SnapshotPart | None


class HostedGroup:
    """One group, driven from another process or thread."""

    def __init__(self, place: Place, node: str, tcp_host: str | None) -> None:
        """Lay out the group's tables; the hub listens for the others from now on.

        Args:
            place: the group, and all others.
            node: this machine; groups on the same one connect by a Unix socket.
            tcp_host: the address of this machine for others; None: there are no others.
        """
        plan = ClusterPlan(place.scenario, place.switches, place.is_measured)
        self._plan = plan
        self._place = place
        self._node = node
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if place.scenario.checkpoint_files:
            self._folder = tempfile.TemporaryDirectory(prefix="tidegauge-")
        folder = None if self._folder is None else Path(self._folder.name)
        self._group = Group(plan, place.grouping[place.number], folder)
        self._group.join(place.grouping, place.number, place.generation)
        self._reception: Reception | None = None
        if place.number == HUB:
            self._reception = Reception(
                place.names, place.key, place.generation, node=node, tcp_host=tcp_host
            )
        self._links = FrameLinks({}, place.names)
        # The hub holds all groups back: none continues without it.
        paced = place.speed is not None and place.number == HUB
        self._pace = Pace(place.speed) if paced and place.speed is not None else None
        self._stops = threading.Event()
        self._sampler = LoopSampler([self._group])
        #: CPU time of this thread when it came to run, and in all that it has run.
        self._cpu_since_ns = 0
        self._cpu_ns = 0
        self._trace_bytes = _Bytes()
        self._writer = TraceWriter(self._trace_bytes)
        self._flush_period_s = _FIRST_FLUSH_S
        self._next_flush = time.monotonic() + _FIRST_FLUSH_S
        #: Held by the thread that runs, unless it waits for a frame.
        self._running = threading.Lock()
        #: The content of the next report.
        self._rows: list[NDArray[np.void]] = []

    def whereabouts(self) -> str:
        """Its process and machine, for people."""
        return f"process {os.getpid()} on {socket.gethostname()}"

    def address(self) -> Address | None:
        """The address at which the hub listens; other groups have none."""
        return None if self._reception is None else self._reception.address

    def meet(self, hub: Address) -> None:
        """Link up: the hub waits for all others, they dial it.

        Raises:
            LinkError: one of them did not connect, or was refused.
        """
        place = self._place
        if self._reception is not None:
            ends = self._reception.wait_for_all()
        else:
            end = dial(hub, place.number, place.names, place.key, place.generation, node=self._node)
            ends = {int(HUB): end}
        self._links = FrameLinks(ends, place.names)
        self._group.exchange.link(self._links.descriptors())

    def run_to(self, end_us: int) -> GroupOutcome:
        """Handle every event earlier than ``end_us``, in windows with all others."""
        self._running.acquire()
        self._cpu_since_ns = time.thread_time_ns()
        try:
            with self._sampler:
                return GroupOutcome(self._run(end_us) == frame_exchange.STOPPED)
        except LinkError as error:
            self._links.close()
            return GroupOutcome(False, str(error))
        except BaseException:
            # The others would wait for a frame.
            self._links.close()
            raise
        finally:
            self._add_up()
            self._running.release()

    def _run(self, end_us: int) -> int:
        """Run window by window, and do the work that windows cannot do."""
        state = self._group.exchange.state
        state.end_us = end_us
        # The liveness phase has no speed limit.
        state.paced = self._pace is not None and end_us <= self._plan.scenario.duration_us
        while True:
            why = self._group.run(self._take)
            if why == frame_exchange.AWAITS:
                self._receive(int(state.peer))
            elif why == frame_exchange.UNSENT:
                self._links.send_rest(int(state.peer), self._group.exchange.unsent())
            elif why == frame_exchange.PACED:
                self._wait_for(min(self._group.earliest_us, end_us))
            elif why == frame_exchange.REPORTS:
                self._let_in()
            elif why in _WRONG:
                name = self._place.names[state.peer]
                raise FrameError(f"a frame of {name} {_WRONG[why]}", int(state.peer))
            else:
                return why

    def _receive(self, sender: int) -> None:
        """Wait for a frame; reports may be made at the same time."""
        exchange = self._group.exchange
        self._add_up()
        self._running.release()
        try:
            place = self._links.receive_rest(
                sender, exchange.incoming, int(exchange.state.received_bytes)
            )
        finally:
            self._running.acquire()
        exchange.look_at(place)
        exchange.state.received_bytes = place[LENGTH]

    def _wait_for(self, time_us: int) -> None:
        """Let real time catch up; reports may be made at the same time."""
        assert self._pace is not None
        self._running.release()
        self._pace.wait_for(time_us, self._stops)
        self._running.acquire()

    def _let_in(self) -> None:
        """Let another thread make a report between two windows."""
        self._add_up()
        self._running.release()
        while self._group.exchange.state.report_wanted:
            time.sleep(_LET_IN_S)
        self._running.acquire()

    def _take(self, rows: NDArray[np.void]) -> None:
        """Keep rows for the next report."""
        self._writer.write(rows)
        self._rows.append(judged_rows(rows))

    def _add_up(self) -> None:
        """Note the CPU time of this thread."""
        now_ns = time.thread_time_ns()
        self._cpu_ns += now_ns - self._cpu_since_ns
        self._cpu_since_ns = now_ns

    def heal(self, time_us: int) -> None:
        """Begin the liveness phase in all processes of this group."""
        self._group.heal(time_us, RESTART_US, self._take)

    def close(self, time_us: int, reason: int) -> None:
        """Write the rows that belong to the end."""
        self._group.close(time_us, self._take, reason)

    def counts(self) -> GroupCounts:
        """The current counts that only the processes of this group have."""
        return self._group.counts()

    def states(self) -> tuple[bytes, bytes]:
        """Replicas and partitions as this group knows them, as they lie in memory."""
        replicas, partitions = new_states(self._plan)
        self._group.look_at_states(replicas, partitions)
        return np.asarray(replicas).tobytes(), np.asarray(partitions).tobytes()

    def snapshot_part(self, time_us: int) -> SnapshotPart:
        """The metrics of the processes hosted here at a virtual time, encoded to be sent."""
        return part_of(self._group.snapshot(time_us))

    def finish(self) -> dict[str, bytes]:
        """End the trace, for the last report; the files that brokers have written, by path."""
        self._group.drain(self._take)
        self._writer.close()
        self._next_flush = math.inf
        self._links.close()
        if self._folder is None:
            return {}
        folder = Path(self._folder.name)
        files = {
            str(file.relative_to(folder)): file.read_bytes()
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        }
        self._folder.cleanup()
        return files

    # Requests that are possible while it runs.

    def report(self, with_snapshot: bool = False) -> GroupReport:
        """A report of the current state; rows and bytes are handed over once.

        It is made between two windows, or while the group waits for a frame.
        """
        state = self._group.exchange.state
        state.report_wanted = True
        with self._running:
            state.report_wanted = False
            self._group.drain(self._take)
            rows, self._rows = self._rows, []
            if time.monotonic() > self._next_flush:
                self._writer.begin_flush()
                self._flush_period_s = min(2 * self._flush_period_s, _LAST_FLUSH_S)
                self._next_flush = time.monotonic() + self._flush_period_s
            is_hub = self._place.number == HUB
            reached_us = self._group.earliest_us if is_hub else 0
            figures = self._figures()
            # Other groups may be a window ahead or behind: each is as of its own last event.
            now_us = int(self._group.world.context[0].time_us)
            snapshot = self.snapshot_part(now_us) if with_snapshot else None
        return GroupReport(
            reached_us,
            figures,
            dict(self._sampler.seen),
            b"".join(part.tobytes() for part in rows),
            self._trace_bytes.take(),
            [] if self._reception is None else list(self._reception.refused),
            snapshot,
        )

    def _figures(self) -> GroupFigures:
        """The events handled here, and their CPU time; exchange is neither kernel nor waiting."""
        waiting_seconds = int(self._group.exchange.state.waiting_cpu_ns) / 1e9
        kernel_seconds = self._group.kernel_cpu_seconds
        return GroupFigures(
            self._place.names[self._place.number],
            self._group.events,
            self._group.computed,
            self._group.windows,
            kernel_seconds,
            max(0.0, self._cpu_ns / 1e9 - kernel_seconds - waiting_seconds),
            waiting_seconds,
        )

    def stop(self) -> None:
        """Stop all groups after this window; called at the hub."""
        self._group.ask_to_stop()
        self._stops.set()


class _Bytes(io.BytesIO):
    """Bytes that one thread writes and another one takes away."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def write(self, data: Any, /) -> int:
        """Append bytes to those that are not taken yet."""
        with self._lock:
            return super().write(data)

    def take(self) -> bytes:
        """All bytes written since the last call."""
        with self._lock:
            taken = self.getvalue()
            self.seek(0)
            self.truncate()
        return taken

    def close(self) -> None:
        """Do nothing: written bytes can still be taken."""
