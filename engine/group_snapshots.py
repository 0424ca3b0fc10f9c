"""The state of a group of processes at a time that all groups have reached, saved and restored.

Nothing is on its way between groups then (``Group.take_all``), so a group's state is its tables,
and the checkpoint files of its brokers. Addresses are made anew: those of handlers, and those of
the exchange with other groups.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from tidegauge.compiled.records import column
from tidegauge.engine.doors import World, enter_doors
from tidegauge.engine.exchange.state import GroupExchange
from tidegauge.engine.layout.controller_tables import WATCHES
from tidegauge.engine.run_snapshots import packed_tables
from tidegauge.engine.run_snapshots.merged_tables import merge
from tidegauge.engine.run_snapshots.packed_tables import CopiedTable
from tidegauge.scenario.cluster_plan import ClusterPlan

#: Tables without state: rows of the trace that are drained, and addresses of rules.
_WITHOUT = ("rows", "roles")


# Of a run that continues with another scenario.
#: Tables that have an entry for each fault, step or part of one.
_GROWING = (
    *("faults", "fault_roles", "pins", "pin_states", "quantiles", "kept_logs", "rolls", "rolled"),
    *("software", "metadata_versions", "release_rules", "kraft_rules"),
    *("steps", "awaited_brokers", "requested_moves", "throttled_by_steps"),
)
#: Tables of what is on its way; they begin empty, with room for what a scenario may need.
_POOLS = (
    *("events", "items", "heap", "later_heap", "row_marks", "watches", "batches", "joined_sends"),
    *("impairments", "metadata_changes", "offset_commits", *WATCHES),
)
#: Which of their places are free.
_OF_POOLS = {
    "context": ("event_slots.free", "item_slots.free", "commit_reserve"),
    "pools": ("watch_slots.free",),
    "ensemble": ("free_watch",),
    "pool": ("free_batch", "free_batches", "joined_slots.free"),
}


class SavedGroup(NamedTuple):
    """The saved state of a group, to continue from."""

    time_us: int
    #: What :meth:`GroupCopy.packed` has given.
    state: Mapping[str, Any]
    #: The plan that the group had then; None: the same as now.
    past: ClusterPlan | None

    def alone(self) -> Self:
        """The same, to be sent to another process."""
        return self if self.past is None else self._replace(past=self.past.alone())


class GroupCopy(NamedTuple):
    """The state of a group, copied so that the group can go on."""

    hosted: Sequence[int]
    tables: Mapping[str, CopiedTable]
    files: Mapping[str, bytes]
    #: The tables have something left of processes of other groups (``group_splitting.py``).
    is_part: bool

    def packed(self) -> dict[str, Any]:
        """The state as msgpack takes it, compressed."""
        return {
            "hosted": list(self.hosted),
            "tables": packed_tables.packed(self.tables),
            "files": dict(self.files),
            "is_part": self.is_part,
        }


def copy_of_group(
    hosted: Sequence[int], world: World, files: Mapping[str, bytes], *, is_part: bool
) -> GroupCopy:
    """Copy the state of a group whose rows are drained, and which has taken all messages.

    Args:
        hosted: the processes of the group.
        world: its tables.
        files: the checkpoint files of its brokers.
        is_part: whether there is something left of processes of other groups.
    """
    tables = packed_tables.copied(world, without=_WITHOUT)
    return GroupCopy(hosted, tables, files, is_part)


def restore_world(plan: ClusterPlan, world: World, saved: SavedGroup) -> None:
    """Give the tables of a group the rows that were saved.

    Raises:
        DamagedTablesError: these are not the tables of a group of this scenario.
    """
    packed_tables.restore(world, saved.state["tables"], without=_WITHOUT)
    enter_doors(plan, world)


def note_all_is_sent(exchange: GroupExchange, world: World) -> None:
    """Note that the other groups know all that this group's logs have.

    They do so whenever all are at rest. In these logs are changes of metadata, commits, marks of
    rows.
    """
    context, groups = world.context[0], exchange.tables.groups
    context.first_unsent_change = context.metadata_changes
    context.first_unsent_commit = context.offset_commits
    context.first_unsent_mark = context.row_marks
    column(groups, "next_change")[:] = context.metadata_changes
    column(groups, "next_commit")[:] = context.offset_commits
    column(groups, "next_mark")[:] = context.row_marks


def merge_worlds(reached: World, planned: World, other: World) -> None:
    """Give the tables of a group what another scenario plans differently (``merged_tables.py``).

    Raises:
        MergeError: something differs that cannot change while a run goes on.
    """
    merge(
        *(reached, planned, other),
        growing=_GROWING,
        kept=(*_WITHOUT, *_POOLS),
        kept_fields=_OF_POOLS,
    )
