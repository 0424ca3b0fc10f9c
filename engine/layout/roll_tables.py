"""The rolling restarts of a scenario as records."""

from __future__ import annotations

from tidegauge.clients import rolling_restarts
from tidegauge.clients.client_state import Roll, RolledBroker
from tidegauge.compiled.records import Records, column, new_records
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.process_faults import LeadershipAfter, RollingRestartFault

_LEADERSHIP_BACK = {
    "none": rolling_restarts.NEVER,
    "after_each_batch": rolling_restarts.AFTER_EACH_BATCH,
    "at_end": rolling_restarts.AT_END,
    "in_sync": rolling_restarts.ONCE_IN_SYNC,
}


def new_rolls(plan: ClusterPlan) -> tuple[Records[Roll], Records[RolledBroker]]:
    """All rolling restarts, none of which has begun, and their brokers in turn."""
    rolled = new_records(RolledBroker, len(plan.rolled))
    column(rolled, "broker")[:] = [broker for _, broker in plan.rolled]
    column(rolled, "fault")[:] = range(len(plan.scenario.faults), len(plan.faults))
    places = list(dict.fromkeys(place for place, _ in plan.rolled))
    planned = [plan.rolling_restart(place) for place in places]
    counts = [len(each.hit_brokers(plan.scenario)) for each in planned]
    batches = [
        (number, position)
        for number, each in enumerate(planned)
        if isinstance(each.leadership_back, LeadershipAfter) or each.leadership_back == "in_sync"
        for position in range(0, counts[number], each.batch)
    ]
    rolls = new_records(Roll, len(places) + len(batches))
    first_broker = 0
    for number, place in enumerate(places):
        rolls[number].fault = place
        rolls[number].first_broker = first_broker
        rolls[number].broker_count = counts[number]
        first_broker += counts[number]
        _plan(planned[number], rolls[number])
    for place, (number, position) in enumerate(batches, len(places)):
        back = rolls[place]
        back.fault = places[number]
        back.gives_back_for = number
        back.first_broker = rolls[number].first_broker
        back.position = position
        back.batch = planned[number].batch
        back.broker_count = min(position + planned[number].batch, counts[number])
        back.poll_us = planned[number].poll_us
    return rolls, rolled


def _plan(planned: RollingRestartFault, roll: Roll) -> None:
    roll.batch = planned.batch
    roll.waits_for_isr = planned.wait_for_full_isr
    roll.poll_us = planned.poll_us
    roll.timeout_us = planned.timeout_us
    roll.stops_on_timeout = planned.on_timeout == "stop"
    roll.pause_us = planned.pause_us
    if isinstance(planned.leadership_back, LeadershipAfter):
        roll.leadership_back = rolling_restarts.AFTER_A_WHILE
        roll.leadership_back_us = planned.leadership_back.after_us
    else:
        roll.leadership_back = _LEADERSHIP_BACK[planned.leadership_back]
