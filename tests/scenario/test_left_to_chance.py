"""The branches left to chance follow from a scenario, and are the same for every seed."""

from __future__ import annotations

from typing import Any

import pytest

from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.scenario.warnings import left_to_chance

CLUSTER: dict[str, Any] = {
    "release": "4.1",
    "duration": "5m",
    "cluster": {"brokers": 6, "racks": ["a", "b", "c"]},
    "controllers": {"count": 3, "racks": ["a", "b", "c"]},
    "topics": [{"name": "orders", "partitions": 6, "replication_factor": 3}],
}
#: Brokers 1 and 4 are in rack a, with the controller that leads the quorum at the start.
AZ_LOSS = {"name": "az", "kind": "power_loss", "at": "1m", "for": "1m", "brokers": ["rack:a"]}
ROLL = {"name": "roll", "kind": "rolling_restart", "at": "30s"}
QUORUM = "which controller is active once {} has begun, and when each broker is notified"
ZOOKEEPER = {"mode": "zookeeper", "release": "3.9", "controllers": None}


def decided(*faults: dict[str, Any], **parts: Any) -> list[str]:
    data = CLUSTER | parts | {"faults": list(faults)}
    data = {name: part for name, part in data.items() if part is not None}
    return left_to_chance(scenario_from_mapping(data, "test"))


def test_latencies_alone_decide_nothing() -> None:
    """A broker is killed, whose session ends, and others lead: with every seed."""
    crash = {"kind": "crash", "at": "1m", "for": "1m", "brokers": [2]}
    assert decided() == []
    assert decided(crash) == []


def test_the_loss_of_a_rack_leaves_logs_and_the_next_active_controller_to_chance() -> None:
    assert decided(AZ_LOSS) == ["the part of each log that survives az", QUORUM.format("az")]
    # In rack b is another controller of the three: the active one goes on.
    assert decided(AZ_LOSS | {"brokers": ["rack:b"]}) == ["the part of each log that survives az"]
    kept = [{"broker": 1, "topic": "orders", "partition": 0, "offset": 0}]
    one = {"topics": [{"name": "orders", "assignment": {0: [1, 2, 3]}}]}
    assert decided(AZ_LOSS | {"brokers": [1], "keeps": kept}, **one) == []


@pytest.mark.parametrize(
    ("controllers", "release", "is_decided"),
    [
        (["controller:0"], "4.1", True),
        (["controller:1"], "4.1", False),
        # Without pre-vote (KIP-996) a voter that returns unseats the leader.
        (["controller:1"], "3.9", True),
        (["controller:1", "controller:2"], "4.1", True),
    ],
)
def test_an_election_of_the_quorum_is_decided_by_drawn_timeouts(
    controllers: list[str], release: str, is_decided: bool
) -> None:
    crash = {"name": "gone", "kind": "crash", "at": "1m", "brokers": controllers}
    found = decided(crash, release=release, mode="kraft")
    assert found == ([QUORUM.format("gone")] if is_decided else [])


def test_with_zookeeper_any_broker_may_be_controller_unless_one_starts_first() -> None:
    crash = {"name": "crash", "kind": "crash", "at": "1m", "brokers": [2]}
    (text,) = decided(crash, **ZOOKEEPER)
    assert text == "which broker is controller as crash begins, and once it has begun"
    starts_first = {"cluster": CLUSTER["cluster"] | {"start": {6: "0s"}, "start_spread": "5s"}}
    assert decided(crash, **ZOOKEEPER, **starts_first) == []


@pytest.mark.parametrize(
    ("seconds", "noticed_by"),
    [
        (6, []),
        (8, ["broker.session.timeout.ms"]),  # 9 s, less a heartbeat interval, to 10.1 s
        (20, []),
        (40, ["replica.lag.time.max.ms"]),  # 30 to 45 s
        (50, []),
    ],
)
def test_a_pause_as_long_as_a_timeout_may_be_noticed_or_not(
    seconds: int, noticed_by: list[str]
) -> None:
    pause = {"name": "gc", "kind": "pause", "at": "1m", "for": f"{seconds}s", "brokers": [2]}
    assert decided(pause) == [f"whether {setting} notices gc" for setting in noticed_by]
    # A cut between brokers is noticed by lag alone.
    cut = {"name": "gc", "kind": "cut_link", "at": "1m", "for": f"{seconds}s"}
    apart = decided(cut | {"between": [["broker:1"], ["broker:2"]]})
    assert apart == [each for each in decided(pause) if "session" not in each]


def test_brokers_that_are_lost_together_are_fenced_in_a_drawn_order() -> None:
    """It counts where a partition has replicas on two of them (maybeRemoveExpired@4.1.0)."""
    crash = {"name": "both", "kind": "crash", "at": "1m", "brokers": [1, 2]}
    assert decided(crash) == ["in which order brokers are fenced that are lost together in both"]
    assert decided(crash | {"brokers": [1, 4]}) == []


def test_a_fault_during_a_roll_hits_it_at_one_broker_or_another() -> None:
    crash = {"name": "crash", "kind": "crash", "at": "1m", "brokers": [2]}
    assert decided(ROLL, crash) == ["which broker a roll is restarting as crash begins"]
    assert decided(ROLL | {"at": "2m"}, crash) == []


def test_faults_of_rates_are_one_matter_whatever_is_drawn() -> None:
    rate = {"name": "power", "kind": "power_loss", "brokers": [1, 2], "mtbf": "1m"}
    rates = {"fault_rates": [rate | {"repair_time": "10s"}]}
    found = [decided(seed=seed, **rates) for seed in (1, 2)]
    assert found == [["when the faults of rates begin and end"]] * 2
