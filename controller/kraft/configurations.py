"""Settings at KRaft's controller: of topics, of brokers, and throttles of replication (KIP-73).

Each change is a record of the metadata log, and reaches a broker with its next fetch of it: the
settings of a topic with each of its replicas, those of a broker with the response itself
(``observers.py``).

Another min.insync.replicas empties the ELRs of the topic's partitions: a replica that was eligible
under the old number need not be under the new one. A topic that allows unclean election from now
on gets no leader by that.

A broker's cordoned.log.dirs reach the controller with its next heartbeat. Brokers all of whose log
directories are cordoned get no new replicas.

Throttles are the rates of a broker (leader- and follower.replication.throttled.rate) and the lists
of a topic (leader- and follower.replication.throttled.replicas). kafka-reassign-partitions
--throttle sets them before it moves replicas: of each partition the present replicas as leaders
and the new ones as followers, and the rate of all brokers that have any of them. --verify removes
all throttles unless replicas are being moved.

Simplified: the tool reads first and then writes in two requests, the topics and the brokers; here
both are one. Its requests for the settings of a broker go to the controller at once, so that a
broker that is down does not fail them. A topic's two lists are one record, whose content is that of
the controller's memory at its commit. --verify removes the throttles of all topics, not only of
those in its file.

Source: ConfigurationControlManager.incrementalAlterConfigs,
ReplicationControlManager.replay(ClearElrRecord)@4.1.0 (KAFKA-16540);
ReassignPartitionsCommand.calculateProposedMoveMap, modifyReassignmentThrottle,
clearAllThrottles@4.1.0.
"""

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft import state
from tidegauge.controller.kraft.committed_rows import rows_of_topic
from tidegauge.controller.kraft.described import is_any_moving
from tidegauge.controller.kraft.metadata_log import (
    append_partition,
    append_record,
    respond_when_committed,
)
from tidegauge.controller.kraft_partitions.partition_change import clear_elr
from tidegauge.controller.raft.measured import respond
from tidegauge.replication import errors
from tidegauge.replication.replica_list import EMPTY, contains, first, rest, without
from tidegauge.replication.replication_quota import UNLIMITED
from tidegauge.simulation.events import items_of, new_response
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import quorum_requests
from tidegauge.simulation.topology import broker_of
from tidegauge.simulation.trace_rows.codes import THROTTLE_MOVES, THROTTLE_NOTHING


@state.WRITES.handles(quorum_requests.IncrementalAlterConfigsRequest)
@inner_rule
def handle_incremental_alter_configs(
    world: state.Quorum, request: quorum_requests.IncrementalAlterConfigsRequest
) -> None:
    """Set the settings of an operator's request; an error changes none of them."""
    response = new_response(world, request, quorum_requests.AdminResponse)
    response.error = _error_of(world, request)
    if response.error != errors.NONE:
        respond(world, response)
        return
    if request.scope == THROTTLE_MOVES:
        _throttle_moves(world, request)
    elif request.scope == THROTTLE_NOTHING:
        _end_throttles(world)
    elif request.topic == NONE:
        _configure_brokers(world, request)
    else:
        _configure_topic(world, request)
    respond_when_committed(world, response)


@inner_rule
def _error_of(world: state.Quorum, request: quorum_requests.IncrementalAlterConfigsRequest) -> int:
    """Why a request is refused: it names a topic that does not exist."""
    if request.scope == THROTTLE_MOVES:
        for asked in items_of(world, request, quorum_requests.AskedReassignment):
            if not world.quorum_topics[world.partitions[asked.partition].topic].exists:
                return errors.UNKNOWN_TOPIC_OR_PARTITION
    elif request.topic != NONE and not world.quorum_topics[request.topic].exists:
        return errors.UNKNOWN_TOPIC_OR_PARTITION
    return errors.NONE


@inner_rule
def _configure_brokers(
    world: state.Quorum, request: quorum_requests.IncrementalAlterConfigsRequest
) -> None:
    for named in items_of(world, request, quorum_requests.DescribedBroker):
        if request.cordoned_log_dirs != NONE:
            record = append_record(world, state.BROKER_CONFIG_RECORD, named.broker)
            record.cordoned_directories = request.cordoned_log_dirs
        _limit(world, named.broker, request.leader_rate, request.follower_rate)


