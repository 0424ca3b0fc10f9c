"""KRaft's laws as checks: each is broken by one altered record of a history that keeps it.

The history is that of KIP-966: the ISR falls below min.insync.replicas, so those who leave it
become eligible leader replicas; the last of all is remembered as the last known leader.
"""

from __future__ import annotations

from typing import Any

import pytest

from tidegauge.engine.row_stream import RowStream
from tidegauge.engine.summary import verdicts
from tidegauge.replication.replica_list import pack
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.simulation.trace_rows.codes import (
    BROKER_ACTIVE,
    BROKER_FENCED,
    BROKER_REGISTERS,
    BROKER_SESSION_EXPIRED,
    BROKER_UNFENCED,
    STATE_CREATED,
    STATE_WRITTEN,
)
from written_rows import S, WrittenRows, first_broken

LAWS = (
    "elr_outside_isr",
    "elr_below_min_isr",
    "last_known_leader_alone",
    "partition_epoch_grows",
    "fenced_outside_isr",
)


def scenario(**changes: Any) -> dict[str, Any]:
    topic = {"name": "orders", "partitions": 1, "replication_factor": 3}
    topic["settings"] = {"min.insync.replicas": 2}
    known = {"duration": "60s", "release": "4.1", "cluster": {"brokers": 3}, "topics": [topic]}
    return known | changes


PLAN = ClusterPlan(scenario_from_mapping(scenario(), "laws"))
QUORUM = PLAN.process_ranges[4].start


class History(WrittenRows):
    """Records of one partition of brokers 0, 1 and 2, and of these brokers."""

    def partition(self, at: int, leader: int, isr: list[int], epoch: int, **more: Any) -> None:
        """A record of the partition: its state, and its replicas."""
        change = STATE_CREATED if epoch == 0 else STATE_WRITTEN
        self.write(
            "partition_state", at * S, QUORUM, partition=0, change=int(change), leader=leader,
            leader_epoch=epoch, partition_epoch=more.get("partition_epoch", epoch), isr=pack(isr),
        )  # fmt: skip
        self.write(
            "partition_replicas", at * S, QUORUM, partition=0, replicas=pack([0, 1, 2]),
            eligible_leaders=pack(more.get("elr", [])),
            last_known_leader=more.get("last_known", -1),
        )  # fmt: skip

    def broker(self, at: int, broker: int, state: int, reason: int) -> None:
        """A record of a broker."""
        self.write(
            "broker_state", at * S, QUORUM, broker=broker, state=int(state),
            state_reason=int(reason),
        )  # fmt: skip


def last_standing(**altered: dict[str, Any]) -> History:
    """Brokers 2, 1 and 0 die one after the other, and 0 returns; some records are altered."""
    rows = History()
    for broker in range(3):
        rows.broker(1, broker, BROKER_FENCED, BROKER_REGISTERS)
        rows.broker(1, broker, BROKER_ACTIVE, BROKER_UNFENCED)
    records: dict[str, dict[str, Any]] = {
        "created": {"at": 2, "leader": 0, "isr": [0, 1, 2], "epoch": 0},
        "second": {"at": 10, "leader": 0, "isr": [0, 1], "epoch": 1},
        "last": {"at": 20, "leader": 0, "isr": [0], "epoch": 2, "elr": [1]},
        "nobody": {"at": 30, "leader": -1, "isr": [], "epoch": 3, "elr": [0, 1], "last_known": 0},
        "returned": {"at": 40, "leader": 0, "isr": [0], "epoch": 4, "elr": [1]},
    }
    fenced = {10: 2, 20: 1, 30: 0}
    for name, record in records.items():
        if record["at"] == 40:
            rows.broker(39, 0, BROKER_FENCED, BROKER_REGISTERS)
            rows.broker(39, 0, BROKER_ACTIVE, BROKER_UNFENCED)
        rows.partition(**record | altered.get(name, {}))
        if record["at"] in fenced:
            rows.broker(record["at"], fenced[record["at"]], BROKER_FENCED, BROKER_SESSION_EXPIRED)
    return rows


def broken(rows: WrittenRows, plan: ClusterPlan = PLAN) -> dict[str, int]:
    """The laws that rows break, and the time of the first event, in seconds."""
    return first_broken(rows, plan, LAWS)


def test_a_history_of_kip_966_keeps_all_laws() -> None:
    assert broken(last_standing()) == {}


@pytest.mark.parametrize(
    ("altered", "breaks"),
    [
        pytest.param(
            {"last": {"elr": [0, 1]}}, {"elr_outside_isr": 20}, id="a member of the ISR is eligible"
        ),
        pytest.param({"second": {"elr": [2]}}, {"elr_below_min_isr": 10}, id="eligible at min ISR"),
        pytest.param(
            {"returned": {"last_known": 0}}, {"last_known_leader_alone": 40}, id="not forgotten"
        ),
        pytest.param(
            {"returned": {"partition_epoch": 5}}, {"partition_epoch_grows": 40}, id="one left out"
        ),
        pytest.param(
            {"last": {"isr": [0, 1], "elr": []}, "nobody": {"elr": [0]}},
            {"fenced_outside_isr": 20},
            id="a fenced broker stays in sync",
        ),
        pytest.param(
            {"returned": {"isr": [0, 2], "elr": []}},
            {"fenced_outside_isr": 40},
            id="a fenced broker enters the ISR",
        ),
    ],
)
def test_an_altered_record_breaks_a_law(
    altered: dict[str, dict[str, Any]], breaks: dict[str, int]
) -> None:
    assert broken(last_standing(**altered)) == breaks


def test_without_eligible_leader_replicas_the_last_member_stays_in_the_isr() -> None:
    """Source: PartitionChangeBuilder.build@4.1.0: an empty ISR is kept as it was without ELR."""
    plan = ClusterPlan(scenario_from_mapping(scenario(eligible_leader_replicas=False), "laws"))
    rows = last_standing(
        last={"elr": []}, nobody={"isr": [0], "elr": [], "last_known": -1}, returned={"elr": []}
    )
    assert broken(rows, plan) == {}
    assert broken(rows) == {"fenced_outside_isr": 30}


def test_with_zookeeper_the_laws_are_not_judged() -> None:
    plan = ClusterPlan(scenario_from_mapping(scenario(release="2.6"), "laws"))
    assert not {*LAWS} & {*verdicts(plan, RowStream(plan), None)}
