"""Profiles of quorums whose voters change: controllers fail, lose disks, are added and removed.

Each cluster has one broker and three to five controllers, of which some are the first voters; the
others observe, and may join by themselves. In one of eight the voters are static at first, and
kraft.version is raised before the schedules begin. The operator adds and removes controllers, with
directories that they have, have had, or may have.

Source: KIP-853; the actions of its TLA+ specification (kraft_kip_853.tla).
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from random import Random
from typing import Any

from tidegauge.engine.fuzzing.fuzzed_cluster import Profile
from tidegauge.replication.kraft_releases import kraft_cells_of
from tidegauge.search.profiles import Faults, FuzzedKind, drawn_network
from tidegauge.simulation.quantities import format_duration

_MS = 1_000
#: The cluster is up by then; deviations last so long, and the run so long after them.
_UP_US = 4_000 * _MS
_WINDOWS_MS = (2_000, 4_000, 8_000)
_AFTER_MS = 1_500
#: ... if the quorum has to recover by itself, and to go on (check ``quorum_progress``).
_RECOVERY_MS = 14_000

#: Of so many clusters one has static voters at first, and one keeps its faults to the end.
_OF_CLUSTERS = 8
_IS_UPGRADED = 5
_KEEPS_FAULTS = 6

#: Part of the clusters.
_JOINS = 0.3

_TOPIC = "story"


def drawn_voter_profile(kind: FuzzedKind, seed: int, number: int) -> Profile:
    """The cluster of a number in the campaign of a seed."""
    draw = Random(f"voters {seed} {number}")  # noqa: S311 - nothing here is a secret
    role = number // kind.in_turn % _OF_CLUSTERS
    recovers = role % 2 == 1
    end_us = _UP_US + draw.choice(_WINDOWS_MS) * _MS
    duration = format_duration(end_us + (_RECOVERY_MS if recovers else _AFTER_MS) * _MS)
    rules = kraft_cells_of(kind.release)
    is_upgraded = role == _IS_UPGRADED and bool(rules["kraft_version_upgradable"].value)
    can_join = bool(rules["observer_can_join"].value)
    controllers = _controllers(draw, can_join=can_join, is_upgraded=is_upgraded)
    names = [f"controller:{number}" for number in range(controllers["count"])]
    scenario: dict[str, Any] = {
        "name": f"fuzz-voters-{kind.release}-{seed}-{number}",
        "duration": duration,
        "seed": draw.randrange(2**31),
        "liveness": recovers,
        "release": kind.release,
        "mode": kind.mode,
        **({"ablations": [*kind.ablations]} if kind.ablations else {}),
        "cluster": {"brokers": 1, "start_spread": "0s", "restart_after_exit": "200ms"},
        "controllers": controllers,
        "topics": [{"name": _TOPIC, "assignment": {0: [1]}}],
        "network": drawn_network(draw, recovers=recovers),
        "sample_every": duration,
        "steps": [*_first_steps(is_upgraded=is_upgraded)],
    }
    return Profile(
        scenario=scenario,
        begin_us=_UP_US,
        end_us=end_us,
        faults=_faults(names, loses_disks=not is_upgraded),
        steps=[*_steps(len(names), can_join=can_join)],
        pins=[*_pins(names)],
        heals=recovers or role != _KEEPS_FAULTS,
        has_to_recover=recovers,
        most_faults=draw.choice([2, 3, 5, 8]),
        most_steps=draw.choice([3, 6, 10]),
        most_pins=draw.choice([0, 0, 1, 3]),
        priority_percent=draw.choice([0, 0, 30]),
        priority_family="slow links",
        gates={"voter_changes": 1},
    )


def _controllers(draw: Random, *, can_join: bool, is_upgraded: bool) -> dict[str, Any]:
    """The controllers, and who of them is a voter."""
    fetch_timeout_ms = draw.choice([700, 1_000, 2_000])
    settings: dict[str, Any] = {
        "controller.quorum.fetch.timeout.ms": fetch_timeout_ms,
        "controller.quorum.election.timeout.ms": draw.choice([150, 300, 600]),
        "controller.quorum.election.backoff.max.ms": draw.choice([50, 200]),
        "controller.quorum.request.timeout.ms": draw.choice([200, 500, 1_000]),
        "metadata.max.idle.interval.ms": draw.choice([200, 500]),
        "broker.session.timeout.ms": 2_000,
    }
    count = draw.choice([3, 4, 5])
    if is_upgraded:
        return {"count": 3, "settings": settings}
    if can_join:
        settings["controller.quorum.auto.join.enable"] = draw.random() < _JOINS
    # One or two voters are stuck soonest.
    others = draw.sample(range(1, count), min(count - 1, draw.choice([0, 0, 1, 1, 2, 2, 3, 4])))
    return {"count": count, "voters": sorted([0, *others]), "settings": settings}


def _first_steps(*, is_upgraded: bool) -> Iterator[dict[str, Any]]:
    """The steps before schedules begin."""
    if is_upgraded:
        yield {"at": "3s", "do": "update_features", "kraft_version": 1}
    yield {"at": format_duration(_UP_US), "do": "wait"}


def _faults(names: Sequence[str], *, loses_disks: bool) -> Faults:
    """The faults that may happen, by their families.

    A controller of a quorum that was static is a voter with an empty disk, too, by
    controller.quorum.voters: with lost disks such quorums lose what is committed.
    """
    losses = {"losses of disks": [{"kind": "disk_loss", "brokers": [each]} for each in names]}
    others = {each: [one for one in names if one != each] for each in names}
    return {
        "crashes": [{"kind": "crash", "brokers": [each]} for each in names],
        "losses of power": [
            *({"kind": "power_loss", "brokers": [each]} for each in names),
            {"kind": "power_loss", "brokers": ["controllers"]},
        ],
        "restarts": [{"kind": "restart", "brokers": [each]} for each in names],
        "pauses": [{"kind": "pause", "brokers": [each]} for each in names],
        "cuts": [
            *(
                {"kind": "cut_link", "between": [[one], [other]]}
                for one, other in combinations(names, 2)
            ),
            *({"kind": "cut_link", "between": [[each], others[each]]} for each in names),
            *(
                {"kind": "cut_link", "between": [[each], others[each]], "one_way": True}
                for each in names
            ),
        ],
        "slow links": [
            *(
                {
                    "kind": "slow_link",
                    "between": [[one], [other]],
                    "one_way": True,
                    "delay": "400ms",
                }
                for one, other in permutations(names, 2)
            ),
            *(
                {
                    "kind": "slow_link",
                    "between": [[one], others[one]],
                    "one_way": True,
                    "delay": delay,
                }
                for one in names
                for delay in ("50ms", "400ms", "1500ms")
            ),
        ],
        **(losses if loses_disks else {}),
    }


def _steps(count: int, *, can_join: bool) -> Iterator[dict[str, Any]]:
    """The steps that the operator may take; one that stands here twice is twice as likely."""
    for controller in range(count):
        added = {"do": "add_controller", "controller": controller}
        removed = {"do": "remove_controller", "controller": controller}
        for _ in range(3):
            yield added
            yield removed
        for directory in (1, 2):
            yield {**removed, "directory": directory}
        yield {**added, "directory": 1}
        if can_join:
            yield {**added, "ack_when_committed": False}
    for _ in range(count):
        yield {"do": "produce", "topic": _TOPIC, "partition": 0, "wait": False}


def _pins(names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The messages that may be held."""
    for name in names:
        yield {"hold": "VOTE", "to": name}
        yield {"hold": "VOTE_RESPONSE", "to": name}
        yield {"hold": "BEGIN_QUORUM_EPOCH", "to": name}
        yield {"hold": "RAFT_FETCH_RESPONSE", "to": name}
        yield {"hold": "API_VERSIONS_RESPONSE", "to": name}
