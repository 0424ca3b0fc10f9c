"""The predicted time and memory of a run on this machine, before it is started.

Both are linear in the numbers of a plan. The weights were measured with the shipped scenarios, and
a test holds all of them to within a factor of 2. A short run of a small fixed cluster compares the
speed of this machine with that of the measurements.
"""

import time
from typing import NamedTuple

import numpy as np

from tidegauge.actors.state.brokers import Fetcher, FetchSession
from tidegauge.clients.client_state import Target
from tidegauge.compiled.compile_all import is_compiled
from tidegauge.compiled.records import R, new_records
from tidegauge.compiled.rules import COMPILED
from tidegauge.engine.group import Group
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.named_figures import (
    ConsumerFetches,
    ExpectedEvents,
    consumers_fetches,
    expected_events,
)
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.simulation.kernel import FaultRole, Link
from tidegauge.simulation.messages.event import PartitionData

# Measured where the fixed cluster below ran at this speed.
_PROBE_EVENTS_PER_SECOND = 4.7e6
#: Until the first event: the interpreter, imports, compiled code that is loaded.
_START_UP_SECONDS = 2.4
#: An event in a cluster whose tables do not fit into the processor's caches.
_SECONDS_PER_EVENT = 0.7e-6
#: A replica's tables, its first rows, its place in the checks.
_SECONDS_PER_REPLICA = 30e-6
#: A row of a replica's sample: compressed and written.
_SECONDS_PER_SAMPLE = 1e-6
#: A partition in a consumer's fetch, and a partition of the consumer that is examined for it.
_SECONDS_PER_FETCHED_PARTITION = 117e-9
_SECONDS_PER_CONSIDERED_PARTITION = 8.5e-9
#: A partition that a client writes to or reads.
_SECONDS_PER_TARGET = 0.7e-6

_START_UP_BYTES = 225e6
_BYTES_PER_REPLICA = 14e3

_PROBE = {
    "duration": "40s",
    "liveness": False,
    "cluster": {"brokers": 3},
    "topics": [{"name": "probe", "partitions": 12, "replication_factor": 3}],
    "workload": {"producers": [{"name": "p", "topics": ["probe"], "batches_per_second": 1000}]},
}
#: By then the fixed cluster has started, and compiled code is loaded; the measurement is as long.
_PROBE_BEGINS_US = 5_000_000


class Prediction(NamedTuple):
    """The predicted costs of an inline run; mostly within a factor of 2."""

    events: ExpectedEvents
    seconds: float
    memory_bytes: float
    #: The speed of the fixed cluster here; None if nothing is compiled yet: then this machine
    #: counts as fast as that of the measurements.
    events_per_second: float | None


def predict(plan: ClusterPlan) -> Prediction:
    """Predict the costs of an inline run of a plan on this machine.

    The prediction takes a fraction of a second.
    """
    events = expected_events(plan)
    measured = measured_events_per_second()
    slowness = 1.0 if measured is None else _PROBE_EVENTS_PER_SECOND / measured
    return Prediction(events, slowness * _seconds(plan, events), _bytes(plan), measured)


def measured_events_per_second() -> float | None:
    """Events a second of a small fixed cluster; None if the rules would have to be compiled."""
    if not (COMPILED and is_compiled()):
        return None
    plan = ClusterPlan(scenario_from_mapping(_PROBE, "probe"))
    group = Group(plan, range(len(plan.processes)))
    group.run_to(_PROBE_BEGINS_US, lambda _rows: None)
    speeds = []
    for end_us in range(2 * _PROBE_BEGINS_US, plan.scenario.duration_us + 1, _PROBE_BEGINS_US):
        before, started = group.events, time.process_time()
        group.run_to(end_us, lambda _rows: None)
        speeds.append((group.events - before) / (time.process_time() - started))
    # Other processes here disturb some of them, though their time is not counted.
    return max(speeds)


def _seconds(plan: ClusterPlan, events: ExpectedEvents) -> float:
    replicas = _replicas(plan)
    samples = replicas * plan.scenario.duration_us / plan.scenario.sample_every_us
    return (
        _START_UP_SECONDS
        + _SECONDS_PER_EVENT * events.total
        + _SECONDS_PER_REPLICA * replicas
        + _SECONDS_PER_SAMPLE * samples
        + _SECONDS_PER_TARGET * _targets(plan)
        + sum(each.fetches * _seconds_per_fetch(each) for each in consumers_fetches(plan))
    )


def _seconds_per_fetch(each: ConsumerFetches) -> float:
    return (
        _SECONDS_PER_FETCHED_PARTITION * each.partitions
        + _SECONDS_PER_CONSIDERED_PARTITION * each.all_partitions
    )


def _bytes(plan: ClusterPlan) -> float:
    """The memory of a run: tables of pairs by their sizes, the rest by replicas."""
    brokers, processes = len(plan.brokers), len(plan.processes)
    fetchers = max(plan.scenario.settings_of(each)["num.replica.fetchers"] for each in plan.brokers)
    return (
        _START_UP_BYTES
        + _BYTES_PER_REPLICA * _replicas(plan)
        # All clients begin with a request for the metadata of their partitions.
        + (_bytes_of(Target) + 2 * _bytes_of(PartitionData)) * _targets(plan)
        + _bytes_of(Link) * processes * processes
        + _bytes_of(FaultRole) * len(plan.faults) * processes
        + (_bytes_of(Fetcher) + _bytes_of(FetchSession)) * brokers * brokers * fetchers
    )


def _replicas(plan: ClusterPlan) -> int:
    return sum(len(partition.replicas) for partition in plan.partitions)


def _targets(plan: ClusterPlan) -> int:
    """Partitions of all clients; one that two of them write to counts twice."""
    return sum(len(plan.partitions_of(client)) for client in plan.clients)


def _bytes_of(record: type[R]) -> int:
    """The size of one record of a table."""
    return np.asarray(new_records(record, 0)).dtype.itemsize
