"""A schedule for each ablation in which it breaks a promise that the complete rules keep.

Three brokers have the topic ``story``. With ZooKeeper broker 4 is the controller, and never fails:
an election follows a crash, a pause that outlasts the session, or a preferred election, after which
the ISR is as it was. Slow links stand for requests of the controller, fetches and proposals that
arrive late.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isr_stories import as_written
from small_clusters import cluster_of, topic_of
from tidegauge.replication.ablations import ABLATIONS
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from voter_schedules import VOTER_SCHEDULES

#: Brokers 1 to 3 for the topic, and 4 as the controller.
FOUR_BROKERS: dict[str, Any] = {
    "brokers": 4,
    "start": {4: "0s", 1: "500ms", 2: "500ms", 3: "500ms"},
    "settings": {
        "zookeeper.session.timeout.ms": 2000,
        "replica.lag.time.max.ms": 30000,
        "auto.leader.rebalance.enable": False,
    },
}

#: Sessions of 9 s, and observers that wait for a slow response.
ONE_CONTROLLER: dict[str, Any] = {
    "count": 1,
    "settings": {
        "auto.leader.rebalance.enable": False,
        "controller.quorum.request.timeout.ms": 30000,
        "controller.quorum.fetch.timeout.ms": 30000,
    },
}


def link(kind: str, one: str, other: str, at: str, lasts: str, **more: Any) -> dict[str, Any]:
    """A fault of the link between two ends."""
    return {"kind": kind, "between": [[one], [other]], "at": at, "for": lasts} | more


def cut(one: str, other: str, at: str, lasts: str) -> dict[str, Any]:
    """Nothing goes between two ends."""
    return link("cut_link", one, other, at, lasts)


def slow(one: str, other: str, at: str, lasts: str, delay: str) -> dict[str, Any]:
    """All from one end to the other arrives later."""
    return link("slow_link", one, other, at, lasts, one_way=True, delay=delay)


def crash(brokers: list[int], at: str, lasts: str) -> dict[str, Any]:
    """Processes die, and are back some time later."""
    return {"kind": "crash", "brokers": brokers, "at": at, "for": lasts}


def produce(at: str, **more: Any) -> dict[str, Any]:
    """Write a record; with ``to`` to the broker that leads as it believes itself."""
    return {"at": at, "do": "produce", "topic": "story", "partition": 0} | more


def written(at: str, broker: int, **more: Any) -> dict[str, Any]:
    """Write a record with acks=1 to a broker that leads, and do not wait."""
    return produce(at, acks=1, to=broker, wait=False, **more)


def preferred_election(at: str) -> dict[str, Any]:
    """Let the first replica of the assignment lead."""
    return {"at": at, "do": "preferred_election"}


def _with_zookeeper(
    replicas: list[int], faults: list[Any], steps: list[Any], lag_ms: int = 30000, **parts: Any
) -> Scenario:
    settings = FOUR_BROKERS["settings"] | {"replica.lag.time.max.ms": lag_ms}
    whole: dict[str, Any] = {
        "duration": "60s",
        "cluster": FOUR_BROKERS | {"settings": settings},
        "zookeeper": {"tick_ms": 500},
        "topics": [{"name": "story", "assignment": {0: replicas}}],
        "faults": faults,
        "steps": steps,
        "liveness": True,
    }
    return cluster_of(**whole | parts)


def _with_kraft(
    replicas: list[int], faults: list[Any], steps: list[Any], lag_ms: int = 30000
) -> Scenario:
    return cluster_of(
        mode="kraft",
        release="3.9",
        duration="60s",
        cluster={"brokers": 3, "settings": {"replica.lag.time.max.ms": lag_ms}},
        controllers=ONE_CONTROLLER,
        topics=[topic_of(replicas)],
        faults=faults,
        steps=steps,
        liveness=True,
    )


def empty_follower_joins(release: str = "2.6") -> Scenario:
    """KAFKA-7128: a new leader's high watermark lags, and a follower without the record joins.

    Broker 1 leads and 3 follows; a record is committed by both, of which 3 is not told. Broker 3
    is elected and 1 cannot fetch. Then 2 is back, with an empty log, and fetches from 3. What it is
    answered it never gets: 1 and 3 die.
    """
    faults = [
        crash([3], "5s", "5s"),
        cut("broker:1", "broker:2", "14s", "60s"),
        crash([2], "15s", "10s"),
        slow("broker:1", "broker:3", "19s", "30s", "1s"),
        slow("broker:3", "broker:2", "19s", "30s", "3s"),
        cut("broker:1", "broker:3", "23500ms", "60s"),
        cut("broker:2", "broker:3", "27s", "60s"),
        crash([1, 3], "27s", "20s"),
    ]
    steps = [produce("22s", wait=False), preferred_election("24s")]
    return _with_zookeeper([3, 1, 2], faults, steps, duration="50s", release=release)


def zombie_keeps_fetching(
    unheard: str = "40s", lag_ms: int = 30000, *others: dict[str, Any]
) -> Scenario:
    """KAFKA-6880: a follower that hears nothing of two elections goes on fetching.

    Broker 3 has a record of epoch 1 that broker 1 cut from its log when 2 led in epoch 2; then 1
    leads again, and 3 still follows it as in epoch 1.
    """
    faults = [
        crash([2], "5s", "5s"),
        cut("controller:4", "broker:3", "20s", unheard),
        cut("broker:1", "broker:2", "20s", "6s"),
        crash([2], "38s", "22s"),
        *others,
    ]
    steps = [
        produce("21s", acks=1, to=1),
        preferred_election("23s"),
        produce("24s", acks=1, to=2),
        produce("43s"),
    ]
    return _with_zookeeper([2, 1, 3], faults, steps, lag_ms)


def zombie_misses_a_term(lag_ms: int = 30000) -> Scenario:
    """The same, and 3 cannot reach 1 while 2 leads: its first fetch of an old epoch meets a leader.

    It has as many records as 1, and another one at offset 0. After a lag time of 4 s it has left
    the ISR by then. Then 1 dies, and 3 is elected if it is in the ISR.
    """
    unreachable = cut("broker:1", "broker:3", "22500ms", "18s")
    return zombie_keeps_fetching("27s", lag_ms, unreachable, crash([1], "44500ms", "12s"))


def zombie_skips_a_term() -> Scenario:
    """KAFKA-7164: 3 is never told of epoch 2, only of epoch 3, in which 1 leads as in epoch 1.

    A controller repeats its requests until they are answered, so it would tell 3 of both. But it
    dies, and the next one knows epoch 3 only.
    """
    unreachable = cut("broker:1", "broker:3", "22500ms", "25s")
    return zombie_keeps_fetching("40s", 30000, unreachable, crash([4], "42s", "10s"))


def truncates_by_an_earlier_term() -> Scenario:
    """A follower asks its leader of epoch 3, which has not heard of epoch 2 yet.

    Broker 1 and 3 have a record of epoch 1 that 2, leader in epoch 2, never had. The controller's
    requests take 6 s to 1. So 3 hears of epoch 3 and asks 1, which still leads in epoch 1 and has
    the record; then 1 follows 2 and cuts it.
    """
    faults = [
        crash([2], "5s", "5s"),
        cut("broker:1", "broker:2", "20s", "5s"),
        cut("broker:2", "broker:3", "23s", "60s"),
        slow("controller:4", "broker:1", "23500ms", "30s", "6s"),
        {"kind": "pause", "brokers": [2], "at": "25s", "for": "3s"},
        cut("controller:4", "broker:2", "25s", "30s"),
    ]
    steps = [
        produce("21s", acks=1, to=1),
        preferred_election("24s"),
        written("24500ms", 2),
        produce("40s", wait=False),
    ]
    return _with_zookeeper([2, 1, 3], faults, steps, duration="50s")


def three_fast_elections() -> Scenario:
    """KIP-279: brokers 1, 2 and 1 lead in turn, and neither ever fetches from the other.

    Broker 1 has two records of epoch 1, and 2 three of epoch 2, all from offset 0 on. Then 2
    follows 1 in epoch 3: it has to cut all three.
    """
    faults = [
        crash([2], "5s", "5s"),
        cut("broker:1", "broker:2", "20s", "14s"),
        crash([2], "27s", "8s"),
    ]
    steps = [
        written("21s", 1, records=2),
        preferred_election("24s"),
        written("25s", 2, records=3),
        written("30s", 1),
        produce("45s", wait=False),
    ]
    return _with_zookeeper([2, 1], faults, steps)


def high_watermark_lags_behind() -> Scenario:
    """KIP-101, scenario 1, in 2.6: the shipped story of 0.10.2."""
    story = as_written("10-truncation-to-high-watermark") | {"release": "2.6", "checks": {}}
    return scenario_from_mapping(story, "story")


def hears_late_of_a_term() -> Scenario:
    """A follower hears of epoch 2 when its leader of epoch 1 leads again, in epoch 3.

    The controller's requests take 6 s to 3. It has a record of epoch 3 from broker 1, which
    committed it; then it follows 2 in epoch 2, which has not got that record.
    """
    faults = [
        crash([2], "5s", "5s"),
        slow("controller:4", "broker:3", "23500ms", "30s", "6s"),
        {"kind": "pause", "brokers": [2], "at": "25s", "for": "3s"},
        cut("controller:4", "broker:2", "24500ms", "30s"),
        crash([1], "32s", "10s"),
    ]
    steps = [preferred_election("24s"), written("29s", 1), produce("48s", wait=False)]
    return _with_zookeeper([2, 1, 3], faults, steps, duration="55s", release="2.8")


def expansion_is_pending() -> Scenario:
    """The controller has added 2 to the ISR, and its leader does not know yet: 2 is elected."""
    faults = [
        crash([2], "6s", "18s"),
        cut("broker:1", "broker:2", "22s", "6s"),
        slow("controllers", "broker:1", "27500ms", "10s", "5s"),
        cut("broker:1", "broker:2", "32s", "20s"),
    ]
    steps = [
        produce("33s", acks=1, to=1),
        preferred_election("33500ms"),
        produce("50s", wait=False),
    ]
    return _with_kraft([2, 1], faults, steps)


def shrink_is_pending() -> Scenario:
    """A leader has asked to remove 2 from the ISR, which the controller elects before it hears."""
    faults = [
        crash([2], "6s", "12s"),
        slow("broker:1", "controllers", "29s", "15s", "6s"),
        cut("broker:1", "broker:2", "30s", "20s"),
    ]
    steps = [
        written("31s", 1),
        written("37s", 1),
        preferred_election("38s"),
        produce("55s", wait=False),
    ]
    return _with_kraft([2, 1], faults, steps, lag_ms=4000)


def proposal_arrives_late() -> Scenario:
    """A leader asks for an ISR with 2; by the time that it arrives, 2 has left the ISR.

    The controller hears nothing of 2, removes it, and hears of it again. Broker 1 is told of the
    removal, so it commits a record without 2. Its proposal, of before that, takes 6 s.
    """
    faults = [
        crash([3], "6s", "12s"),
        cut("broker:1", "broker:3", "17500ms", "6500ms"),
        {"kind": "pause", "brokers": [2], "at": "19s", "for": "10500ms"},
        cut("broker:1", "broker:2", "19500ms", "30s"),
        slow("broker:1", "controllers", "22s", "25s", "6s"),
        crash([1], "32800ms", "20s"),
    ]
    steps = [produce("29s", wait=False), produce("55s", wait=False)]
    return _with_kraft([1, 2, 3], faults, steps)


def follower_is_behind() -> Scenario:
    """A follower that is back fetches ten of twelve records, and gets no more of them."""
    faults = [
        crash([2], "6s", "14s"),
        slow("broker:1", "broker:2", "19s", "20s", "3s"),
        cut("broker:1", "broker:2", "24500ms", "25s"),
        crash([1], "25s", "20s"),
    ]
    steps = [produce("16s", records=10), produce("22s", records=2)]
    return _with_kraft([2, 1], faults, steps, lag_ms=4000)


def replica_stops_before_it_joins() -> Scenario:
    """A leader asks for an ISR with 3, which stops cleanly before that arrives."""
    faults = [
        crash([3], "6s", "16s"),
        slow("broker:1", "controllers", "22s", "20s", "6s"),
        {"kind": "restart", "brokers": [3], "at": "24500ms", "for": "15s"},
    ]
    return _with_kraft([1, 2, 3], faults, [produce("20s", wait=False)])


def replica_reboots_before_it_joins() -> Scenario:
    """KIP-903: a leader asks for an ISR with 3, which is back without its records as that arrives.

    It stops cleanly, so that it may register at once, and then its machine loses power.
    """
    lost = {"broker": 3, "topic": "story", "partition": 0, "offset": 0}
    faults = [
        crash([3], "6s", "12s"),
        cut("broker:1", "broker:3", "17s", "6s"),
        slow("broker:1", "controllers", "21s", "20s", "5s"),
        {"kind": "restart", "brokers": [3], "at": "26s", "for": "500ms"},
        cut("broker:1", "broker:3", "26s", "30s"),
        {"kind": "power_loss", "brokers": [3], "at": "27s", "for": "1s", "keeps": [lost]},
        crash([1], "36s", "20s"),
    ]
    steps = [produce("20s", wait=False), produce("55s", wait=False)]
    return _with_kraft([1, 3], faults, steps)


def diverging_follower_fetches() -> Scenario:
    """KAFKA-13141: the old leader fetches at the end of a log that it is about to cut.

    It is told so 9 s later, and by then the leader has died with the record that it exposed.
    """
    faults = [
        crash([2], "6s", "12s"),
        cut("broker:1", "broker:2", "25s", "6s"),
        slow("broker:2", "broker:1", "30s", "20s", "9s"),
        crash([2], "38s", "20s"),
    ]
    steps = [
        written("26s", 1),
        preferred_election("29s"),
        written("29500ms", 2),
        produce("55s", wait=False),
    ]
    return _with_kraft([2, 1], faults, steps)


#: A schedule for each ablation that breaks something.
SCHEDULES: dict[str, Callable[[], Scenario]] = {
    "unfenced_fetch": zombie_keeps_fetching,
    "unfenced_high_watermark": zombie_misses_a_term,
    "unfenced_fetch_and_high_watermark": zombie_keeps_fetching,
    "unfenced_truncation": truncates_by_an_earlier_term,
    "expand_without_epoch_start": empty_follower_joins,
    "expand_unfenced": lambda: zombie_misses_a_term(lag_ms=4000),
    "truncate_kip_101": three_fast_elections,
    "truncate_to_high_watermark": high_watermark_lags_behind,
    "no_truncation": three_fast_elections,
    "kip_279_with_epoch_start": zombie_keeps_fetching,
    "kip_279_with_fenced_high_watermark": empty_follower_joins,
    "kip_279_with_fenced_high_watermark_and_expand": zombie_keeps_fetching,
    "first_try": hears_late_of_a_term,
    "first_try_expand_without_epoch_start": lambda: empty_follower_joins("2.8"),
    "restart_on_new_leader": zombie_skips_a_term,
    "restart_on_new_leader_unfenced": zombie_skips_a_term,
    "high_watermark_by_isr_only": expansion_is_pending,
    "high_watermark_by_pending_only": shrink_is_pending,
    "alter_partition_without_version": proposal_arrives_late,
    "expand_below_high_watermark": follower_is_behind,
    "fenced_replica_in_isr": replica_stops_before_it_joins,
    "without_broker_epochs": replica_reboots_before_it_joins,
    "diverging_fetch_counts": diverging_follower_fetches,
    **VOTER_SCHEDULES,
}


def ablated(name: str, scenario: Scenario) -> Scenario:
    """A schedule without the rule of an ablation."""
    assert name in ABLATIONS
    return scenario.model_copy(update={"ablations": (name,)})
