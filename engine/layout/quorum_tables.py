"""The tables of a KRaft quorum, laid out for a scenario; in ZooKeeper mode they are empty."""

from __future__ import annotations

from tidegauge.compiled.records import grown, new_records
from tidegauge.controller.kraft.state import (
    ActiveController,
    CommittedPartition,
    MetadataRecord,
    Quorum,
    QuorumBroker,
    QuorumTopic,
)
from tidegauge.replication.records import PartitionRegistration
from tidegauge.scenario.cluster_plan import ClusterPlan


def new_quorum(plan: ClusterPlan) -> Quorum:
    """An active controller that knows of nothing."""
    count = 1 if plan.is_kraft else 0
    partitions = count * len(plan.partitions)
    quorum = Quorum(
        active_controller=new_records(ActiveController, count),
        quorum_brokers=new_records(QuorumBroker, count * len(plan.brokers)),
        quorum_topics=new_records(QuorumTopic, count * len(plan.scenario.topics)),
        registrations=new_records(PartitionRegistration, partitions),
        committed_partitions=new_records(CommittedPartition, partitions),
        metadata_records=new_records(MetadataRecord, 0),
        recorded_registrations=new_records(PartitionRegistration, 0),
        decided=new_records(PartitionRegistration, count),
    )
    if plan.is_kraft:
        _set_settings(plan, quorum.active_controller[0])
        for partition in plan.partitions:
            topic = quorum.quorum_topics[partition.topic_number]
            topic.min_insync_replicas = partition.min_insync_replicas
            topic.unclean_leader_election = partition.unclean_leader_election
        enlarge_quorum(plan, quorum)
    return quorum


def enlarge_quorum(plan: ClusterPlan, world: Quorum) -> None:
    """Enlarge the ring of records that are not committed until one event has room for its own."""
    if len(world.active_controller) == 0:
        return
    state = world.active_controller[0]
    reserve = record_reserve_of(plan)
    state.record_reserve = reserve
    room = len(world.metadata_records)
    if room - state.record_count >= reserve:
        return
    # The ring begins anew at place 0.
    larger = 2 * room + 2 * reserve
    records = grown(world.metadata_records[:0], larger)
    registrations = grown(world.recorded_registrations[:0], larger)
    for number in range(int(state.record_count)):
        place = (int(state.first_record) + number) % room
        records[number] = world.metadata_records[place]
        registrations[number] = world.recorded_registrations[place]
    state.first_record = 0
    world.metadata_records = records
    world.recorded_registrations = registrations


def record_reserve_of(plan: ClusterPlan) -> int:
    """The most records that one event can append: two for each partition, and some of brokers."""
    return 2 * len(plan.partitions) + len(plan.brokers) + len(plan.scenario.topics) + 16


def _set_settings(plan: ClusterPlan, state: ActiveController) -> None:
    settings = plan.scenario.controller_settings()
    state.session_timeout_us = settings["broker.session.timeout.ms"] * 1000
    state.append_linger_us = settings["controller.quorum.append.linger.ms"] * 1000
    state.max_idle_interval_us = settings["metadata.max.idle.interval.ms"] * 1000
    state.auto_leader_rebalance_enable = bool(settings["auto.leader.rebalance.enable"])
    state.leader_imbalance_check_interval_us = (
        settings["leader.imbalance.check.interval.seconds"] * 1_000_000
    )
    state.unclean_leader_election_interval_us = (
        settings.get("unclean.leader.election.interval.ms", 0) * 1000
    )
    state.eligible_leader_replicas = plan.scenario.has_eligible_leader_replicas()
    state.epoch = 1
