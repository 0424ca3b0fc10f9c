"""A broker begins to host a replica: it finds or makes its log, and has no leader yet."""

from tidegauge.actors.process.log_dir_failures import mark_offline
from tidegauge.actors.process.log_dir_moves import copy_future_log
from tidegauge.actors.session.zookeeper_client import topic_config
from tidegauge.actors.state.brokers import LOGS, Brokers, note_change
from tidegauge.actors.storage.log_dirs import is_offline, next_log_directory
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.partition import initialize_partition
from tidegauge.replication.remote_replica import initialize_follower
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_requests import LeaderAndIsrPartition


@inner_rule
def host(world: Brokers, row: int, item: LeaderAndIsrPartition) -> bool:
    """Host a replica that is not hosted; False: it is offline, for its log cannot be used.

    Source: ReplicaManager.getOrCreatePartition@0.10.2.0, createPartition@2.4.0.
    """
    slot = world.slots[row]
    facts = world.partitions[slot.partition]
    if not _has_directory(world, row, item):
        mark_offline(world, row)
        return False
    hosted = world.hosted[row]
    hosted.exists = True
    note_change(world, row)
    width = world.sizes[0].width
    config = topic_config(world, slot.broker, slot.partition)
    initialize_partition(
        world.replicas[row],
        row - facts.first_slot,
        item.replicas,
        row * width,
        config.min_insync_replicas,
    )
    for other in range(facts.slot_count):
        initialize_follower(
            world.followers[row * width + other], world.slots[facts.first_slot + other].broker
        )
    if not world.on_disk[row].exists:
        world.on_disk[row].exists = True
        LOGS.append(world, world.brokers[slot.broker], row)
    copy_future_log(world, row)
    return True


@inner_rule
def _has_directory(world: Brokers, row: int, item: LeaderAndIsrPartition) -> bool:
    """Find, or choose, the log directory of a replica; False if it cannot be used.

    With an offline directory, the log of a replica that is not new may lie in it.

    Source: LogManager.getOrCreateLog@2.6.0.
    """
    hosted = world.hosted[row]
    if hosted.offline:
        return False
    if world.on_disk[row].exists:
        return not is_offline(world, row)
    if world.brokers[hosted.broker].offline_directories != 0 and not item.is_new:
        return False
    directory = next_log_directory(world, hosted.broker)
    world.on_disk[row].directory = max(0, directory)
    return directory != NONE
