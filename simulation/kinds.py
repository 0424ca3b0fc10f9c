"""Kinds of events: every message, timer and fault there is, by who handles it.

The dispatcher (``engine/event_loop.py``) sends an event to its process's role, and the role
looks at the kind. A timer is an event of a process to itself.
"""

from __future__ import annotations

from tidegauge.compiled.codes import code

# Any process: faults.
FAULT_BEGIN = code(0)
FAULT_END = code(1)
FAULT_KNOWN = code(2)
LINK_RELEASE = code(3)
#: A supervisor starts a broker again that has exited by itself.
SUPERVISOR_STARTS = code(4)
#: What is on a broker's disk and in its memory is written down, as a test harness sees it.
OBSERVE = code(5)
#: A process that goes on has run its own timers, and reads what has come in.
PROCESS_RELEASE = code(6)
#: The last kind that neither a pause nor a cut nor a death can hold back.
LAST_FAULT_KIND = code(6)

# Any process: a peer has closed its connections, or refuses one.
DISCONNECTED = code(7)

# A broker: requests that one of num.io.threads handles.
FIND_COORDINATOR = code(8)
HEARTBEAT = code(9)
PRODUCE = code(10)
FETCH = code(11)
OFFSETS_FOR_LEADER_EPOCH = code(12)
LIST_OFFSETS = code(13)
METADATA = code(14)
LEADER_AND_ISR = code(15)
UPDATE_METADATA = code(16)
STOP_REPLICA = code(17)
OFFSET_COMMIT = code(18)
#: A consumer joins its group, and is told what the group has committed.
JOIN_GROUP = code(19)
FIRST_REQUEST = FIND_COORDINATOR
LAST_REQUEST = JOIN_GROUP

# A broker: answers to its own requests.
FETCH_RESPONSE = code(20)
EPOCH_RESPONSE = code(21)
LIST_OFFSETS_RESPONSE = code(22)
CONTROLLED_SHUTDOWN_RESPONSE = code(23)
ALTER_PARTITION_RESPONSE = code(24)

# A broker: timers.
BROKER_START = code(30)
HANDLER_FREE = code(31)
#: A request that takes its time, partition by partition.
HANDLER_GOES_ON = code(40)
PRODUCE_EXPIRES = code(32)
FETCH_EXPIRES = code(33)
FOLLOWER_FETCH_EXPIRES = code(25)
FETCHER_WAKES = code(34)
FETCHER_GIVES_UP = code(35)
ISR_EXPIRATION = code(36)
ISR_CHANGE_PROPAGATION = code(37)
SESSION_PING = code(38)
SAMPLE = code(39)
LOADING_BEGINS = code(47)
LOGS_LOADED = code(41)
HIGH_WATERMARK_CHECKPOINT = code(42)
RECOVERY_POINT_CHECKPOINT = code(43)
SHUTDOWN_RETRIES = code(44)
SHUTDOWN_GIVES_UP = code(45)
BROKER_STOPS = code(46)
#: A coordinator has read what its partition of __consumer_offsets holds.
OFFSETS_LOADED = code(68)
#: A member of a group may not have been heard for its session time-out.
MEMBER_EXPIRES = code(65)
#: AlterPartition: time to send (again), and the request in flight fails.
ALTER_PARTITION_DUE = code(49)
ALTER_PARTITION_GIVES_UP = code(27)
#: The session's client is connected again, or a broker of 1.0 or older has started.
SESSION_RECONNECTS = code(28)
REGISTRATION_DUE = code(29)
#: LogDirFailureHandler learns of a directory in which a write has failed.
LOG_DIR_FAILS = code(26)

# A broker: news of ZooKeeper.
CONFIG_CHANGED = code(48)
THROTTLES_CHANGED = code(67)

# ZooKeeper: requests, and its tick.
ZK_CONNECT = code(50)
ZK_PING = code(51)
ZK_CREATE = code(52)
ZK_SET = code(53)
ZK_GET = code(54)
ZK_EXISTS = code(55)
ZK_CHILDREN = code(56)
ZK_DELETE = code(57)
ZK_TICK = code(58)
ZK_CLOSE = code(59)
#: What no client can ask, but a test harness: whether everything has come to rest.
ZK_IS_QUIESCENT = code(62)
#: A topic's settings are written, and all brokers that watch are told.
ZK_CONFIGURE = code(63)
#: Throttles of replication are written, and the brokers told.
ZK_THROTTLE = code(64)

# Who uses ZooKeeper: its answers and events.
ZK_RESPONSE = code(60)
ZK_WATCH = code(61)

# A controller.
CONTROLLER_START = code(70)
CONTROLLER_WORKS = code(71)
SESSION_LOST = code(72)
CONTROL_RESPONSE = code(73)
#: The broker of this controller is gone.
BROKER_DIED = code(74)
CONTROLLED_SHUTDOWN = code(75)
ALTER_PARTITION = code(69)
#: Somebody replaces reassignments, or cancels them.
ALTER_REASSIGNMENTS = code(66)
CONTROL_RETRIES = code(76)
CONTROL_GIVES_UP = code(77)
AUTO_LEADER_REBALANCE = code(78)
UNCLEAN_ELECTION_ENABLED = code(79)

# A client.
PRODUCE_RESPONSE = code(80)
CONSUMER_RESPONSE = code(81)
METADATA_RESPONSE = code(82)
CLIENT_START = code(83)
PRODUCER_SENDS = code(84)
PRODUCER_RETRIES = code(85)
REQUEST_TIMES_OUT = code(86)
CONSUMER_POLLS = code(87)
METADATA_REFRESH = code(88)
STEP_DUE = code(89)
STEP_LOOKS = code(90)
#: A rolling restart looks how far its brokers are, goes on after a pause, or has waited too long.
ROLL_GOES_ON = code(91)
ROLL_TIMES_OUT = code(92)
#: A consumer and its group's coordinator: an answer, something to ask, a commit that is due.
GROUP_RESPONSE = code(93)
GROUP_DUE = code(94)
COMMIT_DUE = code(95)
CONSUMER_SAMPLE = code(96)
#: Somebody starts a consumer anew.
CONSUMER_RESTARTS = code(97)

#: One more than the largest kind.
KINDS = 98

#: What people call each kind.
NAMES: dict[int, str] = {
    int(value): name
    for name, value in list(globals().items())
    if name.isupper() and name not in {"FIRST_REQUEST", "LAST_REQUEST", "LAST_FAULT_KIND", "KINDS"}
}
