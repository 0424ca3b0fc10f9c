"""Fault schedules that a seed draws: clusters, workloads and faults that overlap freely.

All faults are over by :data:`HEALED_S`; then the operator waits until everything has come to
rest, and writes one more record to every partition.
"""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any

from tidegauge.scenario.reading import Scenario, scenario_from_mapping

#: Faults begin from 8 s on; by then they have all ended.
HEALED_S = 70
#: Until then dead sessions have expired, and TCP has sent again what cuts had swallowed.
SETTLED_S = 85
#: So long may it take then until all is well again: supervisors, full ISRs.
WITHIN_S = 60
DURATION_S = 190

PROCESS_FAULTS = ("crash", "power_loss", "restart", "pause")
_KINDS = (
    *(*PROCESS_FAULTS, *PROCESS_FAULTS, "cut_link", "cut_link", "slow_link", "slow_disk"),
    *("zookeeper_outage", "controller_move", "log_directory_failure", "rolling_restart"),
)
#: The kinds of faults that a schedule may have.
FAULT_KINDS = frozenset(_KINDS)


def schedule(seed: int) -> Scenario:
    """The schedule of a seed."""
    draw = Random(seed)  # noqa: S311  # nothing here is a secret
    brokers = list(range(1, draw.randint(3, 5) + 1))
    topics = _topics(draw, brokers)
    faults = [_fault(draw, brokers) for _ in range(draw.randint(3, 9))]
    faults += [repair(fault) for fault in faults if fault["kind"] == "log_directory_failure"]
    story: dict[str, Any] = {
        "duration": f"{DURATION_S}s",
        "seed": seed,
        "release": "2.6",
        "cluster": {
            "brokers": len(brokers),
            "start_spread": "1s",
            "restart_after_exit": "2s",
            "write_back": draw.choice(["5s", "30s"]),
            "log_directories": draw.choice([1, 2, 3]),
            "settings": {
                "zookeeper.session.timeout.ms": draw.choice([2000, 4000, 6000]),
                "replica.lag.time.max.ms": draw.choice([4000, 10000]),
                "num.io.threads": draw.choice([1, 2, 8]),
                "num.replica.fetchers": draw.choice([1, 2]),
                "replica.socket.timeout.ms": 5000,
                "controller.socket.timeout.ms": 5000,
                "controlled.shutdown.retry.backoff.ms": 1000,
                "replica.high.watermark.checkpoint.interval.ms": draw.choice([1000, 5000]),
                "log.flush.offset.checkpoint.interval.ms": 20000,
            },
        },
        "zookeeper": {"tick_ms": draw.choice([500, 1000])},
        "topics": topics,
        "workload": workload(draw, [topic["name"] for topic in topics]),
        "faults": faults,
        "steps": _last_words(topics),
    }
    return scenario_from_mapping(story, f"schedule-{seed}")


def clean_but_far_apart(seed: int, protocol: str) -> Scenario:
    """A schedule without unclean elections and losses of power, and 400 ms between brokers.

    A follower that has truncated is without those records for most of a second.
    """
    story = schedule(seed).resolved()
    for topic in story["topics"]:
        topic["settings"]["unclean.leader.election.enable"] = False
    # What takes brokers away kills them here, which parts logs soonest.
    story["faults"] = [
        {name: fault[name] for name in ("name", "at", "for", "brokers") if name in fault}
        | {"kind": "crash"}
        if fault["kind"] in {"power_loss", "restart", "log_directory_failure", "rolling_restart"}
        else fault
        for fault in story["faults"]
    ]
    far = {"kind": "slow_link", "at": "5s", "for": "65s", "delay": "400ms"}
    pairs = combinations(story["cluster"]["brokers"], 2)
    story["faults"] += [
        far | {"between": [[f"broker:{one}"], [f"broker:{other}"]]} for one, other in pairs
    ]
    return scenario_from_mapping(story | {"protocol": protocol}, f"far-{seed}")


def _topics(draw: Random, brokers: list[int]) -> list[dict[str, Any]]:
    """One or two topics with up to twelve partitions together, on brokers drawn for each."""
    topics = []
    for number in range(draw.randint(1, 2)):
        factor = draw.choice([1, 2, 3, 3])
        topics.append(
            {
                "name": f"topic-{number}",
                "assignment": {
                    partition: draw.sample(brokers, factor)
                    for partition in range(draw.randint(1, 6))
                },
                "settings": {
                    "min.insync.replicas": draw.randint(1, max(1, factor - 1)),
                    "unclean.leader.election.enable": draw.random() < 0.3,
                },
            }
        )
    return topics


