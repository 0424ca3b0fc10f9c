"""A cluster that was there before the run: the metadata log begins with what is known of it.

Its brokers are registered, and unfenced unless they are down and in no ISR that has a leader. The
first process of a broker in the run is taken for the one that was there before, and is not fenced
while it starts; only that of a broker that was down is a new one, after an unclean shutdown.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.broker_changes import append_broker
from tidegauge.controller.kraft.broker_heartbeats import note_contact
from tidegauge.controller.kraft.metadata_log import (
    append_partition,
    append_record,
    commit_former_records,
)
from tidegauge.controller.kraft.partition_records import count_partition
from tidegauge.controller.kraft.registrations import TOPIC_RECORD
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.kraft.voters import this_voter
from tidegauge.simulation.codes.occasions import BROKER_REGISTERS


@inner_rule
def restore_former_states(world: Quorum) -> None:
    """Write the records about all that was there before; nobody has caused them."""
    voter = this_voter(world)
    # They come from no event.
    voter.event_written = True
    for broker in range(world.sizes[0].brokers):
        known = world.quorum_brokers[broker]
        if known.registered:
            known.broker_epoch = voter.log_end_offset
            append_broker(world, broker, BROKER_REGISTERS)
            if not known.fenced:
                note_contact(world, broker)
    for number in range(world.sizes[0].topics):
        topic = world.quorum_topics[number]
        if not topic.exists:
            continue
        topic.topic_id = append_record(world, TOPIC_RECORD, number).offset
        for place in range(topic.partition_count):
            append_partition(world, topic.first_partition + place)
            count_partition(world, topic.first_partition + place, 1)
    voter.event_written = False
    commit_former_records(world)
