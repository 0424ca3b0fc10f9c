"""The state of a group of processes at a time that all groups have reached, saved and restored.

Nothing is on its way between groups then (``Group.take_all``), so a group's state is its tables,
what it has sent of its logs of metadata and commits to each other group, and the checkpoint files of
its brokers. Addresses are made anew: those of handlers, and those of the exchange with other groups.

A plan can leave faults out that have not begun yet (``ClusterPlan.without``): from there on the run
is that of a scenario without them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tidegauge.compiled.records import column, view_as
from tidegauge.compiled.rules import inner_rule, rule
from tidegauge.compiled.signatures import as_base
from tidegauge.engine.doors import World, enter_doors
from tidegauge.engine.exchange.state import GroupExchange
from tidegauge.engine.run_snapshots import packed_tables
from tidegauge.engine.run_snapshots.packed_tables import CopiedTable
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.events import free_event, pop, push, waiting_count
from tidegauge.simulation.kernel import NONE, SCENARIO, Kernel
from tidegauge.simulation.messages import timers
from tidegauge.simulation.messages.event import Event

#: Tables without state: rows of the trace that are drained, and addresses of rules.
_WITHOUT = ("rows", "roles")

#: How far a group has sent its logs to another one (``engine/exchange/state.py``).
_SENT = ("next_change", "next_commit", "next_mark")


class GroupCopy(NamedTuple):
    """The state of a group, copied so that the group can go on."""

    hosted: Sequence[int]
    tables: Mapping[str, CopiedTable]
    sent: Mapping[str, Sequence[int]]
    files: Mapping[str, bytes]

    def packed(self) -> dict[str, Any]:
        """The state as msgpack takes it, compressed."""
        return {
            "hosted": list(self.hosted),
            "tables": packed_tables.packed(self.tables),
            "sent": {name: list(numbers) for name, numbers in self.sent.items()},
            "files": dict(self.files),
        }


def copy_of_group(
    hosted: Sequence[int], world: World, exchange: GroupExchange, files: Mapping[str, bytes]
) -> GroupCopy:
    """Copy the state of a group whose rows are drained, and which has taken all messages.

    Args:
        hosted: the processes of the group.
        world: its tables.
        exchange: its exchange with other groups.
        files: the checkpoint files of its brokers.
    """
    sent = {name: column(exchange.tables.groups, name).tolist() for name in _SENT}
    tables = packed_tables.copied(world, without=_WITHOUT)
    return GroupCopy(hosted, tables, sent, files)


def restore_world(plan: ClusterPlan, world: World, saved: Mapping[str, Any]) -> None:
    """Give the tables of a group the rows that were saved.

    Raises:
        DamagedTablesError: these are not the tables of a group of this scenario.
    """
    packed_tables.restore(world, saved["tables"], without=_WITHOUT)
    enter_doors(plan, world)
    if plan.left_out:
        count = len(plan.processes)
        for number in plan.left_out:
            column(world.fault_roles, "side")[number * count : (number + 1) * count] = 0
        _forget_faults_that_hit_nobody(as_base(world.view, Kernel))


@rule
def _forget_faults_that_hit_nobody(world: Kernel) -> None:
    """Free the begins and ends, as the scenario plans them, of faults that hit no process here."""
    kept = NONE
    while waiting_count(world) > 0:
        event = pop(world)
        if event.source == SCENARIO and _hits_nobody(world, event):
            free_event(world, event)
        else:
            event.next = kept
            kept = event.index
    while kept != NONE:
        event = world.events[kept]
        kept = event.next
        event.next = NONE
        push(world, event)


@inner_rule
def _hits_nobody(world: Kernel, event: Event) -> bool:
    fault = view_as(event, timers.FaultChange).fault
    role = world.fault_roles[fault * world.context[0].process_count + event.destination]
    return bool(role.side == 0)


def restore_exchange(exchange: GroupExchange, saved: Mapping[str, Any]) -> None:
    """Continue to send logs to other groups where this group had stopped."""
    for name in _SENT:
        column(exchange.tables.groups, name)[:] = np.array(saved["sent"][name], np.int64)