@inner_rule
def _limit(world: state.Quorum, broker: int, leader_rate: int, follower_rate: int) -> None:
    """Set the throttled rates of a broker; -1: it stays. Without a change there is no record."""
    known = world.quorum_brokers[broker]
    had_leader_rate = known.leader_rate
    had_follower_rate = known.follower_rate
    if leader_rate != NONE:
        known.leader_rate = leader_rate
    if follower_rate != NONE:
        known.follower_rate = follower_rate
    if known.leader_rate != had_leader_rate or known.follower_rate != had_follower_rate:
        record = append_record(world, state.BROKER_CONFIG_RECORD, broker)
        record.leader_rate = known.leader_rate
        record.follower_rate = known.follower_rate


@inner_rule
def _configure_topic(
    world: state.Quorum, request: quorum_requests.IncrementalAlterConfigsRequest
) -> None:
    topic = world.quorum_topics[request.topic]
    for each in items_of(world, request, quorum_requests.ThrottledPartition):
        _throttle(world, each.partition, each.leaders, each.followers)
    _append_throttles(world)
    if request.min_insync_replicas == NONE and request.unclean_leader_election == NONE:
        return
    clears = request.min_insync_replicas not in (NONE, topic.min_insync_replicas)
    if request.min_insync_replicas != NONE:
        topic.min_insync_replicas = request.min_insync_replicas
    if request.unclean_leader_election != NONE:
        topic.unclean_leader_election = request.unclean_leader_election == 1
    record = append_record(world, state.CONFIG_RECORD, request.topic)
    record.min_insync_replicas = topic.min_insync_replicas
    record.unclean_leader_election = topic.unclean_leader_election
    if clears and world.kraft_switches[0].eligible_leader_replicas:
        for number in range(topic.partition_count):
            partition = topic.first_partition + number
            if clear_elr(world.registrations[partition]):
                append_partition(world, partition)


@inner_rule
def _throttle_moves(
    world: state.Quorum, request: quorum_requests.IncrementalAlterConfigsRequest
) -> None:
    """Throttle the moves of a request, and nothing else of their topics."""
    for asked in items_of(world, request, quorum_requests.AskedReassignment):
        topic = world.quorum_topics[world.partitions[asked.partition].topic]
        if not topic.throttles_change:
            _end_throttles_of_topic(world, topic)
            topic.throttles_change = True
    for asked in items_of(world, request, quorum_requests.AskedReassignment):
        sources = world.registrations[asked.partition].replicas
        destinations = without(asked.target, sources)
        _throttle(world, asked.partition, sources, destinations)
        _limit_all(world, request, asked.partition, sources)
        _limit_all(world, request, asked.partition, destinations)
    _append_throttles(world)


@inner_rule
def _limit_all(
    world: state.Quorum,
    request: quorum_requests.IncrementalAlterConfigsRequest,
    partition: int,
    replicas: int,
) -> None:
    left = replicas
    while left != EMPTY:
        broker = broker_of(world, partition, first(left))
        _limit(world, broker, request.leader_rate, request.follower_rate)
        left = rest(left)


@inner_rule
def _throttle(world: state.Quorum, partition: int, leaders: int, followers: int) -> None:
    """Throttle these replicas of a partition, and no others of it; -1: those that are stay so."""
    facts = world.partitions[partition]
    for slot in range(facts.slot_count):
        throttled = world.throttled_replicas[facts.first_slot + slot]
        if leaders != NONE:
            throttled.as_leader = contains(leaders, slot)
        if followers != NONE:
            throttled.as_follower = contains(followers, slot)
    world.quorum_topics[facts.topic].throttles_change = True


@inner_rule
def _append_throttles(world: state.Quorum) -> None:
    """Append a record of each topic whose throttled replicas this event has changed."""
    for number in range(world.sizes[0].topics):
        topic = world.quorum_topics[number]
        if topic.throttles_change:
            topic.throttles_change = False
            append_record(world, state.THROTTLED_REPLICAS_RECORD, number)


@inner_rule
def _end_throttles_of_topic(world: state.Quorum, topic: state.QuorumTopic) -> bool:
    """Throttle no replica of a topic; whether there was any."""
    had_any = False
    for row in rows_of_topic(world, topic):
        throttled = world.throttled_replicas[row]
        had_any = had_any or throttled.as_leader or throttled.as_follower
        throttled.as_leader = False
        throttled.as_follower = False
    return had_any


@inner_rule
def _end_throttles(world: state.Quorum) -> None:
    """Remove all throttles, unless replicas are being moved."""
    if is_any_moving(world):
        return
    for broker in range(world.sizes[0].brokers):
        _limit(world, broker, UNLIMITED, UNLIMITED)
    for topic in world.quorum_topics:
        topic.throttles_change = _end_throttles_of_topic(world, topic)
    _append_throttles(world)
