"""Schedules of a KRaft cluster that a seed draws: releases, topics, faults, an operator at work.

As in ``fault_schedules.py`` all faults are over by ``HEALED_S``. Meanwhile the operator deletes,
creates, moves and configures topics, and holds elections. In the end it waits until all is at rest,
and writes one more record to every partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from fault_schedules import (
    DURATION_S,
    HEALED_S,
    PROCESS_FAULTS,
    SETTLED_S,
    WITHIN_S,
    repair,
    roll,
    workload,
)
from tidegauge.scenario.reading import Scenario, scenario_from_mapping

#: Those of today more often than the earlier ones.
RELEASES = (
    *("3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1"),
    *("4.0", "4.1", "4.1", "4.4", "4.4", "4.4"),
)
#: Metadata versions; the first internal versions of 4.0 and 4.1 know ELR, the last one of 4.1
#: that a fetch carries the high watermark, and that of 4.3 cordoned directories.
VERSIONS = (
    *("3.3", "3.5-IV1", "3.6-IV0", "3.7-IV2", "3.9", "4.0-IV1", "4.1-IV0", "4.1-IV1"),
    "4.3-IV0",
)
#: From here on a broker of a KRaft cluster may have several log directories.
_FIRST_WITH_DIRECTORIES = "3.7"
_FIRST_WITH_UNCLEAN_INTERVAL = "3.9"

_CLUSTER_FAULTS = (
    *("cut_link", "cut_link", "cut_link", "slow_link", "slow_disk"),
    *("log_directory_failure", "rolling_restart", "rack_power_loss"),
)
_CONTROLLER_FAULTS = (
    *("crash", "crash", "restart", "power_loss", "pause", "pause"),
    *("cut_link", "cut_link", "slow_link", "slow_disk"),
)
#: The kinds of faults that a schedule may have; that of a rack is a loss of power.
FAULT_KINDS = frozenset((*PROCESS_FAULTS, *_CLUSTER_FAULTS)) - {"rack_power_loss"}
_OPERATIONS = (
    *("preferred_election", "unclean_election", "configure", "configure"),
    *("recreate", "reassign", "reassign", "cancel"),
)


def kraft_schedule(seed: int) -> Scenario:
    """The schedule of a seed."""
    return scenario_from_mapping(_story(seed), f"kraft-{seed}")


def _story(seed: int) -> dict[str, Any]:
    draw = Random(seed)  # noqa: S311  # nothing here is a secret
    brokers = list(range(1, draw.randint(3, 7) + 1))
    racks = draw.choice([["a"], ["a", "b"], ["a", "b", "c"]])
    # A broker whose heartbeats are a session apart is fenced again and again.
    session_ms, heartbeat_ms = draw.choice([(2000, 300), (4000, 1000), (9000, 2000)])
    topics = [_topic(draw, number, brokers) for number in range(draw.randint(1, 3))]
    versions = _versions(draw)
    directories = draw.choice([1, 2]) if versions["release"] >= _FIRST_WITH_DIRECTORIES else 1
    faults = [_fault(draw, brokers, racks) for _ in range(draw.randint(3, 9))]
    faults += [repair(fault) for fault in faults if fault["kind"] == "log_directory_failure"]
    quorum = _quorum(draw, racks, faults)
    if not quorum["racks"]:
        faults += _controller_faults(draw, quorum["count"], brokers)
    controllers: dict[str, Any] = {
        "broker.session.timeout.ms": session_ms,
        "leader.imbalance.check.interval.seconds": draw.choice([5, 300]),
    }
    if versions["release"] >= _FIRST_WITH_UNCLEAN_INTERVAL:
        controllers["unclean.leader.election.interval.ms"] = 10_000
    operations = _operations(draw, topics, brokers)
    story = {
        "duration": f"{DURATION_S}s",
        "seed": seed,
        "mode": "kraft",
        **versions,
        "controllers": quorum | {"settings": controllers},
        "cluster": {
            "brokers": len(brokers),
            "racks": racks,
            "start_spread": "1s",
            "restart_after_exit": "2s",
            "write_back": draw.choice(["5s", "30s"]),
            "log_directories": directories,
            "settings": {
                "broker.heartbeat.interval.ms": heartbeat_ms,
                "replica.lag.time.max.ms": draw.choice([4000, 10000]),
                "num.io.threads": draw.choice([1, 2, 8]),
                "num.replica.fetchers": draw.choice([1, 2]),
                "replica.socket.timeout.ms": 5000,
                "replica.high.watermark.checkpoint.interval.ms": draw.choice([1000, 5000]),
                "log.flush.offset.checkpoint.interval.ms": 20000,
            },
        },
        "topics": topics,
        "workload": workload(draw, [topic["name"] for topic in topics]),
        "faults": faults,
    }
    return story | {"steps": [*operations, *_last_words(story, operations)]}


def _versions(draw: Random) -> dict[str, Any]:
    """A release with a metadata version that it knows, and ELR where the two have it."""
    release = draw.choice(RELEASES)
    known = [version for version in VERSIONS if version[:3] <= release]
    versions: dict[str, Any] = {
        "release": release,
        "metadata_version": draw.choice([*known, *4 * [None]]),
    }
    newest = versions["metadata_version"] or release
    if newest >= "4.0":
        versions["eligible_leader_replicas"] = draw.random() < 0.7
    return versions


def _topic(draw: Random, number: int, brokers: list[int]) -> dict[str, Any]:
    factor = min(len(brokers), draw.choice([2, 3, 3, 4]))
    return {
        "name": f"topic-{number}",
        "assignment": {
            partition: draw.sample(brokers, factor) for partition in range(draw.randint(1, 5))
        },
        "settings": {
            "min.insync.replicas": draw.randint(1, min(3, factor)),
            "unclean.leader.election.enable": draw.random() < 0.3,
        },
    }


def _fault(draw: Random, brokers: list[int], racks: list[str]) -> dict[str, Any]:
    """A fault of any kind that is over when everything is to heal."""
    begin_s = draw.uniform(8, HEALED_S - 15)
    length_s = min(draw.choice([0.3, 2.0, 8.0, 25.0]) * draw.uniform(0.5, 1.5), HEALED_S - begin_s)
    fault: dict[str, Any] = {"at": f"{begin_s * 1000:.0f}ms", "for": f"{length_s * 1000:.0f}ms"}
    kind = draw.choice([*PROCESS_FAULTS, *PROCESS_FAULTS, *_CLUSTER_FAULTS])
    if kind == "rack_power_loss":
        return fault | {"kind": "power_loss", "brokers": [f"rack:{draw.choice(racks)}"]}
    fault["kind"] = kind
    if kind in ("cut_link", "slow_link"):
        fault["between"] = _ends(draw, brokers)
        fault["one_way"] = draw.random() < 0.3
    else:
        fault["brokers"] = draw.sample(brokers, draw.choice([1, 1, 1, 2, len(brokers)]))
    if kind in ("slow_disk", "slow_link"):
        fault["delay"] = f"{draw.randint(1, 400)}ms"
    if kind == "log_directory_failure":
        fault["how"] = draw.choice(["failed", "full"])
    if kind == "rolling_restart":
        fault |= roll(draw)
    return fault


def _quorum(draw: Random, racks: list[str], faults: list[dict[str, Any]]) -> dict[str, Any]:
    """The controllers; they stand in racks if no more than one of three racks loses its power."""
    count = draw.choice([1, 3, 3, 5])
    lost = sum(fault["kind"] == "power_loss" for fault in faults)
    in_racks = count == len(racks) == 3 and lost <= 1
    return {"count": count, "racks": racks if in_racks and draw.random() < 0.5 else []}


def _controller_faults(draw: Random, count: int, brokers: list[int]) -> list[dict[str, Any]]:
    """Faults of controllers: at each time they hit the same minority, if any.

    One spell of faults follows the other, each with controllers of its own.
    """
    faults: list[dict[str, Any]] = []
    spells = draw.randint(0, 3) if count > 1 else 0
    length_s = (HEALED_S - 23) / max(1, spells)
    for spell in range(spells):
        hit = [f"controller:{each}" for each in draw.sample(range(count), count // 2)]
        others = [f"controller:{each}" for each in range(count)]
        others = [each for each in others if each not in hit]
        for _ in range(draw.randint(1, 3)):
            begin_s = 8 + length_s * (spell + draw.uniform(0, 0.7))
            most_s = 8 + length_s * (spell + 1) - begin_s
            lasts_s = min(draw.choice([0.3, 2.0, 8.0, 25.0]) * draw.uniform(0.5, 1.5), most_s)
            fault: dict[str, Any] = {
                "at": f"{begin_s * 1000:.0f}ms",
                "for": f"{lasts_s * 1000:.0f}ms",
                "kind": draw.choice(_CONTROLLER_FAULTS),
            }
            if fault["kind"] in ("cut_link", "slow_link"):
                ends = [[draw.choice(hit)], draw.choice([others, [*brokers], [*others, *brokers]])]
                fault["between"] = ends if draw.random() < 0.5 else ends[::-1]
                fault["one_way"] = draw.random() < 0.3
            else:
                fault["brokers"] = [draw.choice(hit)]
            if fault["kind"] in ("slow_disk", "slow_link"):
                fault["delay"] = f"{draw.randint(1, 400)}ms"
            faults.append(fault)
    return faults


def _ends(draw: Random, brokers: list[int]) -> list[list[int | str]]:
    """The two sides of a cut: brokers on the one, brokers, controllers, clients on the other."""
    if draw.random() < 0.1:
        return [["controllers"], ["clients"]]
    drawn = draw.sample(brokers, draw.randint(1, len(brokers) - 1))
    others: list[int | str] = [broker for broker in brokers if broker not in drawn]
    choices: list[list[int | str]] = [others, ["controllers"], ["controllers", *others]]
    sides: list[list[int | str]] = [[*drawn], draw.choice([*choices, ["clients"]])]
    return sides if draw.random() < 0.5 else sides[::-1]


def _operations(
    draw: Random, topics: list[dict[str, Any]], brokers: list[int]
) -> list[dict[str, Any]]:
    """Up to eight things that the operator does while faults act."""
    steps = []
    for second in sorted(draw.uniform(8, HEALED_S) for _ in range(draw.randint(0, 8))):
        topic = draw.choice(topics)
        steps += _operation(draw, topic, brokers, {"at": f"{second * 1000:.0f}ms"})
    return steps


def _operation(
    draw: Random, topic: dict[str, Any], brokers: list[int], begin: dict[str, str]
) -> list[dict[str, Any]]:
    kind = draw.choice(_OPERATIONS)
    name = {"topic": topic["name"]}
    partition = draw.choice([*topic["assignment"]])
    replicas = topic["assignment"][partition]
    if kind == "preferred_election":
        return [begin | {"do": kind}]
    if kind == "unclean_election":
        return [begin | name | {"do": kind, "partition": partition}]
    if kind == "configure":
        settings = {
            "min.insync.replicas": draw.randint(1, min(3, len(replicas))),
            "unclean.leader.election.enable": draw.random() < 0.3,
        }
        drawn = draw.choice([*settings])
        return [begin | name | {"do": kind, "settings": {drawn: settings[drawn]}}]
    if kind == "recreate":
        pause = {"after": f"{draw.choice([0, 100, 5000])}ms"}
        return [begin | name | {"do": "delete_topic"}, pause | name | {"do": "create_topic"}]
    move: dict[str, Any] = name | {"partition": partition}
    if kind == "reassign":
        move["replicas"] = draw.sample(brokers, len(replicas))
    return [begin | {"do": "alter_reassignments", "partitions": [move]}]


def _last_words(story: dict[str, Any], operations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Repair what Kafka leaves broken, wait until all is well, and write to every partition."""
    topics = story["topics"]
    within = {"within": f"{WITHIN_S}s"}
    registered = {"registered": [*range(1, story["cluster"]["brokers"] + 1)]}
    reassigned = {"when": {"reassigned": True}, **within, "do": "wait"}
    moves = any(step["do"] == "alter_reassignments" for step in operations)
    quiescent = {"when": {"quiescent": True}, **within}
    first, *others = [
        {"do": "produce", "topic": topic["name"], "partition": partition}
        for topic in topics
        for partition in topic["assignment"]
    ]
    return [
        {"at": f"{SETTLED_S}s", "do": "wait"},
        {"when": registered, **within, "do": "wait"},
        *({"after": "0s"} | repair for repair in _repairs(story, operations)),
        *([reassigned] if moves else []),
        quiescent | {"do": "preferred_election"},
        quiescent | first,
        *({"after": "0s"} | other for other in others),
    ]


