"""The records of a broker, and of a partition at each broker that has a replica of it."""

from collections.abc import Iterator

from tidegauge.actors.idle_fetches.stages import HANDLED
from tidegauge.actors.state.brokers import PRODUCERS, WATCHES
from tidegauge.engine.doors import World
from tidegauge.replication.records import UNDEFINED
from tidegauge.rewind.field_values import FieldValue
from tidegauge.rewind.seen_run import RecordState, SeenRun, listed, places_in


def broker_records(seen: SeenRun, broker: int) -> Iterator[RecordState]:
    """The records of a broker, by its index: its process, its threads, its replicas."""
    world = seen.world_of(broker)
    yield seen.record("process", world.processes[broker])
    yield seen.faults_at(broker)
    yield seen.record("broker", world.brokers[broker])
    if len(world.lifecycles):
        yield seen.record("lifecycle", world.lifecycles[broker])
    yield seen.record("position in the metadata", world.known_metadata[broker])
    yield seen.record("last sample", world.sampled_brokers[broker])
    yield seen.record("counts", world.broker_stats[broker])
    yield from _resources(seen, world, broker)
    first = int(world.brokers[broker].first_thread)
    for number in range(int(world.brokers[broker].num_io_threads)):
        yield seen.record(f"request handler {number}", world.threads[first + number])
    yield from _fetchers(seen, world, broker)
    yield _hosted(seen, world, broker)


def _resources(seen: SeenRun, world: World, broker: int) -> Iterator[RecordState]:
    yield seen.record("network out", world.networks_out[broker])
    yield seen.record("network in", world.networks_in[broker])
    directories = int(world.brokers[broker].log_directories)
    width = int(world.sizes[0].log_directories)
    for directory in range(directories):
        name = "disk" if directories == 1 else f"disk of log directory {directory + 1}"
        yield seen.record(f"{name}, reads", world.disk_reads[broker * width + directory])
        yield seen.record(f"{name}, writes", world.disk_writes[broker * width + directory])
    for place, name in enumerate(("leader", "follower")):
        yield seen.record(f"quota as {name}", world.quotas[2 * broker + place])


def _fetchers(seen: SeenRun, world: World, broker: int) -> Iterator[RecordState]:
    """Its fetchers that have replicas, and the sessions of fetchers of others with it."""
    count, room = int(world.sizes[0].brokers), int(world.pools[0].fetchers_of_source)
    for other in range(count):
        name = seen.names.member(other)
        is_idle = other != broker and _is_idle(world, broker, other)
        for number in range(room):
            fetcher = world.fetchers[(broker * count + other) * room + number]
            if fetcher.row_count > 0:
                computed = ", computed while it finds nothing" if is_idle else ""
                yield seen.record(f"fetcher {number} from {name}{computed}", fetcher)
        for number in range(room):
            session = world.fetch_sessions[(other * count + broker) * room + number]
            if session.partition_count > 0:
                yield seen.record(f"fetch session of fetcher {number} of {name}", session)


def _is_idle(world: World, one: int, other: int) -> bool:
    """Whether the fetches between two brokers are computed (``stages.is_idle``)."""
    high, low = max(one, other), min(one, other)
    room = 2 * int(world.pools[0].fetchers_of_source)
    first = (high * (high - 1) // 2 + low) * room
    fetches = world.idle_fetches[first : first + room]
    return bool(world.context[0].idle_pairs > 0) and any(each.stage != HANDLED for each in fetches)


def _hosted(seen: SeenRun, world: World, broker: int) -> RecordState:
    """The replicas of a broker in short; the subject of each partition has all of them."""
    found = {}
    for number, partition in enumerate(seen.names.all_partitions):
        if broker not in partition.hosts:
            continue
        row = seen.names.first_rows[number] + partition.hosts.index(broker)
        if world.hosted[row].exists:
            state = seen.record("", world.replicas[row], number).fields
            role = (
                "leads"
                if world.replicas[row].leader == world.replicas[row].local_replica
                else "follows"
            )
            short = {
                name: state[name].value
                for name in ("leader", "leader_epoch", "log_end_offset", "high_watermark", "isr")
            }
            words = ", ".join(f"{name} {state[name].text}" for name in short)
            found[seen.names.partition(number)] = FieldValue(short, f"{role}: {words}")
    return RecordState("replicas", None, found)


def replica_records(seen: SeenRun, number: int) -> Iterator[RecordState]:
    """The replicas of a partition, by its number, each as its broker has it."""
    facts = seen.names.all_partitions[number]
    for slot, broker in enumerate(facts.hosts):
        yield from _replica(seen, number, seen.names.first_rows[number] + slot, broker)


def _replica(seen: SeenRun, number: int, row: int, broker: int) -> Iterator[RecordState]:
    world = seen.world_of(broker)
    at = f"at {seen.names.member(broker)}"
    partition = world.replicas[row]
    yield seen.record(f"replica {at}", partition, number)
    yield seen.record(f"memory of it {at}", world.hosted[row], number)
    yield _epochs(f"epochs of the records in its log {at}", world, row, is_cache=False)
    yield _epochs(f"leader-epoch cache {at}", world, row, is_cache=True)
    yield seen.record(f"log on disk {at}", world.on_disk[row], number)
    yield seen.record(f"fetch state {at}", world.fetch_states[row], number)
    yield seen.record(f"last sample {at}", world.sampled_replicas[row], number)
    if len(world.cached_logs):
        yield seen.record(f"page cache {at}", world.cached_logs[row], number)
    if partition.leader == partition.local_replica and partition.leader != UNDEFINED:
        yield from _followers(seen, world, number, row)
        yield _waiting(f"delayed fetches {at}", world, int(world.delayed_fetches[row].first))
        yield _waiting(f"delayed produces {at}", world, int(world.delayed_produces[row].first))
    for place in places_in(
        world.held_producers, int(world.hosted[row].first_producer), PRODUCERS.following
    ):
        state = world.producer_states[place]
        yield seen.record(f"producer {int(state.producer_id)} {at}", state, number)


def _epochs(title: str, world: World, row: int, *, is_cache: bool) -> RecordState:
    """Epochs with the offsets at which they begin."""
    hosted, partition = world.hosted[row], world.replicas[row]
    first = int(hosted.first_entry) + (int(hosted.epoch_room) if is_cache else 0)
    count = int(partition.epoch_count if is_cache else partition.run_count)
    entries = world.epoch_entries[first : first + count]
    return listed(title, ((f"epoch {int(each.epoch)}", int(each.start_offset)) for each in entries))


def _followers(seen: SeenRun, world: World, number: int, row: int) -> Iterator[RecordState]:
    """The leader's views of the followers."""
    facts, width = seen.names.all_partitions[number], int(world.sizes[0].width)
    own = int(world.replicas[row].local_replica)
    leader = facts.slots[own]
    for slot, broker in enumerate(facts.slots):
        if slot != own:
            place = row * width + slot
            of_both = f"broker {broker} as leader {leader} has it"
            yield seen.record(f"follower {of_both}", world.followers[place], number)
            yield seen.record(f"fetches of {of_both}", world.follower_fetches[place], number)


def _waiting(title: str, world: World, first: int) -> RecordState:
    """The requests in a purgatory."""
    places = places_in(world.watches, first, WATCHES.following)
    return listed(title, [("requests", sum(1 for _ in places))])
