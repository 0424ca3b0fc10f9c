"""The state of a group of processes at a time that all groups have reached, saved and restored.

Nothing is on its way between groups then (``Group.take_all``), so a group's state is its tables,
and the checkpoint files of its brokers. Addresses are made anew: those of handlers, and those of
the exchange with other groups.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tidegauge.compiled.records import column
from tidegauge.engine.doors import World, enter_doors
from tidegauge.engine.exchange.state import GroupExchange
from tidegauge.engine.run_snapshots import packed_tables
from tidegauge.engine.run_snapshots.packed_tables import CopiedTable
from tidegauge.scenario.cluster_plan import ClusterPlan

#: Tables without state: rows of the trace that are drained, and addresses of rules.
_WITHOUT = ("rows", "roles")


class GroupCopy(NamedTuple):
    """The state of a group, copied so that the group can go on."""

    hosted: Sequence[int]
    tables: Mapping[str, CopiedTable]
    files: Mapping[str, bytes]

    def packed(self) -> dict[str, Any]:
        """The state as msgpack takes it, compressed."""
        return {
            "hosted": list(self.hosted),
            "tables": packed_tables.packed(self.tables),
            "files": dict(self.files),
        }


def copy_of_group(hosted: Sequence[int], world: World, files: Mapping[str, bytes]) -> GroupCopy:
    """Copy the state of a group whose rows are drained, and which has taken all messages.

    Args:
        hosted: the processes of the group.
        world: its tables.
        files: the checkpoint files of its brokers.
    """
    tables = packed_tables.copied(world, without=_WITHOUT)
    return GroupCopy(hosted, tables, files)


def restore_world(plan: ClusterPlan, world: World, saved: Mapping[str, Any]) -> None:
    """Give the tables of a group the rows that were saved.

    Raises:
        DamagedTablesError: these are not the tables of a group of this scenario.
    """
    packed_tables.restore(world, saved["tables"], without=_WITHOUT)
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
