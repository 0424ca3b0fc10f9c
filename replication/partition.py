"""A replica and the requests of controllers: the fences, becoming leader, becoming follower.

The controller sends each replica its leader, epoch and ISR. The leader resets its views of its
followers and, from 2.0.1 on, enters its epoch in its cache at once, so that a follower can get the
ends of the epochs before it even without a write. A follower forgets the ISR, which only the leader
needs.

A request can come from a controller that has been replaced, be meant for the broker's previous
life, or overtake a newer decision. Three epochs are checked first: the controller's, the broker's
(from 2.2, KIP-380: the czxid of its registration), the partition's leader epoch.
"""

from tidegauge.compiled.records import Records
from tidegauge.compiled.rules import code, rule
from tidegauge.replication import errors, records, release_rules, replica_list
from tidegauge.replication.high_watermark import check_high_watermark_of_new_leader
from tidegauge.replication.isr_update import commit_isr
from tidegauge.replication.leader_epoch_cache import assign
from tidegauge.replication.remote_replica import reset_replica_state


@rule
def initialize_partition(
    partition: records.Partition,
    local_replica: int,
    replicas: int,
    first_follower: int,
    min_insync_replicas: int,
) -> None:
    """Host a replica of which nothing is known yet: empty log, no leader, no epoch.

    Source: Partition and Log constructors@2.4.0.
    """
    partition.local_replica = local_replica
    partition.replicas = replicas
    partition.first_follower = first_follower
    partition.min_insync_replicas = min_insync_replicas
    partition.leader = records.UNDEFINED
    partition.leader_epoch = records.UNDEFINED
    partition.leader_epoch_start_offset = records.UNDEFINED
    partition.partition_epoch = records.UNDEFINED


@rule
def is_leader(partition: records.Partition) -> bool:
    """Whether this broker leads the partition, as far as it knows.

    Source: Partition.isLeader@2.4.0.
    """
    return partition.leader == partition.local_replica


@rule
def make_leader(
    rules: release_rules.ReleaseRules,
    partition: records.Partition,
    followers: Records[records.RemoteReplica],
    entries: Records[records.EpochEntry],
    state: records.LeaderAndIsr,
    controller_epoch: int,
    now_ms: int,
) -> bool:
    """Lead the partition by ``state``; whether this broker did not lead it before.

    ``partition.replicas`` is already the assignment that came along. The caller attempts
    the high watermark afterwards: with an ISR of one it moves at once.

    Source: Partition.makeLeader@0.10.2.0, @2.4.0, @3.3.0 and @3.8.0.
    """
    is_new_leader = not is_leader(partition)
    is_new_epoch = state.leader_epoch > partition.leader_epoch
    commit_isr(partition, state.isr, state.partition_epoch)
    partition.leader = partition.local_replica
    partition.controller_epoch = controller_epoch
    if is_new_leader:
        check_high_watermark_of_new_leader(rules, partition)
    if is_new_epoch or not rules.followers_reset_on_new_epoch_only:
        partition.leader_epoch = state.leader_epoch
        partition.leader_epoch_start_offset = partition.log_end_offset
        maybe_assign_epoch_start_offset(rules, partition, entries, state.leader_epoch)
        _reset_followers(rules, partition, followers, is_new_leader, now_ms)
    return is_new_leader


@rule
def maybe_assign_epoch_start_offset(
    rules: release_rules.ReleaseRules,
    partition: records.Partition,
    entries: Records[records.EpochEntry],
    leader_epoch: int,
) -> None:
    """Enter a new leader's epoch in its cache, at the log end, if it does so at once.

    In 2.0.1 and 2.1.0 also where its records carry none, which 2.1.1 mended by leaving
    such logs without a cache (KAFKA-7897).

    Source: Partition.makeLeader@2.0.1, Log.maybeAssignEpochStartOffset@2.4.0.
    """
    if (
        rules.epoch_assigned_on_become_leader
        and rules.epoch_cache_generation != release_rules.EPOCH_CACHE_NONE
    ):
        partition.epoch_count = assign(
            rules, entries, partition.epoch_count, leader_epoch, partition.log_end_offset
        )


@rule
def _reset_followers(
    rules: release_rules.ReleaseRules,
    partition: records.Partition,
    followers: Records[records.RemoteReplica],
    is_new_leader: bool,
    now_ms: int,
) -> None:
    replicas = partition.replicas
    while replicas != replica_list.EMPTY:
        replica = replica_list.first(replicas)
        replicas = replica_list.rest(replicas)
        if replica != partition.local_replica:
            reset_replica_state(
                rules,
                followers[partition.first_follower + replica],
                now_ms,
                partition.log_end_offset,
                is_new_leader,
                replica_list.contains(partition.isr, replica),
            )


