"""Schedules of small clusters with producers that retry: a seed draws all of them.

Three or four brokers, one topic with a few partitions, one to three producers with acks=all that
never give up. Faults hit brokers and links until 25 s; producers stop at 30 s, and everything has
come to rest in the end. A schedule loses no record that was acknowledged, unless the seed lets a
leader be elected uncleanly.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tidegauge.scenario.reading import Scenario, scenario_from_mapping

#: Producers that are idempotent if they are asked to be, of all generations.
RELEASES = ("1.1", "2.1", "2.4", "2.6", "2.8", "3.6", "3.9", "4.1", "4.4")
_HEALED_S = 25
_DURATION = "75s"

_STOPS = ("crash", "crash", "restart", "pause", "pause")
_KINDS = (*_STOPS, *_STOPS, "cut_link", "cut_link", "slow_link", "slow_disk")
#: The kinds of faults that a schedule may have.
FAULT_KINDS = frozenset(_KINDS)


def producer_schedule(seed: int, *, idempotent: bool) -> Scenario:
    """The schedule of a seed, with producers that are idempotent or, as its twin, are not."""
    draw = Random(seed)  # noqa: S311  # nothing here is a secret
    brokers = list(range(1, draw.randint(3, 4) + 1))
    partitions = draw.randint(1, 4)
    release = draw.choice(RELEASES)
    loses = draw.random() < 0.3
    # Without a loss all replicas that can lead have what is acknowledged.
    settings = {
        "min.insync.replicas": draw.choice([1, 1, 2]),
        "unclean.leader.election.enable": loses,
    }
    producers = [_producer(draw, number, idempotent) for number in range(draw.randint(1, 3))]
    faults = [_fault(draw, brokers) for _ in range(draw.randint(2, 6))]
    story: dict[str, Any] = {
        "duration": _DURATION,
        "seed": seed,
        "release": release,
        "liveness": False,
        "cluster": {
            "brokers": len(brokers),
            "start_spread": "1s",
            "settings": {
                "replica.lag.time.max.ms": draw.choice([2000, 6000]),
                "replica.socket.timeout.ms": 4000,
                "replica.fetch.max.bytes": draw.choice([1000, 1048576]),
                **_session(draw, release),
            },
        },
        "topics": [
            {
                "name": "orders",
                "assignment": {
                    partition: draw.sample(brokers, 3) for partition in range(partitions)
                },
                "settings": settings,
            }
        ],
        "workload": {"producers": producers},
        "faults": faults,
    }
    return scenario_from_mapping(story, f"producers-{seed}")


def _session(draw: Random, release: str) -> dict[str, int]:
    """How soon a broker that is silent leads no more."""
    timeout_ms = draw.choice([2000, 4000])
    if release in ("3.9", "4.1", "4.4"):
        return {"broker.heartbeat.interval.ms": 500}
    return {"zookeeper.session.timeout.ms": timeout_ms}


def _producer(draw: Random, number: int, idempotent: bool) -> dict[str, Any]:
    return {
        "name": f"shop-{number}",
        "topics": ["orders"],
        "start": "3s",
        "stop": "30s",
        "batches_per_second": draw.choice([5, 40, 150]),
        "records_per_batch": draw.randint(1, 3),
        "settings": {
            "acks": "all",
            "enable.idempotence": idempotent,
            "retries": 2**31 - 1,
            "max.in.flight.requests.per.connection": draw.choice([1, 2, 5, 5]),
            "request.timeout.ms": draw.choice([700, 2000, 30000]),
            "linger.ms": draw.choice([0, 0, 5, 30]),
            "retry.backoff.ms": draw.choice([20, 100]),
        },
    }


def _fault(draw: Random, brokers: list[int]) -> dict[str, Any]:
    """A fault that is over when everything is to heal."""
    begin_s = draw.uniform(4, _HEALED_S - 2)
    length_s = min(draw.choice([0.05, 0.8, 3.0, 9.0]) * draw.uniform(0.5, 1.5), _HEALED_S - begin_s)
    kind = draw.choice(_KINDS)
    fault: dict[str, Any] = {
        "kind": kind,
        "at": f"{begin_s * 1000:.0f}ms",
        "for": f"{length_s * 1000:.0f}ms",
    }
    if kind in (*_STOPS, "slow_disk"):
        fault["brokers"] = draw.sample(brokers, draw.choice([1, 1, 2]))
    else:
        sides = draw.sample(brokers, 2)
        other: list[int | str] = draw.choice([[sides[1]], ["clients"], ["clients"]])
        fault["between"] = [[sides[0]], other]
        fault["one_way"] = draw.random() < 0.4
    if kind in ("slow_disk", "slow_link"):
        fault["delay"] = f"{draw.randint(1, 900)}ms"
    return fault
