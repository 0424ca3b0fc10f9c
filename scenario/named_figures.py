"""The figures of a scenario before any run: their names, and the expected number of events.

``traces/figures.yaml`` defines the forms of names (``produce_ms.shop.p99``); a scenario's topics,
groups, steps and faults replace the words in capitals there.

Most events belong to three exchanges: a produce request and its response for each batch; a
follower's fetches, with a response for each batch, or an empty one after replica.fetch.wait.max.ms;
and the fetches of consumers. The events of faults are a rough estimate: work for the replicas of
brokers that stop, and partitions that refuse batches, whose first batch is retried every
retry.backoff.ms. Combined effects of several faults are not estimated. The grouping into actors
uses these numbers, too.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.scenario.cluster_plan import ClusterPlan, PlannedClient
from tidegauge.scenario.model.component_faults import CutLinkFault, Fault, fault_name
from tidegauge.scenario.model.fault import Stop
from tidegauge.scenario.model.process_faults import CrashFault
from tidegauge.scenario.model.workload import ConsumerGroup, ProducerGroup
from tidegauge.scenario.planned_partitions import Numbers
from tidegauge.scenario.reading import Scenario
from tidegauge.simulation.rows import COST_NAMES
from tidegauge.traces import summary_figures
from tidegauge.traces.checks import CHECKS, LIVENESS

#: Of each partition.
Rates = NDArray[np.float64]

_CAPITALS = re.compile(r"[A-Z]{2,}")


class FigureNames:
    """The figures that runs of one scenario have."""

    def __init__(self, scenario: Scenario) -> None:
        """No run is needed: all names follow from the scenario."""
        plan = ClusterPlan(scenario)
        self._named: Mapping[str, tuple[str, ...]] = {
            "TOPIC": tuple(plan.numbers_of),
            "PARTITION": tuple(plan.partitions.names()),
            "GROUP": tuple(group.name for group in scenario.workload.producers),
            "STEP": tuple(moving_steps(scenario).values()),
            "FAULT": tuple(fault_name(plan.faults, place) for place in range(len(plan.faults))),
            "CHECK": tuple(_checks(scenario)),
            "KIND": summary_figures.KRAFT_PROCESS_KINDS
            if scenario.has_kraft
            else summary_figures.PROCESS_KINDS,
            "COST": tuple(f"costs.{name}" for name in COST_NAMES),
        }
        #: The names of faults that are drawn from the seed.
        self._drawn = tuple(rate.name or str(rate.fault.kind) for rate in scenario.fault_rates)
        has = {
            "": True,
            "racks": has_racks(scenario),
            "liveness": bool(scenario.liveness),
            "quorum": scenario.has_kraft,
        }
        #: The forms that have at least one figure.
        self.forms = tuple(
            form
            for form in summary_figures.FORMS
            if has[form.only_with] and next(self.names_of(form), None) is not None
        )

    def names_of(self, form: summary_figures.Figure) -> Iterator[str]:
        """The names of one form, in the order of the scenario's parts that they belong to."""
        found = _CAPITALS.search(form.name)
        if found is None:
            yield form.name
            return
        for name in self._named[found.group()]:
            yield form.name[: found.start()] + name + form.name[found.end() :]

    def all_names(self) -> Iterator[str]:
        """All names of all forms."""
        for form in self.forms:
            yield from self.names_of(form)

    def may_be_drawn(self, name: str) -> bool:
        """Whether it is the duration of a fault that some seed draws from a rate."""
        return any(
            re.fullmatch(re.escape(rate) + r"(-.+)?-[0-9]+\.seconds", name) for rate in self._drawn
        )


def has_racks(scenario: Scenario) -> bool:
    """Whether the brokers are in several racks, so that an ISR can be in one or more of them."""
    return len(scenario.cluster.racks) > 1


def moving_steps(scenario: Scenario) -> dict[int, str]:
    """The steps that move replicas, by their places: each with its name in ``--set``."""
    return {place: f"steps.{place}" for place, step in enumerate(scenario.steps) if step.moves()}


def unknown_figures(names: Iterable[str], scenarios: Iterable[Scenario]) -> dict[str, set[str]]:
    """The names that are figures of none of these scenarios, and the known names.

    Further scenarios are read only while a name is unknown.
    """
    unknown = dict.fromkeys(names)
    known: set[str] = set()
    for scenario in scenarios:
        if not unknown:
            break
        figures = FigureNames(scenario)
        known.update(figures.all_names())
        unknown = {
            name: None for name in unknown if name not in known and not figures.may_be_drawn(name)
        }
    return dict.fromkeys(unknown, known)


