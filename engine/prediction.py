"""The predicted time and memory of an inline run on this machine, from the scenario alone.

A run has amounts: brokers, replicas, pairs of followers and leaders, events of each kind
(``scenario/named_figures.py``). Each part of the run costs so much for each of them. These costs
are fitted from measured runs (``bench/growth.py``) and stand in ``run_costs.yaml``, with the
calibration of the machine that they were measured on. A prediction calibrates this machine, for a
tenth of a second, and scales times by the ratio.
"""

import math
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml

from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.named_figures import (
    ExpectedEvents,
    batches_per_second,
    consumers_fetches,
    expected_events,
    rates_of_pairs,
)

COSTS = Path(__file__).with_name("run_costs.yaml")

# A calibration: steps of the interpreter, and reads all over a table that no cache holds.
_STEPS = 100_000
_READS = 2**19
_TABLE = 2**22
_PASSES = 5
_ODD = 2_654_435_761

#: From here on an event's records are in fewer and fewer caches.
_CACHED_REPLICAS = 3_000


class Amounts(NamedTuple):
    """The content of a run, in the units that costs are for."""

    #: 1: the interpreter, imports, loading of compiled code.
    start: float
    brokers: float
    kraft_partitions: float
    zookeeper_partitions: float
    replicas: float
    #: Pairs of a follower and a leader that have partitions together.
    pairs: float
    #: Partitions of all clients, each counted for each client that has it.
    targets: float
    producers: float
    #: Fetches of followers that find records, and those that find none: events of both.
    followers: float
    idle: float
    consumers: float
    #: Partitions that consumers have, at each of their fetches.
    scanned: float
    periodic: float
    control: float
    retries: float
    #: Events of producers and followers, times the tenfolds of replicas beyond what caches hold.
    distant: float
    #: Partitions that have to recover once the run has ended; 0 without liveness phase.
    recovering: float


class RunCosts(NamedTuple):
    """The cost of a unit of each amount, in each part of a run."""

    #: The calibration of the machine that these were measured on.
    machine_ns: float
    set_up_us: Mapping[str, float]
    loop_ns: Mapping[str, float]
    end_us: Mapping[str, float]
    memory_bytes: Mapping[str, float]


class Prediction(NamedTuple):
    """The predicted costs of an inline run, mostly within a factor of 1.5."""

    events: ExpectedEvents
    #: From the start of the command to the first event.
    set_up_s: float
    #: The loop, without the liveness phase.
    loop_s: float
    #: The liveness phase, checks and summary.
    end_s: float
    memory_bytes: int

    @property
    def seconds(self) -> float:
        """The wall time of the whole command."""
        return self.set_up_s + self.loop_s + self.end_s


def predict(plan: ClusterPlan) -> Prediction:
    """Predict the costs of an inline run of a plan on this machine, without any of it."""
    amounts = amounts_of(plan)
    costs = run_costs()
    pace = machine_ns() / costs.machine_ns
    return Prediction(
        expected_events(plan),
        pace * cost_of(amounts, costs.set_up_us) / 1e6,
        pace * cost_of(amounts, costs.loop_ns) / 1e9,
        pace * cost_of(amounts, costs.end_us) / 1e6,
        round(cost_of(amounts, costs.memory_bytes)),
    )


def cost_of(amounts: Amounts, costs: Mapping[str, float]) -> float:
    """What the amounts cost together."""
    amount = amounts._asdict()
    return sum(float(amount[name]) * cost for name, cost in costs.items())


@cache
def run_costs() -> RunCosts:
    """The fitted costs."""
    return RunCosts(**yaml.safe_load(COSTS.read_text()))


def amounts_of(plan: ClusterPlan) -> Amounts:
    """The amounts of a plan."""
    events = expected_events(plan)
    partitions = len(plan.partitions)
    replicas = len(plan.partitions.columns.replicas)
    moved = events.producers + events.followers
    return Amounts(
        start=1,
        brokers=len(plan.brokers),
        kraft_partitions=partitions if plan.is_kraft else 0,
        zookeeper_partitions=0 if plan.is_kraft else partitions,
        replicas=replicas,
        pairs=len(rates_of_pairs(plan, batches_per_second(plan))),
        targets=sum(len(plan.partitions_of(client)) for client in plan.clients),
        producers=events.producers,
        followers=events.followers,
        idle=events.idle,
        consumers=events.consumers,
        scanned=sum(each.fetches * each.all_partitions for each in consumers_fetches(plan)),
        periodic=events.periodic,
        control=events.control,
        retries=events.retries,
        distant=moved * max(0.0, math.log10(max(1, replicas) / _CACHED_REPLICAS)),
        recovering=partitions if plan.scenario.liveness else 0,
    )


def machine_ns() -> float:
    """The processor time of a calibration's step on this machine: the least of several passes."""
    table = np.arange(_TABLE)
    places = np.arange(_READS) * _ODD % _TABLE
    passes = []
    for _ in range(_PASSES):
        began_ns = time.thread_time_ns()
        total = 0
        for step in range(_STEPS):
            total ^= step * step
        table[places].sum()
        passes.append(time.thread_time_ns() - began_ns)
    return min(passes) / _STEPS
