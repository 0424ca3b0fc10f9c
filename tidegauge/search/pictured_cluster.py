"""The cluster of a picture: that of the user's file, with what the picture is about and no more.

Brokers, control plane, settings, network and costs are those of the file. Of its topics only those
of the picture are left, with their partitions up to the last one of the picture, and of its clients
one slow producer: a follower that has nothing to fetch never leaves the ISR. Faults, steps and pins
of the file are left out. The first leader of a picture is made the preferred one: the replicas are
put in that order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.fuzzing.fuzzed_cluster import Profile
from tidegauge.replication.release_versions import ZOOKEEPER_MODE
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.search.pictures import NO_LEADER, Picture, SeenPartition
from tidegauge.search.reduced_scenarios import Written, broker_ids, without_brokers
from tidegauge.search.suspects import Suspect, rates_in, suspects_of
from tidegauge.simulation.quantities import format_duration

#: Fields of a scenario file that are about the cluster.
_KEPT = (
    *("name", "seed", "release", "mode", "protocol", "metadata_version"),
    *("eligible_leader_replicas", "cluster", "zookeeper", "controllers", "network", "costs"),
    "ablations",
)
#: The most brokers of a cluster that keeps those without a replica.
_MOST_BROKERS = 7
#: Batches a second of a partition, and of all: a follower that is cut off soon has one to fetch.
_BATCHES_PER_SECOND = 1
_MOST_BATCHES_PER_SECOND = 8
_SECOND_US = 1_000_000
#: Where no preferred leader comes back, an election was so long before another one began to lead.
_QUIET_US = 5 * _SECOND_US
#: A cluster is up by then, with its ISRs full.
_UP_US = 30 * _SECOND_US
#: Brokers start so long after the one that becomes controller.
_LATER_START = "500ms"
#: The ISR is looked at twice in replica.lag.time.max.ms.
_LAG_PERIODS = 1.5


class Balance(NamedTuple):
    """The controllers' preferred elections at intervals, where they may be seen in a picture."""

    interval_us: int
    #: A time of the picture at which there was one: a preferred leader came back, or nobody did for
    #: long after another one had begun to lead.
    at_us: int
    #: The partition that shows it, by its place in the picture, and its preferred leader.
    partition: int
    leader: int


class PicturedCluster(NamedTuple):
    """A cluster on which schedules are tried, and its times."""

    profile: Profile
    suspects: Sequence[Suspect]
    #: The numbers of the picture's partitions within the cluster.
    partitions: Sequence[int]
    #: This is 0 in the picture's time.
    origin_us: int
    #: A change is at most so long after its cause.
    longest_us: int
    #: The interval of looks at the ISR.
    period_us: int
    balance: Balance | None

    @property
    def earliest_us(self) -> int:
        """The first time of a fault, in the picture's time."""
        return self.profile.begin_us + _SECOND_US - self.origin_us


