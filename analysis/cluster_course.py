"""The state of brokers, partitions and the controller, followed row by row through a run.

It is kept for each absence why it began: of a broker as the control plane sees it, of a replica
from its ISR, of a leader from its partition, of an active controller. So whatever ends an absence,
or follows from it, can be charged to the faults that had begun it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import takewhile
from typing import NamedTuple

from tidegauge.analysis import fault_reach
from tidegauge.analysis.causes import Links

#: Reasons without any fault.
START_UP = "start-up"
PREFERRED_ELECTION = "preferred election"
STEP = "step"
#: ... as neither a fault nor a step acted: the controller did not handle heartbeats in time
#: (KAFKA-15019); or other processes had more to do than they could.
BUSY_CONTROLLER = "busy controller"
LOAD = "load"
#: ... of a run that is made of the logs of a real cluster.
UNKNOWN = "not in the logs"


class Charge(NamedTuple):
    """The faults that have a part in something; without any the reason, as far as it is known."""

    faults: fault_reach.Faults = fault_reach.NOBODY
    reason: str = ""

    def __or__(self, other: Charge) -> Charge:
        """Both together: with a fault, a reason is dropped."""
        faults = self.faults | other.faults
        return Charge(faults, "" if faults else self.reason or other.reason)

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return bool(self.faults or self.reason)

    @classmethod
    def all_of(cls, charges: Iterable[Charge]) -> Charge:
        """All of them together."""
        whole = cls()
        for each in charges:
            whole |= each
        return whole


class Row(NamedTuple):
    """A row that is charged, or of which the course of the cluster is known."""

    kind: str
    time_us: int
    process: int
    own: Mapping[str, int]
    #: The first fault on the chain of its causes, or the step at its end.
    chain: Charge


@cache
def _slots(replicas: int) -> tuple[int, ...]:
    """The slots of a replica list, as ``replication/replica_list.py`` packs them.

    Spark's executors come here, and they have no compiler, which that module needs.
    """
    digits = f"{replicas:x}"[::-1] if replicas else ""
    return tuple(int(digit, 16) - 1 for digit in digits)


class PartitionCourse:
    """One partition: its leader and ISR, and why others do not lead, or are not in the ISR."""

    def __init__(self, slots: tuple[int, ...], replicas: tuple[int, ...], min_isr: int) -> None:
        self._brokers = slots
        #: Its replicas, the preferred leader first: Kafka elects the first one that it may.
        self.replicas = replicas
        self.min_isr = min_isr
        #: The step that reassigns it, so that replicas join the ISR and leave it.
        self.reassigned_by = Charge()
        self._is_moving = False
        self.isr: frozenset[int] = fault_reach.NOBODY
        self.leader = -1
        #: Why replicas that were in the ISR are not.
        self.left_by: dict[int, Charge] = {}
        #: Why it has no leader, if it had one; and why the leader is another than before.
        self.leaderless_by = Charge()
        self.led_by = Charge(reason=START_UP)
        self.led_since_us = -1
        #: Why a leader leads in an epoch, and the epochs in which one has led.
        self.decided_by: dict[int, Charge] = {}
        self.led_in: set[tuple[int, int]] = set()
        #: Why a replica's log has lost its end.
        self.log_lost_by: dict[int, Charge] = {}

    def members(self, replicas: int) -> frozenset[int]:
        """The brokers of a replica list."""
        return frozenset(self._brokers[slot] for slot in _slots(replicas))

    def assign(self, row: Row) -> None:
        """Take another assignment, or another order of it."""
        if row.own["replicas"]:
            self.replicas = tuple(self._brokers[slot] for slot in _slots(row.own["replicas"]))
        was_moving, self._is_moving = (
            self._is_moving,
            bool(row.own["adding"] or row.own["removing"]),
        )
        # The state that completes a reassignment is the step's, too: it takes replicas out.
        self.reassigned_by = Charge(reason=STEP) if was_moving or self._is_moving else Charge()

    def missing(self) -> Charge:
        """Why replicas are not in the ISR."""
        return Charge.all_of(self.left_by.values())

    def passed_over(self, leader: int) -> Charge:
        """Why the replicas that would lead rather than a leader are not in the ISR."""
        before = takewhile(lambda each: each != leader, self.replicas)
        return Charge.all_of(self.left_by.get(each, Charge()) for each in before)

    def shrink(self, isr: frozenset[int], left_by: Mapping[int, Charge]) -> None:
        """Shrink an ISR; one that an unclean election makes leader is in it."""
        self.isr = isr
        self.left_by |= left_by
        for member in isr:
            self.left_by.pop(member, None)

    def expand(self, isr: frozenset[int], returned: frozenset[int]) -> Charge:
        """Replace an ISR; the reasons why its returning replicas had left."""
        self.isr = isr
        return Charge.all_of(self.left_by.pop(each, Charge()) for each in returned)

    def elect(self, row: Row, charge: Charge) -> None:
        """Take another leader, with the charge for the change."""
        self.leader = row.own["leader"]
        self.led_by, self.led_since_us = charge, row.time_us
        self.leaderless_by = Charge()
        self.decided_by[row.own["leader_epoch"]] = charge


class ClusterCourse:
    """A whole cluster: its partitions, and why brokers and controllers are not there."""

    def __init__(self, links: Links, roles: fault_reach.Roles) -> None:
        self.reach = fault_reach.FaultReach(links, roles)
        self._roles = roles
        self.partitions: dict[int, PartitionCourse] = {}
        for number in range(len(roles.slots)):
            self.forget(number)
        #: Why the control plane does not take brokers for active.
        self._absent_by: dict[int, Charge] = dict.fromkeys(
            roles.unregistered, Charge(reason=START_UP)
        )
        self._silent_us: dict[int, int] = {}
        #: The last active controller as a member of the cluster, and whether it still is.
        self._controller = 0
        self._is_controlled = False
        #: Why the term of the controller has begun, or the time without one.
        self.term_by = Charge(reason=START_UP)
        self._term_us = 0
        #: Why clients were stalled last: other batches wait for the same memory.
        self._stalled_by: dict[int, Charge] = {}

    def partition(self, row: Row) -> PartitionCourse:
        """The partition of a row."""
        return self.partitions[row.own["partition"]]

    def silent(self, process: int, since_us: int, until_us: int, peers: Iterable[int]) -> Charge:
        """The faults for which a process's messages did not reach its peers in a time."""
        faults = self.reach.on(process, fault_reach.GONE, since_us, until_us)
        return Charge(
            faults.union(*(self.reach.between(process, peer, since_us, until_us) for peer in peers))
        )

    def slow(self, process: int, since_us: int, until_us: int) -> Charge:
        """Why a process was slow for some time: a slow disk can also be harmless."""
        return Charge(self.reach.on(process, fault_reach.SLOW, since_us, until_us))

    def uncontrolled(self, since_us: int, until_us: int) -> Charge:
        """Why the control plane did not respond for some time."""
        return Charge(self.reach.on(self._control_plane, fault_reach.SILENT, since_us, until_us))

    def without_power(self, row: Row) -> Charge:
        """The faults for which a process has lost records that were not on disk."""
        return Charge(self.reach.on(row.process, fault_reach.POWER, row.time_us, row.time_us))

    def stalled(self, client: int, charge: Charge) -> Charge:
        """Why a client is stalled: else as before, since all of its batches share its memory."""
        if charge:
            self._stalled_by[client] = charge
        return self._stalled_by.get(client, charge)

    @property
    def _control_plane(self) -> int:
        """The process that brokers send heartbeats to."""
        zookeeper = self._roles.zookeeper
        return self._roles.members[self._controller] if zookeeper is None else zookeeper

    def falls_silent(self, row: Row) -> None:
        """Note the time for which a broker was silent when its session expired (ZooKeeper)."""
        self._silent_us[row.own["broker"]] = row.own["silent_us"]

    def is_absent(self, broker: int) -> bool:
        """Whether the control plane does not take a broker for active."""
        return broker in self._absent_by

    def fence(self, broker: int, charge: Charge) -> Charge:
        """Count a broker as absent, and keep the charge."""
        self._absent_by[broker] = charge
        return charge

    def unfence(self, broker: int) -> None:
        """Count a broker as active."""
        del self._absent_by[broker]
        self._silent_us.pop(broker, None)

    def forget(self, number: int) -> None:
        """Remove a deleted partition from the state."""
        roles = self._roles
        self.partitions[number] = PartitionCourse(
            roles.slots[number], roles.replicas[number], roles.min_insync_replicas[number]
        )

    def gone(self, broker: int, row: Row) -> Charge:
        """Why a broker is gone, or its heartbeats are missing; empty if it is there."""
        absent_by = self._absent_by.get(broker, Charge())
        now_us = row.time_us
        if absent_by.faults:
            return absent_by
        if stopping := self.reach.on(broker, fault_reach.PLANNED, now_us, now_us):
            return Charge(stopping)
        since_us = now_us - self._silent_us.get(broker, self._roles.session_us)
        silent = self.silent(broker, since_us, now_us, (self._control_plane,))
        return silent or self.uncontrolled(since_us, now_us) or absent_by

    def failed_over(self, row: Row) -> Charge:
        """The charge for another active controller, which may not know all brokers yet."""
        is_new = row.time_us - self._term_us <= 2 * self._roles.session_us
        return Charge(self.term_by.faults) if is_new else Charge()

    def lose_controller(self, row: Row) -> Charge:
        """No controller is active: why."""
        if self._is_controlled:
            # A quorum reports a stopping broker at once; a session's broker is gone before.
            absent_by = self._absent_by.get(self._roles.members[self._controller], Charge())
            self.term_by = absent_by or row.chain or Charge(reason=LOAD)
        self._is_controlled = False
        return self.term_by

    def take_controller(self, row: Row) -> Charge:
        """Another controller is active: why; the one before may not know yet."""
        if self._is_controlled:
            lost = self._roles.members[self._controller]
            since_us = row.time_us - self._roles.fetch_us
            others = set(self._roles.quorum) - {lost}
            silent = self.silent(lost, since_us, row.time_us, others)
            slow = self.slow(lost, since_us, row.time_us)
            self.term_by = silent or slow or row.chain or Charge(reason=LOAD)
        self._is_controlled = True
        self._controller, self._term_us = row.own["broker"], row.time_us
        return self.term_by