def _checks(scenario: Scenario) -> Iterator[str]:
    """The names of the checks that the scenario's cluster has, the liveness check last."""
    for check in CHECKS.values():
        if scenario.is_judged_by(check):
            yield check.name
    yield LIVENESS.name


# Events, as counted in runs of the scenarios that ship.
#: A batch: it is sent, arrives, and gets its response.
_PER_BATCH = 3
#: A follower's fetch: request and response; a fetch that finds nothing expires, too.
_PER_FETCH = 2
_PER_IDLE_FETCH = 3
#: A consumer's fetch: the same, and a timer.
_PER_CONSUMER_FETCH = 3
#: A retry of a batch: the wait, the request, the response. A broker that is down sends no
#: response, and fewer batches are tried at once.
_PER_RETRY = 3
_PER_RETRY_UNHEARD = 1.5
#: Events of a partition until it has its first leader.
_PER_PARTITION = 5
#: Events of a replica whose broker stops and comes back.
_PER_STOPPED_REPLICA = 15
#: Events of a broker in each second: its periodic tasks, and pings of its session; with KRaft its
#: fetches of metadata and heartbeats.
_PER_BROKER_SECOND = 1.2
_PER_KRAFT_BROKER_SECOND = 16

#: Fewer batches for each wait are none: the formula divides by that.
_HARDLY_EVER = 1e-6


class ExpectedEvents(NamedTuple):
    """Events of the whole run, without its liveness phase."""

    producers: float
    #: Fetches of followers that find records.
    followers: float
    #: Those that find none.
    idle: float
    consumers: float
    #: Samples, periodic tasks, pings.
    periodic: float
    #: Topics that are created, replicas whose broker stops.
    control: float
    #: Batches that are tried again during faults.
    retries: float

    @property
    def total(self) -> float:
        """All together."""
        return sum(self)


def expected_events(plan: ClusterPlan) -> ExpectedEvents:
    """The expected events in the run of a plan."""
    scenario = plan.scenario
    seconds = scenario.duration_us / 1e6
    batches = batches_per_second(plan)
    samples = seconds * 1e6 / scenario.sample_every_us
    stopped = sum(_stopped_replicas(plan, fault) for fault in scenario.faults)
    finding, idle = _fetches_of_followers(plan, batches)
    per_second = _PER_KRAFT_BROKER_SECOND if plan.is_kraft else _PER_BROKER_SECOND
    return ExpectedEvents(
        producers=_PER_BATCH * _batches_in_all(plan),
        followers=_PER_FETCH * finding,
        idle=_PER_IDLE_FETCH * idle,
        consumers=_PER_CONSUMER_FETCH * sum(each.fetches for each in consumers_fetches(plan)),
        periodic=len(plan.brokers) * (samples + seconds * per_second),
        control=_PER_PARTITION * len(plan.partitions) + _PER_STOPPED_REPLICA * stopped,
        retries=sum(_events_of_retries(plan, fault, batches) for fault in scenario.faults)
        + _events_of_refusals(plan),
    )


def batches_per_second(plan: ClusterPlan) -> Rates:
    """The batches a second that producers write to each partition while all of them are active."""
    batches = np.zeros(len(plan.partitions))
    for group in plan.scenario.workload.producers:
        numbers = plan.numbers_of_topics(group.topics)
        batches[numbers] += _batches_of(plan, group) / len(numbers)
    return batches


def _batches_of(plan: ClusterPlan, group: ProducerGroup) -> float:
    """The batches a second of a group: a send opens some, or joins one that lingers."""
    settings = plan.scenario.producer_settings(group)
    of_a_send = group.batches_of_a_send(settings["batch.size"])
    if of_a_send > 1:
        return group.batches_per_second * of_a_send
    ways = math.lcm(group.clients, len(plan.numbers_of_topics(group.topics)))
    lingering = int(group.batches_per_second / ways * settings["linger.ms"] / 1e3)
    sends_of_a_batch = settings["batch.size"] // (group.records_per_batch * group.record_bytes)
    return group.batches_per_second / max(1, min(1 + lingering, sends_of_a_batch))


def _batches_in_all(plan: ClusterPlan) -> float:
    end_us = plan.scenario.duration_us
    sent = 0.0
    for group in plan.scenario.workload.producers:
        stop_us = end_us if group.stop_us is None else min(group.stop_us, end_us)
        sent += _batches_of(plan, group) * max(0, stop_us - group.start_us) / 1e6
    return sent


