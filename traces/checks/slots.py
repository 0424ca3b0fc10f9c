"""The replica of a partition that a broker hosts, among what checks remember of replicas."""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.kernel import NONE
from tidegauge.traces.checks.histories import Histories


@inner_rule
def slot_of(history: Histories, partition: int, broker: int) -> int:
    """The slot of a broker in the partition's table of brokers; NONE if it has none."""
    place = history.places[partition]
    for slot in range(place.slot_count):
        if history.slots[place.first_slot + slot].broker == broker:
            return slot
    return NONE
