"""Requests to ZooKeeper, its responses and its news."""

from tidegauge.compiled.records import flag, i64
from tidegauge.simulation.messages import event


class ZooKeeperRequest(event.Event):
    """A request to ZooKeeper."""

    #: The session, and its broker; -1: the operator, who needs none.
    broker: i64 = -1
    session: i64 = -1
    znode: i64 = -1


class ZkConnectRequest(ZooKeeperRequest, kind=50):
    """A broker's client opens a session."""

    session_timeout_ms: i64


class ZkPingRequest(ZooKeeperRequest, kind=51):
    """A sign of life of a session that has nothing else to ask."""


class ZkWrite(ZooKeeperRequest):
    """A write."""

    #: The version that /controller_epoch must have; -1: any.
    controller_epoch_version: i64 = -1


class ZkDataWrite(ZkWrite):
    """A write of a znode's content."""

    #: The partition whose state it writes; -1: something else.
    partition: i64 = -1
    #: The version that the znode must have; -1: any.
    version: i64 = -1


class ZkCreateRequest(ZkDataWrite, kind=52):
    """A znode is created. Its chain is the znode's content: data, or named partitions.

    With /controller and data it is a transaction that also writes /controller_epoch, of which it
    names the version.
    """

    #: The new znode is written at once, in the same transaction.
    sets_data: flag


class ZkSetRequest(ZkDataWrite, kind=53):
    """A znode is written. Its chain is the znode's new content."""


class ZkRead(ZooKeeperRequest):
    """A read of a znode."""

    #: The partition whose state it reads, with its replicas; -1: something else.
    partition: i64 = -1
    #: The sequence number that the znode must have, if it is a sequential one.
    sequence_number: i64 = -1
    sets_watch: flag
    #: The sender's continuation, which the response gives back (ZooKeeper: ``ctx``).
    continuation: i64 = -1


class ZkGetRequest(ZkRead, kind=54):
    """The content of a znode."""


class ZkExistsRequest(ZkRead, kind=55):
    """Whether a znode exists."""


class ZkChildrenRequest(ZkRead, kind=56):
    """The children of a znode."""


class ZkDeleteRequest(ZkWrite, kind=57):
    """A znode is deleted."""

    #: The sequence number that the znode must have, if it is a sequential one.
    sequence_number: i64 = -1


class ZkCloseRequest(ZkWrite, kind=59):
    """A broker's client closes its session."""


class ZkIsQuiescentRequest(ZkRead, kind=62):
    """A question of a test harness, that no client can ask: whether everything has come to rest."""


class ZkConfigureRequest(ZkWrite, kind=63):
    """A topic's settings are written, and sent to all brokers that watch."""

    topic: i64
    #: -1: it stays as it is.
    min_insync_replicas: i64 = -1
    #: 1 or 0; -1: it stays as it is.
    unclean_leader_election: i64 = -1


class ZkThrottleRequest(ZkWrite, kind=64):
    """Throttles of replication are written, and sent to the brokers.

    Its chain is the throttled replicas (:class:`ThrottleTarget`), or the places of replicas
    (:class:`NamedPartition`).
    """

    #: The scope of replicas: one of ``simulation/trace_rows/codes.py``.
    scope: i64
    #: Bytes a second; -1: it stays as it is.
    leader_rate: i64 = -1
    follower_rate: i64 = -1


class ZkResponse(event.Response, kind=60):
    """The response to any request, but for a ping that has found its session, and a close."""

    #: The kind of the request.
    operation: i64
    #: ZooKeeper's error code.
    error: i64
    #: The session of the request, or the one that it has opened.
    session: i64 = -1
    znode: i64 = -1
    #: As in the request.
    partition: i64 = -1
    continuation: i64 = -1
    version: i64 = -1
    #: The transaction that created the znode.
    created_zxid: i64 = -1
    #: The broker that created the znode.
    owner: i64 = -1


class ZkWatch(event.News, kind=61):
    """A watch has fired."""

    session: i64 = -1
    znode: i64 = -1
    #: The znode was created, and not written since.
    is_created: flag


class ConfigChanged(event.News, kind=48):
    """A topic's settings have changed: an entry of :class:`TopicSettings`."""

    session: i64


class ThrottlesChanged(event.News, kind=67):
    """The throttles of a broker; its replicas without an entry are not throttled."""

    session: i64
    #: Bytes a second, or UNLIMITED.
    leader_rate: i64
    follower_rate: i64


class ZkTick(event.Timer, kind=58):
    """ZooKeeper looks which sessions have expired."""


class ZnodeData(event.PartitionData):
    """The content of a znode: a partition's state, or the controller epoch alone."""

    leader: i64 = -1
    leader_epoch: i64 = -1
    controller_epoch: i64 = -1
    isr: i64
    #: In a response, as the following fields.
    version: i64 = -1
    #: The content read beside a partition's state: where its replicas are, and its topic's setting.
    replicas: i64
    unclean_leader_election: flag


class Child(event.PartitionData):
    """A child in a response, but for the children of /brokers/topics (:class:`TopicPartition`).

    Among /brokers/ids also those that are gone: for the trace, which gives the reason of a missed
    broker.
    """

    znode: i64
    #: -1: it is gone.
    created_zxid: i64
    #: ZooKeeper's row about its creation or deletion; -1: none.
    row_sequence: i64 = -1
    #: For a sequential child.
    sequence_number: i64
    #: The reader of the children has read this one.
    was_read: flag


class TopicPartition(event.PartitionData):
    """The content of /brokers/topics/<topic> about one partition: replica lists."""

    replicas: i64
    adding: i64
    removing: i64


class NamedPartition(event.PartitionData):
    """A partition in a notification or a request to the controller."""

    #: The places of its replicas, if they are to be moved.
    replicas: i64


class TopicSettings(event.PartitionData):
    """Settings of one topic."""

    topic: i64
    min_insync_replicas: i64
    unclean_leader_election: flag


class ThrottleTarget(event.PartitionData):
    """A broker whose rates are limited, or else the replicas of a partition that are throttled."""

    broker: i64 = -1
    #: Replica lists; -1: those that are throttled stay so.
    leaders: i64
    followers: i64


class ThrottledReplica(event.PartitionData):
    """The throttle of a broker's replica of a partition."""

    as_leader: flag
    as_follower: flag
