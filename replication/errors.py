"""Kafka's error codes, as its protocol numbers them (``Errors``, clients module).

NOT_LEADER_OR_FOLLOWER is what 2.6 made of NOT_LEADER_FOR_PARTITION: same code, two names.
"""

from __future__ import annotations

from tidegauge.replication.compiled import code

UNKNOWN_SERVER_ERROR = code(-1)
NONE = code(0)
OFFSET_OUT_OF_RANGE = code(1)
CORRUPT_MESSAGE = code(2)
UNKNOWN_TOPIC_OR_PARTITION = code(3)
NOT_LEADER_OR_FOLLOWER = code(6)
REQUEST_TIMED_OUT = code(7)
REPLICA_NOT_AVAILABLE = code(9)
STALE_CONTROLLER_EPOCH = code(11)
NOT_ENOUGH_REPLICAS = code(19)
NOT_ENOUGH_REPLICAS_AFTER_APPEND = code(20)
INVALID_REQUIRED_ACKS = code(21)
NOT_CONTROLLER = code(41)
INVALID_REQUEST = code(42)
OPERATION_NOT_ATTEMPTED = code(55)
KAFKA_STORAGE_ERROR = code(56)
FENCED_LEADER_EPOCH = code(74)
UNKNOWN_LEADER_EPOCH = code(75)
STALE_BROKER_EPOCH = code(77)
OFFSET_NOT_AVAILABLE = code(78)
INVALID_UPDATE_VERSION = code(95)
UNKNOWN_TOPIC_ID = code(100)
INELIGIBLE_REPLICA = code(107)
NEW_LEADER_ELECTED = code(108)

#: Name of each code, as releases from 2.6 on spell it.
NAMES: dict[int, str] = {
    int(value): name
    for name, value in sorted(globals().items())
    if name.isupper() and name != "NAMES"
}

#: Code of each name, older spellings included.
CODES: dict[str, int] = {name: value for value, name in NAMES.items()} | {
    "NOT_LEADER_FOR_PARTITION": int(NOT_LEADER_OR_FOLLOWER),
}
