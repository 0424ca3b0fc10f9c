"""Both models in Tidegauge: a scenario, inline or on actors; the queue on the kernel's own heap."""

import math
import tempfile
from pathlib import Path

import tidegauge
from bench.alternatives import model
from tidegauge.compiled.records import new_record
from tidegauge.compiled.rules import code, rule
from tidegauge.engine.group import Group
from tidegauge.engine.layout.cluster_tables import new_kernel
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario, load_scenario
from tidegauge.simulation.events import (
    append_event,
    free_event,
    pop,
    set_timer,
    take_first,
    take_slot,
)
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.messages import client_requests
from tidegauge.simulation.messages.event import EventList
from tidegauge.simulation.messages.timers import ProducerSends
from tidegauge.simulation.random_streams import draw_from, stream_of

SCENARIO = Path(__file__).with_name("replication.yaml")

#: Kinds of the model's events. Of a follower's fetches one timer watches all, so waits that have
#: ended are not among them: a few in a run whose producer sends all the time.
_KINDS = (
    ProducerSends,
    client_requests.ProduceRequest,
    client_requests.ProduceResponse,
    client_requests.FetchRequest,
    client_requests.FetchResponse,
)


def scenario_of(batches: int) -> Scenario:
    """The scenario with so many batches."""
    start_us = load_scenario(SCENARIO).workload.producers[0].start_us
    stop_us = start_us + batches * model.PERIOD_US
    changes = {
        "seed": model.SEED,
        "workload.producers.shop.stop": f"{stop_us}us",
        "duration": f"{stop_us + model.AFTER_US}us",
    }
    return load_scenario(SCENARIO, changes)


def model_events(scenario: Scenario) -> int:
    """The number of the model's events: those of the control plane are not among them.

    All engines handle the same events, so they are counted in a run of their own.
    """
    plan = ClusterPlan(scenario)
    group = Group(plan, range(len(plan.processes)))
    group.run_to(scenario.duration_us, lambda _rows: None)
    return sum(int(group.world.kind_counts[kind.KIND].handled) for kind in _KINDS)


def replication(batches: int, actors: int | None = None) -> model.Outcome:
    """Replicate so many batches: inline, or with brokers in so many actors.

    The time is that of the loop, as the run's summary has it. It includes the control plane, the
    trace and its hash.
    """
    scenario = scenario_of(batches)
    with tempfile.TemporaryDirectory() as folder:
        result = tidegauge.run(scenario, out=Path(folder, "run"), actors=actors)
        summary = result.summary
        samples = list(result.events("producer_sampled"))
        high_watermark = max(row.high_watermark for row in result.events("exposed"))
    cpu_s = sum(
        seconds
        for group in summary["groups"]
        for name, seconds in group.items()
        if name.endswith("_cpu_seconds")
    )
    return model.Outcome(
        model_events(scenario),
        summary["records_acknowledged"],
        sum(row.taken_us for row in samples) / sum(row.batches for row in samples),
        model.Took(summary["loop_seconds"], cpu_s),
        high_watermark,
    )


def on_one_actor(batches: int) -> model.Outcome:
    """Brokers in one actor."""
    return replication(batches, actors=1)


def on_two_actors(batches: int) -> model.Outcome:
    """Brokers in two actors."""
    return replication(batches, actors=2)


# The queue.

# Event.phase of a customer
_ARRIVES = code(0)
_LEAVES = code(1)

#: Its kind: no door looks at it.
_CUSTOMER = code(1)
_DOMAIN = code(1)
_ONE = 1 << 32
#: More than ever wait at once.
_MOST_EVENTS = 10_000


@rule
def exponential_us(mean_us: int, stream: int, number: int) -> int:
    """A draw of the exponential distribution, in whole microseconds."""
    return int(0.5 - mean_us * math.log((draw_from(stream, number) + 1) / _ONE))


@rule
def serve(world: Kernel, waiting: EventList, stream: int, customers: int) -> int:
    """Have so many customers leave; the sum of the times that they have stayed, in microseconds.

    A customer is an event: it arrives, is in the list of those that wait, and leaves.
    """
    context = world.context[0]
    set_timer(world, take_slot(world, 0, 0, _CUSTOMER), 0)
    served = 0
    stay_us = 0
    draws = 0
    is_busy = False
    while served < customers:
        customer = pop(world)
        now_us = customer.time_us
        context.time_us = now_us
        context.handled += 1
        if customer.phase == _ARRIVES:
            customer.asked_us = now_us
            customer.phase = _LEAVES
            append_event(world, waiting, customer)
            next_us = now_us + exponential_us(model.ARRIVAL_US, stream, draws)
            draws += 1
            set_timer(world, take_slot(world, 0, 0, _CUSTOMER), next_us)
        else:
            stay_us += now_us - customer.asked_us
            served += 1
            is_busy = False
            free_event(world, customer)
        if not is_busy and waiting.first != NONE:
            is_busy = True
            leave_us = now_us + exponential_us(model.SERVICE_US, stream, draws)
            draws += 1
            set_timer(world, take_first(world, waiting), leave_us)
    return stay_us


def queue(customers: int) -> model.Outcome:
    """Serve so many customers."""
    kernel = new_kernel(ClusterPlan(load_scenario(SCENARIO)), [0], _MOST_EVENTS, 0)
    waiting = new_record(EventList)
    stream = stream_of(model.SEED, _DOMAIN, 0)
    begun = model.Took.now()
    stay_us = serve(kernel.view, waiting, stream, customers)
    took = begun.until_now()
    return model.Outcome(int(kernel.context[0].handled), customers, stay_us / customers, took)
