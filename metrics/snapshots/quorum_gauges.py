"""Reading gauges off a quorum: its committed state, its controllers, its readers."""

from tidegauge.actors.state.brokers import Brokers
from tidegauge.compiled.records import Records
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.controller.kraft.described import is_quorum_hosted, is_unfenced
from tidegauge.controller.kraft.state import PROCESSING_TIMES, QUEUE_TIMES, Quorum
from tidegauge.controller.raft.snapshots import last_epoch_of
from tidegauge.controller.raft.state import Voter
from tidegauge.metrics.families.all_families import ClusterGauges, PartitionGauges
from tidegauge.metrics.families.brokers import BrokerGauges
from tidegauge.metrics.families.controllers import QuorumControllerGauges, RaftGauges
from tidegauge.metrics.families.requests import HistogramGauges, read_histogram
from tidegauge.replication import voter_set
from tidegauge.replication.replica_list import first, size
from tidegauge.simulation import sampled_stats
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.topology import Topology, broker_of, is_kraft, quorum_process
from tidegauge.simulation.trace_rows import codes

#: RaftGauges.state: Kafka's texts, by their number.
STATE_TEXTS = (
    "unattached",
    "leader",
    "candidate",
    "prospective",
    "prospective-voted",
    "follower",
    "observer",
    "unattached-voted",
    "voted",
)
_UNATTACHED = code(0)
_LEADER = code(1)
_CANDIDATE = code(2)
_PROSPECTIVE = code(3)
_PROSPECTIVE_VOTED = code(4)
_FOLLOWER = code(5)
_OBSERVER = code(6)
_UNATTACHED_VOTED = code(7)
_VOTED = code(8)

#: LeaderState.OBSERVER_SESSION_TIMEOUT_MS@4.1.0
_OBSERVER_SESSION_US = code(300_000_000)


@rule
def read_quorum(
    world: Quorum,
    gauges: Records[PartitionGauges],
    of_brokers: Records[BrokerGauges],
    of_cluster: Records[ClusterGauges],
) -> None:
    """Enter the committed state, if the controllers of a quorum are hosted here.

    Source: KRaftMetadataCache@4.1.0.
    """
    if not is_quorum_hosted(world):
        return
    of_cluster[0].known = True
    for broker in range(world.sizes[0].brokers):
        of_brokers[broker].registered = is_unfenced(world, broker)
        of_cluster[0].registered_brokers += 1 if of_brokers[broker].registered else 0
    for partition in range(len(world.partitions)):
        known = world.committed_partitions[partition]
        if not known.exists:
            continue
        gauge = gauges[partition]
        gauge.exists = True
        gauge.leader = broker_of(world, partition, known.leader)
        gauge.leader_epoch = known.leader_epoch
        gauge.in_sync_replicas = size(known.isr)
        gauge.replicas = size(known.replicas)
        gauge.leader_is_preferred = known.leader == first(known.replicas)


@rule
def read_quorum_controllers(
    world: Quorum, gauges: Records[QuorumControllerGauges], event_times: Records[HistogramGauges]
) -> None:
    """Enter the controllers of a quorum; they count the cluster by its committed state.

    Source: QuorumControllerMetrics, ControllerMetadataMetrics, OffsetControlManager@4.1.0.
    """
    if not is_quorum_hosted(world):
        return
    counted = gauges[0]
    _count_brokers(world, counted)
    _count_partitions(world, counted)
    for number in range(len(gauges)):
        gauge = gauges[number]
        process = world.processes[quorum_process(world, number)]
        gauge.alive = process.alive
        gauge.answers = process.alive and process.paused == 0
        gauge.active_brokers = counted.active_brokers
        gauge.fenced_brokers = counted.fenced_brokers
        gauge.global_topics = counted.global_topics
        gauge.global_partitions = counted.global_partitions
        gauge.offline_partitions = counted.offline_partitions
        gauge.preferred_replica_imbalance = counted.preferred_replica_imbalance
        _read_controller(world, number, gauge)
        for histogram in (QUEUE_TIMES, PROCESSING_TIMES):
            place = 2 * number + histogram
            times = world.controller_event_times[
                place * sampled_stats.BUCKETS : (place + 1) * sampled_stats.BUCKETS
            ]
            read_histogram(times, event_times[place])


