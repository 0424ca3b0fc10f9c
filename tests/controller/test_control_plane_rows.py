"""Rows of what the control plane holds: they tell what rows of znodes do, and name none."""

from __future__ import annotations

from pathlib import Path

import pytest

from life_stories import QUIET, Steps, begins, ends, fault, story
from scenario_runs import rows_of, run_of
from tidegauge.replication.replica_list import EMPTY
from tidegauge.simulation.trace_rows.codes import (
    BROKER_ABSENT,
    BROKER_ACTIVE,
    BROKER_DELETED,
    BROKER_REGISTERS,
    BROKER_SESSION_CLOSED,
    BROKER_SESSION_EXPIRED,
    STATE_CREATED,
    STATE_DELETED,
    STATE_WRITTEN,
)
from tidegauge.traces.run_folder import RunFolder
from zookeeper_stories import writes, writes_by_path

CHANGES = {
    "znode_created": STATE_CREATED,
    "znode_set": STATE_WRITTEN,
    "znode_deleted": STATE_DELETED,
}
WAIT: Steps = [QUIET | {"do": "wait"}]
FIRST, SECOND = 0, 1


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Broker 1 is killed and comes back, broker 2 is restarted; t1 is deleted in the end."""
    steps = [
        *(begins("crash"), ends("crash", {"after": "8s"}), WAIT),
        *(begins("restart"), ends("restart", {"after": "5s"}), WAIT),
        [QUIET | {"do": "delete_topic", "topic": "t1"}],
    ]
    faults = [fault("crash", 1), fault("restart", 2)]
    scenario = story([[1, 2, 3], [2, 1]], steps, faults=faults, duration="60s")
    return run_of(scenario, tmp_path_factory.mktemp("run") / "run")


@pytest.mark.parametrize("partition", [0, 1])
def test_a_partition_s_state_is_told_with_each_write(run: RunFolder, partition: int) -> None:
    path = f"/brokers/topics/t{partition}/partitions/0/state"
    znodes = writes_by_path(run, path)[path]
    states = rows_of(run, "partition_state", partition=partition)
    slots = run.manifest["partitions"][partition]["slots"]
    brokers = run.manifest["brokers"]
    assert len(states) > 3
    for znode, state in zip(znodes, states, strict=True):
        assert state["change"] == CHANGES[znode.kind]
        assert (state["time_us"], state["writer"]) == (znode["time_us"], znode["writer"])
        if znode.kind == "znode_deleted":
            assert (state["leader"], state["isr"]) == (-1, EMPTY)
            continue
        assert state["partition_epoch"] == znode.columns.get("version", 0)
        for column in ("leader_epoch", "controller_epoch", "isr"):
            assert state[column] == znode[column]
        # A znode's row names the leader by its slot, this one by its broker.
        leader = znode["leader"]
        assert state["leader"] == (brokers.index(slots[leader]) if leader >= 0 else -1)
    assert (states[-1]["change"] == STATE_DELETED) == (partition == 1)


def test_a_broker_is_active_while_it_is_registered(run: RunFolder) -> None:
    """A killed broker's session expires, a stopped one closes its session."""
    for broker, reason in ((FIRST, BROKER_SESSION_EXPIRED), (SECOND, BROKER_SESSION_CLOSED)):
        came, went, again = rows_of(run, "broker_state", broker=broker)
        assert [row["state"] for row in (came, went, again)] == [
            *(BROKER_ACTIVE, BROKER_ABSENT, BROKER_ACTIVE)
        ]
        assert [row["state_reason"] for row in (came, went, again)] == [
            *(BROKER_REGISTERS, reason, BROKER_REGISTERS)
        ]
        # The broker epoch is the czxid of the registration.
        assert came["broker_epoch"] == went["broker_epoch"] < again["broker_epoch"]


def test_the_active_controller_is_told_with_the_epoch_that_it_acts_under(tmp_path: Path) -> None:
    """/controller is deleted by hand: nobody is controller until the next one is elected."""
    moved = {"kind": "controller_move", "at": "10s"}
    run = run_of(story([[1, 2, 3]], [WAIT], faults=[moved]), tmp_path / "run")
    elected = [(row["broker"], row["controller_epoch"]) for row in run.rows("controller_elected")]
    assert len(elected) == 2
    told = [(row["broker"], row["controller_epoch"]) for row in run.rows("controller_active")]
    assert told == [elected[0], (-1, 1), elected[1]]
    at_us = [row["time_us"] for row in run.rows("controller_active")]
    controller = [row["time_us"] for _, row in writes(run, "/controller") if row["znode"] == 0]
    assert at_us == controller
    assert not rows_of(run, "broker_state", state_reason=int(BROKER_DELETED))
