"""Kinds of events: every message, timer and fault there is, by number."""

from __future__ import annotations

from tidegauge.compiled.codes import code
from tidegauge.simulation.messages.broker_timers import (
    AlterPartitionDue,
    AlterPartitionGivesUp,
    BrokerStart,
    BrokerStops,
    FetcherGivesUp,
    FetcherWakes,
    FetchExpires,
    FollowerFetchExpires,
    HandlerFree,
    HandlerGoesOn,
    HighWatermarkCheckpoint,
    IsrChangePropagation,
    IsrExpiration,
    LoadingBegins,
    LogDirFails,
    LogsLoaded,
    MemberExpires,
    OffsetsLoaded,
    ProduceExpires,
    RecoveryPointCheckpoint,
    RegistrationDue,
    Sample,
    SessionPing,
    SessionReconnects,
    ShutdownGivesUp,
    ShutdownRetries,
)
from tidegauge.simulation.messages.client_requests import (
    ConsumerResponse,
    EpochResponse,
    FetchRequest,
    FetchResponse,
    FindCoordinatorRequest,
    GroupResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetCommitRequest,
    OffsetsForLeaderEpochRequest,
    ProduceRequest,
    ProduceResponse,
)
from tidegauge.simulation.messages.client_timers import (
    ClientStart,
    CommitDue,
    ConsumerPolls,
    ConsumerRestarts,
    ConsumerSample,
    GroupDue,
    MetadataRefresh,
    ProducerRetries,
    ProducerSends,
    RequestTimesOut,
    RollGoesOn,
    RollTimesOut,
    StepDue,
    StepLooks,
)
from tidegauge.simulation.messages.controller_requests import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterReassignmentsRequest,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    ControlResponse,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from tidegauge.simulation.messages.controller_timers import (
    AutoLeaderRebalance,
    BrokerDied,
    ControlGivesUp,
    ControllerStart,
    ControllerWorks,
    ControlRetries,
    SessionLost,
    UncleanElectionEnabled,
)
from tidegauge.simulation.messages.event import KINDS as CLASSES
from tidegauge.simulation.messages.fault_events import (
    Disconnected,
    FaultBegin,
    FaultEnd,
    FaultKnown,
    LinkRelease,
    Observe,
    ProcessRelease,
    SupervisorStarts,
)
from tidegauge.simulation.messages.zookeeper_requests import (
    ConfigChanged,
    ThrottlesChanged,
    ZkChildrenRequest,
    ZkCloseRequest,
    ZkConfigureRequest,
    ZkConnectRequest,
    ZkCreateRequest,
    ZkDeleteRequest,
    ZkExistsRequest,
    ZkGetRequest,
    ZkIsQuiescentRequest,
    ZkPingRequest,
    ZkResponse,
    ZkSetRequest,
    ZkThrottleRequest,
    ZkTick,
    ZkWatch,
)