def _busy_seconds(plan: ClusterPlan, batches: Rates) -> float:
    """The active time of producers, as if all were active at the same time."""
    rate = float(batches.sum())
    return _batches_in_all(plan) / rate if rate else 0.0


def _fetches_of_followers(plan: ClusterPlan, batches: Rates) -> tuple[float, float]:
    """The fetches of all followers from their leaders: those that find records, and none."""
    rates = rates_of_pairs(plan, batches)
    busy = _busy_seconds(plan, batches)
    idle = plan.scenario.duration_us / 1e6 - busy
    # Once for each broker, not for each pair of them: half of the time of `validate` otherwise.
    waits = [
        plan.scenario.settings_of(broker)["replica.fetch.wait.max.ms"] / 1e3
        for broker in plan.brokers
    ]
    round_trip = _round_trip_seconds(plan)
    fetches = nothing = 0.0
    for (follower, _), rate in rates.items():
        for seconds, at_rate in ((busy, rate), (idle, 0.0)):
            all_, finding_nothing = _fetches(at_rate, waits[follower], round_trip)
            fetches += seconds * all_
            nothing += seconds * finding_nothing
    return fetches - nothing, nothing


def rates_of_pairs(plan: ClusterPlan, batches: Rates) -> Mapping[tuple[int, int], float]:
    """The batches a second that each follower gets from each of its leaders, by their indexes."""
    planned, count = plan.partitions, len(plan.brokers)
    partitions = np.delete(planned.of_replicas, planned.first_replicas)
    followers = np.delete(planned.columns.replicas, planned.first_replicas)
    pairs = followers * count + planned.preferred_leaders[partitions]
    found, pair_of = np.unique(pairs, return_inverse=True)
    rates = np.bincount(pair_of, weights=batches[partitions], minlength=len(found))
    return {divmod(pair, count): rate for pair, rate in zip(found.tolist(), rates, strict=True)}


def _fetches(rate: float, wait: float, round_trip: float) -> tuple[float, float]:
    """Fetches a second, and those of them that find nothing.

    A response leaves with the next batch, or empty after ``wait`` seconds. Batches arrive at
    random, ``rate`` of them a second. The next fetch follows after ``round_trip`` seconds or more.
    """
    if rate * wait < _HARDLY_EVER:
        return 1 / wait, 1 / wait
    finds_nothing = math.exp(-rate * wait)
    fetches = min(rate / (1 - finds_nothing), 1 / round_trip)
    return fetches, fetches * finds_nothing


def _round_trip_seconds(plan: ClusterPlan) -> float:
    """The least time between two fetches: there, back, and the work at both ends."""
    scenario = plan.scenario
    medians = [
        latency.quantiles_us()[8]
        for latency in (scenario.network.between_racks, scenario.costs.request)
    ]
    return 2 * sum(medians) / 1e6


class ConsumerFetches(NamedTuple):
    """A consumer's fetches from one leader; the cost of a fetch grows with both counts."""

    #: In each fetch.
    partitions: int
    #: The partitions that the consumer reads, from any leader.
    all_partitions: int
    #: In the whole run.
    fetches: float


def consumers_fetches(plan: ClusterPlan) -> list[ConsumerFetches]:
    """The fetches of each consumer from each leader that it reads from."""
    batches = batches_per_second(plan)
    busy = _busy_seconds(plan, batches)
    idle = plan.scenario.duration_us / 1e6 - busy
    round_trip = _round_trip_seconds(plan)
    found = []
    for client in plan.clients:
        if not isinstance(client.group, ConsumerGroup):
            continue
        wait = int(plan.scenario.consumer_settings(client.group)["fetch.max.wait.ms"]) / 1e3
        by_leader = _read_by_leader(plan, client)
        all_partitions = sum(map(len, by_leader.values()))
        for partitions in by_leader.values():
            rate = float(batches[partitions].sum())
            fetches = sum(
                seconds * _fetches(at_rate, wait, round_trip)[0]
                for seconds, at_rate in ((busy, rate), (idle, 0.0))
            )
            found.append(ConsumerFetches(len(partitions), all_partitions, fetches))
    return found


def _read_by_leader(plan: ClusterPlan, client: PlannedClient) -> dict[int, Numbers]:
    """The partitions that a consumer reads, by the index of the broker that leads them."""
    read = np.array(plan.partitions_of(client), np.int64)
    leaders = plan.partitions.preferred_leaders[read]
    return {int(leader): read[leaders == leader] for leader in np.unique(leaders)}


