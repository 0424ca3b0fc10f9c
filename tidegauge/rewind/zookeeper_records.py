"""The records of ZooKeeper, and of a partition there and at its controllers."""

from collections.abc import Iterator, Mapping

import numpy as np

from tidegauge.compiled.records import column
from tidegauge.controller.state.control_plane import SESSIONS
from tidegauge.engine.doors import World
from tidegauge.rewind.seen_run import RecordState, SeenRun, places_in
from tidegauge.runs.zookeeper import ZnodePaths
from tidegauge.simulation.messages.event import Event, PartitionData
from tidegauge.simulation.messages.zookeeper_requests import ZkSetRequest, ZnodeData
from tidegauge.simulation.zookeeper_tree import STATES

#: Entries of requests whose docstrings do not name them.
ENTRIES: Mapping[type[Event], type[PartitionData]] = {ZkSetRequest: ZnodeData}


def partition_in_zookeeper(seen: SeenRun, number: int) -> Iterator[RecordState]:
    """A partition, by its number, in ZooKeeper, and as an active controller has it."""
    world = seen.world_of(zookeeper_process(seen))
    topic = seen.names.all_partitions[number].topic_number
    znode = world.znodes[int(world.tree_ranges[STATES].first) + number]
    yield seen.record("assignment in ZooKeeper", world.assignments[number], number)
    yield seen.record("state in ZooKeeper", znode, number)
    yield seen.record("topic config in ZooKeeper", world.topic_configs[topic])
    for index, broker in enumerate(seen.names.brokers):
        own = seen.world_of(controller_process(seen, index))
        context = int(own.controllers[index].context)
        if own.controllers[index].active and context >= 0:
            place = context * int(own.sizes[0].partitions) + number
            has = f"as controller {broker} has it"
            yield seen.record(f"leader and ISR {has}", own.controller_leader_and_isr[place], number)
            yield seen.record(f"partition {has}", own.controller_partitions[place], number)
            place = context * int(own.sizes[0].topics) + topic
            yield seen.record(f"topic {has}", own.controller_topics[place])
            yield from _replica_states(seen, own, context, number)


def _replica_states(
    seen: SeenRun, world: World, context: int, number: int
) -> Iterator[RecordState]:
    first = context * len(world.slots) + seen.names.first_rows[number]
    for slot, broker in enumerate(seen.names.slots(number)):
        state = world.controller_replicas[first + slot]
        yield seen.record(f"replica at broker {broker} as the controller has it", state)


def zookeeper_records(seen: SeenRun) -> Iterator[RecordState]:
    """ZooKeeper: the ensemble, open sessions, existing znodes."""
    process = zookeeper_process(seen)
    world = seen.world_of(process)
    yield seen.record("process", world.processes[process])
    yield seen.faults_at(process)
    yield seen.record("ensemble", world.ensemble[0])
    sessions = world.zookeeper_sessions
    for number in places_in(sessions, int(world.ensemble[0].first_session), SESSIONS.following):
        yield seen.record(f"session {number}", sessions[number])
    paths = ZnodePaths(seen.names)
    first_state = int(world.tree_ranges[STATES].first)
    states = range(first_state, first_state + len(seen.names.all_partitions))
    for number in np.flatnonzero(column(world.znodes, "exists")).tolist():
        znode = world.znodes[number]
        if number not in states:
            yield seen.record(f"znode {paths.path(number, int(znode.sequence_number))}", znode)


def zookeeper_process(seen: SeenRun) -> int:
    """The process of ZooKeeper."""
    return seen.names.processes_with_role("zookeeper")[0]


def controller_process(seen: SeenRun, broker: int) -> int:
    """The process of a broker's controller, by the broker's index."""
    return seen.names.processes_with_role("controller")[broker]