FAULT_BEGIN = code(FaultBegin.KIND)
FAULT_END = code(FaultEnd.KIND)
FAULT_KNOWN = code(FaultKnown.KIND)
LINK_RELEASE = code(LinkRelease.KIND)
SUPERVISOR_STARTS = code(SupervisorStarts.KIND)
OBSERVE = code(Observe.KIND)
PROCESS_RELEASE = code(ProcessRelease.KIND)
DISCONNECTED = code(Disconnected.KIND)
FIND_COORDINATOR = code(FindCoordinatorRequest.KIND)
HEARTBEAT = code(HeartbeatRequest.KIND)
PRODUCE = code(ProduceRequest.KIND)
FETCH = code(FetchRequest.KIND)
OFFSETS_FOR_LEADER_EPOCH = code(OffsetsForLeaderEpochRequest.KIND)
LIST_OFFSETS = code(ListOffsetsRequest.KIND)
METADATA = code(MetadataRequest.KIND)
OFFSET_COMMIT = code(OffsetCommitRequest.KIND)
JOIN_GROUP = code(JoinGroupRequest.KIND)
FETCH_RESPONSE = code(FetchResponse.KIND)
EPOCH_RESPONSE = code(EpochResponse.KIND)
LIST_OFFSETS_RESPONSE = code(ListOffsetsResponse.KIND)
PRODUCE_RESPONSE = code(ProduceResponse.KIND)
CONSUMER_RESPONSE = code(ConsumerResponse.KIND)
METADATA_RESPONSE = code(MetadataResponse.KIND)
GROUP_RESPONSE = code(GroupResponse.KIND)
LEADER_AND_ISR = code(LeaderAndIsrRequest.KIND)
UPDATE_METADATA = code(UpdateMetadataRequest.KIND)
STOP_REPLICA = code(StopReplicaRequest.KIND)
CONTROL_RESPONSE = code(ControlResponse.KIND)
CONTROLLED_SHUTDOWN = code(ControlledShutdownRequest.KIND)
CONTROLLED_SHUTDOWN_RESPONSE = code(ControlledShutdownResponse.KIND)
ALTER_PARTITION = code(AlterPartitionRequest.KIND)
ALTER_PARTITION_RESPONSE = code(AlterPartitionResponse.KIND)
ALTER_REASSIGNMENTS = code(AlterReassignmentsRequest.KIND)
ZK_CONNECT = code(ZkConnectRequest.KIND)
ZK_PING = code(ZkPingRequest.KIND)
ZK_CREATE = code(ZkCreateRequest.KIND)
ZK_SET = code(ZkSetRequest.KIND)
ZK_GET = code(ZkGetRequest.KIND)
ZK_EXISTS = code(ZkExistsRequest.KIND)
ZK_CHILDREN = code(ZkChildrenRequest.KIND)
ZK_DELETE = code(ZkDeleteRequest.KIND)
ZK_CLOSE = code(ZkCloseRequest.KIND)
ZK_IS_QUIESCENT = code(ZkIsQuiescentRequest.KIND)
ZK_CONFIGURE = code(ZkConfigureRequest.KIND)
ZK_THROTTLE = code(ZkThrottleRequest.KIND)
ZK_RESPONSE = code(ZkResponse.KIND)
ZK_WATCH = code(ZkWatch.KIND)
CONFIG_CHANGED = code(ConfigChanged.KIND)
THROTTLES_CHANGED = code(ThrottlesChanged.KIND)
ZK_TICK = code(ZkTick.KIND)
BROKER_START = code(BrokerStart.KIND)
HANDLER_FREE = code(HandlerFree.KIND)
HANDLER_GOES_ON = code(HandlerGoesOn.KIND)
PRODUCE_EXPIRES = code(ProduceExpires.KIND)
FETCH_EXPIRES = code(FetchExpires.KIND)
FOLLOWER_FETCH_EXPIRES = code(FollowerFetchExpires.KIND)
FETCHER_WAKES = code(FetcherWakes.KIND)
FETCHER_GIVES_UP = code(FetcherGivesUp.KIND)
ISR_EXPIRATION = code(IsrExpiration.KIND)
ISR_CHANGE_PROPAGATION = code(IsrChangePropagation.KIND)
SESSION_PING = code(SessionPing.KIND)
SAMPLE = code(Sample.KIND)
LOADING_BEGINS = code(LoadingBegins.KIND)
LOGS_LOADED = code(LogsLoaded.KIND)
HIGH_WATERMARK_CHECKPOINT = code(HighWatermarkCheckpoint.KIND)
RECOVERY_POINT_CHECKPOINT = code(RecoveryPointCheckpoint.KIND)
SHUTDOWN_RETRIES = code(ShutdownRetries.KIND)
SHUTDOWN_GIVES_UP = code(ShutdownGivesUp.KIND)
BROKER_STOPS = code(BrokerStops.KIND)
OFFSETS_LOADED = code(OffsetsLoaded.KIND)
MEMBER_EXPIRES = code(MemberExpires.KIND)
ALTER_PARTITION_DUE = code(AlterPartitionDue.KIND)
ALTER_PARTITION_GIVES_UP = code(AlterPartitionGivesUp.KIND)
SESSION_RECONNECTS = code(SessionReconnects.KIND)
REGISTRATION_DUE = code(RegistrationDue.KIND)
LOG_DIR_FAILS = code(LogDirFails.KIND)
CONTROLLER_START = code(ControllerStart.KIND)
CONTROLLER_WORKS = code(ControllerWorks.KIND)
SESSION_LOST = code(SessionLost.KIND)
BROKER_DIED = code(BrokerDied.KIND)
CONTROL_RETRIES = code(ControlRetries.KIND)
CONTROL_GIVES_UP = code(ControlGivesUp.KIND)
AUTO_LEADER_REBALANCE = code(AutoLeaderRebalance.KIND)
UNCLEAN_ELECTION_ENABLED = code(UncleanElectionEnabled.KIND)
CLIENT_START = code(ClientStart.KIND)
PRODUCER_SENDS = code(ProducerSends.KIND)
PRODUCER_RETRIES = code(ProducerRetries.KIND)
REQUEST_TIMES_OUT = code(RequestTimesOut.KIND)
CONSUMER_POLLS = code(ConsumerPolls.KIND)
METADATA_REFRESH = code(MetadataRefresh.KIND)
STEP_DUE = code(StepDue.KIND)
STEP_LOOKS = code(StepLooks.KIND)
ROLL_GOES_ON = code(RollGoesOn.KIND)
ROLL_TIMES_OUT = code(RollTimesOut.KIND)
GROUP_DUE = code(GroupDue.KIND)
COMMIT_DUE = code(CommitDue.KIND)
CONSUMER_SAMPLE = code(ConsumerSample.KIND)
CONSUMER_RESTARTS = code(ConsumerRestarts.KIND)

#: One more than the largest kind.
KINDS = max(CLASSES) + 1

#: What people call each kind.
NAMES: dict[int, str] = {kind: each.NAME for kind, each in sorted(CLASSES.items())}

#: Kafka's number of each kind of event, for compiled code; -1: it is no request of Kafka.
KEY_OF_KIND = tuple(CLASSES[kind].API_KEY if kind in CLASSES else -1 for kind in range(KINDS))

#: Whether one of num.io.threads handles the kind, and whether nothing holds it back.
IS_REQUEST = tuple(kind in CLASSES and CLASSES[kind].IS_REQUEST for kind in range(KINDS))
IS_UNHELD = tuple(kind in CLASSES and CLASSES[kind].IS_UNHELD for kind in range(KINDS))

#: ``api_key``: Kafka's name of each number.
API_KEYS = {each.API_KEY: each.NAME for each in CLASSES.values() if each.API_KEY >= 0}
