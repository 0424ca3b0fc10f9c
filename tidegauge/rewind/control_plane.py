"""The records of the control plane: of ZooKeeper, of a controller, of a partition's state there."""

from collections.abc import Iterator

import numpy as np

from tidegauge.compiled.records import column
from tidegauge.controller.state.control_plane import SESSIONS
from tidegauge.engine.doors import World
from tidegauge.rewind.seen_run import RecordState, SeenRun, listed, places_in
from tidegauge.runs.zookeeper import ZnodePaths
from tidegauge.simulation.zookeeper_tree import STATES


def partition_state_records(seen: SeenRun, number: int) -> Iterator[RecordState]:
    """A partition, by its number, as the control plane has it."""
    is_kraft = bool(seen.names.controllers)
    yield from (_of_quorum if is_kraft else _of_zookeeper)(seen, number)


def _of_quorum(seen: SeenRun, number: int) -> Iterator[RecordState]:
    world = quorum_world(seen)
    yield seen.record("committed", world.committed_partitions[number], number)
    if active_voter(world) is not None:
        title = "as the active controller has it"
        yield seen.record(title, world.registrations[number], number)
    topic = seen.names.all_partitions[number].topic_number
    yield seen.record("topic in the quorum", world.quorum_topics[topic])


def _of_zookeeper(seen: SeenRun, number: int) -> Iterator[RecordState]:
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


def controller_records(seen: SeenRun, member: int) -> Iterator[RecordState]:
    """A controller: of a broker by its index, or of a quorum by its number there."""
    if seen.names.controllers:
        yield from _voter_records(seen, member)
        return
    process = controller_process(seen, member)
    world = seen.world_of(process)
    yield seen.record("process", world.processes[process])
    controller = world.controllers[member]
    yield seen.record("controller", controller, int(controller.moving))
    if controller.context < 0:
        return
    count = len(seen.names.brokers)
    for index, broker in enumerate(seen.names.brokers):
        known = world.controller_brokers[int(controller.context) * count + index]
        yield seen.record(f"broker {broker} as it knows it", known)


def _voter_records(seen: SeenRun, voter: int) -> Iterator[RecordState]:
    process = seen.names.processes_with_role("quorum controller")[voter]
    world = seen.world_of(process)
    state, count = world.voters[voter], len(world.voters)
    yield seen.record("process", world.processes[process])
    yield seen.faults_at(process)
    yield seen.record("voter", state)
    room = len(world.epoch_starts) // count
    epochs = world.epoch_starts[voter * room : voter * room + int(state.epoch_count)]
    yield listed(
        "epochs of its log",
        ((f"epoch {int(each.epoch)}", int(each.start_offset)) for each in epochs),
    )
    room = len(world.snapshots) // count
    for number in range(int(state.snapshot_count)):
        yield seen.record(f"snapshot {number}", world.snapshots[voter * room + number])
    for other, identity in enumerate(seen.names.controllers):
        if other != voter:
            progress = world.follower_progress[voter * count + other]
            yield seen.record(f"controller {identity} as its follower", progress)
    if active_voter(world) == voter:
        yield seen.record("active controller", world.active_controller[0])
        for index, broker in enumerate(seen.names.brokers):
            yield seen.record(f"broker {broker} as it knows it", world.quorum_brokers[index])


def active_controllers(seen: SeenRun) -> list[int]:
    """The controllers that act as such: indexes of brokers, or numbers in the quorum."""
    if seen.names.controllers:
        voter = active_voter(quorum_world(seen))
        return [] if voter is None else [voter]
    return [
        index
        for index in range(len(seen.names.brokers))
        if seen.world_of(controller_process(seen, index)).controllers[index].active
    ]


def controller_name(seen: SeenRun, member: int) -> str:
    """The name of a controller as a subject."""
    ids = seen.names.controllers or seen.names.brokers
    return f"controller {ids[member]}"


def active_voter(world: World) -> int | None:
    """The number of the active controller in the quorum; None: there is none."""
    voter = int(world.active_controller[0].voter) if len(world.active_controller) else -1
    return voter if voter >= 0 else None


def quorum_world(seen: SeenRun) -> World:
    """The tables of the group that hosts the quorum."""
    return seen.world_of(seen.names.processes_with_role("quorum controller")[0])


def zookeeper_process(seen: SeenRun) -> int:
    """The process of ZooKeeper."""
    return seen.names.processes_with_role("zookeeper")[0]


def controller_process(seen: SeenRun, broker: int) -> int:
    """The process of a broker's controller, by the broker's index."""
    return seen.names.processes_with_role("controller")[broker]
