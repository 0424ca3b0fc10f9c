"""The rolling restarts of a scenario as records."""

from __future__ import annotations

from tidegauge.clients import rolling_restarts
from tidegauge.clients.client_state import Roll, RolledBroker
from tidegauge.compiled.records import Records, column, new_records
from tidegauge.scenario.cluster_plan import ClusterPlan

_LEADERSHIP_BACK = {
    "none": rolling_restarts.NEVER,
    "after_each_batch": rolling_restarts.AFTER_EACH_BATCH,
    "at_end": rolling_restarts.AT_END,
}


def new_rolls(plan: ClusterPlan) -> tuple[Records[Roll], Records[RolledBroker]]:
    """All rolling restarts, none of which has begun, and their brokers in turn."""
    rolled = new_records(RolledBroker, len(plan.rolled))
    column(rolled, "broker")[:] = [broker for _, broker in plan.rolled]
    column(rolled, "fault")[:] = range(len(plan.scenario.faults), len(plan.faults))
    places = list(dict.fromkeys(place for place, _ in plan.rolled))
    rolls = new_records(Roll, len(places))
    for number, place in enumerate(places):
        planned = plan.rolling_restart(place)
        roll = rolls[number]
        roll.fault = place
        brokers = [index for index, (of, _) in enumerate(plan.rolled) if of == place]
        roll.first_broker = brokers[0]
        roll.broker_count = len(brokers)
        roll.batch = planned.batch
        roll.waits_for_isr = planned.wait_for_full_isr
        roll.poll_us = planned.poll_us
        roll.timeout_us = planned.timeout_us
        roll.stops_on_timeout = planned.on_timeout == "stop"
        roll.pause_us = planned.pause_us
        roll.leadership_back = _LEADERSHIP_BACK[planned.leadership_back]
    return rolls, rolled
