"""The cost model's defaults against what operations took on real brokers of 2.6.3.

``tests/data/costs.json`` says what was measured with 100 and 1000 partitions on the broker that
dies, three brokers and ZooKeeper on one machine. A default that is far off shows here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scenario_runs import run_of
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.traces.run_folder import RunFolder

MEASURED = json.loads((Path(__file__).parents[1] / "data" / "costs.json").read_text())

#: All on one machine.
LOOPBACK = {"min": "20us", "p50": "30us", "p90": "50us", "p99": "100us", "max": "500us"}
#: A time is as measured if it is not this many times as long, nor as short.
FACTOR = 2.5

CRASH_S, RETURN_S, PREFERRED_S, STOP_S, START_S = 20, 40, 90, 110, 150


def measured(partitions: int) -> dict[str, Any]:
    figures: dict[str, Any] = MEASURED["by_partitions"][f"N={partitions} forceSync=yes"]
    return figures


def story(partitions: int) -> Scenario:
    """Broker 1 leads all partitions; it dies, returns, leads again, and stops cleanly."""
    return scenario_from_mapping(
        {
            "name": "costs",
            "duration": "180s",
            "liveness": False,
            "release": "2.6.3",
            "cluster": {
                "brokers": [1, 2, 3],
                "start": {1: "500ms", 2: "500ms", 3: "0s"},
                "settings": {
                    "zookeeper.session.timeout.ms": 6000,
                    "auto.leader.rebalance.enable": False,
                },
            },
            "network": dict.fromkeys(
                ("within_rack", "between_racks", "clients", "within_host"), LOOPBACK
            ),
            "topics": [{"name": "t", "assignment": {n: [1, 2] for n in range(partitions)}}],
            "faults": [
                {"kind": "crash", "name": "crash", "brokers": [1]},
                {"kind": "restart", "name": "restart", "brokers": [1]},
            ],
            "steps": [
                {"do": "begin_fault", "fault": "crash", "at": f"{CRASH_S}s"},
                {"do": "end_fault", "fault": "crash", "at": f"{RETURN_S}s"},
                {"do": "preferred_election", "at": f"{PREFERRED_S}s"},
                {"do": "begin_fault", "fault": "restart", "at": f"{STOP_S}s"},
                {"do": "end_fault", "fault": "restart", "at": f"{START_S}s"},
            ],
        },
        "costs",
    )


def times_ms(run: RunFolder, kind: str, from_s: int, to_s: int) -> tuple[float, float]:
    """The first and the last row of a kind between two times."""
    found = [
        row["time_us"] / 1000
        for row in run.rows(kind)
        if from_s * 1_000_000 <= row["time_us"] < to_s * 1_000_000
    ]
    return found[0], found[-1]


def simulated(run: RunFolder) -> dict[str, float]:
    """The times that ``costs.json`` has, by its names."""
    expiry, _ = times_ms(run, "session_expired", CRASH_S, RETURN_S)
    written = times_ms(run, "znode_set", CRASH_S, RETURN_S)
    leads = times_ms(run, "became_leader", CRASH_S, RETURN_S)
    registered, _ = times_ms(run, "znode_created", RETURN_S, PREFERRED_S)
    expands = times_ms(run, "isr_expanded", RETURN_S, PREFERRED_S)
    preferred = times_ms(run, "znode_set", PREFERRED_S, STOP_S)
    moved = times_ms(run, "znode_set", STOP_S, START_S)
    stopped, _ = times_ms(run, "broker_stopped", STOP_S, START_S)
    again, _ = times_ms(run, "znode_created", START_S, 180)
    return {
        "broker_failover.expiry_to_first_znode_ms": written[0] - expiry,
        "broker_failover.expiry_to_last_znode_ms": written[1] - expiry,
        "broker_failover.expiry_to_first_leader_ms": leads[0] - expiry,
        "broker_failover.expiry_to_last_leader_ms": leads[1] - expiry,
        "return_after_kill.start_to_registered_ms": registered - RETURN_S * 1000,
        "return_after_kill.registered_to_first_expand_ms": expands[0] - registered,
        "return_after_kill.registered_to_last_expand_ms": expands[1] - registered,
        "preferred_election.first_ms": preferred[0] - PREFERRED_S * 1000,
        "preferred_election.last_ms": preferred[1] - PREFERRED_S * 1000,
        "controlled_shutdown_leader.first_state_ms": moved[0] - STOP_S * 1000,
        "controlled_shutdown_leader.last_state_ms": moved[1] - STOP_S * 1000,
        "controlled_shutdown_leader.total_ms": stopped - STOP_S * 1000,
        "return_after_clean_shutdown.start_to_registered_ms": again - START_S * 1000,
    }


@pytest.mark.parametrize("partitions", [100, 1000])
def test_operations_take_as_long_as_was_measured(tmp_path: Path, partitions: int) -> None:
    figures = measured(partitions)
    far_off = {}
    for name, time_ms in simulated(run_of(story(partitions), tmp_path / "run")).items():
        operation, _, figure = name.partition(".")
        measured_ms = figures[operation][figure]
        if not measured_ms / FACTOR <= time_ms <= measured_ms * FACTOR:
            far_off[name] = (time_ms, measured_ms)
    assert far_off == {}
