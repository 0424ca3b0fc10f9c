"""The faults that have a part in a consequence: none, exactly one, or several that share it.

``causes.py`` follows one link from each row, and so comes to one fault. That fault alone need not
have sufficed. A consequence is *shared* with a fault

* that hit a process which had a part in it (leader, leaving replica, controller, ZooKeeper) while
  it was coming about. Of a fault between processes two of these must be at its ends. Where
  ZooKeeper itself was hit, all processes have a part;
* that had moved leadership before. A partition that is led by another broker than at the beginning
  meets the next fault in another role;
* that had moved the controller, if a failover would have taken the place of a broker change;
* for which the replicas are missing that could have led.

New leaders and truncations are also charged to the faults of the election behind them. A replica
that returns to an ISR is charged to those for which it had left it. What depends on the second (a
truncation, the next automatic balance of leaders) is shared with all that has acted since the fault
began.

The rule errs on the side of sharing. A run with the one fault alone is the test of the others
(``tests/analysis/test_attribution.py``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from tidegauge.analysis.causes import FOLLOWED, Causes, Links
from tidegauge.analysis.fault_reach import NEVER_US, NOBODY, FaultReach, Faults, Roles


class Effect(NamedTuple):
    """A consequence, and the one fault that its links lead to."""

    kind: str
    time_us: int
    process: int
    own: Mapping[str, int]
    partition: int
    #: None or one.
    fault: Faults
    #: Since when it was coming about.
    since_us: int


class Charged(NamedTuple):
    """A consequence in the order of time, and all faults that it is charged to."""

    kind: str
    time_us: int
    partition: int
    faults: Faults


def charges_of(links: Links, causes: Causes, roles: Roles) -> list[Charged]:
    """The faults that each row of ``causes.rows`` is charged to, in the order of these."""
    return _Attribution(links, causes, roles).charges()


class _Partition:
    """What is known of one partition as time passes."""

    def __init__(self, slots: Sequence[int]) -> None:
        self.slots = slots
        #: Who has led it first; who leads now, and for which faults that is another.
        self.home: int | None = None
        self.leader: int | None = None
        self.moved_by = NOBODY
        #: The faults of what the controller has written, by leader epoch.
        self.written_by: dict[int, Faults] = {}
        self.isr: set[int] | None = None
        #: The faults for which replicas have left the ISR, until they return; and the last return.
        self.left_by: dict[int, Faults] = {}
        self.returned_us = -1
        self.returned_by = NOBODY

    def members(self, replicas: int) -> set[int]:
        """The brokers of a replica list."""
        # Spark's executors import this module, and they have no compiler.
        from tidegauge.replication.replica_list import unpack  # noqa: PLC0415

        return {self.slots[slot] for slot in unpack(replicas)}

    def missing(self, brokers: Iterable[int]) -> Faults:
        """The faults for which some of these are not in the ISR, and cannot be elected."""
        return NOBODY.union(*(self.left_by.get(each, NOBODY) for each in brokers))

    def led_by(self, leader: int, faults: Faults) -> None:
        """A leader elsewhere is there for these faults, and as others could not be elected."""
        self.leader = leader
        before = takewhile(lambda each: each != leader, self.slots)
        self.moved_by = NOBODY if leader == self.home else faults | self.missing(before)

    def shrink(self, replicas: int, faults: Faults) -> None:
        """Another ISR; an election takes dead replicas out, too."""
        isr = self.members(replicas)
        for member in (self.isr or isr) - isr:
            self.left_by[member] = faults
        self.isr = isr

    def expand(self, effect: Effect) -> Faults:
        """Replicas return: for the faults for which they had left."""
        self.isr = self.members(effect.own["isr"])
        returned = self.isr - self.members(effect.own["old_isr"])
        left_by = (self.left_by.pop(each, NOBODY) for each in returned)
        self.returned_us = effect.time_us
        self.returned_by = NOBODY.union(*left_by) or effect.fault
        return self.returned_by


class _Attribution:
    """The attribution of one run: all consequences in the order of their times."""

    def __init__(self, links: Links, causes: Causes, roles: Roles) -> None:
        self._links = links
        self._causes = causes
        self._control_plane = roles.control_plane
        self._reach = FaultReach(links, roles)
        self._partitions = [_Partition(slots) for slots in roles.slots]
        #: When each controller was elected, and which process it is.
        self._terms: list[tuple[int, int]] = []
        #: The faults for which it is not the first one any more.
        self._term_of = NOBODY

    def charges(self) -> list[Charged]:
        """The faults of each row, in the order of ``causes.rows``."""
        links, rows = self._links, self._causes.rows
        columns = dict(self._columns())
        found: dict[int, Charged] = {}
        in_order = np.lexsort((links.sequence[rows], links.process[rows], links.time_us[rows]))
        for place in in_order.tolist():
            effect = self._effect(place, *columns[int(rows[place])])
            faults = self._charge(effect)
            found[place] = Charged(effect.kind, effect.time_us, effect.partition, faults)
        return [found[place] for place in range(len(rows))]

    def _columns(self) -> Iterator[tuple[int, tuple[str, dict[str, int]]]]:
        """Kind and columns of each row that is followed, by its place."""
        for kind in FOLLOWED:
            table = self._links.details[kind]
            names = [name for name in table if name != "place"]
            values = zip(*(table[name].tolist() for name in names), strict=True)
            for row, own in zip(table["place"].tolist(), values, strict=True):
                yield row, (kind, dict(zip(names, own, strict=True)))

    def _effect(self, place: int, kind: str, own: Mapping[str, int]) -> Effect:
        row = self._causes.rows[place]
        time_us, process = int(self._links.time_us[row]), int(self._links.process[row])
        partition = own.get("partition", -1)
        effect = Effect(kind, time_us, process, own, partition, NOBODY, time_us)
        if not self._causes.has_fault[place]:
            return effect
        origin = int(self._causes.fault[place])
        fault = self._reach.fault_at[origin]
        since_us = int(self._links.time_us[origin])
        if kind == "truncated" or self._is_balance(effect):
            since_us = self._reach.first_us[fault]
        elif "lag_ms" in own:
            # A replica that is behind for longer would have left the ISR before.
            since_us = max(since_us, time_us - 2 * own["lag_ms"] * 1000)
        return effect._replace(fault=frozenset({fault}), since_us=since_us)

    def _is_balance(self, effect: Effect) -> bool:
        """Whether leadership returns to where it was at the beginning, from another leader."""
        has_leader = effect.kind == "leader_elected" and effect.own["old_leader"] >= 0
        return has_leader and effect.own["leader"] == self._partitions[effect.partition].home

    def _charge(self, effect: Effect) -> Faults:
        if effect.kind == "controller_elected":
            return self._begin_term(effect)
        partition = self._partitions[effect.partition]
        if effect.kind == "isr_expanded":
            return partition.expand(effect)
        faults = effect.fault
        if faults:
            involved = self._involved(effect, partition)
            faults |= self._reach.acting(involved, effect.since_us, effect.time_us)
        if partition.leader != partition.home:
            faults |= partition.moved_by
        if effect.kind in ("leader_elected", "removed_from_isr"):
            faults = self._take_decision(effect, partition, faults)
        elif effect.kind == "isr_shrunk" and partition.returned_us >= effect.since_us:
            # A write of the ISR locks the partition: nobody fetches until ZooKeeper has answered.
            faults |= partition.returned_by
        elif "leader_epoch" in effect.own:
            faults |= partition.written_by.get(effect.own["leader_epoch"], NOBODY)
        if "isr" in effect.own:
            partition.shrink(effect.own["isr"], faults)
        return faults

    def _take_decision(self, effect: Effect, partition: _Partition, faults: Faults) -> Faults:
        """What a controller has written: the next consequences depend on it."""
        own, leader = effect.own, effect.own["leader"]
        faults |= self._of_term(effect)
        if effect.kind == "leader_elected":
            if partition.home is None:
                partition.home = leader
            if own["old_leader"] != partition.home:
                faults |= partition.moved_by
            partition.led_by(leader, faults)
        elif leader < 0:
            faults |= partition.missing(partition.slots)
            partition.led_by(leader, faults)
        partition.written_by[own["leader_epoch"]] = faults
        return faults

    def _involved(self, effect: Effect, partition: _Partition) -> Iterable[int]:
        """The processes that have a part in a consequence."""
        own = effect.own
        if effect.kind == "log_lost":
            return (effect.process,)
        is_chance = effect.kind == "truncated" or self._is_balance(effect)
        if is_chance or effect.fault & self._reach.of_control_plane:
            return self._reach.spans
        involved = {effect.process, self._control_plane}
        involved |= {own[name] for name in ("leader", "old_leader", "replica") if name in own}
        if effect.kind == "isr_shrunk":
            involved |= partition.members(own["old_isr"]) - partition.members(own["isr"])
        first = bisect_right(self._terms, (effect.since_us, -1))
        end = bisect_right(self._terms, (effect.time_us, NEVER_US))
        return involved | {process for _, process in self._terms[max(first - 1, 0) : end]}

    def _begin_term(self, effect: Effect) -> Faults:
        """Take into account that another is controller than at the beginning."""
        self._terms.append((effect.time_us, effect.process))
        is_first = effect.process == self._terms[0][1]
        self._term_of = NOBODY if is_first else effect.fault | self._term_of
        return effect.fault

    def _of_term(self, effect: Effect) -> Faults:
        """The faults for which another is controller than at the beginning, where that counts.

        A failover writes other states than a broker change does, and elects preferred leaders.
        """
        if not self._term_of:
            return NOBODY
        controllers = (self._terms[0][1], self._terms[-1][1])
        hit = {span.fault for each in controllers for span in self._reach.spans.get(each, ())}
        return self._term_of if self._is_balance(effect) or effect.fault & hit else NOBODY