@inner_rule
def _read_controller(world: Quorum, number: int, gauge: QuorumControllerGauges) -> None:
    voter = world.voters[number]
    stats = world.controller_stats[number]
    # A superseded controller may still count itself as the active one.
    gauge.active_controller = voter.claimed_epoch != NONE
    gauge.controller_epoch = voter.claimed_epoch
    gauge.last_committed_offset = max(0, voter.high_watermark - 1)
    gauge.last_applied_offset = gauge.last_committed_offset
    if gauge.active_controller:
        # It applies its own appends.
        gauge.last_applied_offset = voter.log_end_offset - 1
    gauge.events = stats.events
    gauge.timed_out_heartbeats = stats.timed_out_heartbeats
    gauge.new_active_controllers = world.voter_stats[number].leaders
    gauge.leader_elections = stats.leader_elections
    gauge.unclean_leader_elections = stats.unclean_elections
    gauge.elr_elections = stats.elr_elections
    gauge.known_unclean_leader_elections = stats.known_unclean_elections
    gauge.known_elr_elections = stats.known_elr_elections


@inner_rule
def _count_brokers(world: Quorum, gauge: QuorumControllerGauges) -> None:
    for broker in range(world.sizes[0].brokers):
        if world.quorum_brokers[broker].committed_epoch == NONE:
            continue
        if is_unfenced(world, broker):
            gauge.active_brokers += 1
        else:
            gauge.fenced_brokers += 1


@inner_rule
def _count_partitions(world: Quorum, gauge: QuorumControllerGauges) -> None:
    for topic in range(world.sizes[0].topics):
        gauge.global_topics += 1 if world.quorum_topics[topic].committed else 0
    for partition in range(len(world.partitions)):
        known = world.committed_partitions[partition]
        if not known.exists:
            continue
        gauge.global_partitions += 1
        gauge.offline_partitions += 1 if known.leader < 0 else 0
        is_preferred = known.leader == first(known.replicas)
        gauge.preferred_replica_imbalance += 0 if is_preferred else 1


@rule
def read_voters(world: Quorum, time_us: int, gauges: Records[RaftGauges]) -> None:
    """Enter the controllers of a quorum that are hosted here and take part in it.

    Source: KafkaRaftMetrics@4.1.0.
    """
    brokers = world.sizes[0].brokers
    for number in range(len(world.voters)):
        process = world.processes[quorum_process(world, number)]
        voter = world.voters[number]
        if not (process.hosted and voter.runs):
            continue
        stats = world.voter_stats[number]
        gauge = gauges[brokers + number]
        gauge.exists = True
        gauge.is_controller = True
        _read_features(world, brokers + number, gauge)
        gauge.state = _state_of(voter, number)
        gauge.voters = voter_set.voter_count(voter.voter_set)
        gauge.observers = _observing_controllers(world, number, time_us)
        gauge.uncommitted_voter_change = voter.change != 0
        gauge.kraft_version = voter.kraft_version
        gauge.leader = voter.leader
        gauge.vote = _vote_of(voter, number)
        gauge.epoch = voter.epoch
        gauge.high_watermark = voter.high_watermark
        gauge.log_end_offset = voter.drained_offset
        gauge.log_end_epoch = last_epoch_of(world, number)
        _read_records(stats.fetched_records, stats.appended_records, time_us, gauge)
        gauge.commits = sampled_stats.values_in(stats.commit_us, time_us)
        gauge.commit_us = sampled_stats.total_of(stats.commit_us, time_us)
        gauge.longest_commit_us = sampled_stats.most_of(stats.commit_us, time_us)
        gauge.elections = sampled_stats.values_in(stats.election_us, time_us)
        gauge.election_us = sampled_stats.total_of(stats.election_us, time_us)
        gauge.longest_election_us = sampled_stats.most_of(stats.election_us, time_us)
        gauge.started_us = process.up_since_us
        gauge.written_us = stats.written_us - max(0, voter.writes_until_us - time_us)
        gauge.handled_us = world.controller_stats[number].handled_us
        if voter.works:
            gauge.handled_us += time_us - voter.event_taken_us
        _read_channel(stats.channel, gauge)


