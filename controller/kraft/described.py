"""The committed state, for observers from outside: the operator's requests, views of the cluster.

A broker is live that is not fenced. The operator's conditions ask again and again; no answer waits
for a change.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.kraft.activity import decides
from tidegauge.controller.kraft.state import QUORUM, Quorum
from tidegauge.controller.raft.measured import respond
from tidegauge.controller.raft.replication import progress_of
from tidegauge.controller.raft.state import this_voter, voter_of
from tidegauge.controller.raft.voters import newest_voters
from tidegauge.replication import errors, voter_set
from tidegauge.replication.replica_list import EMPTY, contains
from tidegauge.simulation.events import new_item, new_response
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.quorum_requests import (
    DescribedBroker,
    DescribeQuorumStateRequest,
    DescribeQuorumStateResponse,
)
from tidegauge.simulation.topology import Cluster, broker_of, is_kraft, quorum_process
from tidegauge.simulation.trace_rows import codes

#: The time without a commit after which the quorum counts as quiescent.
_QUIET_US = code(1_500_000)


@inner_rule
def is_quorum_hosted(world: Cluster) -> bool:
    """Whether this group hosts the controllers of a quorum."""
    return is_kraft(world) and world.processes[quorum_process(world, 0)].hosted


@inner_rule
def is_unfenced(world: Quorum, broker: int) -> bool:
    """Whether a broker is registered and not fenced."""
    state = world.quorum_brokers[broker].committed_state
    return state in (codes.BROKER_ACTIVE, codes.BROKER_SHUTTING_DOWN)


@QUORUM.handles(DescribeQuorumStateRequest)
@inner_rule
def handle_describe_quorum_state(world: Quorum, request: DescribeQuorumStateRequest) -> bool:
    """Answer a question of the operator, if the controller is active; that takes no time."""
    response = new_response(world, request, DescribeQuorumStateResponse)
    response.question = request.question
    response.partition = request.partition
    response.continuation = request.continuation
    leader = this_voter(world).leader
    if leader != NONE:
        response.controller = world.sizes[0].brokers + leader
    if not decides(world):
        response.error = errors.NOT_CONTROLLER
    elif request.question == codes.LIVE_BROKERS:
        _name_unfenced(world, response)
    elif request.question == codes.PARTITION_STATE:
        _describe_partition(world, response)
    elif request.question == codes.REASSIGNED:
        response.holds = not is_any_moving(world)
    elif request.question == codes.QUIESCENT:
        response.holds = is_quiescent(world)
    elif request.question == codes.VOTER_FOLLOWS:
        response.holds = _follows(world, request.partition)
    elif request.question == codes.OBSERVER_FOLLOWS:
        response.holds = _observes(world, request.partition)
    elif request.question == codes.COMMITTED_VOTERS:
        response.voters = _committed_voters(world)
    respond(world, response)
    return False


@inner_rule
def _follows(world: Quorum, number: int) -> bool:
    """Whether a controller is the leader, or fetches from it and has its whole log.

    So kafka-metadata-quorum.sh describe --replication shows it: a lag of 0, and a recent fetch.

    Source: LeaderState.describeReplicaState@4.1.0.
    """
    voter = this_voter(world)
    own = voter_of(world, world.context[0].handling)
    if number == own:
        return True
    progress = progress_of(world, number, world.voters[number].directory)
    is_recent = world.context[0].time_us - progress.fetched_us < voter.fetch_timeout_us
    return is_recent and progress.end_offset >= voter.drained_offset


@inner_rule
def _observes(world: Quorum, number: int) -> bool:
    """Whether a controller is no voter with the directory that it has, and follows.

    So it may be added (LeaderState.isReplicaCaughtUp@4.1.0).
    """
    directory = world.voters[number].directory
    is_key = voter_set.is_voter(this_voter(world).voter_set, number, directory)
    return not is_key and world.voters[number].runs and _follows(world, number)


@inner_rule
def _committed_voters(world: Quorum) -> int:
    """The controllers of the newest committed VotersRecord, with whatever directories: bits.

    The operator waits for these. DescribeQuorum names the voters of the newest record, committed
    or not (KafkaRaftClient.handleDescribeQuorumRequest@3.9.0).
    """
    own = voter_of(world, world.context[0].handling)
    known = newest_voters(world, own, this_voter(world).high_watermark).voters
    bits = 0
    for number in range(len(world.voters)):
        if voter_set.directory_of(known, number) != 0:
            bits |= 1 << number
    return bits


@inner_rule
def _name_unfenced(world: Quorum, response: DescribeQuorumStateResponse) -> None:
    for broker in range(world.sizes[0].brokers):
        if is_unfenced(world, broker):
            new_item(world, response, NONE, DescribedBroker, broker=broker)


@inner_rule
def _describe_partition(world: Quorum, response: DescribeQuorumStateResponse) -> None:
    known = world.committed_partitions[response.partition]
    response.holds = known.exists
    response.leader = known.leader
    response.isr = known.isr
    response.replicas = known.replicas


@inner_rule
def is_any_moving(world: Quorum) -> bool:
    """Whether the replicas of any partition are being moved."""
    for partition in range(world.sizes[0].partitions):
        known = world.committed_partitions[partition]
        if known.exists and (known.adding != EMPTY or known.removing != EMPTY):
            return True
    return False


@inner_rule
def is_quiescent(world: Quorum) -> bool:
    """Whether everything has come to rest, as a test harness would see it.

    Every partition with a leader has all its unfenced replicas in sync, and nothing was committed
    for a while.
    """
    if world.context[0].time_us < world.active_controller[0].changed_us + _QUIET_US:
        return False
    for partition in range(world.sizes[0].partitions):
        known = world.committed_partitions[partition]
        if not known.exists or known.leader == NONE:
            continue
        for slot in range(world.partitions[partition].slot_count):
            is_live = is_unfenced(world, broker_of(world, partition, slot))
            if is_live and contains(known.replicas, slot) and not contains(known.isr, slot):
                return False
    return True
