"""A notification names the partitions whose ISRs have changed, also behind one that was deleted."""

from __future__ import annotations

from pathlib import Path

from scenario_runs import rows_of, run_of
from small_clusters import BROKER_1, cluster_of


def test_a_deleted_partition_takes_no_other_out_of_the_notification(tmp_path: Path) -> None:
    """ReplicaManager.recordIsrChange@2.4.0: isrChangeSet is of partitions, not of replicas.

    Broker 3 hangs, so broker 1 shrinks the ISRs of both topics in one run of isr-expiration. One
    topic is deleted within the 5 s of quiet that a notification waits for.
    """
    topics = [
        {"name": name, "assignment": {0: [1, 2, 3], 1: [1, 2, 3]}} for name in ("brief", "lasting")
    ]
    story = cluster_of(
        {"replica.lag.time.max.ms": 4000, "replica.fetch.wait.max.ms": 500},
        duration="40s",
        topics=topics,
        workload={
            "producers": [{"name": "shop", "topics": ["brief", "lasting"], "batches_per_second": 8}]
        },
        faults=[{"kind": "pause", "at": "10s", "for": "8s", "brokers": [3]}],
        steps=[{"do": "delete_topic", "at": "17s", "topic": "brief"}],
    )
    run = run_of(story, tmp_path / "run")
    (sent, *_) = rows_of(run, "notification_sent", process=BROKER_1)
    shrunk = rows_of(run, "isr_shrunk", process=BROKER_1)
    deleted = rows_of(run, "log_deleted", process=BROKER_1)
    assert len(shrunk) == 4
    assert len(deleted) == 2
    assert max(row["time_us"] for row in deleted) < sent["time_us"]
    # Invariants of the run check that the list of changed ISRs is whole after each deletion.
    assert sent["partition_count"] == 4
