"""Rows about committed records of the metadata log, and notifications of its readers.

Rows of a change (an election, a replica that is taken out of the ISR) come before that of the
state, as in ZooKeeper mode.
"""

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft import state
from tidegauge.controller.raft.processes import follow_release
from tidegauge.controller.raft.state import name_of_voter, this_voter
from tidegauge.replication.records import PartitionRegistration
from tidegauge.replication.replica_list import EMPTY, first, only, rest, without
from tidegauge.simulation import metadata_log
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.rows import caused_by, record_row
from tidegauge.simulation.topology import broker_of, controller_node, slots_by_broker
from tidegauge.simulation.trace_rows import codes, controller_rows
from tidegauge.simulation.trace_rows.row import Row


@inner_rule
def write_committed(
    world: state.Quorum, record: state.MetadataRecord, registration: PartitionRegistration
) -> None:
    """Write down a record that is committed, and have readers of the log know it.

    Args: world: its state at the commit of the record before it. record: the committed record.
    registration: of a partition record, the partition as it is from now on.
    """
    caused_by(world, record.cause_process, record.cause_sequence)
    world.active_controller[0].changed_us = world.context[0].time_us
    if record.type == state.PARTITION_RECORD:
        _write_partition(world, record, registration)
    elif record.type == state.BROKER_RECORD:
        _write_broker(world, record)
    elif record.type == state.TOPIC_RECORD:
        world.quorum_topics[record.subject].committed = True
        world.quorum_topics[record.subject].committed_topic_id = record.offset
    elif record.type == state.REMOVE_TOPIC_RECORD:
        _write_removal(world, record)
    elif record.type == state.CONFIG_RECORD:
        _write_config(world, record)
    elif record.type == state.BROKER_CONFIG_RECORD:
        _take_broker_config(world, record)
    elif record.type == state.THROTTLED_REPLICAS_RECORD:
        _take_throttled_replicas(world, record)
    elif record.type == state.FEATURE_LEVEL_RECORD:
        _take_feature_level(world, record)


@inner_rule
def _say_why(row: Row, record: state.MetadataRecord) -> None:
    if record.because_process != NONE:
        row.because_process = record.because_process
        row.because_sequence = record.because_sequence


@inner_rule
def _write_partition(
    world: state.Quorum, record: state.MetadataRecord, registration: PartitionRegistration
) -> None:
    partition = record.subject
    known = world.committed_partitions[partition]
    process = world.context[0].handling
    leader = broker_of(world, partition, registration.leader)
    if known.exists:
        _write_changes(world, record, known, registration)
    is_new = not known.exists
    had_other_replicas = is_new or _differs(known, registration)
    state.copy_registration(known, registration)
    known.exists = True
    known.offset = record.offset
    row = controller_rows.PartitionState.new(
        world,
        registration,
        partition=partition,
        change=codes.STATE_CREATED if is_new else codes.STATE_WRITTEN,
        leader=leader,
        controller_epoch=this_voter(world).epoch,
        writer=codes.FORMER_WRITER,
    )
    if world.active_controller[0].voter != NONE:
        row.writer = name_of_voter(world, world.context[0].handling)
    record_row(world, row)
    known.row_process = process
    known.row_sequence = row.sequence
    if had_other_replicas:
        _write_replicas(world, partition, registration)
    metadata_log.log_change(
        world,
        partition,
        leader,
        registration.leader_epoch,
        metadata_log.ONE_LOG,
        record.offset,
    )


@inner_rule
def _differs(known: state.CommittedPartition, registration: PartitionRegistration) -> bool:
    """Whether a row of replicas has a change."""
    return (
        known.replicas != registration.replicas
        or known.adding != registration.adding
        or known.removing != registration.removing
        or known.elr != registration.elr
        or known.last_known_elr != registration.last_known_elr
        or known.recovering != registration.recovering
    )


