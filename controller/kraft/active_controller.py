"""The active controller of a KRaft quorum: the handlers of the events that reach it.

:func:`handle_quorum_event` is the door to everything that it does; in Kafka's words:

==============================  =========================================================
Kafka                           here
==============================  =========================================================
QuorumController, event queue   ``event_queue.py``
KafkaRaftClient, its batches    ``metadata_log.py``; observers' fetches: ``observers.py``
ClusterControlManager,          ``broker_heartbeats.py``
BrokerHeartbeatManager,
ProducerIdControlManager
PartitionChangeBuilder          the room ``kraft_partitions``
ReplicationControlManager       ``partition_records.py``, ``elections.py``, ``topics.py``
PeriodicTaskControlManager      ``periodic_tasks.py``
QuorumControllerMetrics         ``state.py``
claim, renounce                 ``claims.py``; ``activity.py``
SnapshotGenerator               ``metadata_log.py``
ControllerServer                ``controller_processes.py``
ConfigurationControlManager     ``configurations.py``
FeatureControlManager           ``features.py``
(what an operator asks)         ``described.py``
==============================  =========================================================
"""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule, rule
from tidegauge.controller.kraft import (
    broker_heartbeats,
    claims,
    configurations,
    described,
    features,
    metadata_log,
    observers,
    partition_records,
    periodic_tasks,
    topics,
)
from tidegauge.controller.kraft.activity import decides, is_active, refuse_as_not_active
from tidegauge.controller.kraft.broker_heartbeats import note_arrival
from tidegauge.controller.kraft.controller_processes import refuse_event
from tidegauge.controller.kraft.elections import plan_elections
from tidegauge.controller.kraft.event_queue import be_busy, begin_event, end_event, waits_for_turn
from tidegauge.controller.kraft.state import QUORUM, WRITES, Quorum
from tidegauge.controller.raft import elections, follower, leadership, replication, voter_changes
from tidegauge.controller.raft.measured import note_response
from tidegauge.controller.raft.state import RAFT, Raft, this_voter
from tidegauge.simulation.events import free_event, take_first
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import controller_timers, quorum_requests
from tidegauge.simulation.messages.controller_requests import AlterPartitionRequest
from tidegauge.simulation.messages.controller_timers import (
    ControllerTask,
    NoOpDue,
    QuorumStart,
    QuorumWorks,
)
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.kinds import KINDS
from tidegauge.simulation.messages.quorum_requests import BrokerHeartbeatRequest
from tidegauge.simulation.sampled_stats import IS_RAFT_RESPONSE
from tidegauge.simulation.trace_rows import codes

#: Modules that are imported for their handlers, which enter themselves.
_HANDLED_IN = (
    *(broker_heartbeats, partition_records, topics, configurations, features),
    *(described, metadata_log, observers, periodic_tasks, claims, metadata_log),
    *(elections, follower, leadership, replication, voter_changes),
)

#: The types of the events of the queue.
_TYPES = {
    quorum_requests.BrokerRegistrationRequest: codes.REGISTER_BROKER,
    quorum_requests.BrokerHeartbeatRequest: codes.PROCESS_BROKER_HEARTBEAT,
    AlterPartitionRequest: codes.ALTER_PARTITION_OF_LEADER,
    quorum_requests.CreateTopicsRequest: codes.CREATE_TOPICS,
    quorum_requests.DeleteTopicsRequest: codes.DELETE_TOPICS,
    quorum_requests.ElectLeadersRequest: codes.ELECT_LEADERS,
    quorum_requests.AlterPartitionReassignmentsRequest: (codes.ALTER_PARTITION_REASSIGNMENTS),
    quorum_requests.IncrementalAlterConfigsRequest: codes.INCREMENTAL_ALTER_CONFIGS,
    quorum_requests.AllocateProducerIdsRequest: codes.ALLOCATE_PRODUCER_IDS,
    quorum_requests.UpdateFeaturesRequest: codes.UPDATE_FEATURES,
    controller_timers.FencingCheck: codes.MAYBE_FENCE_STALE_BROKER,
    controller_timers.PreferredLeaderBalance: codes.ELECT_PREFERRED,
    controller_timers.UncleanElectionCheck: codes.ELECT_UNCLEAN,
    controller_timers.NoOpDue: codes.WRITE_NO_OP_RECORD,
}
_TYPE_BY_KIND = {each.KIND: int(number) for each, number in _TYPES.items()}
#: By kind of event; -1: it passes by the queue.
EVENT_TYPE = tuple(_TYPE_BY_KIND.get(kind, -1) for kind in range(KINDS))


@rule
def handle_quorum_event(world: Quorum, event: Event) -> None:
    """Let the controller deal with one event, and give it back unless it is kept."""
    if not this_voter(world).runs and event.kind != QuorumStart.KIND:
        refuse_event(world, event)
    elif EVENT_TYPE[event.kind] >= 0:
        if event.kind == BrokerHeartbeatRequest.KIND and decides(world):
            note_arrival(world, view_as(event, BrokerHeartbeatRequest))
        if not waits_for_turn(world, event):
            _write(world, event)
    elif IS_RAFT[event.kind]:
        if IS_RAFT_RESPONSE[event.kind]:
            note_response(world, event)
        if not _take_part(world, event):
            free_event(world, event)
    elif not _handle(world, event):
        free_event(world, event)


@inner_rule
def _write(world: Quorum, event: Event) -> None:
    """Handle an event of the queue: compute records from the state in memory, and append them."""
    before = this_voter(world).log_end_offset
    begin_event(world, event, EVENT_TYPE[event.kind])
    if IS_TASK[event.kind]:
        _run_task(world, event)
    elif decides(world):
        _decide(world, event)
        plan_elections(world)
    else:
        refuse_as_not_active(world, event)
    be_busy(world, this_voter(world).log_end_offset - before)
    free_event(world, event)


@inner_rule
def _run_task(world: Quorum, event: Event) -> None:
    """Run a task of the epoch in which this controller is active; one of before has ended.

    A controller that was superseded only has its log grow.
    """
    task = view_as(event, ControllerTask)
    if not is_active(world) or task.epoch != this_voter(world).claimed_epoch:
        return
    if decides(world) or event.kind == NoOpDue.KIND:
        _decide(world, event)
    if decides(world):
        plan_elections(world)


@QUORUM.handles(QuorumWorks)
@inner_rule
def handle_quorum_works(world: Quorum, _: QuorumWorks) -> bool:
    """The thread is done with an event, and takes the next one of the queue."""
    end_event(world)
    voter = this_voter(world)
    if voter.queue.first != NONE:
        event = take_first(world, voter.queue)
        world.context[0].cause_process = event.cause_process
        world.context[0].cause_sequence = event.cause_sequence
        _write(world, event)
    return False


#: The kind of an event, by its class.
_RAFT_KINDS = {each.KIND for each in RAFT.classes}  # type: ignore[attr-defined]  # events have it
#: By kind of event: whether it is one of the voter (``controller/raft``).
IS_RAFT = tuple(kind in _RAFT_KINDS for kind in range(KINDS))
#: ... and whether it is a task of the active controller.
IS_TASK = tuple(
    kind in (each.KIND for each in _TYPES if issubclass(each, ControllerTask))
    for kind in range(KINDS)
)

#: Call the handler of an event's kind.
_take_part = RAFT.dispatcher(__name__, "_take_part", Raft, Event)
_handle = QUORUM.dispatcher(__name__, "_handle", Quorum, Event)
_decide = WRITES.dispatcher(__name__, "_decide", Quorum, Event)
