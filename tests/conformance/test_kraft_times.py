"""How long a KRaft cluster takes, against Kafka 4.1.0: fencing, leaving, failover, return.

Sources: 190 kills and 76 controlled shutdowns of the recordings in ``tests/data/golden_kraft``, and
``tests/data/kraft_costs.jsonl``: three brokers with 100 and 1000 partitions, and nothing else on
the machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest

from recordings import ON_ONE_MACHINE
from scenario_runs import rows_of, run_of
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.simulation.trace_rows.codes import (
    BROKER_REGISTERS,
    BROKER_SESSION_EXPIRED,
    BROKER_SHUTS_DOWN,
    BROKER_UNFENCED,
)

_COSTS = Path(__file__).parents[1] / "data" / "kraft_costs.jsonl"
MEASURED = {
    (line["n"], line["what"]): line for line in map(json.loads, _COSTS.read_text().splitlines())
}

#: The settings of the recordings.
RECORDED = {
    "cluster": {"brokers": 3, "settings": {"broker.heartbeat.interval.ms": 500}},
    "controllers": {"count": 1, "settings": {"broker.session.timeout.ms": 4000}},
}
DEFAULTS = {"cluster": {"brokers": 3}, "controllers": {"count": 1}}

FAULT_S, RETURN_S = 5, 17


class Times(NamedTuple):
    """Times of one run in milliseconds; those after the fault count from its start."""

    #: Until the record that takes the broker's leaderships away.
    moved: float
    #: Until the last of its partitions has a leader that knows it.
    led: float
    #: From the broker's next registration to its unfencing.
    unfenced: float


def story(kind: str, settings: dict[str, Any], partitions: int, seed: int) -> Scenario:
    """Broker 1 of three, each the leader of a third of the partitions, dies or leaves; returns."""
    turns = ([1, 2, 3], [2, 3, 1], [3, 1, 2])
    return scenario_from_mapping(
        {
            "name": "times",
            "duration": "30s",
            "liveness": False,
            "release": "4.1.0",
            "seed": seed,
            "network": ON_ONE_MACHINE,
            "topics": [
                {
                    "name": "t",
                    "assignment": {number: turns[number % 3] for number in range(partitions)},
                }
            ],
            "faults": [
                {
                    "kind": kind,
                    "name": "gone",
                    "brokers": [1],
                    "at": f"{FAULT_S}s",
                    "for": f"{RETURN_S - FAULT_S}s",
                }
            ],
        }
        | settings,
        "times",
    )


@cache
def times(kind: str, of: str, partitions: int, seed: int) -> Times:
    """The times of a run, in milliseconds."""
    settings = RECORDED if of == "recorded" else DEFAULTS
    with TemporaryDirectory() as folder:
        run = run_of(story(kind, settings, partitions, seed), Path(folder) / "run")
        states = rows_of(run, "broker_state", broker=0)
        leads = rows_of(run, "became_leader")
    reason = BROKER_SESSION_EXPIRED if kind == "crash" else BROKER_SHUTS_DOWN
    at = {
        row["state_reason"]: row["time_us"] / 1000
        for row in reversed(states)
        if row["time_us"] > FAULT_S * 1_000_000
    }
    moved = at[int(reason)]
    led = [row["time_us"] / 1000 for row in leads if row["time_us"] > FAULT_S * 1_000_000]
    return Times(
        moved=moved - FAULT_S * 1000,
        led=max(led) - FAULT_S * 1000,
        unfenced=at[int(BROKER_UNFENCED)] - at[int(BROKER_REGISTERS)],
    )


def of_seeds(
    seeds: int, kind: str, of: str, partitions: int, which: Callable[[Times], float]
) -> list[float]:
    """One of the times for so many seeds, in ascending order."""
    return sorted(which(times(kind, of, partitions, seed)) for seed in range(1, seeds + 1))


#: How many seeds, and how far the median of so many may be from that of all.
SEEDS = [(24, 200), pytest.param(500, 100, marks=pytest.mark.long)]


@pytest.mark.parametrize(("seeds", "apart_ms"), SEEDS)
def test_a_killed_broker_is_fenced_after_its_session_more_or_less(
    seeds: int, apart_ms: float
) -> None:
    """L4: the session less the age of the last heartbeat, and up to an eighth until the check.

    Recorded: 3.47 to 4.57 s, median 4.0 s. With defaults, 9 s and 2 s: 7.0 to 10.1 s.
    """
    recorded = of_seeds(seeds, "crash", "recorded", 9, lambda each: each.moved)
    assert 3400 < recorded[0] < 3800
    assert 4200 < recorded[-1] < 4700
    assert abs(median(recorded) - 4000) < apart_ms
    default = of_seeds(seeds, "crash", "defaults", 9, lambda each: each.moved)
    assert 7000 < default[0] < 8000
    assert 8500 < default[-1] < 10_200


@pytest.mark.parametrize(("seeds", "_"), SEEDS)
def test_a_broker_that_leaves_gives_up_its_leaderships_at_once(seeds: int, _: float) -> None:
    """L11: in one batch, recorded 5 to 357 ms after SIGTERM, 12 to 20 ms on an idle machine."""
    moved = of_seeds(seeds, "restart", "recorded", 9, lambda each: each.moved)
    assert moved[0] >= 5
    assert moved[-1] <= 100


@pytest.mark.parametrize(
    ("partitions", "seeds"),
    [
        (100, 5),
        (1000, 5),
        pytest.param(100, 100, marks=pytest.mark.long),
        pytest.param(1000, 20, marks=pytest.mark.long),
    ],
)
def test_failover_depends_on_the_session_and_a_return_on_the_number_of_logs(
    partitions: int, seeds: int
) -> None:
    """L1: one batch for all elections, but each log is loaded before the unfencing."""
    led = median(of_seeds(seeds, "crash", "recorded", partitions, lambda each: each.led))
    assert led == pytest.approx(MEASURED[partitions, "kill"]["visible_at_broker2_ms"], rel=0.1)
    for kind, fault in (("crash", "kill"), ("restart", "term")):
        took = median(of_seeds(seeds, kind, "recorded", partitions, lambda each: each.unfenced))
        measured = MEASURED[partitions, f"return after {fault}"]["registration_to_unfence_ms"]
        assert took == pytest.approx(measured, rel=0.25)