@rule
def make_follower(
    rules: release_rules.ReleaseRules,
    partition: records.Partition,
    state: records.LeaderAndIsr,
    controller_epoch: int,
) -> bool:
    """Follow the leader that ``state`` names; whether the fetcher restarts.

    A restart means to check again whether the log has to be truncated. Up to 2.0.0 only another
    leader id did that, so a follower that had missed an election in between kept a diverging log
    (KAFKA-7164).

    Source: Partition.makeFollower@1.1.0, @2.0.1, @2.1.0 and @3.3.0.
    """
    restart = restarts_fetcher(
        rules, partition.leader, partition.leader_epoch, state.leader, state.leader_epoch
    )
    partition.leader = state.leader
    partition.leader_epoch = state.leader_epoch
    partition.leader_epoch_start_offset = records.UNDEFINED
    partition.controller_epoch = controller_epoch
    commit_isr(partition, replica_list.EMPTY, state.partition_epoch)
    return restart


@rule
def restarts_fetcher(
    rules: release_rules.ReleaseRules,
    old_leader: int,
    old_epoch: int,
    new_leader: int,
    new_epoch: int,
) -> bool:
    """Whether a follower's fetcher restarts for another leader or epoch.

    Source: Partition.makeFollower@1.1.0, @2.0.1, @2.1.0 and @3.3.0.
    """
    if rules.fetcher_restart_rule == release_rules.RESTART_ON_NEW_EPOCH:
        return new_epoch > old_epoch
    if (
        new_leader != old_leader
        or rules.fetcher_restart_rule == release_rules.RESTART_ON_NEW_LEADER
    ):
        return new_leader != old_leader
    if rules.fetcher_restart_rule == release_rules.RESTART_UNLESS_NEXT_EPOCH:
        return new_epoch not in (old_epoch, old_epoch + 1)
    return new_epoch != old_epoch


#: Leader epoch in a StopReplica that deletes the topic, whatever the epoch is.
EPOCH_DURING_DELETE = code(-2)
#: Leader epoch in a StopReplica of a controller that does not send any.
NO_EPOCH = code(-1)


@rule
def controller_request_error(
    rules: release_rules.ReleaseRules,
    known_controller_epoch: int,
    controller_epoch: int,
    own_broker_epoch: int,
    broker_epoch: int,
) -> int:
    """Judge a LeaderAndIsr, UpdateMetadata or StopReplica as a whole.

    A broker epoch of -1 comes from a controller that does not send it.

    Source: KafkaApis.isBrokerEpochStale@2.2.0, ReplicaManager.becomeLeaderOrFollower@2.4.0.
    """
    if rules.broker_epoch_fenced and records.UNDEFINED < broker_epoch < own_broker_epoch:
        return errors.STALE_BROKER_EPOCH
    if controller_epoch < known_controller_epoch:
        return errors.STALE_CONTROLLER_EPOCH
    return errors.NONE


@rule
def leader_and_isr_error(
    rules: release_rules.ReleaseRules,
    known_leader_epoch: int,
    leader_epoch: int,
    is_replica: bool,
    is_offline: bool,
) -> int:
    """Judge one partition of a LeaderAndIsr: only a greater leader epoch is obeyed.

    ``is_offline``: the log lies in a directory that has failed; this is checked first.

    Source: ReplicaManager.becomeLeaderOrFollower@2.4.0.
    """
    if is_offline and rules.offline_replica_answered:
        return errors.KAFKA_STORAGE_ERROR
    if leader_epoch <= known_leader_epoch:
        return errors.STALE_CONTROLLER_EPOCH
    if not is_replica:
        return errors.UNKNOWN_TOPIC_OR_PARTITION
    return errors.NONE


@rule
def skips_older_partition_epoch(
    rules: release_rules.ReleaseRules, partition: records.Partition, partition_epoch: int
) -> bool:
    """Whether a LeaderAndIsr that was accepted is skipped: its state is older than known.

    Source: Partition.makeLeader and makeFollower@3.3.0.
    """
    return rules.partition_epoch_checked and partition_epoch < partition.partition_epoch


@rule
def stop_replica_error(
    rules: release_rules.ReleaseRules, known_leader_epoch: int, leader_epoch: int
) -> int:
    """Judge one partition of a StopReplica.

    Source: ReplicaManager.stopReplicas@2.5.0, @2.6.0 (KIP-570) and @3.4.1 (KAFKA-13972).
    """
    if not rules.stop_replica_fenced or leader_epoch in (EPOCH_DURING_DELETE, NO_EPOCH):
        return errors.NONE
    if leader_epoch > known_leader_epoch:
        return errors.NONE
    if rules.stop_replica_accepts_equal_epoch and leader_epoch == known_leader_epoch:
        return errors.NONE
    return errors.FENCED_LEADER_EPOCH
