"""Logs that existed before the run: those of topics with a size, on each broker's disks.

Each has its records in the leader epoch that the partition's state has, and is flushed: the high
watermark and the recovery point in the checkpoints are its end. A broker's first process loads them
(``actors/process/lifecycle.py``).
"""

from __future__ import annotations

from tidegauge.actors.state.brokers import Broker, Brokers
from tidegauge.scenario.cluster_plan import ClusterPlan, PlannedPartition


def set_existing_logs(plan: ClusterPlan, world: Brokers) -> None:
    """Lay out the logs of all brokers; directories get them in turn, as they get new logs."""
    counts = [0] * len(plan.brokers)
    row = 0
    for planned in plan.partitions:
        existing = max(planned.existing_records)
        for broker, records in zip(planned.slots, planned.existing_records, strict=True):
            world.on_disk[row].existing_records = existing
            if records > 0:
                _set_log(plan, world, row, planned, records)
                _list(world.brokers[broker], world, row)
                # All directories can be used: the one with the fewest logs is the next in turn.
                directories = plan.scenario.cluster.log_directories
                world.on_disk[row].directory = counts[broker] % directories
                counts[broker] += 1
            row += 1


def _set_log(
    plan: ClusterPlan, world: Brokers, row: int, planned: PlannedPartition, records: int
) -> None:
    assert planned.state is not None
    replica = world.replicas[row]
    on_disk = world.on_disk[row]
    first_entry = row * int(world.pools[0].epoch_room)
    world.runs[first_entry].epoch = planned.state.leader_epoch
    replica.run_count = 1
    if world.rules[world.hosted[row].broker].records_carry_epoch:
        world.epochs[first_entry].epoch = planned.state.leader_epoch
        replica.epoch_count = 1
    replica.log_end_offset = records
    replica.high_watermark = records
    on_disk.exists = True
    on_disk.high_watermark = records
    on_disk.recovery_point_checkpoint = records
    on_disk.recovery_point = records
    on_disk.epochs_due = plan.scenario.checkpoint_files


def _list(state: Broker, world: Brokers, row: int) -> None:
    """Enter a log behind those that its broker has."""
    if state.last_log < 0:
        state.first_log = row
    else:
        world.hosted[int(state.last_log)].next_log = row
    state.last_log = row
