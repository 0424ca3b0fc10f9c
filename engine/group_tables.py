"""The tables of a group, laid out or restored, and the room that is kept free in them."""

from __future__ import annotations

from collections.abc import Collection

from tidegauge.engine.doors import World, enter_doors
from tidegauge.engine.group_snapshots import SavedGroup, merge_worlds, restore_world
from tidegauge.engine.layout import cluster_tables
from tidegauge.engine.layout.broker_tables import new_brokers, producer_reserve_of
from tidegauge.engine.layout.controller_tables import new_control_plane
from tidegauge.engine.layout.kept_tables import laid_out
from tidegauge.engine.layout.quorum_tables import new_quorum, new_raft
from tidegauge.scenario.cluster_plan import ClusterPlan


def reserve_of(plan: ClusterPlan) -> int:
    """The most events, rows or watches that a single event can need.

    The largest cases are a controller that reads or writes the state of every partition, and a
    broker's end, which wakes the idle fetches of all others from it and back: a request and a timer
    for each.
    """
    fetchers = max(
        int(plan.scenario.settings_of(broker)["num.replica.fetchers"]) for broker in plan.brokers
    )
    idle = 4 * fetchers * len(plan.brokers)
    return 256 + 4 * (len(plan.partitions) + len(plan.processes)) + idle


def item_reserve_of(plan: ClusterPlan) -> int:
    """The most entries of partition data that a single event can need.

    The largest cases are a controller's failover, with a LeaderAndIsr entry for each replica and a
    copy of it that is sent, and the responses to all fetches that wait at a broker, of followers
    and of groups of consumers, with a few runs of records in each entry, and batches of idempotent
    producers in those of followers.
    """
    groups = len(plan.scenario.workload.consumers)
    told = plan.width * producer_reserve_of(plan)
    return 1024 + 8 * (plan.width + groups) * len(plan.partitions) + told


def row_reserve_of(plan: ClusterPlan, epoch_room: int) -> int:
    """The most rows that a single event can write.

    These are the contents and promises of a broker's logs, some rows per epoch; a client's stalls;
    a refusal for each produce in flight; with all requests traced, the response to each waiting
    fetch.
    """
    partitions = len(plan.partitions)
    rows = reserve_of(plan) + partitions * (epoch_room + 9) + 64 * len(plan.clients)
    if plan.scenario.trace == "all":
        rows += 4 * partitions * (plan.width + len(plan.clients))
    return rows


def new_world(plan: ClusterPlan, hosted: Collection[int], reserve: int, item_reserve: int) -> World:
    """All tables of a group that hosts some of the cluster's processes."""
    world = laid_out(plan, _new_world, frozenset(hosted), reserve, item_reserve)
    world.context[0].seed = plan.scenario.seed
    return world


def restored_world(
    plan: ClusterPlan, begun: World, hosted: Collection[int], saved: SavedGroup
) -> World:
    """The tables of a group as they were saved, and with the plan that it has from then on.

    Args:
        plan: that plan.
        begun: the tables as they would begin with it.
        hosted: the processes that these are for: those of the saved group, or some of them.
        saved: the saved state.

    Raises:
        DamagedTablesError, MergeError: as :class:`Group` has them.
    """
    if saved.past is None:
        restore_world(plan, begun, saved)
        return begun
    whole = frozenset(saved.state["hosted"])
    planned = _begun_world(saved.past, whole)
    # Its own tables are those that are restored.
    reached = World()
    reached.take_over(planned)
    restore_world(plan, reached, saved)
    other = begun if whole == {*hosted} else _begun_world(plan, whole)
    merge_worlds(reached, planned, other)
    return reached


def _begun_world(plan: ClusterPlan, hosted: Collection[int]) -> World:
    return new_world(plan, hosted, reserve_of(plan), item_reserve_of(plan))


def _new_world(
    plan: ClusterPlan, hosted: Collection[int], reserve: int, item_reserve: int
) -> World:
    topology = cluster_tables.new_topology(plan)
    world = World()
    for tables in (
        cluster_tables.new_kernel(plan, hosted, reserve, item_reserve),
        topology,
        new_brokers(plan, topology, reserve),
        new_control_plane(plan),
        new_raft(plan),
        new_quorum(plan),
        cluster_tables.new_clients(plan),
    ):
        world.take_over(tables)
    enter_doors(plan, world)
    return world
