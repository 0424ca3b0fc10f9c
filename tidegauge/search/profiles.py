"""Profiles: the clusters on which schedules are tried, drawn one after the other.

A campaign tries its schedules on many clusters. They have the release and the size that the
campaign asks for; the rest is drawn: latencies, timeouts, min.insync.replicas, the order of the
assignment, the costs of a start. Times are short, so that what takes a minute in production happens
within a second, and many schedules are run.

To add a fault to what is drawn: a line of :func:`_faults`, in a family of its own if it should be
absent from half of the runs. To add a step or a pin: a line of :func:`_steps` or :func:`_pins`.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations
from random import Random
from typing import Any, NamedTuple

from tidegauge.engine.fuzzing.fuzzed_cluster import Profile
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE, Mode, Release
from tidegauge.simulation.quantities import format_duration

_MS = 1_000
#: The cluster is up by then; deviations last so long, and the run so long after them.
_UP_US = 2_000 * _MS
_WINDOWS_MS = (2_000, 3_000, 5_000)
_AFTER_MS = 1_500
#: ... if it has to recover by itself: sessions expire, and followers come back.
_RECOVERY_MS = 15_000

#: The first release in which leaders ask the active controller for another ISR, with ZooKeeper.
_FIRST_TO_ASK = Release.parse("2.7.0")

#: Of so many clusters one has to recover, and one keeps its faults to the end.
_OF_CLUSTERS = 8
_RECOVERS = 3
_KEEPS_FAULTS = 6

#: Parts of the clusters that elect leaders uncleanly, and in which fetches are held: those are
#: slower, as no fetch is computed.
_IS_UNCLEAN = 0.1
_FETCHES_ARE_HELD = 0.3

_TOPIC = "story"

#: A family of faults, and its faults without times.
Faults = dict[str, list[dict[str, Any]]]


class FuzzedKind(NamedTuple):
    """The clusters that a campaign asks for."""

    mode: Mode
    release: str
    brokers: int = 3
    partitions: int = 1
    #: Rules that are taken away, by their names.
    ablations: Sequence[str] = ()
    #: The number of kinds that a campaign has, one after the other.
    in_turn: int = 1
    #: The voters of its quorum change; it has one broker (``voter_profiles.py``).
    changes_voters: bool = False


def drawn_profile(kind: FuzzedKind, seed: int, number: int) -> Profile:
    """The cluster of a number in the campaign of a seed."""
    draw = Random(f"{seed} {number}")  # noqa: S311 - nothing here is a secret
    window_ms = draw.choice(_WINDOWS_MS)
    role = number // kind.in_turn % _OF_CLUSTERS
    recovers = role == _RECOVERS
    after_ms = _RECOVERY_MS if recovers else _AFTER_MS
    end_us = _UP_US + window_ms * _MS
    timeout_ms = draw.choice([500, 2_000])
    scenario: dict[str, Any] = {
        "name": f"fuzz-{kind.release}-{seed}-{number}",
        "duration": format_duration(end_us + after_ms * _MS),
        "seed": draw.randrange(2**31),
        "liveness": recovers,
        "release": kind.release,
        "mode": kind.mode,
        **({"ablations": [*kind.ablations]} if kind.ablations else {}),
        **_cluster(kind, timeout_ms, draw),
        "network": drawn_network(draw, recovers=recovers),
        "sample_every": format_duration(end_us + after_ms * _MS),
        "steps": [
            {"at": "1900ms", **_produced(0), "wait": False},
            {"at": format_duration(_UP_US), "do": "wait"},
        ],
    }
    settings = scenario["cluster"]["settings"]
    return Profile(
        scenario=scenario,
        begin_us=_UP_US,
        end_us=end_us,
        faults=_faults(kind),
        steps=[*_steps(kind)],
        pins=[*_pins(kind, settings, fetches=draw.random() < _FETCHES_ARE_HELD)],
        heals=recovers or role != _KEEPS_FAULTS,
        has_to_recover=recovers,
        most_faults=draw.choice([2, 3, 4, 6]),
        most_steps=draw.choice([3, 5, 8]),
        most_pins=draw.choice([0, 1, 2, 3]),
        priority_percent=draw.choice([0, 0, 30]),
        priority_family="slow links",
        gates={"acknowledged": 1, "elections": 1},
    )


def _cluster(kind: FuzzedKind, timeout_ms: int, draw: Random) -> dict[str, Any]:
    """The brokers and their control plane, with the topic."""
    ids = [*range(1, kind.brokers + 1)]
    session_ms = draw.choice([600, 1_000, 2_000])
    settings: dict[str, Any] = {
        "replica.lag.time.max.ms": draw.choice([500, 1_000, 2_000]),
        "replica.fetch.wait.max.ms": draw.choice([50, 200, 500]),
        "replica.high.watermark.checkpoint.interval.ms": draw.choice([200, 1_000, 5_000]),
        "replica.socket.timeout.ms": timeout_ms,
        "controller.socket.timeout.ms": timeout_ms,
    }
    topic = {
        "name": _TOPIC,
        "assignment": {
            partition: draw.sample(ids, len(ids)) for partition in range(kind.partitions)
        },
        "settings": {
            "min.insync.replicas": draw.randint(1, kind.brokers - 1),
            "unclean.leader.election.enable": draw.random() < _IS_UNCLEAN,
        },
    }
    cluster: dict[str, Any] = {
        "brokers": kind.brokers,
        "start_spread": "0s",
        "restart_after_exit": "200ms",
        "write_back": draw.choice(["500ms", "30s"]),
        "settings": settings,
    }
    parts: dict[str, Any] = {"cluster": cluster, "topics": [topic]}
    if kind.mode == KRAFT_MODE:
        settings["broker.heartbeat.interval.ms"] = session_ms // 4
        parts["controllers"] = {
            "count": draw.choice([1, 1, 3]),
            "settings": {"broker.session.timeout.ms": session_ms},
        }
    else:
        settings["zookeeper.session.timeout.ms"] = session_ms
        parts["zookeeper"] = {"tick_ms": session_ms // 5}
    slow = ["broker_start", "broker_stop"]
    if kind.mode == ZOOKEEPER_MODE:
        slow.append("broker_ready")
    parts["costs"] = dict.fromkeys(slow, draw.choice(["20ms", "200ms"]))
    return parts


def drawn_network(draw: Random, *, recovers: bool) -> dict[str, Any]:
    """The latencies of the links."""
    latencies = ["200us", "1ms", "5ms", "20ms"]
    return {
        "within_rack": draw.choice(latencies),
        "between_racks": draw.choice(latencies),
        "clients": draw.choice(latencies),
        "within_host": draw.choice(["20us", "2ms"]),
        "retransmission_after_cut": "50ms" if recovers else draw.choice(["50ms", "400ms"]),
    }


def _faults(kind: FuzzedKind) -> Faults:
    """The faults that may happen, by their families."""
    ids = range(1, kind.brokers + 1)
    pairs = [([f"broker:{one}"], [f"broker:{other}"]) for one, other in permutations(ids, 2)]
    unordered = [([f"broker:{one}"], [f"broker:{other}"]) for one, other in combinations(ids, 2)]
    faults: Faults = {
        "crashes": [{"kind": "crash", "brokers": [each]} for each in ids],
        "losses of power": [
            *({"kind": "power_loss", "brokers": [each]} for each in ids),
            {"kind": "power_loss", "brokers": [*ids]},
        ],
        "restarts": [{"kind": "restart", "brokers": [each]} for each in ids],
        "pauses": [{"kind": "pause", "brokers": [each]} for each in ids],
        "cuts": [
            *({"kind": "cut_link", "between": [*pair]} for pair in unordered),
            *({"kind": "cut_link", "between": [*pair], "one_way": True} for pair in pairs),
        ],
        "slow links": [
            {"kind": "slow_link", "between": [*pair], "one_way": True, "delay": delay}
            for pair in pairs
            for delay in ("20ms", "100ms", "400ms", "1500ms")
        ],
    }
    return faults | (_kraft_faults(ids) if kind.mode == KRAFT_MODE else _zookeeper_faults(ids))


def _zookeeper_faults(ids: Sequence[int]) -> Faults:
    others = {each: [f"controller:{one}" for one in ids if one != each] for each in ids}
    return {
        "cuts from ZooKeeper": [
            *({"kind": "cut_link", "between": [[each], ["zookeeper"]]} for each in ids),
            {"kind": "zookeeper_outage"},
        ],
        "cuts from controllers": [
            {"kind": "cut_link", "between": [[f"broker:{each}"], others[each]]} for each in ids
        ],
        "moves of the controller": [{"kind": "controller_move"}],
    }


def _kraft_faults(ids: Sequence[int]) -> Faults:
    controllers = ["controllers"]
    return {
        "cuts from controllers": [
            *(
                {"kind": "cut_link", "between": [[f"broker:{each}"], controllers], "one_way": way}
                for each in ids
                for way in (True, False)
            ),
            *(
                {"kind": "cut_link", "between": [controllers, [f"broker:{each}"]], "one_way": True}
                for each in ids
            ),
        ],
        "pauses of controllers": [
            {"kind": "pause", "brokers": controllers},
            {"kind": "crash", "brokers": ["controller:0"]},
        ],
    }


def _produced(partition: int) -> dict[str, Any]:
    return {"do": "produce", "topic": _TOPIC, "partition": partition, "records": 1}


def _steps(kind: FuzzedKind) -> Iterator[dict[str, Any]]:
    """The steps that the operator may take; one that stands here twice is twice as likely."""
    for partition in range(kind.partitions):
        for _ in range(3):
            yield {**_produced(partition), "wait": False}
        yield {**_produced(partition), "wait": False, "acks": 1}
        # As a client with old metadata.
        for broker in range(1, kind.brokers + 1):
            yield {**_produced(partition), "wait": False, "to": broker}
    for _ in range(3):
        yield {"do": "preferred_election"}


def _pins(
    kind: FuzzedKind, settings: Mapping[str, Any], *, fetches: bool
) -> Iterator[dict[str, Any]]:
    """The messages that may be held; a duplicate is what a sender repeats on a new connection.

    A request is held for less than its timeout: its sender sends the next one after the response,
    or gives it up with the connection.
    """
    timely = _within(settings["controller.socket.timeout.ms"])
    for broker in [f"broker:{each}" for each in range(1, kind.brokers + 1)]:
        if kind.mode == KRAFT_MODE:
            yield {"hold": "RAFT_FETCH_RESPONSE", "to": broker}
            # Its timeout from 3.9.2 on; in earlier releases it is longer.
            beat = _within(settings["broker.heartbeat.interval.ms"])
            yield {"hold": "BROKER_HEARTBEAT", "from": broker, **beat}
        else:
            yield {"hold": "LEADER_AND_ISR", "to": broker, **timely}
            yield {"duplicate": "LEADER_AND_ISR", "to": broker, **timely}
            yield {"hold": "UPDATE_METADATA", "to": broker, **timely}
        if kind.mode == KRAFT_MODE or Release.parse(kind.release) >= _FIRST_TO_ASK:
            yield {"hold": "ALTER_PARTITION", "from": broker}
            yield {"hold": "ALTER_PARTITION_RESPONSE", "to": broker}
        yield {"hold": "EPOCH_RESPONSE", "to": broker}
    if fetches:
        for one, other in permutations(range(1, kind.brokers + 1), 2):
            ends = {"from": f"broker:{one}", "to": f"broker:{other}"}
            yield {"hold": "FETCH", **ends, **timely}
            yield {"hold": "FETCH_RESPONSE", **ends}


def _within(timeout_ms: int) -> dict[str, str]:
    """The time for which a request with a timeout is held."""
    return {"for": f"{timeout_ms * 4 // 5}ms"}
