"""The records of controllers, of a quorum, and of a partition in the control plane."""

from collections.abc import Iterator

from tidegauge.engine.doors import World
from tidegauge.rewind.seen_run import RecordState, SeenRun, listed
from tidegauge.rewind.zookeeper_records import controller_process, partition_in_zookeeper


def partition_state_records(seen: SeenRun, number: int) -> Iterator[RecordState]:
    """A partition, by its number, as the control plane has it."""
    records = _of_quorum if seen.names.controllers else partition_in_zookeeper
    yield from records(seen, number)


def _of_quorum(seen: SeenRun, number: int) -> Iterator[RecordState]:
    world = quorum_world(seen)
    yield seen.record("committed", world.committed_partitions[number], number)
    if active_voter(world) is not None:
        title = "as the active controller has it"
        yield seen.record(title, world.registrations[number], number)
    topic = seen.names.all_partitions[number].topic_number
    yield seen.record("topic in the quorum", world.quorum_topics[topic])


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
