"""The types of a controller's events; the steps of each are in ``controller/events``.

Those of KRaft have the names that they have in Kafka's QuorumController; ``controller/kraft`` has
their handlers.
"""

from __future__ import annotations

from tidegauge.compiled.codes import code

ELECT = code(0)
BROKER_CHANGE = code(1)
TOPIC_CHANGE = code(2)
ISR_CHANGE = code(3)
SHUT_DOWN_BROKER = code(4)
PREFERRED_ELECTION = code(5)
AUTO_REBALANCE = code(6)
ELECT_UNCLEANLY = code(7)
ALTER_PARTITION = code(8)
REASSIGNMENT_ASKED_FOR = code(9)
REASSIGNMENT_RESUMED = code(10)
REASSIGNMENT_ISR_CHANGE = code(11)
TOPIC_DELETION_ASKED_FOR = code(12)
TOPIC_DELETION_RESUMED = code(13)
REPLICAS_DELETED = code(14)
LOG_DIR_CHANGE = code(15)
LEADER_AND_ISR_RESPONSE = code(16)
REASSIGNMENT_ALTERED = code(17)

REGISTER_BROKER = code(18)
PROCESS_BROKER_HEARTBEAT = code(19)
MAYBE_FENCE_STALE_BROKER = code(20)
ALTER_PARTITION_OF_LEADER = code(21)
CREATE_TOPICS = code(22)
DELETE_TOPICS = code(23)
ELECT_LEADERS = code(24)
ELECT_PREFERRED = code(25)
ELECT_UNCLEAN = code(26)
ALTER_PARTITION_REASSIGNMENTS = code(27)
INCREMENTAL_ALTER_CONFIGS = code(28)
WRITE_NO_OP_RECORD = code(29)

#: What moves replicas.
REASSIGNMENTS = (
    REASSIGNMENT_ASKED_FOR,
    REASSIGNMENT_RESUMED,
    REASSIGNMENT_ISR_CHANGE,
    REASSIGNMENT_ALTERED,
)

#: What people call each: Kafka's ControllerState where there is one of its own (there
#: AlterPartition counts as IsrChange).
NAMES: dict[int, str] = {
    0: "Startup",
    1: "BrokerChange",
    2: "TopicChange",
    3: "IsrChange",
    4: "ControlledShutdown",
    5: "ManualLeaderBalance",
    6: "AutoLeaderBalance",
    7: "TopicUncleanLeaderElectionEnable",
    8: "AlterPartition",
    9: "AlterPartitionReassignment",
    10: "AlterPartitionReassignment (resumed)",
    11: "AlterPartitionReassignment (an ISR has changed)",
    12: "TopicDeletion",
    13: "TopicDeletion (resumed)",
    14: "TopicDeletion (replicas are deleted)",
    15: "LogDirChange",
    16: "LeaderAndIsrResponseReceived",
    17: "AlterPartitionReassignment (replaced or cancelled)",
    18: "registerBroker",
    19: "processBrokerHeartbeat",
    20: "maybeFenceStaleBroker",
    21: "alterPartition",
    22: "createTopics",
    23: "deleteTopics",
    24: "electLeaders",
    25: "electPreferred",
    26: "electUnclean",
    27: "alterPartitionReassignments",
    28: "incrementalAlterConfigs",
    29: "writeNoOpRecord",
}