def pictured_cluster(written: Written, source: str, picture: Picture) -> PicturedCluster:
    """The cluster of a picture.

    Args:
        written: the user's cluster, as its file has it.
        source: the name of the file, for errors.
        picture: the picture.

    Raises:
        ScenarioError: the cluster cannot be run.
        TidegaugeError: it has no such partition, or no such broker.
    """
    whole = scenario_from_mapping(written, source)
    replicas = {each.name: _replicas(whole, each, source) for each in picture.partitions}
    hosts = sorted({broker for each in replicas.values() for broker in each})
    kept = _without_most({name: written[name] for name in _KEPT if name in written}, hosts)
    topics = _topics(whole, written, picture, replicas)
    rate = min(
        _BATCHES_PER_SECOND * sum(len(each["assignment"]) for each in topics),
        _MOST_BATCHES_PER_SECOND,
    )
    producer = {
        "name": "producer",
        "topics": [each["name"] for each in topics],
        "batches_per_second": rate,
        "settings": {"acks": "1"},
    }
    if whole.mode == ZOOKEEPER_MODE:
        kept["cluster"] = _with_controller(kept, picture)
    lag_us, session_us = _delays(whole)
    longest_us = round(max(_LAG_PERIODS * lag_us, session_us)) + 10 * _SECOND_US
    origin_us = _UP_US + longest_us + 15 * _SECOND_US - picture.begin_us
    balance = _balance(whole, picture, replicas)
    interval_us = 0 if balance is None else balance.interval_us
    duration_us = origin_us + picture.end_us + 2 * interval_us + longest_us
    scenario = {
        **kept,
        "duration": format_duration(duration_us),
        "liveness": False,
        "sample_every": format_duration(duration_us),
        "topics": topics,
        "workload": {"producers": [producer]},
        "steps": [{"at": format_duration(_UP_US), "do": "wait"}],
    }
    reduced = scenario_from_mapping(scenario, source)
    rates = rates_in(written.get("fault_rates", ()), whole)
    suspects = suspects_of(reduced, rates, hosts, lag_us)
    faults = [each.written for each in suspects if not each.is_step]
    profile = Profile(
        scenario=scenario,
        begin_us=_UP_US,
        end_us=duration_us,
        faults={"suspects": faults},
        steps=[each.written for each in suspects if each.is_step],
        pins=[],
    )
    numbers = {each.name: number for number, each in enumerate(ClusterPlan(reduced).partitions)}
    places = [numbers[each.name] for each in picture.partitions]
    return PicturedCluster(profile, suspects, places, origin_us, longest_us, lag_us // 2, balance)


def begun_later(cluster: PicturedCluster, by_us: int) -> PicturedCluster:
    """The cluster that is older by a time when the picture begins."""
    profile = cluster.profile
    begin_us = profile.begin_us + by_us
    duration = format_duration(profile.end_us + by_us)
    scenario = {
        **profile.scenario,
        "duration": duration,
        "sample_every": duration,
        "steps": [{"at": format_duration(begin_us), "do": "wait"}],
    }
    later = replace(profile, scenario=scenario, begin_us=begin_us, end_us=profile.end_us + by_us)
    return cluster._replace(profile=later, origin_us=cluster.origin_us + by_us)


def _replicas(scenario: Scenario, seen: SeenPartition, source: str) -> list[int]:
    """The brokers with a replica of a partition, its first leader of the picture first."""
    topics = {each.name: each for each in scenario.topics}
    topic = topics.get(seen.topic)
    if topic is None or seen.number >= topic.partition_count:
        raise TidegaugeError(f"{source}: topics: there is no partition {seen.name}")
    replicas = [*scenario.assignments(topic)[seen.number]]
    if others := sorted(seen.brokers - {*replicas}):
        raise TidegaugeError(
            f"{seen.name}: the picture has broker {others[0]}, and {source} has replicas on "
            f"{replicas}; moves of replicas are not searched"
        )
    leaders = [each.leader for each in seen.states if each.leader not in (None, NO_LEADER)]
    first = leaders[0] if leaders else None
    known = seen.states[1].leader if seen.states[0].is_anything and len(seen.states) > 1 else None
    if first is not None and first != known:
        replicas.sort(key=lambda broker: broker != first)
    return replicas


def _topics(
    scenario: Scenario,
    written: Written,
    picture: Picture,
    replicas: Mapping[str, Sequence[int]],
) -> list[dict[str, Any]]:
    """The topics of the picture, each with its partitions up to the last one in the picture."""
    made = []
    settings = {each["name"]: each.get("settings", {}) for each in written["topics"]}
    for topic in scenario.topics:
        seen = [each for each in picture.partitions if each.topic == topic.name]
        if not seen:
            continue
        assignments = scenario.assignments(topic)
        last = max(each.number for each in seen)
        assignment = {number: [*assignments[number]] for number in range(last + 1)}
        assignment |= {each.number: [*replicas[each.name]] for each in seen}
        part = {"name": topic.name, "assignment": assignment}
        made.append(part | ({"settings": settings[topic.name]} if settings[topic.name] else {}))
    return made


def _without_most(kept: dict[str, Any], hosts: Sequence[int]) -> dict[str, Any]:
    """The cluster without the last brokers that have no replica, if it has many."""
    idle = [each for each in broker_ids(kept) if each not in hosts]
    room = max(_MOST_BROKERS - len(hosts), 1)
    return without_brokers(kept, idle[room:]) if len(idle) > room else kept


def _with_controller(kept: Written, picture: Picture) -> dict[str, Any]:
    """The cluster, whose controller is the last broker that nothing happens to in the picture.

    With ZooKeeper the broker that starts first is the controller.
    """
    brokers = broker_ids(kept)
    states = [each for seen in picture.partitions for each in seen.states if each.isr is not None]
    stays = frozenset(brokers).intersection(*(each.isr or () for each in states))
    hosts = {broker for seen in picture.partitions for broker in seen.brokers}
    calm = [each for each in brokers if each in stays or each not in hosts] or brokers
    start = {each: "0ms" if each == calm[-1] else _LATER_START for each in brokers}
    return {"start": start, **kept["cluster"]}


def _delays(scenario: Scenario) -> tuple[int, int]:
    """The longest replica.lag.time.max.ms and session timeout, in microseconds."""
    plan = ClusterPlan(scenario)
    brokers = scenario.broker_ids()
    lag_ms = max(int(scenario.settings_of(each)["replica.lag.time.max.ms"]) for each in brokers)
    session_ms = max(plan.session_timeout_ms(each) for each in brokers)
    return lag_ms * 1_000, session_ms * 1_000


def _balance(
    scenario: Scenario, picture: Picture, replicas: Mapping[str, Sequence[int]]
) -> Balance | None:
    """The preferred elections that the picture may show; None: nobody else leads for long."""
    broker = scenario.settings_of(scenario.broker_ids()[0])
    settings = broker | (scenario.controller_settings() if scenario.has_kraft else {})
    if not settings["auto.leader.rebalance.enable"]:
        return None
    interval_us = int(settings["leader.imbalance.check.interval.seconds"]) * _SECOND_US
    quiet: Balance | None = None
    for place, seen in enumerate(picture.partitions):
        leader = replicas[seen.name][0]
        for before, after in pairwise(seen.states):
            if after.begin_us is None or after.leader is None:
                continue
            if after.leader == leader and before.leader not in (None, NO_LEADER, leader):
                return Balance(interval_us, after.begin_us, place, leader)
            if after.leader != leader and quiet is None:
                quiet = Balance(interval_us, after.begin_us - _QUIET_US, place, leader)
    return quiet