# The events that faults add.


def _hit_brokers(plan: ClusterPlan, fault: Fault) -> set[int]:
    """Indexes of the brokers that a fault stops or freezes."""
    return {plan.broker_index(broker) for broker in fault.hit_brokers(plan.scenario)}


def _stopped_replicas(plan: ClusterPlan, fault: Fault) -> int:
    if fault.stop is Stop.NEVER:
        return 0
    hit = _hit_brokers(plan, fault)
    return int(np.isin(plan.partitions.columns.replicas, [*hit]).sum())


def _events_of_retries(plan: ClusterPlan, fault: Fault, batches: Rates) -> float:
    """The events of batches that are retried because of one fault."""
    seconds = _stuck_seconds(plan, fault)
    if not plan.scenario.workload.producers or seconds <= 0:
        return 0.0
    group = plan.scenario.workload.producers[0]
    events = _PER_RETRY if isinstance(fault, CutLinkFault) else _PER_RETRY_UNHEARD
    return events * sum(
        _retries(plan, group, seconds, batches[partition])
        for partition in _stuck_partitions(plan, fault)
    )


def _events_of_refusals(plan: ClusterPlan) -> float:
    """The same for partitions that never have as many live replicas as acks=all needs."""
    events = 0.0
    planned = plan.partitions
    down = [plan.broker_index(broker) for broker in plan.down_at_first]
    live = planned.count_replicas(~np.isin(planned.columns.replicas, down))
    is_refused = live < planned.columns.min_insync_replicas
    for group in plan.scenario.workload.producers:
        if plan.scenario.producer_settings(group)["acks"] >= 0:
            continue
        partitions = plan.numbers_of_topics(group.topics)
        refused = int(np.count_nonzero(is_refused[partitions]))
        if refused:
            seconds = max(0, plan.scenario.duration_us - group.start_us) / 1e6
            rate = _batches_of(plan, group) / len(partitions)
            events += _PER_RETRY * refused * _retries(plan, group, seconds, rate)
    return events


def _retries(plan: ClusterPlan, group: ProducerGroup, seconds: float, rate: float) -> float:
    """The retries in a partition that refuses batches for this time, at so many batches a second.

    Its first batches are tried again, as many as a connection may have in flight; those of an
    idempotent producer one by one. The others wait behind them.
    """
    settings = plan.scenario.producer_settings(group)
    backoff = max(1, settings["retry.backoff.ms"]) / 1e3
    at_once = settings["max.in.flight.requests.per.connection"]
    if settings.get("enable.idempotence"):
        at_once = 1
    return at_once * max(0.0, seconds - 1 / max(rate, _HARDLY_EVER)) / backoff


def _stuck_seconds(plan: ClusterPlan, fault: Fault) -> float:
    """The time for which partitions that a fault hits refuse batches."""
    end_us = plan.scenario.duration_us
    lasts = (end_us if fault.for_us is None else fault.for_us) / 1e6
    lasts = min(lasts, (end_us - (fault.at_us or 0)) / 1e6)
    settings = plan.scenario.settings_of(plan.brokers[0])
    if isinstance(fault, CrashFault):
        # Until the session has expired, and others lead. A broker that is paused or without power
        # refuses no connection, so requests wait for their timeout.
        return min(lasts, plan.session_timeout_ms(plan.brokers[0]) / 1e3)
    if isinstance(fault, CutLinkFault):
        # Until followers are out of the ISR batches wait with the leader.
        return lasts - settings["replica.lag.time.max.ms"] / 1e3
    return 0.0


def _stuck_partitions(plan: ClusterPlan, fault: Fault) -> Numbers:
    planned = plan.partitions
    leaders, replicas = planned.preferred_leaders, planned.columns.replicas
    if not isinstance(fault, CutLinkFault):
        return np.flatnonzero(np.isin(leaders, [*_hit_brokers(plan, fault)]))
    one, other = (
        np.array([plan.broker_index(broker) for broker in plan.scenario.brokers_of(end)], np.int64)
        for end in fault.between
    )
    # The voters that the leader can no longer reach, as it is on one side of the cut or the other.
    led_from = leaders[planned.of_replicas]
    lost = np.isin(led_from, one) & np.isin(replicas, other)
    lost |= np.isin(led_from, other) & np.isin(replicas, one)
    in_sync = planned.count_replicas(~lost)
    return np.flatnonzero(in_sync < planned.columns.min_insync_replicas)
