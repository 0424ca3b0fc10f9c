"""Topic ids: a topic that is created again under its name is another one (KIP-516)."""

from __future__ import annotations

from pathlib import Path

from scenario_runs import rows_of, run_of
from tidegauge.replication.replica_list import pack
from tidegauge.scenario.reading import scenario_from_mapping

CUT_ENDS_US = 30_000_000

STORY = {
    "duration": "50s",
    "release": "4.1",
    "cluster": {"brokers": 3, "settings": {"replica.lag.time.max.ms": 4000}},
    "topics": [{"name": "orders", "assignment": {0: [1, 2, 3]}}],
    "workload": {
        "producers": [
            {"name": "shop", "topics": ["orders"], "batches_per_second": 5, "start": "5s"}
        ]
    },
    "faults": [
        {"kind": "cut_link", "at": "10s", "for": "20s", "between": [[3], ["controllers"]]},
    ],
    "steps": [
        {"at": "12s", "do": "delete_topic", "topic": "orders"},
        {"after": "1s", "do": "create_topic", "topic": "orders"},
    ],
}


def test_a_follower_of_the_deleted_topic_takes_no_part_in_the_new_one(tmp_path: Path) -> None:
    """Broker 3 hears of neither: it asks for the topic that it knows, and is refused.

    Its old log is deleted as soon as it hears of the new topic. So the ISR has it only then, and
    nothing that was acknowledged is lost.

    Source: ReplicaManager.readFromLog@4.1.0 (UNKNOWN_TOPIC_ID), stopPartitions@4.1.0.
    """
    run = run_of(scenario_from_mapping(STORY, "created-again"), tmp_path)
    deleted = rows_of(run, "log_deleted", process=2)
    assert [row["time_us"] > CUT_ENDS_US for row in deleted] == [True]
    assert deleted[0]["log_end_offset"] > 0
    states = [row for row in rows_of(run, "partition_state") if row["time_us"] > 13_000_000]
    cut_off = [row for row in states if row["time_us"] < CUT_ENDS_US]
    assert cut_off[0]["isr"] == pack([0, 1, 2])
    assert cut_off[-1]["isr"] == pack([0, 1])
    assert states[-1]["isr"] == pack([0, 1, 2])
    assert run.summary is not None
    assert all(found["broken"] == 0 for found in run.summary["checks"].values())
    assert run.summary["liveness"]["reached"]
