"""A group of processes whose saved state is continued by several groups, each with a part of it.

Each new group takes all tables of the saved one, and hosts only its own processes from then on.
The events that wait for others are dropped, and what the others have counted is theirs to tell.
Large tables are as at the beginning where they belong to others, so that later snapshots are small.
What else is left of others is never looked at again; no invariant holds for it.

Fetches of two brokers that were computed together are handled again where the brokers part: to wake
a pair changes nothing (``actors/idle_fetches``).
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tidegauge.actors.idle_fetches.across import APART, COMPUTED, OFFERED
from tidegauge.actors.idle_fetches.pairs import wake_pair
from tidegauge.actors.idle_fetches.stages import HANDLED, begin_from_outside
from tidegauge.actors.state.brokers import Brokers
from tidegauge.compiled.records import Records, column
from tidegauge.compiled.rules import Tables, rule
from tidegauge.compiled.signatures import as_base
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.engine.doors import World
from tidegauge.engine.group_states import forget_counts
from tidegauge.engine.layout.cluster_tables import enlarge_kernel
from tidegauge.engine.planned_events import take_waiting
from tidegauge.simulation.events import free_event, push, take_first
from tidegauge.simulation.kernel import CONTROLLER, QUORUM_CONTROLLER, ZOOKEEPER, Kernel

#: Tables with an entry, or several, for each replica.
_OF_SLOTS = (
    *("replicas", "hosted", "on_disk", "cached_logs", "fetch_states", "sampled_replicas", "marks"),
    *("followers", "follower_fetches", "delayed_fetches", "delayed_produces"),
)

#: Tables of processes of these roles alone.
_OF_ROLES: tuple[tuple[tuple[int, ...], type[Tables]], ...] = (
    ((QUORUM_CONTROLLER,), Quorum),
    ((ZOOKEEPER, CONTROLLER), ControlPlane),
)

#: Events that a pair of brokers has when its fetches are handled again, for each of these.
_PENDING = 2


@rule
def wake_from_outside(world: Brokers, one: int, other: int, time_us: int) -> None:
    """Wake an idle pair at a time that all groups have reached, before all events of that time."""
    begin_from_outside(world, time_us)
    wake_pair(world, one, other)


@rule
def drop_events(world: Kernel) -> None:
    """Drop the events that wait for processes which this group does not host."""
    waiting = take_waiting(world)
    for _ in range(waiting.length):
        event = take_first(world, waiting)
        if world.processes[event.destination].hosted:
            push(world, event)
        else:
            free_event(world, event)


def split(
    world: World, begun: Mapping[str, Records[Any]], hosted: Sequence[int], time_us: int
) -> None:
    """Leave some of its processes to a group whose tables have just been restored.

    Args:
        world: its tables.
        begun: its tables as they are at the beginning of a run, by their names.
        hosted: the processes that it hosts from now on.
        time_us: the time that all groups have reached.
    """
    whole = column(world.processes, "hosted") != 0
    stays = np.zeros(len(whole), np.bool_)
    stays[hosted] = True
    _part_pairs(world, whole, stays, time_us)
    column(world.processes, "hosted")[:] = stays
    drop_events(as_base(world.view, Kernel))
    # What belongs to no process is told by the group of the first one.
    forget_counts(world, stays, of_group=not stays[np.argmax(whole)])
    _clear_tables(world, begun, stays)


def _clear_tables(
    world: World, begun: Mapping[str, Records[Any]], stays: NDArray[np.bool_]
) -> None:
    """Let large tables be as they were where they belong to other groups."""
    leaves = ~stays[column(world.slots, "broker")]
    for name in _OF_SLOTS:
        rows, first = (
            cast("NDArray[np.void]", each) for each in (getattr(world, name), begun[name])
        )
        of_slots = np.repeat(leaves, len(rows) // len(leaves))
        rows[of_slots] = first[of_slots]
    roles = {*column(world.processes, "role")[stays].tolist()}
    for owners, tables in _OF_ROLES:
        if not roles & {*map(int, owners)}:
            for name in tables.__annotations__:
                setattr(world, name, begun[name])


def _part_pairs(
    world: World, whole: NDArray[np.bool_], stays: NDArray[np.bool_], time_us: int
) -> None:
    """Wake idle pairs of which one broker stays, and forget those of which none does."""
    high, low = np.tril_indices(int(world.sizes[0].brokers), -1)
    is_idle = _idle_pairs(world)
    parts = is_idle & whole[high] & whole[low] & (stays[high] != stays[low])
    for pair in np.flatnonzero(parts).tolist():
        _wake(world, int(high[pair]), int(low[pair]), time_us)
    leaves = ~(stays[high] | stays[low])
    phases = column(world.idle_pairs, "phase")
    is_across = (phases == int(OFFERED)) | (phases == int(COMPUTED))
    world.context[0].idle_pairs -= int(np.count_nonzero(leaves & (is_idle | is_across)))
    phases[leaves] = int(APART)
    column(world.idle_fetches, "stage")[np.repeat(leaves, _fetches_of_pair(world))] = int(HANDLED)


def wake_pairs_across(world: World, time_us: int) -> None:
    """Wake the idle pairs of two groups, which are no longer on one machine."""
    high, low = np.tril_indices(int(world.sizes[0].brokers), -1)
    phases = column(world.idle_pairs, "phase")
    for pair in np.flatnonzero((phases == int(OFFERED)) | (phases == int(COMPUTED))).tolist():
        _wake(world, int(high[pair]), int(low[pair]), time_us)


def wake_own_pairs(world: World, time_us: int) -> None:
    """Wake the idle pairs of this group's brokers: from now on every fetch is handled."""
    high, low = np.tril_indices(int(world.sizes[0].brokers), -1)
    for pair in np.flatnonzero(_idle_pairs(world)).tolist():
        _wake(world, int(high[pair]), int(low[pair]), time_us)


def _wake(world: World, one: int, other: int, time_us: int) -> None:
    context = world.context[0]
    reserve = int(context.reserve) + _PENDING * _fetches_of_pair(world)
    enlarge_kernel(world, reserve, int(context.item_reserve))
    wake_from_outside(as_base(world.view, Brokers), one, other, time_us)


def _fetches_of_pair(world: World) -> int:
    return 2 * int(world.pools[0].fetchers_of_source)


def _idle_pairs(world: World) -> NDArray[np.bool_]:
    """Whether the fetches of a pair of brokers are computed, in the order of ``first_of_pair``."""
    is_computed = column(world.idle_fetches, "stage") != int(HANDLED)
    pairs = is_computed.reshape(-1, _fetches_of_pair(world)).any(axis=1)
    return cast("NDArray[np.bool_]", pairs)
