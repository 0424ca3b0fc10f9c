"""The rules of KRaft's controller that differ between releases, metadata versions and features."""

from __future__ import annotations

from tidegauge.compiled.records import Record, flag


class KRaftSwitches(Record):
    """The switches of one cluster; their defaults are those of 4.1 without ELR."""

    #: The feature eligible.leader.replicas.version is on (KIP-966; possible from 4.0, the default
    #: of new clusters from 4.1).
    eligible_leader_replicas: flag
    #: A shrinking ISR raises the leader epoch (KAFKA-15021; metadata.version below 3.6-IV0).
    isr_shrink_raises_leader_epoch: flag
    #: A last known leader is elected although it is fenced (KAFKA-19522; 4.0).
    fenced_last_known_leader_elected: flag
    #: A reassignment is complete once all that it adds are in the ISR, even if others of its
    #: target are not (KAFKA-15665; before 3.8).
    reassignment_waits_for_added_only: flag
