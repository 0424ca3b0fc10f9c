"""A cluster that was there before the run: the metadata log begins with what is known of it.

Its brokers are registered, and unfenced unless they are down and in no ISR that has a leader. The
first process of a broker in the run is taken for the one that was there before, and is not fenced
while it starts; only that of a broker that was down is a new one, after an unclean shutdown.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.broker_changes import append_broker
from tidegauge.controller.kraft.metadata_log import (
    append_partition,
    append_record,
    commit_next,
)
from tidegauge.controller.kraft.registrations import TOPIC_RECORD
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.raft.log import begin_epoch
from tidegauge.controller.raft.voters import this_voter
from tidegauge.controller.state.existing_records import write_existing_records
from tidegauge.simulation.codes.occasions import BROKER_REGISTERS
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.topology import quorum_process


@inner_rule
def restore_former_states(world: Quorum) -> None:
    """Write the records about all that was there before; they have no cause."""
    voter = this_voter(world)
    # The first record is that of the leader's election.
    voter.log_end_offset = 1
    world.active_controller[0].committed_offset = 1
    # They come from no event, and wait for nothing.
    voter.event_written = True
    voter.drains = True
    for broker in range(world.sizes[0].brokers):
        known = world.quorum_brokers[broker]
        if known.registered:
            known.broker_epoch = voter.log_end_offset
            append_broker(world, broker, BROKER_REGISTERS)
    for number in range(world.sizes[0].topics):
        topic = world.quorum_topics[number]
        if not topic.exists:
            continue
        topic.topic_id = append_record(world, TOPIC_RECORD, number).offset
        for place in range(topic.partition_count):
            append_partition(world, topic.first_partition + place)
    for partition in range(world.sizes[0].partitions):
        epoch = world.registrations[partition].leader_epoch
        write_existing_records(world, world.context[0].handling, partition, epoch)
    voter.event_written = False
    voter.drains = False
    _commit(world, voter.log_end_offset)


@inner_rule
def _commit(world: Quorum, end_offset: int) -> None:
    """All controllers have had these records before the run."""
    context = world.context[0]
    state = world.active_controller[0]
    first = context.handling
    epoch = this_voter(world).epoch
    while state.committed_offset < end_offset:
        context.cause_process = NONE
        context.cause_sequence = NONE
        commit_next(world, epoch)
    context.cause_process = NONE
    context.cause_sequence = NONE
    for number in range(len(world.voters)):
        context.handling = quorum_process(world, number)
        voter = this_voter(world)
        voter.log_end_offset = end_offset
        voter.drained_offset = end_offset
        voter.flushed_offset = end_offset
        begin_epoch(world, epoch, 0)
    context.handling = first
