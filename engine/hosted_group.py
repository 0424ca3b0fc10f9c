"""A group of processes where it is hosted: it runs beside others, and exchanges messages with them.

This is the work of an actor, without Ray: a thread can do it as well. The driver calls the same
methods of all groups in the same order: to meet, to run to a virtual time, to heal, to close. While
they run, another thread can request a report from them, or a stop.

Groups find out by themselves how far they may run (``exchange/promises.py``), without the driver.
Rows wait until a report fetches them.
"""

import io
import math
import os
import socket
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.records import column
from tidegauge.engine.contract import GroupFigures, Pace, no_garbage_collection
from tidegauge.engine.exchange import state as exchanged
from tidegauge.engine.exchange.handshake import Address, Reception, dial
from tidegauge.engine.exchange.links import LinkBroken, LinkError, Links, peers_of
from tidegauge.engine.exchange.rings import unsent_groups
from tidegauge.engine.exchange.shared_memory import (
    CAN_SHARE,
    NEVER_US,
    SharedMemory,
    new_file,
    receive_file,
    send_file,
)
from tidegauge.engine.group import Group
from tidegauge.engine.group_snapshots import GroupCopy, SavedGroup
from tidegauge.engine.group_states import GroupCounts, new_states
from tidegauge.engine.liveness import RESTART_US
from tidegauge.engine.loop_sampler import LoopSampler
from tidegauge.metrics.snapshots.snapshot import SnapshotPart, part_of
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.traces.checks.breaches import judged_rows
from tidegauge.traces.trace_file import TraceWriter

#: The time that the running thread waits between two checks whether a report is being made.
_LET_IN_S = 0.0002

# The longest sleep of a group that waits for those on other machines: at first, and at most.
_FIRST_SLEEP_MS = 1
_LONGEST_SLEEP_MS = 16

#: The longest time that a message between machines is on its way.
_UNDER_WAY_S = 10.0

#: The longest real time that a run with a speed limit goes ahead, or sleeps.
_STEP_S = 0.005

# The longest time that rows wait for a full frame of the trace: at first, and later, when there
# would be many small frames. If an actor dies, the waiting rows are lost.
_FIRST_FLUSH_S = 1.0
_LAST_FLUSH_S = 10.0


class Place(NamedTuple):
    """A group's information about all groups, and about itself."""

    plan: ClusterPlan
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
    #: The virtual time from which the run goes on.
    begin_us: int = 0
    #: The state to continue from; None: the run begins.
    saved: SavedGroup | None = None


class GroupOutcome(NamedTuple):
    """The reason why a group returned from running."""

    #: A stop was requested; and the time before which it may have handled events.
    stopped: bool
    horizon_us: int = 0
    #: The error between it and another group; "" if there is none.
    complaint: str = ""


class GroupReport(NamedTuple):
    """The news of a group since its last report."""

    #: Nothing more happens in the group before this time.
    reached_us: int
    figures: GroupFigures
    samples: dict[str, int]
    #: Rows that checks and figures read, as words: what Ray does not copy.
    rows: Sequence[NDArray[np.int64]]
    #: More bytes of the trace file.
    trace: bytes
    #: Peers that were refused.
    refused: list[str]
    #: The metrics of its processes, if requested.
    snapshot: SnapshotPart | None


