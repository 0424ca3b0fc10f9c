"""Validates a group's state; an error names the violated invariant, its place and time."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tidegauge.compiled.compile_all import compile_all, is_compiled
from tidegauge.compiled.records import column, new_records
from tidegauge.engine.invariants.brokers import BROKERS
from tidegauge.engine.invariants.checked import (
    Checked,
    Finding,
    Invariant,
    Invariants,
    TimerCount,
    Visit,
    count_timers,
)
from tidegauge.engine.invariants.clients import CLIENTS
from tidegauge.engine.invariants.controllers import CONTROLLERS
from tidegauge.engine.invariants.kernel import KERNEL, MACHINES
from tidegauge.engine.invariants.logs import LOGS
from tidegauge.engine.invariants.pools import POOLS
from tidegauge.engine.invariants.quorum import QUORUM_STATE, VOTERS
from tidegauge.engine.invariants.voter_sets import VOTER_SETS
from tidegauge.engine.invariants.zookeeper import ZOOKEEPER
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.messages.kinds import KINDS, NAMES

#: All of them, in the order in which they are checked.
INVARIANTS = Invariants(
    [
        *(*POOLS, *KERNEL, *LOGS, *BROKERS, *MACHINES, *ZOOKEEPER, *CONTROLLERS),
        *(*VOTERS, *VOTER_SETS, *QUORUM_STATE, *CLIENTS),
    ]
)

validate = INVARIANTS.validator(__name__, Checked, count_timers)

#: The value that has a run validated after every event.
EVERY_EVENT = "TIDEGAUGE_CHECKED=1"


class Violation(NamedTuple):
    """An invariant that does not hold, and the record that violates it."""

    invariant: Invariant
    place: int


class InvariantViolatedError(AssertionError):
    """The state of a group is one that cannot be: a rule, or an invariant, is wrong."""


class Validator:
    """Looks at the state of one group after events."""

    def __init__(self, plan: ClusterPlan) -> None:
        """Validate groups of this cluster."""
        _compile_once()
        self._plan = plan
        self._checked = Checked(
            findings=new_records(Finding, 1),
            visits=new_records(Visit, 0),
            timers=new_records(TimerCount, len(plan.processes) * int(KINDS)),
        )

    def look_at(self, world: Any) -> None:
        """Take over a group's tables; to be called again when one was exchanged."""
        checked = self._checked
        checked.take_over(world)
        longest = max(len(table) for table in vars(world).values())
        if len(checked.visits) < longest:
            checked.visits = new_records(Visit, longest)
        self._view = checked.view
        self._handled = np.asarray(column(checked.kind_counts, "handled"))
        self._seen = self._handled.copy()

    def violation(self) -> Violation | None:
        """The first invariant that does not hold."""
        number = int(validate(self._view))
        if number == 0:
            return None
        return Violation(INVARIANTS[number - 1], int(self._checked.findings[0].place))

    def is_due(self, events: int) -> bool:
        """Whether so many events were handled since the last check.

        A look takes as long as a thousand events, and a window of a group may have ten.
        """
        return int(self._handled.sum() - self._seen.sum()) >= events

    def check(self) -> None:
        """Check all invariants.

        Raises:
            InvariantViolatedError: one does not hold.
        """
        found = self.violation()
        if found is not None:
            raise InvariantViolatedError(self._told(found))
        np.copyto(self._seen, self._handled)

    def _told(self, found: Violation) -> str:
        """The violated invariant, its record, the time, and the event before."""
        context = self._checked.context[0]
        place = f"{found.invariant.table}[{found.place}]"
        record = getattr(self._checked, found.invariant.table)[found.place]
        events = self._handled - self._seen
        kinds = [NAMES[int(kind)] for kind in np.flatnonzero(events)]
        after = f"after {kinds[0]}" if events.sum() == 1 else f"within {events.sum()} events"
        at = self._plan.processes[context.handling].name
        scenario = self._plan.scenario
        return (
            f"{found.invariant.name}: {found.invariant.sentence}\n"
            f"  violated by {place}{self._owner(record)}: {_values(record)}\n"
            f"  at {context.time_us / 1e6:.6f} s, {after} at {at}, event {context.handled}"
            f" of scenario {scenario.name}, seed {scenario.seed}\n"
            f"  {EVERY_EVENT} names the event that did it"
        )

    def _owner(self, record: Any) -> str:
        """The broker and the partition of a record, if it has them."""
        names = record.dtype.names
        told = []
        if "broker" in names and 0 <= record["broker"] < len(self._plan.brokers):
            told.append(f"broker {self._plan.brokers[record['broker']]}")
        if "local_replica" in names:
            # A replica's own place says which it is.
            record = self._checked.slots[int(self._checked.findings[0].place)]
            told.append(f"broker {self._plan.brokers[record.broker]}")
        if "partition" in record.dtype.names and record["partition"] >= 0:
            told.append(self._plan.partitions[record["partition"]].name)
        return f" ({', '.join(told)})" if told else ""


def _values(record: Any) -> str:
    """The fields of a record that are not 0; of a list of events its ends and its length."""
    fields = [(name, record[name].tolist()) for name in record.dtype.names]
    return " ".join(f"{name}={value}" for name, value in fields if value not in (0, False))


@cache
def _compile_once() -> None:
    """Compile all rules, unless they are; to find that out takes as long as to run a small one."""
    if not is_compiled():
        compile_all()