def _repairs(story: dict[str, Any], operations: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The steps with which an operator ends states that Kafka does not leave by itself.

    The creation of a topic fails while none of a partition's brokers is live. Before 3.8 a
    reassignment that took the place of another one may never end (KAFKA-15665). Another
    min.insync.replicas, and 4.0 with a last known leader that is fenced (KAFKA-19522), leave
    partitions of which no replica may be elected cleanly.
    """
    for topic in sorted({step["topic"] for step in operations if step["do"] == "delete_topic"}):
        yield {"do": "delete_topic", "topic": topic}
        yield {"do": "create_topic", "topic": topic}
    moved = {
        (move["topic"], move["partition"])
        for step in operations
        if step["do"] == "alter_reassignments"
        for move in step["partitions"]
    }
    if moved and story["release"] < "3.8":
        cancelled = [{"topic": topic, "partition": number} for topic, number in sorted(moved)]
        yield {"do": "alter_reassignments", "partitions": cancelled}
    clears = any("min.insync.replicas" in step.get("settings", {}) for step in operations)
    if story.get("eligible_leader_replicas") and (clears or story["release"] == "4.0"):
        for topic in story["topics"]:
            for partition in topic["assignment"]:
                yield {"do": "unclean_election", "topic": topic["name"], "partition": partition}