@inner_rule
def _write_changes(
    world: state.Quorum,
    record: state.MetadataRecord,
    known: state.CommittedPartition,
    registration: PartitionRegistration,
) -> None:
    """Write down an election, and each replica that the controller has taken out of the ISR."""
    partition = record.subject
    if registration.leader != known.leader and registration.leader != NONE:
        elected = controller_rows.LeaderElected.new(
            world,
            registration,
            partition=partition,
            leader=broker_of(world, partition, registration.leader),
            version=registration.partition_epoch,
            old_leader=broker_of(world, partition, record.old_leader),
            unclean=record.unclean,
        )
        _say_why(elected, record)
        record_row(world, elected)
        _count_election(world, record)
    _write_moves(world, partition, known, registration)
    if record.reason == 0:
        return
    gone = without(known.isr, registration.isr)
    while gone != EMPTY:
        removed = controller_rows.RemovedFromIsr.new(
            world,
            registration,
            partition=partition,
            replica=broker_of(world, partition, first(gone)),
            leader=broker_of(world, partition, registration.leader),
            version=registration.partition_epoch,
        )
        _say_why(removed, record)
        record_row(world, removed)
        gone = rest(gone)


@inner_rule
def _count_election(world: state.Quorum, record: state.MetadataRecord) -> None:
    """Count an election at the controller that has committed it, and at all that read of it.

    Source: ControllerMetricsChanges.handlePartitionChange@4.1.0.
    """
    stats = state.these_controller_stats(world)
    stats.leader_elections += 1
    stats.unclean_elections += 1 if record.unclean else 0
    stats.elr_elections += 1 if record.from_elr else 0
    for number in range(len(world.voters)):
        if world.voters[number].runs:
            reader = world.controller_stats[number]
            reader.known_unclean_elections += 1 if record.unclean else 0
            reader.known_elr_elections += 1 if record.from_elr else 0


@inner_rule
def _write_moves(
    world: state.Quorum,
    partition: int,
    known: state.CommittedPartition,
    registration: PartitionRegistration,
) -> None:
    """Write down that replicas begin to be moved, or are where they are to be."""
    moved = known.adding != EMPTY or known.removing != EMPTY
    moves = registration.adding != EMPTY or registration.removing != EMPTY
    is_other = known.adding != registration.adding or known.removing != registration.removing
    is_reordered = not moved and not moves and known.replicas != registration.replicas
    if (moves and is_other) or is_reordered:
        controller_rows.ReassignmentBegun.write(world, registration, partition=partition)
    if (moved and not moves) or is_reordered:
        controller_rows.ReassignmentDone.write(world, registration, partition=partition)


@inner_rule
def _write_replicas(
    world: state.Quorum, partition: int, registration: PartitionRegistration
) -> None:
    """Write the replicas, and those that may lead without being in sync: a set, by broker id."""
    controller_rows.PartitionReplicas.write(
        world,
        registration,
        partition=partition,
        eligible_leaders=only(slots_by_broker(world, partition), registration.elr),
        last_known_leader=broker_of(world, partition, first(registration.last_known_elr)),
        recovering=1 if registration.recovering else 0,
    )


@inner_rule
def _write_broker(world: state.Quorum, record: state.MetadataRecord) -> None:
    broker = world.quorum_brokers[record.subject]
    broker.committed_state = record.state
    broker.committed_epoch = record.broker_epoch
    broker.committed_incarnation = record.incarnation
    broker.committed_registration_offset = record.registration_offset
    broker.committed_software = record.software
    broker.committed_offline_directories = record.offline_directories
    had_cordons = max(0, broker.committed_cordoned_directories)
    broker.committed_cordoned_directories = record.cordoned_directories
    if record.reason == codes.BROKER_TELLS_DIRECTORIES:
        if record.cordoned_directories != had_cordons:
            _write_cordons(world, record)
        return
    row = controller_rows.BrokerState.new(
        world, record, broker=record.subject, state_reason=record.reason
    )
    _say_why(row, record)
    record_row(world, row)
    known_as = 0
    if record.state == codes.BROKER_ACTIVE:
        known_as = metadata_log.ALIVE
    elif record.state == codes.BROKER_SHUTTING_DOWN:
        known_as = metadata_log.SHUTTING_DOWN
    metadata_log.log_change(
        world,
        metadata_log.broker_subject(record.subject),
        known_as,
        record.broker_epoch,
        metadata_log.ONE_LOG,
        record.offset,
    )


@inner_rule
def _write_cordons(world: state.Quorum, record: state.MetadataRecord) -> None:
    """Write down how many log directories a broker has cordoned."""
    cordoned = 0
    for directory in range(world.sizes[0].log_directories):
        cordoned += record.cordoned_directories >> directory & 1
    controller_rows.LogDirectoriesCordoned.write(world, broker=record.subject, cordoned=cordoned)


