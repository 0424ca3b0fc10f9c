"""Schedules of small KRaft clusters whose controllers fail: a seed draws all of them.

Three or five controllers and a few brokers, 20 to 45 s. Spells of faults follow each other; in each
they hit the same minority of the controllers. Some last spells never end. Beside them brokers fail,
disks are slow, and the operator gives the controllers something to write.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from tidegauge.scenario.reading import Scenario, scenario_from_mapping

RELEASES = ("3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.4")
#: Lower metadata versions than that of the release: no fetch carries the high watermark.
_OLDER_VERSIONS = {"4.0": "3.9", "4.1": "4.1-IV0", "4.4": "4.1-IV0"}

#: A quorum without faults commits something within this time (check ``quorum_progress``).
PROGRESS_S = 10

_STOPS = ("crash", "crash", "crash", "restart", "restart", "power_loss", "power_loss", "pause")
_KINDS = (*_STOPS, "pause", *5 * ["cut_link"], "slow_link", "slow_disk")
#: The kinds of faults that a schedule may have.
FAULT_KINDS = frozenset(_KINDS)


class QuorumSchedule(NamedTuple):
    """A scenario, and the times at which its quorum must have gone on."""

    scenario: Scenario
    #: From a begin on, until when, in seconds: no fault begins or ends, and those that act take a
    #: minority of the controllers away, and no more. They are at least ``PROGRESS_S`` long.
    calm_s: list[tuple[float, float]]


class _Fault(NamedTuple):
    """A fault of a schedule."""

    begin_s: float
    #: Infinite: it lasts until the run ends.
    end_s: float
    #: It takes controllers away wholly, or has nothing to do with them.
    is_plain: bool
    body: dict[str, Any]


def quorum_schedule(seed: int) -> QuorumSchedule:
    """The schedule of a seed."""
    draw = Random(seed)  # noqa: S311  # nothing here is a secret
    count = draw.choice([3, 3, 3, 5])
    brokers = list(range(1, draw.randint(1, 3) + 1))
    release = draw.choice(RELEASES)
    faults = [*_spells(draw, count, brokers)]
    if draw.random() < 0.3:
        faults.append(_broker_fault(draw, brokers))
    if draw.random() < 0.2:
        faults.append(_slow_disks(draw, count))
    times_s = {time_s for fault in faults for time_s in fault[:2] if time_s < float("inf")}
    duration_s = max(10, *times_s) + draw.uniform(1.1, 2.2) * PROGRESS_S
    older = _OLDER_VERSIONS.get(release) if draw.random() < 0.4 else None
    story: dict[str, Any] = {
        "duration": _ms(duration_s),
        "seed": seed,
        "mode": "kraft",
        "release": release,
        "metadata_version": older,
        "liveness": False,
        "cluster": {
            "brokers": len(brokers),
            "start_spread": "1s",
            "settings": {"broker.heartbeat.interval.ms": 500},
        },
        "controllers": {"count": count, "settings": _settings(draw)},
        "topics": [
            {
                "name": "orders",
                "partitions": draw.randint(1, 2),
                "replication_factor": draw.randint(1, len(brokers)),
            }
        ],
        "faults": [fault.body for fault in faults],
        "steps": [*_steps(draw)],
    }
    scenario = scenario_from_mapping(story, f"quorum-{seed}")
    return QuorumSchedule(scenario, [*_calm_s(faults, sorted(times_s), duration_s)])


def _settings(draw: Random) -> dict[str, int]:
    """Settings of the controllers: the defaults, or a quorum that elects sooner."""
    settings = {"broker.session.timeout.ms": draw.choice([2000, 9000])}
    if draw.random() < 0.3:
        settings |= {
            "controller.quorum.fetch.timeout.ms": draw.choice([500, 1000]),
            "controller.quorum.election.timeout.ms": draw.choice([300, 500]),
            "controller.quorum.election.backoff.max.ms": draw.choice([100, 500]),
        }
    return settings


def _spells(draw: Random, count: int, brokers: list[int]) -> Iterator[_Fault]:
    """One spell of faults after the other, each with a minority of its own."""
    begin_s = draw.uniform(2, 4)
    spells = draw.randint(1, 4)
    for spell in range(spells):
        hit = draw.sample(range(count), draw.randint(1, count // 2))
        if spell == 0 and 0 not in hit and draw.random() < 0.6:
            # The leader at the start.
            hit[0] = 0
        length_s = draw.choice([1, 3, 6]) * draw.uniform(0.5, 1.5)
        ends = spell < spells - 1 or draw.random() < 0.6
        for _ in range(draw.randint(1, 3)):
            first_s = begin_s + draw.uniform(0, 0.7) * length_s
            last_s = first_s + draw.uniform(0.05, 1) * (begin_s + length_s - first_s)
            yield _fault(draw, hit, count, brokers, (first_s, last_s if ends else float("inf")))
        begin_s += length_s + draw.choice([0, 0.3, 2]) * draw.uniform(0.5, 1.5)


def _fault(
    draw: Random, hit: list[int], count: int, brokers: list[int], span_s: tuple[float, float]
) -> _Fault:
    """A fault of one controller."""
    one = draw.choice(hit)
    kind = draw.choice(_KINDS)
    body: dict[str, Any] = {"kind": kind}
    is_plain = kind in _STOPS
    if kind in ("cut_link", "slow_link"):
        others = [each for each in range(count) if each != one]
        far = draw.choice([others, others, draw.sample(others, 1), []])
        ends = [[f"controller:{one}"], [f"controller:{each}" for each in far]]
        if not far or draw.random() < 0.4:
            ends[1] += [str(broker) for broker in brokers]
        body["between"] = [[int(end) if end.isdigit() else end for end in side] for side in ends]
        if draw.random() < 0.5:
            body["between"].reverse()
        body["one_way"] = draw.random() < 0.3
        is_plain = kind == "cut_link" and far == others and not body["one_way"]
    else:
        body["brokers"] = [f"controller:{one}"]
    if kind in ("slow_disk", "slow_link"):
        body["delay"] = f"{draw.randint(1, 400)}ms"
    return _placed(body, span_s, is_plain)


def _broker_fault(draw: Random, brokers: list[int]) -> _Fault:
    begin_s = draw.uniform(2, 15)
    body = {"kind": draw.choice(_STOPS), "brokers": [draw.choice(brokers)]}
    return _placed(body, (begin_s, begin_s + draw.uniform(0.1, 6)), is_plain=True)


def _slow_disks(draw: Random, count: int) -> _Fault:
    """Disks of any controllers are slow, which delays commits, and prevents none."""
    begin_s = draw.uniform(2, 15)
    hit = draw.sample(range(count), draw.randint(1, count))
    body = {
        "kind": "slow_disk",
        "brokers": [f"controller:{each}" for each in hit],
        "delay": f"{draw.randint(1, 200)}ms",
    }
    return _placed(body, (begin_s, begin_s + draw.uniform(0.1, 6)), is_plain=False)


def _placed(body: dict[str, Any], span_s: tuple[float, float], is_plain: bool) -> _Fault:
    begin_s, end_s = span_s
    times = {"at": _ms(begin_s)}
    if end_s < float("inf"):
        times["for"] = _ms(end_s - begin_s)
    return _Fault(begin_s, end_s, is_plain, body | times)


def _steps(draw: Random) -> Iterator[dict[str, Any]]:
    """Topics that come and go give the controllers something to write."""
    for begin_s in range(2, 18, 4)[: draw.choice([0, 0, 1, 4])]:
        begin = {"at": _ms(begin_s + draw.uniform(0, 3)), "topic": "orders"}
        yield begin | {"do": "delete_topic"}
        yield {"after": "100ms", "topic": "orders", "do": "create_topic"}


def _calm_s(
    faults: list[_Fault], times_s: list[float], duration_s: float
) -> Iterator[tuple[float, float]]:
    """The spans in which nothing changes, and a majority is up and hears each other."""
    for begin_s, end_s in zip(times_s, [*times_s[1:], duration_s], strict=True):
        acting = [fault for fault in faults if fault.begin_s <= begin_s < fault.end_s]
        if end_s - begin_s >= PROGRESS_S and all(fault.is_plain for fault in acting):
            yield begin_s, end_s


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f}ms"
