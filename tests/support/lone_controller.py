"""One controller of a KRaft quorum, run alone: what others send it comes from the test.

Its own messages are taken off the wire as they arrive, and handed to the test. All other processes
of the cluster never begin, so nothing happens but what the test, or a timer of the controller,
makes happen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.records import blank, body_of, view_as
from tidegauge.compiled.rules import rule
from tidegauge.controller.raft.state import Raft, Voter
from tidegauge.engine.group import Group
from tidegauge.engine.planned_events import plan_fault
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.simulation.events import (
    free_all,
    free_event,
    pop,
    push,
    stamp,
    take_item_slot,
    take_slot,
)
from tidegauge.simulation.kernel import NONE, QUORUM_CONTROLLER, Kernel
from tidegauge.simulation.messages.event import KINDS, Event, PartitionData
from tidegauge.simulation.messages.quorum_requests import (
    RaftFetchRequest,
    RaftResponse,
    VoteRequest,
    VoteResponse,
)
from tidegauge.simulation.messages.timers import FaultBegin
from tidegauge.simulation.trace_rows.codes import LEADER

MS = 1000
#: Long enough for the controller to write to its disk, and to answer; shorter than any time-out.
SETTLE_MS = 100
#: A voter asks for votes after two election time-outs at most.
MOST_SECONDS_WITHOUT_LEADER = 60
#: The time-outs that Kafka's own tests of a single client have (RaftClientTestContext).
SETTINGS = {
    "controller.quorum.election.timeout.ms": 10_000,
    "controller.quorum.fetch.timeout.ms": 50_000,
    "controller.quorum.request.timeout.ms": 5_000,
}


class Sent(NamedTuple):
    """A message that the controller has sent: its kind, the receiving process, and its fields."""

    kind: type[Event]
    #: The number of the controller that gets it; below 0: another process.
    to: int
    correlation_id: int
    fields: Mapping[str, int]


@rule
def free_message(kernel: Kernel, source: int, destination: int, kind: int) -> int:
    """The place of a message that is still to be filled."""
    return take_slot(kernel, source, destination, kind).index


@rule
def free_entry(kernel: Kernel, message: int) -> int:
    """The place of one more entry of a message."""
    kernel.events[message].item_count += 1
    return take_item_slot(kernel, kernel.events[message])


@rule
def deliver(kernel: Kernel, message: int, time_us: int) -> None:
    """Have a message arrive."""
    event = kernel.events[message]
    event.time_us = time_us
    stamp(kernel, event)
    push(kernel, event)


@rule
def free_fetches(raft: Raft, controller: int) -> None:
    """Forget the fetches of other controllers that wait for records."""
    free_all(raft, raft.voters[controller].voter_fetches)


@rule
def drop_next(kernel: Kernel) -> None:
    """Take the next event away."""
    free_event(kernel, pop(kernel))


class LoneController:
    """A controller, its peers played by the test; virtual time moves only where the test says."""

    def __init__(
        self,
        local: int,
        release: str,
        controllers: Mapping[str, Any],
        settle_ms: int = SETTLE_MS,
        handled: Collection[type[Event]] = (),
    ) -> None:
        """Begin the run: controller 0 leads epoch 1.

        Args:
            local: the number of the controller.
            release: the release of all.
            controllers: the part ``controllers`` of the scenario, its settings beside SETTINGS.
            settle_ms: so much time passes after each message that it gets.
            handled: the only kinds of events that it handles; none named: all.
        """
        settings = SETTINGS | dict(controllers.get("settings", {}))
        stop = {"kind": "restart", "brokers": [f"controller:{local}"], "at": "4000s", "for": "1s"}
        self.plan = ClusterPlan(
            scenario_from_mapping(
                {
                    "release": release,
                    "mode": "kraft",
                    "duration": "5000s",
                    "liveness": False,
                    "cluster": {"brokers": 1},
                    "controllers": dict(controllers) | {"settings": settings},
                    "topics": [{"name": "orders", "partitions": 1, "replication_factor": 1}],
                    "faults": [stop],
                },
                "lone controller",
            )
        )
        self.group = Group(self.plan, range(len(self.plan.processes)))
        self.world = self.group.world
        self.local = local
        self.first = self.plan.process_ranges[QUORUM_CONTROLLER].start
        #: What it has sent and nobody has taken (:meth:`taken`).
        self.sent: list[Sent] = []
        self.now_us = 0
        self.settle_ms = settle_ms
        self._handled = {kind.KIND for kind in handled}
        self.run(settle_ms)

    @property
    def voter(self) -> Voter:
        """The state of the controller."""
        return self.world.voters[self.local]

    def run(self, for_ms: int) -> None:
        """Let time pass."""
        end_us = self.now_us + for_ms * MS
        own = self.first + self.local
        while (place := self.group.next_event(end_us + 1, _drop)) >= 0:
            event = self.world.events[place]
            is_own = int(event.destination) == own
            if is_own and (not self._handled or int(event.kind) in self._handled):
                self.group.handle_next(_drop)
                continue
            if not is_own and int(event.source) == own:
                self.sent.append(self._seen(event))
            drop_next(self.group.kernel_view)
        self.now_us = end_us
        self.world.context[0].time_us = end_us

    def _seen(self, event: Event) -> Sent:
        kind = KINDS[int(event.kind)]
        message = view_as(event, kind)
        fields = {name: int(getattr(message, name)) for name in body_of(kind)}
        to = int(event.destination) - self.first
        return Sent(kind, to, int(event.correlation_id), fields)

    def taken(self, *kinds: type[Event]) -> list[Sent]:
        """Take what it has sent of these kinds."""
        found = [each for each in self.sent if each.kind in kinds]
        self.sent = [each for each in self.sent if each.kind not in kinds]
        return found

    def get(
        self,
        source: int,
        kind: type[Event],
        entries: Sequence[PartitionData] = (),
        correlation_id: int = -1,
        **fields: int,
    ) -> None:
        """Have it get a message of another controller (below 0: of another process), and act on it.

        From itself it is a timer.
        """
        kernel = self.group.kernel_view
        place = free_message(kernel, self.first + source, self.first + self.local, kind.KIND)
        message = blank(self.world.events[place], kind)
        message.correlation_id = correlation_id
        for name, value in fields.items():
            setattr(message, name, value)
        for entry in entries:
            item = blank(self.world.items[free_entry(kernel, place)], type(entry))
            for name in body_of(type(entry)):
                setattr(item, name, getattr(entry, name))
        deliver(kernel, place, self.now_us)
        self.run(self.settle_ms)

    def answer(
        self,
        request: Sent,
        kind: type[RaftResponse],
        entries: Sequence[PartitionData] = (),
        **fields: int,
    ) -> None:
        """Have it get the response to a request, of one that knows its leader and its epoch."""
        known = {"leader": int(self.voter.leader), "leader_epoch": int(self.voter.epoch)} | fields
        self.get(request.to, kind, entries, request.correlation_id, **known)

    def stop(self) -> None:
        """Have it get SIGTERM: a leader resigns."""
        process = self.first + self.local
        plan_fault(self.group.kernel_view, process, FaultBegin.KIND, 0, self.now_us, 0)
        self.run(self.settle_ms)

    def lose_leadership(self, epoch: int, peer: int) -> None:
        """Have it hear of a later epoch, from a candidate that it does not vote for."""
        self.get(
            peer,
            VoteRequest,
            candidate=peer,
            candidate_directory=1,
            voter_directory=int(self.voter.directory),
            epoch=epoch,
        )

    def be_elected(self) -> None:
        """Let its time without a leader end, and all others vote for it."""
        for _ in range(MOST_SECONDS_WITHOUT_LEADER):
            self.run(1000)
            for request in self.taken(VoteRequest):
                self.answer(
                    request,
                    VoteResponse,
                    leader=NONE,
                    voter=request.to,
                    granted=True,
                    pre_vote=request.fields["pre_vote"],
                )
            if self.voter.state == LEADER:
                self.run(self.settle_ms)
                return
        raise AssertionError("the controller is not elected")

    def fetch_from(self, peer: int, directory: int, offset: int) -> None:
        """Have it get a fetch of a follower, or of an observer, whose log ends at an offset."""
        self.get(
            peer,
            RaftFetchRequest,
            voter=peer,
            directory=directory,
            current_leader_epoch=int(self.voter.epoch),
            fetch_offset=offset,
            last_fetched_epoch=self._epoch_before(offset),
            max_bytes=1 << 20,
        )

    def forget_waiting_fetches(self) -> None:
        """Have no fetch wait: each counts once more when it is answered."""
        free_fetches(self.world.view, self.local)

    def _epoch_before(self, offset: int) -> int:
        """The epoch of the record before an offset of its log; -1: there is none."""
        room = len(self.world.epoch_starts) // len(self.world.voters)
        own = self.world.epoch_starts[self.local * room :][: int(self.voter.epoch_count)]
        return max((int(each.epoch) for each in own if each.start_offset < offset), default=NONE)


def _drop(_rows: NDArray[np.void]) -> None:
    """Nobody looks at the rows."""