@inner_rule
def _write_removal(world: state.Quorum, record: state.MetadataRecord) -> None:
    """A topic is deleted, and all its partitions with it."""
    process = world.context[0].handling
    world.quorum_topics[record.subject].committed = False
    topic = world.quorum_topics[record.subject]
    for number in range(topic.partition_count):
        partition = topic.first_partition + number
        known = world.committed_partitions[partition]
        known.exists = False
        known.offset = record.offset
        row = controller_rows.PartitionState.write(
            world,
            known,
            partition=partition,
            change=codes.STATE_DELETED,
            leader=NONE,
            isr=EMPTY,
            controller_epoch=this_voter(world).epoch,
            writer=name_of_voter(world, world.context[0].handling),
        )
        known.row_process = process
        known.row_sequence = row.sequence
        metadata_log.log_change(
            world,
            partition,
            NONE,
            known.leader_epoch,
            metadata_log.ONE_LOG,
            record.offset,
        )


@inner_rule
def _write_config(world: state.Quorum, record: state.MetadataRecord) -> None:
    """A topic's settings have changed."""
    controller_rows.TopicConfigured.write(
        world,
        topic=record.subject,
        min_insync_replicas=record.min_insync_replicas,
        unclean_enabled=1 if record.unclean_leader_election else 0,
    )
    topic = world.quorum_topics[record.subject]
    topic.committed_min_insync_replicas = record.min_insync_replicas
    topic.committed_unclean_leader_election = record.unclean_leader_election
    _tell_hosts(world, record)


@inner_rule
def _take_throttled_replicas(world: state.Quorum, record: state.MetadataRecord) -> None:
    topic = world.quorum_topics[record.subject]
    for row in rows_of_topic(world, topic):
        throttled = world.throttled_replicas[row]
        throttled.committed_as_leader = throttled.as_leader
        throttled.committed_as_follower = throttled.as_follower
    _tell_hosts(world, record)


@inner_rule
def rows_of_topic(world: state.Quorum, topic: state.QuorumTopic) -> range:
    """The replicas of a topic."""
    last = world.partitions[topic.first_partition + topic.partition_count - 1]
    first_row = world.partitions[topic.first_partition].first_slot
    return range(first_row, last.first_slot + last.slot_count)


@inner_rule
def _take_broker_config(world: state.Quorum, record: state.MetadataRecord) -> None:
    broker = world.quorum_brokers[record.subject]
    if record.cordoned_directories != NONE:
        broker.committed_cordoned_log_dirs = record.cordoned_directories
    if record.leader_rate != NONE:
        broker.committed_leader_rate = record.leader_rate
        broker.committed_follower_rate = record.follower_rate
        broker.rates_offset = record.offset


@inner_rule
def _take_feature_level(world: state.Quorum, record: state.MetadataRecord) -> None:
    """All controllers follow the level of a feature; brokers get it with their next fetch.

    Simplified: Kafka's controllers that are not active read it with their next fetch, too.
    """
    known = world.active_controller[0]
    level = record.state
    if record.subject == codes.METADATA_VERSION:
        known.committed_metadata_version = record.state
        level = world.metadata_versions[record.state].feature_level
    elif record.subject == codes.ELR_VERSION:
        known.committed_elr_version = record.state
    known.features_offset = record.offset
    controller_rows.FeatureLevelFinalized.write(world, feature=record.subject, feature_level=level)
    for number in range(len(world.voters)):
        versions = world.node_versions[controller_node(world, number)]
        versions.metadata_version = known.committed_metadata_version
        versions.elr_version = known.committed_elr_version
        follow_release(world, number)


@inner_rule
def _tell_hosts(world: state.Quorum, record: state.MetadataRecord) -> None:
    """The hosts of a topic's partitions get its settings with their next fetch."""
    topic = world.quorum_topics[record.subject]
    for number in range(topic.partition_count):
        partition = topic.first_partition + number
        known = world.committed_partitions[partition]
        if known.exists:
            known.offset = record.offset
            metadata_log.log_change(
                world,
                partition,
                broker_of(world, partition, known.leader),
                known.leader_epoch,
                metadata_log.ONE_LOG,
                record.offset,
            )
