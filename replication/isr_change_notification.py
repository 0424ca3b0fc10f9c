"""isr_change_notification: when a leader tells the controller which ISRs it has changed.

A leader that has written an ISR to ZooKeeper remembers the partition. Every 2,500 ms a
task looks at what it has gathered, and writes one child of /isr_change_notification for
all of it if either

* the last change is older than 5,000 ms: it has become quiet, or
* the last propagation is older than 60,000 ms: it has waited long enough.

Both comparisons are strict, and both clocks start when the broker starts, not at zero. So
an isolated change within a minute of the last propagation leaves 5.0 to 7.5 s later, the
first one after a quiet minute leaves at the next tick, and a storm leaves every minute.
"""

from __future__ import annotations

from tidegauge.compiled.rules import rule


@rule
def should_propagate_isr_changes(
    now_ms: int,
    changed_partitions: int,
    last_isr_change_ms: int,
    last_isr_propagation_ms: int,
    quiet_ms: int,
    max_delay_ms: int,
) -> bool:
    """Whether this tick writes the notification.

    ``changed_partitions`` is how many have been gathered; ``quiet_ms`` and
    ``max_delay_ms`` are 5,000 and 60,000 in Kafka, where they cannot be configured.

    Source: ReplicaManager.maybePropagateIsrChanges@0.10.2.0 to @2.7.0,
    ZkIsrManager@2.8.0, ZkAlterPartitionManager@3.6.0 (KAFKA-2722).
    """
    return changed_partitions > 0 and (
        last_isr_change_ms + quiet_ms < now_ms or last_isr_propagation_ms + max_delay_ms < now_ms
    )