class HostedGroup:
    """One group, driven from another process or thread."""

    def __init__(self, place: Place, node: str, tcp_host: str | None) -> None:
        """Lay out the group's tables, and listen for the others from now on.

        Args:
            place: the group, and all others.
            node: this machine; groups on the same one connect by a Unix socket.
            tcp_host: the address of this machine for others; None: there are no others.
        """
        plan = self._plan = place.plan
        self._place = place
        self._node = node
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if plan.scenario.checkpoint_files:
            self._folder = tempfile.TemporaryDirectory(prefix="tidegauge-")
        folder = None if self._folder is None else Path(self._folder.name)
        self._group = Group(plan, place.grouping[place.number], folder, place.saved)
        self._group.join(place.grouping, place.number)
        self._reception = Reception(
            place.number, place.names, place.key, place.generation, node=node, tcp_host=tcp_host
        )
        self._links = Links({}, place.names, ())
        self._pace = None if place.speed is None else Pace(place.speed, place.begin_us)
        self._stops = threading.Event()
        self._sampler = LoopSampler([self._group])
        #: CPU time of its waits.
        self._waiting_ns = 0
        #: The next sleep, and the windows that it had begun at the last one.
        self._sleep_ms = _FIRST_SLEEP_MS
        self._windows = 0
        self._trace_bytes = _Bytes()
        self._writer = TraceWriter(self._trace_bytes)
        self._flush_period_s = _FIRST_FLUSH_S
        self._next_flush = time.monotonic() + _FIRST_FLUSH_S
        #: Held by the thread that runs, unless it waits.
        self._running = threading.Lock()
        #: The content of the next report.
        self._rows: list[NDArray[np.void]] = []
        self._copy: GroupCopy | None = None

    def whereabouts(self) -> str:
        """Its process and machine, for people."""
        return f"process {os.getpid()} on {socket.gethostname()}"

    def address(self) -> Address:
        """The address at which it listens."""
        return self._reception.address

    def meet(self, addresses: Sequence[Address]) -> None:
        """Link up with the groups at these addresses, which are those of all.

        Raises:
            LinkError: one of them did not connect, or was refused.
        """
        place = self._place
        nodes = [address.node for address in addresses]
        peers = peers_of(place.number, nodes)
        ends = {
            peer: dial(
                addresses[peer],
                place.number,
                place.names[peer],
                place.key,
                place.generation,
                node=self._node,
            )
            for peer in peers
            if peer < place.number
        }
        ends |= self._reception.wait_for([peer for peer in peers if peer > place.number])
        members = [group for group, node in enumerate(nodes) if node == self._node]
        if not CAN_SHARE:
            members = [place.number]
        self._links = Links(ends, place.names, ends.keys() - members)
        exchange = self._group.exchange
        exchange.link(self._shared_memory(members, ends), self._links.descriptors())
        if CAN_SHARE and len(members) <= len(cpus := os.sched_getaffinity(0)):
            exchange.use_cpus(cpus)

    def _shared_memory(
        self, members: Sequence[int], ends: Mapping[int, socket.socket]
    ) -> SharedMemory:
        """The memory that the groups on this machine share; the first one makes it.

        Raises:
            LinkError: the first one has ended.
        """
        first, *others = members
        if not others:
            memory = SharedMemory(members)
            memory.begin()
            return memory
        is_first = first == self._place.number
        try:
            file = new_file(len(members)) if is_first else receive_file(ends[first])
            memory = SharedMemory(members, file)
            if is_first:
                memory.begin()
                for each in others:
                    send_file(ends[each], file)
            os.close(file)
        except OSError as error:
            raise LinkError(f"no memory to share: {error.strerror or error}") from error
        return memory

    def run_to(self, end_us: int) -> GroupOutcome:
        """Handle every event earlier than ``end_us``, beside all others."""
        self._running.acquire()
        try:
            with self._sampler, no_garbage_collection():
                stopped = self._run(end_us) == exchanged.STOPPED
            return GroupOutcome(stopped, self._group.horizon_us)
        except LinkError as error:
            self._links.close()
            return GroupOutcome(False, complaint=str(error))
        except BaseException:
            # The others would wait for it.
            self._links.close()
            raise
        finally:
            self._running.release()

    def _run(self, end_us: int) -> int:
        """Run, and do the work that compiled code cannot do."""
        self._group.begin(end_us)
        state = self._group.exchange.state
        # The liveness phase has no speed limit.
        paced = self._pace is not None and end_us <= self._plan.scenario.duration_us
        state.real_time_us = 0 if paced else NEVER_US
        while True:
            why = self._group.run(self._take)
            if why == exchanged.AWAITS:
                self._wait()
            elif why == exchanged.PACED:
                self._wait_for_real_time()
            elif why == exchanged.REPORTS:
                self._let_in()
            elif why == exchanged.STRANGE:
                name = self._place.names[state.peer]
                raise LinkBroken(f"{name} sent something that is no message", int(state.peer))
            elif why == exchanged.BROKEN:
                raise self._links.broken(int(state.peer))
            else:
                if paced and why == exchanged.ENDED:
                    self._wait_for_the_end(end_us)
                state.asked_to_stop = False
                return why

    def _wait(self) -> None:
        """Sleep, until something may have changed; reports may be made at the same time."""
        begun_ns = time.thread_time_ns()
        windows = self._group.windows
        has_run = windows != self._windows
        self._windows = windows
        self._sleep_ms = _FIRST_SLEEP_MS if has_run else min(2 * self._sleep_ms, _LONGEST_SLEEP_MS)
        tables = self._group.exchange.tables
        unsent = unsent_groups(tables)
        # On one machine it has slept already.
        timeout_ms = self._sleep_ms if tables.state[0].distant else 0
        self._running.release()
        try:
            self._links.wait(timeout_ms, unsent)
        finally:
            self._running.acquire()
        self._waiting_ns += time.thread_time_ns() - begun_ns

    def _wait_for_real_time(self) -> None:
        """Let real time catch up; reports may be made at the same time."""
        assert self._pace is not None
        left_s = self._pace.left_s(self._group.next_us)
        self._running.release()
        if left_s > 0:
            self._stops.wait(min(left_s, _STEP_S))
        self._running.acquire()
        self._group.exchange.state.real_time_us = self._pace.virtual_us(_STEP_S)

    def _wait_for_the_end(self, end_us: int) -> None:
        """Let real time come to the end, in which nothing more happens."""
        assert self._pace is not None
        self._running.release()
        self._stops.wait(max(0.0, self._pace.left_s(end_us)))
        self._running.acquire()

    def _let_in(self) -> None:
        """Let another thread make a report between two runs."""
        self._running.release()
        while self._group.exchange.state.report_wanted:
            time.sleep(_LET_IN_S)
        self._running.acquire()

    def _take(self, rows: NDArray[np.void]) -> None:
        """Keep rows for the next report."""
        self._writer.write(rows)
        self._rows.append(judged_rows(rows))

    def words_written(self) -> list[int]:
        """How many words it has written for each other group so far; after :meth:`run_to`."""
        written: list[int] = column(self._group.exchange.tables.groups, "written").tolist()
        return written

    def save(self, written: Sequence[int]) -> None:
        """Copy its state, for :meth:`packed`; the next report has all rows until then.

        Args:
            written: how many words each group has written for this one: these are taken first.

        Raises:
            LinkError: a group has ended, or its words do not come.
        """
        with self._running:
            self._take_words(np.array(written))
            self._group.drain(self._take)
            self._writer.flush()
            self._copy = self._group.copy()

    def _take_words(self, written: NDArray[np.int64]) -> None:
        state, groups = self._group.exchange.state, self._group.exchange.tables.groups
        deadline_s = time.monotonic() + _UNDER_WAY_S
        while self._group.take_all() == exchanged.READY:
            if (column(groups, "read") >= written).all():
                return
            if time.monotonic() > deadline_s:
                raise LinkError(f"messages did not arrive within {_UNDER_WAY_S:g} s")
            self._links.wait(_LONGEST_SLEEP_MS)
        raise self._links.broken(int(state.peer))

    def heal(self, time_us: int) -> None:
        """Begin the liveness phase in all processes of this group."""
        self._group.heal(time_us, RESTART_US, self._take)

    def close(self, time_us: int, reason: int) -> None:
        """Write the rows that belong to the end."""
        self._group.close(time_us, self._take, reason)

    def counts(self) -> GroupCounts:
        """The current counts that only the processes of this group have."""
        return self._group.counts()

    def states(self) -> tuple[bytes, ...]:
        """Replicas, partitions and controllers as this group knows them, as they lie in memory."""
        states = new_states(self._plan)
        self._group.look_at_states(states)
        return tuple(each.tobytes() for each in states.arrays())

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

        It is made between two runs, or while the group waits.
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
            reached_us = self._group.reached_us
            figures = self._figures()
            # Other groups may be ahead or behind: each is as of its own last event.
            now_us = int(self._group.world.context[0].time_us)
            snapshot = self.snapshot_part(now_us) if with_snapshot else None
        return GroupReport(
            reached_us,
            figures,
            dict(self._sampler.seen),
            [part.view(np.int64) for part in rows],
            self._trace_bytes.take(),
            list(self._reception.refused),
            snapshot,
        )

    def _figures(self) -> GroupFigures:
        """The events handled here, and their CPU time."""
        exchange = self._group.exchange
        return GroupFigures(
            self._place.names[self._place.number],
            self._group.events,
            self._group.computed,
            self._group.windows,
            exchange.kernel_cpu_seconds,
            exchange.exchange_cpu_seconds,
            exchange.waiting_cpu_seconds + self._waiting_ns / 1e9,
        )

    def packed(self) -> dict[str, Any]:
        """The state that :meth:`save` has copied, compressed."""
        copied, self._copy = self._copy, None
        assert copied is not None
        return copied.packed()

    def stop(self) -> None:
        """Have it return from running as it is."""
        self._group.exchange.state.asked_to_stop = True
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
