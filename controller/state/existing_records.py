"""Records that were in a partition's log before the run count as acknowledged with acks=all."""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.min_insync_replicas import ACKS_ALL
from tidegauge.simulation.codes.occasions import REASON_EXISTED
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.topology import Cluster
from tidegauge.simulation.trace_rows.replica_rows import Acknowledged


@inner_rule
def write_existing_records(world: Cluster, process: int, partition: int, epoch: int) -> None:
    """Write down what a partition's replicas must not lose, if it has any record."""
    facts = world.partitions[partition]
    if facts.existing_records == 0:
        return
    row = new_row(world, process, Acknowledged)
    row.partition = partition
    row.leader_epoch = epoch
    row.acks = ACKS_ALL
    row.first_offset = 0
    row.end_offset = facts.existing_records
    row.reason = REASON_EXISTED
    write_row(world, row)
