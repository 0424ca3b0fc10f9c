"""A cluster that was there before the run: the metadata log begins with what is known of it.

Its brokers are registered, and unfenced unless they are down and in no ISR that has a leader. The
first process of a broker in the run is taken for the one that was there before, and is not fenced
while it starts; only that of a broker that was down is a new one, after an unclean shutdown.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.broker_changes import control_state_of
from tidegauge.controller.kraft.metadata_log import (
    append_former,
    append_former_partition,
    commit_former_records,
)
from tidegauge.controller.kraft.registrations import BROKER_RECORD, TOPIC_RECORD
from tidegauge.controller.kraft.state import Quorum
from tidegauge.simulation.codes.occasions import BROKER_REGISTERS


@inner_rule
def restore_former_states(world: Quorum) -> None:
    """Write the records about all that was there before; nobody has caused them."""
    for broker in range(world.sizes[0].brokers):
        known = world.quorum_brokers[broker]
        if known.registered:
            record = append_former(world, BROKER_RECORD, broker)
            known.broker_epoch = record.offset
            known.registration_offset = record.offset
            record.state = control_state_of(world, broker)
            record.broker_epoch = known.broker_epoch
            record.incarnation = known.incarnation
            record.registration_offset = known.registration_offset
            record.reason = BROKER_REGISTERS
    for number in range(world.sizes[0].topics):
        topic = world.quorum_topics[number]
        if not topic.exists:
            continue
        topic.topic_id = append_former(world, TOPIC_RECORD, number).offset
        for place in range(topic.partition_count):
            append_former_partition(world, topic.first_partition + place)
    commit_former_records(world)