def workload(draw: Random, topics: list[str]) -> dict[str, Any]:
    """One or two producers, and a consumer, of all topics."""
    producers = [
        {
            "name": f"shop-{acks}",
            "topics": topics,
            "start": "3s",
            "stop": f"{HEALED_S}s",
            "batches_per_second": draw.randint(1, 8),
            "records_per_batch": draw.randint(1, 5),
            "settings": {"acks": acks, "request.timeout.ms": 3000, "delivery.timeout.ms": 20000},
        }
        for acks in ("all", 1)[: draw.randint(1, 2)]
    ]
    return {"producers": producers, "consumers": [{"name": "billing", "topics": topics}]}


def _fault(draw: Random, brokers: list[int]) -> dict[str, Any]:
    """A fault of any kind that is over when everything is to heal."""
    begin_s = draw.uniform(8, HEALED_S - 15)
    length_s = min(draw.choice([0.3, 2.0, 8.0, 25.0]) * draw.uniform(0.5, 1.5), HEALED_S - begin_s)
    fault: dict[str, Any] = {"at": f"{begin_s * 1000:.0f}ms", "for": f"{length_s * 1000:.0f}ms"}
    kind = draw.choice(_KINDS)
    fault["kind"] = kind
    if kind in (*PROCESS_FAULTS, "slow_disk", "log_directory_failure", "rolling_restart"):
        fault["brokers"] = draw.sample(brokers, draw.choice([1, 1, 1, 2, len(brokers)]))
    if kind in ("slow_disk", "slow_link"):
        fault["delay"] = f"{draw.randint(1, 400)}ms"
    if kind == "slow_disk" and draw.random() < 0.5:
        fault["delay"] = {"min": "1ms", "p50": "5ms", "p99": fault["delay"]}
    if kind in ("cut_link", "slow_link"):
        fault["between"] = _ends(draw, brokers)
        fault["one_way"] = draw.random() < 0.3
    if kind == "zookeeper_outage":
        fault["how"] = draw.choice(["pause", "restart"])
    if kind == "controller_move":
        del fault["for"]
    if kind == "log_directory_failure":
        fault["how"] = draw.choice(["failed", "full"])
    if kind == "rolling_restart":
        fault |= roll(draw)
    return fault


def roll(draw: Random) -> dict[str, Any]:
    """What is drawn of a rolling restart beside its time and its brokers."""
    return {
        "batch": draw.choice([1, 1, 2]),
        "stopped_for": draw.choice(["100ms", "2s"]),
        "pause": draw.choice(["0s", "1s"]),
        "poll": "500ms",
        "timeout": "10s",
        "wait_for_full_isr": draw.random() < 0.7,
        "on_timeout": draw.choice(["stop", "go_on"]),
        "leadership_back": draw.choice(["none", "after_each_batch", "at_end"]),
    }


def repair(failure: dict[str, Any]) -> dict[str, Any]:
    """A log directory that works again is used from the next start of its broker on."""
    begins_ms, lasts_ms = (int(failure[field].removesuffix("ms")) for field in ("at", "for"))
    restart = {"kind": "restart", "at": f"{begins_ms + lasts_ms + 100}ms", "for": "1s"}
    return restart | {"brokers": failure["brokers"]}


def _ends(draw: Random, brokers: list[int]) -> list[list[int | str]]:
    """The two sides of a cut: brokers on the one, brokers, ZooKeeper or clients on the other."""
    drawn = draw.sample(brokers, draw.randint(1, len(brokers) - 1))
    others: list[int | str] = [broker for broker in brokers if broker not in drawn]
    choices: list[list[int | str]] = [others, others, ["zookeeper"], ["zookeeper", *others]]
    return [[*drawn], draw.choice([*choices, ["clients"]])]


def _last_words(topics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Wait until all is well, let preferred replicas lead, and write to every partition."""
    quiescent = {"when": {"quiescent": True}, "within": f"{WITHIN_S}s"}
    first, *others = [
        {"do": "produce", "topic": topic["name"], "partition": partition}
        for topic in topics
        for partition in topic["assignment"]
    ]
    return [
        {"at": f"{SETTLED_S}s", "do": "preferred_election"},
        quiescent | {"do": "preferred_election"},
        quiescent | first,
        *({"after": "0s"} | other for other in others),
    ]