@inner_rule
def _read_features(world: Topology, node: int, gauge: RaftGauges) -> None:
    """Enter the finalized levels of features that a node knows.

    Source: MetadataLoaderMetrics.setFinalizedFeatureLevel@4.2.0.
    """
    versions = world.node_versions[node]
    gauge.metadata_level = world.metadata_versions[versions.metadata_version].feature_level
    gauge.elr_level = versions.elr_version


@inner_rule
def _observing_controllers(world: Quorum, leader: int, time_us: int) -> int:
    """The controllers that are no voters and fetch from this leader.

    Source: LeaderState.observerStates, clearInactiveObservers@4.1.0.
    """
    observing = 0
    for number in range(len(world.voters)):
        fetched_us = world.observer_progress[leader * len(world.voters) + number].fetched_us
        is_there = fetched_us != NONE and time_us - fetched_us < _OBSERVER_SESSION_US
        observing += 1 if is_there else 0
    return observing


@inner_rule
def _state_of(voter: Voter, number: int) -> int:
    if voter.state == codes.LEADER:
        return _LEADER
    if voter.state == codes.CANDIDATE:
        return _CANDIDATE
    if voter.state == codes.FOLLOWER:
        is_voter = voter_set.is_voter(voter.voter_set, number, voter.directory)
        return _FOLLOWER if is_voter else _OBSERVER
    if voter.state == codes.PROSPECTIVE:
        return _PROSPECTIVE if voter.voted_for == NONE else _PROSPECTIVE_VOTED
    if voter.state == codes.UNATTACHED and voter.voted_for != NONE:
        # 4.0 has another text for it.
        return _UNATTACHED_VOTED if voter.has_pre_vote else _VOTED
    return _UNATTACHED


@inner_rule
def _vote_of(voter: Voter, number: int) -> int:
    """Up to 3.9 a follower does not report its vote any more."""
    if voter.state in (codes.LEADER, codes.CANDIDATE):
        return number
    if voter.state == codes.UNATTACHED or (
        voter.has_pre_vote and voter.state in (codes.FOLLOWER, codes.PROSPECTIVE)
    ):
        return voter.voted_for
    return NONE


@inner_rule
def _read_records(
    fetched: sampled_stats.SampledStat,
    appended: sampled_stats.SampledStat,
    time_us: int,
    gauge: RaftGauges,
) -> None:
    gauge.fetched_records = sampled_stats.total_of(fetched, time_us)
    gauge.fetched_for_us = sampled_stats.window_us(fetched, time_us)
    gauge.appended_records = sampled_stats.total_of(appended, time_us)
    gauge.appended_for_us = sampled_stats.window_us(appended, time_us)


@inner_rule
def _read_channel(stats: sampled_stats.ChannelStats, gauge: RaftGauges) -> None:
    gauge.requests = stats.requests
    gauge.outgoing_bytes = stats.outgoing_bytes
    gauge.responses = stats.responses
    gauge.incoming_bytes = stats.incoming_bytes


@rule
def read_observers(world: Brokers, time_us: int, gauges: Records[RaftGauges]) -> None:
    """Enter the brokers of a quorum that are hosted here and run: they do not vote.

    Source: KafkaRaftMetrics@4.1.0, of the Raft client of a broker.
    """
    if not is_kraft(world):
        return
    for broker in range(world.sizes[0].brokers):
        if not (world.processes[broker].hosted and world.processes[broker].alive):
            continue
        state = world.lifecycles[broker]
        gauge = gauges[broker]
        _read_features(world, broker, gauge)
        # A process finds the content of its disk again.
        gauge.exists = state.leader_epoch != NONE
        gauge.started_us = world.processes[broker].up_since_us
        gauge.loaded_us = state.loaded_us - max(0, state.loads_until_us - time_us)
        gauge.state = _OBSERVER if state.leader != NONE else _UNATTACHED
        gauge.leader = state.leader
        gauge.vote = NONE
        gauge.epoch = state.leader_epoch
        gauge.high_watermark = state.high_watermark
        gauge.log_end_offset = state.log_end_offset
        gauge.log_end_epoch = state.fetched_epoch
        gauge.fetched_records = sampled_stats.total_of(state.fetched_records, time_us)
        gauge.fetched_for_us = sampled_stats.window_us(state.fetched_records, time_us)
        gauge.appended_for_us = gauge.fetched_for_us
        _read_channel(state.channel, gauge)
