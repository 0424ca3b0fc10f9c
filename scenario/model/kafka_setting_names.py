"""The names of Kafka's settings, of all releases from 0.10.2 to 4.4, that a scenario may have.

A scenario can be given the settings that a cluster really has. The settings that the simulator
reads are in ``settings.py``; here are the others, so that a setting of Kafka is distinguished from
a misspelt one. Settings that belong together by their beginning (all of TLS, of SASL, of tiered
storage) are known by that.

Source: KafkaConfig, TopicConfig, ProducerConfig, ConsumerConfig, CommonClientConfigs and what they
refer to, @0.10.2.2, @1.1.1, @2.0.1, @2.4.1, @2.6.3, @2.8.2, @3.3.2, @3.6.2 and of October 2024;
AclAuthorizer@2.6.3, AddPartitionsToTxnConfig and TransactionLogConfig@4.1.0;
KafkaConfig.configDef, LogConfig, ProducerConfig and ConsumerConfig of each line from 0.10.2 to 3.8,
and, with AbstractKafkaConfig.CONFIG_DEF, @3.9.2, @4.0.2, @4.1.2, @4.2.2, @4.3.1 and @4.4.0, whose
names tests/data/setting_names.json has by release.
"""

from typing import NamedTuple, Self

_BROKERS = """
    add.partitions.to.txn.retry.backoff.max.ms add.partitions.to.txn.retry.backoff.ms
    advertised.host.name advertised.listeners advertised.port allow.everyone.if.no.acl.found
    alter.config.policy.class.name alter.config.policy.kraft.compatibility.enable
    alter.log.dirs.replication.quota.window.num alter.log.dirs.replication.quota.window.size.seconds
    authorizer.class.name auto.create.topics.enable auto.include.jmx.reporter background.threads
    broker.id broker.id.generation.enable broker.rack broker.session.timeout.ms
    client.quota.callback.class compression.gzip.level compression.lz4.level compression.type
    compression.zstd.level config.providers connection.failed.authentication.delay.ms
    connections.max.idle.ms connections.max.reauth.ms consumer.heartbeat.interval.ms
    consumer.session.timeout.ms control.plane.listener.name controller.listener.names
    controller.quota.window.num controller.quota.window.size.seconds cordoned.log.dirs
    create.topic.policy.class.name delete.records.purgatory.purge.interval.requests
    delete.topic.enable early.start.listeners eligible.leader.replicas.enable
    follower.fetch.last.tiered.offset.enable follower.replication.throttled.rate
    follower.replication.throttled.replicas group.coordinator.append.linger.ms
    group.coordinator.new.enable group.coordinator.rebalance.protocols group.coordinator.threads
    group.initial.rebalance.delay.ms group.max.session.timeout.ms group.max.size
    group.min.session.timeout.ms host.name inter.broker.listener.name inter.broker.protocol.version
    internal.metadata.delete.delay.millis internal.metadata.log.segment.bytes
    internal.metadata.max.batch.size.in.bytes internal.metadata.max.fetch.size.in.bytes
    leader.replication.throttled.rate leader.replication.throttled.replicas
    listener.security.protocol.map listeners log.cleaner.backoff.ms log.cleaner.dedupe.buffer.size
    log.cleaner.delete.retention.ms log.cleaner.enable log.cleaner.io.buffer.load.factor
    log.cleaner.io.buffer.size log.cleaner.io.max.bytes.per.second log.cleaner.max.compaction.lag.ms
    log.cleaner.min.cleanable.ratio log.cleaner.min.compaction.lag.ms log.cleaner.threads
    log.cleanup.policy log.dir log.dirs log.flush.interval.ms log.flush.scheduler.interval.ms
    log.index.interval.bytes log.index.size.max.bytes log.local.retention.bytes
    log.local.retention.ms log.max.id.map.snapshots log.message.downconversion.enable
    log.message.format.version log.message.timestamp.after.max.ms
    log.message.timestamp.before.max.ms log.message.timestamp.difference.max.ms
    log.message.timestamp.type log.preallocate log.remote.copy.lag.bytes log.remote.copy.lag.ms
    log.retention.bytes log.retention.check.interval.ms log.retention.hours log.retention.minutes
    log.retention.ms log.roll.hours log.roll.jitter.hours log.roll.jitter.ms log.roll.ms
    log.segment.bytes log.segment.delete.delay.ms max.connection.creation.rate max.connections
    max.connections.per.ip max.connections.per.ip.overrides max.decompressed.message.bytes
    max.request.partition.size.limit message.max.bytes metadata.max.idle.interval.ms
    metadata.max.retention.bytes metadata.max.retention.ms metric.reporters node.id num.partitions
    num.recovery.threads.per.data.dir num.replica.alter.log.dirs.threads offset.metadata.max.bytes
    offsets.commit.required.acks offsets.commit.timeout.ms offsets.load.buffer.size
    offsets.retention.check.interval.ms offsets.retention.minutes port principal.builder.class
    process.roles producer.id.expiration.check.interval.ms producer.id.expiration.ms
    queued.max.request.bytes quota.consumer.default quota.producer.default quota.window.num
    quota.window.size.seconds remote.fetch.max.wait.ms remote.list.offsets.request.timeout.ms
    replica.alter.log.dirs.io.max.bytes.per.second replica.lag.max.messages replica.selector.class
    replica.socket.receive.buffer.bytes replication.quota.window.num
    replication.quota.window.size.seconds reserved.broker.max.id security.inter.broker.protocol
    security.providers server.max.startup.time.ms socket.connection.setup.timeout.max.ms
    socket.connection.setup.timeout.ms socket.listen.backlog.size socket.receive.buffer.bytes
    socket.request.max.bytes socket.send.buffer.bytes super.users telemetry.max.bytes
    transaction.abort.timed.out.transaction.cleanup.interval.ms transaction.max.timeout.ms
    transaction.partition.verification.enable
    transaction.remove.expired.transaction.cleanup.interval.ms transaction.two.phase.commit.enable
    transactional.id.expiration.ms unclean.leader.election.interval.ms unstable.api.versions.enable
    unstable.feature.versions.enable unstable.metadata.versions.enable zookeeper.client.secure
    zookeeper.clientCnxnSocket zookeeper.connect zookeeper.connection.timeout.ms zookeeper.set.acl
    zookeeper.sync.time.ms
"""
_TOPICS = """
    cleanup.policy compression.gzip.level compression.lz4.level compression.type
    compression.zstd.level delete.retention.ms errors.deadletterqueue.group.enable
    file.delete.delay.ms flush.messages flush.ms follower.replication.throttled.replicas
    index.interval.bytes internal.segment.bytes leader.replication.throttled.replicas
    local.retention.bytes local.retention.ms max.compaction.lag.ms max.decompressed.message.bytes
    max.message.bytes message.downconversion.enable message.format.version
    message.timestamp.after.max.ms message.timestamp.before.max.ms
    message.timestamp.difference.max.ms message.timestamp.type min.cleanable.dirty.ratio
    min.compaction.lag.ms preallocate remote.copy.lag.bytes remote.copy.lag.ms
    remote.log.copy.disable remote.log.delete.on.disable remote.storage.enable retention.bytes
    retention.ms segment.bytes segment.index.bytes segment.jitter.ms segment.ms
"""
_PRODUCERS = """
    batch.size block.on.buffer.full buffer.memory buffer.memory.allocation.strategy
    compression.gzip.level compression.lz4.level compression.type compression.zstd.level
    enable.idempotence internal.auto.downgrade.txn.commit key.serializer linger.ms max.block.ms
    max.request.size metadata.fetch.timeout.ms metadata.max.idle.ms
    partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class
    partitioner.ignore.keys partitioner.rack.aware timeout.ms transaction.timeout.ms
    transaction.two.phase.commit.enable transactional.id value.serializer
"""
_CONSUMERS = """
    allow.auto.create.topics auto.commit.interval.ms check.crcs default.api.timeout.ms
    enable.auto.commit exclude.internal.topics fetch.max.bytes group.id group.instance.id
    group.protocol group.remote.assignor heartbeat.interval.ms internal.leave.group.on.close
    internal.throw.on.fetch.stable.offset.unsupported isolation.level key.deserializer
    max.poll.interval.ms max.poll.records partition.assignment.strategy session.timeout.ms
    share.acknowledgement.mode share.acquire.mode value.deserializer
"""
_CLIENTS = """
    auto.include.jmx.reporter bootstrap.resolve.timeout.ms bootstrap.servers client.dns.lookup
    client.id client.rack config.providers connections.max.idle.ms enable.metrics.push
    interceptor.classes metadata.cluster.check.enable metadata.recovery.strategy metric.reporters
    receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms retry.backoff.max.ms
    security.protocol security.providers send.buffer.bytes socket.connection.setup.timeout.max.ms
    socket.connection.setup.timeout.ms
"""

_CLIENT_FAMILIES = ("metrics.", "sasl.", "ssl.")
_NODE_FAMILIES = (
    *("controller.performance.", "controller.quorum.", "delegation.token."),
    *("errors.deadletterqueue.", "group.consumer.", "group.coordinator."),
    *("group.share.", "group.streams."),
    *("kafka.metrics.", "listener.name.", "metadata.log.", "metrics.", "offsets.topic."),
    *("password.encoder.", "remote.log.", "sasl.", "share.", "ssl."),
    *("transaction.state.log.", "zookeeper.metadata.", "zookeeper.ssl."),
)
_FAMILIES = {
    "brokers": _NODE_FAMILIES,
    "controllers": _NODE_FAMILIES,
    "topics": (),
    "producers": _CLIENT_FAMILIES,
    "consumers": _CLIENT_FAMILIES,
}

#: Names by kind; the simulator's own table has those that it reads.
KAFKA_NAMES: dict[str, frozenset[str]] = {
    "brokers": frozenset(_BROKERS.split()),
    "controllers": frozenset(_BROKERS.split()),
    "topics": frozenset(_TOPICS.split()),
    "producers": frozenset((_PRODUCERS + _CLIENTS).split()),
    "consumers": frozenset((_CONSUMERS + _CLIENTS).split()),
}


def is_known_to_kafka(name: str, kind: str) -> bool:
    """Whether brokers, topics, producers or consumers have such a setting in any release."""
    return name in KAFKA_NAMES[kind] or name.startswith(_FAMILIES[kind])


class _Change(NamedTuple):
    """Settings that a line of releases added, or removed."""

    line: tuple[int, ...]
    is_addition: bool
    names: frozenset[str]

    @classmethod
    def of(cls, line: tuple[int, ...], verb: str, names: str) -> Self:
        """The change in words: the line ``adds`` these names, or ``removes`` them."""
        return cls(line, verb == "adds", frozenset(names.split()))


# fmt: off
#: The changes since 0.10.2 by kind, the oldest first, without SASL and without names that patches
#: of several lines added.
_CHANGES: dict[str, tuple[_Change, ...]] = {
    "brokers": (
        _Change.of((0, 11, 0), "adds", """
            alter.config.policy.class.name
            delete.records.purgatory.purge.interval.requests
            group.initial.rebalance.delay.ms
            log.flush.start.offset.checkpoint.interval.ms
            transaction.abort.timed.out.transaction.cleanup.interval.ms
            transaction.max.timeout.ms
            transaction.remove.expired.transaction.cleanup.interval.ms
            transaction.state.log.load.buffer.size transaction.state.log.min.isr
            transaction.state.log.num.partitions
            transaction.state.log.replication.factor transaction.state.log.segment.bytes
            transactional.id.expiration.ms
        """),
        _Change.of((1, 0), "adds", "queued.max.request.bytes"),
        _Change.of((1, 1), "adds", """
            alter.log.dirs.replication.quota.window.num
            alter.log.dirs.replication.quota.window.size.seconds
            delegation.token.expiry.check.interval.ms delegation.token.expiry.time.ms
            delegation.token.master.key delegation.token.max.lifetime.ms
            max.incremental.fetch.session.cache.slots num.replica.alter.log.dirs.threads
            password.encoder.cipher.algorithm password.encoder.iterations
            password.encoder.key.length password.encoder.keyfactory.algorithm
            password.encoder.old.secret password.encoder.secret
            replica.alter.log.dirs.io.max.bytes.per.second
            zookeeper.max.in.flight.requests
        """),
        _Change.of((2, 0), "adds", "client.quota.callback.class log.message.downconversion.enable"),
        _Change.of((2, 1), "adds", "connection.failed.authentication.delay.ms"),
        _Change.of((2, 2), "adds", """
            connections.max.reauth.ms control.plane.listener.name group.max.size
            ssl.principal.mapping.rules
        """),
        _Change.of((2, 3), "adds", "log.cleaner.max.compaction.lag.ms max.connections"),
        _Change.of((2, 4), "adds", "replica.selector.class security.providers"),
        _Change.of((2, 5), "adds", """
            fetch.max.bytes zookeeper.clientCnxnSocket zookeeper.ssl.cipher.suites
            zookeeper.ssl.client.enable zookeeper.ssl.crl.enable
            zookeeper.ssl.enabled.protocols
            zookeeper.ssl.endpoint.identification.algorithm
            zookeeper.ssl.keystore.location zookeeper.ssl.keystore.password
            zookeeper.ssl.keystore.type zookeeper.ssl.ocsp.enable zookeeper.ssl.protocol
            zookeeper.ssl.truststore.location zookeeper.ssl.truststore.password
            zookeeper.ssl.truststore.type
        """),
        _Change.of((2, 6), "adds", "ssl.engine.factory.class"),
        _Change.of((2, 7), "adds", """
            controller.quota.window.num controller.quota.window.size.seconds
            max.connection.creation.rate socket.connection.setup.timeout.max.ms
            socket.connection.setup.timeout.ms ssl.keystore.certificate.chain
            ssl.keystore.key ssl.truststore.certificates
        """),
        _Change.of((2, 8), "adds", """
            broker.heartbeat.interval.ms broker.session.timeout.ms
            controller.listener.names controller.quorum.append.linger.ms
            controller.quorum.election.backoff.max.ms
            controller.quorum.election.timeout.ms controller.quorum.fetch.timeout.ms
            controller.quorum.request.timeout.ms controller.quorum.retry.backoff.ms
            controller.quorum.voters delegation.token.secret.key
            initial.broker.registration.timeout.ms metadata.log.dir node.id
            process.roles
        """),
        _Change.of((3, 0), "adds", """
            metadata.log.max.record.bytes.between.snapshots metadata.log.segment.bytes
            metadata.log.segment.min.bytes metadata.log.segment.ms
            metadata.max.retention.bytes metadata.max.retention.ms
            remote.log.index.file.cache.total.size.bytes
            remote.log.manager.task.interval.ms
            remote.log.manager.task.retry.backoff.max.ms
            remote.log.manager.task.retry.backoff.ms
            remote.log.manager.task.retry.jitter remote.log.manager.thread.pool.size
            remote.log.metadata.manager.class.name
            remote.log.metadata.manager.class.path
            remote.log.metadata.manager.impl.prefix
            remote.log.metadata.manager.listener.name
            remote.log.reader.max.pending.tasks remote.log.reader.threads
            remote.log.storage.manager.class.name remote.log.storage.manager.class.path
            remote.log.storage.manager.impl.prefix remote.log.storage.system.enable
        """),
        _Change.of((3, 0), "removes", """
            advertised.host.name advertised.port host.name port quota.consumer.default
            quota.producer.default
        """),
        _Change.of((3, 2), "adds", "socket.listen.backlog.size"),
        _Change.of((3, 2), "removes", "zookeeper.sync.time.ms"),
        _Change.of((3, 3), "adds", "early.start.listeners metadata.max.idle.interval.ms"),
        _Change.of((3, 4), "adds", """
            auto.include.jmx.reporter metadata.log.max.snapshot.interval.ms
            producer.id.expiration.check.interval.ms producer.id.expiration.ms
            zookeeper.metadata.migration.enable
        """),
        _Change.of((3, 5), "adds", """
            group.consumer.assignors group.consumer.heartbeat.interval.ms
            group.consumer.max.heartbeat.interval.ms
            group.consumer.max.session.timeout.ms group.consumer.max.size
            group.consumer.min.heartbeat.interval.ms
            group.consumer.min.session.timeout.ms group.consumer.session.timeout.ms
            group.coordinator.new.enable group.coordinator.threads
            server.max.startup.time.ms unstable.api.versions.enable
        """),
        _Change.of((3, 6), "adds", """
            log.local.retention.bytes log.local.retention.ms
            log.message.timestamp.after.max.ms log.message.timestamp.before.max.ms
            remote.log.metadata.custom.metadata.max.bytes
            transaction.partition.verification.enable
            zookeeper.metadata.migration.min.batch.size
        """),
        _Change.of((3, 7), "adds", """
            eligible.leader.replicas.enable group.coordinator.rebalance.protocols
            ssl.allow.dn.changes ssl.allow.san.changes telemetry.max.bytes
            unstable.metadata.versions.enable
        """),
        _Change.of((3, 8), "adds", """
            compression.gzip.level compression.lz4.level compression.zstd.level
            controller.quorum.bootstrap.servers group.consumer.migration.policy
            group.coordinator.append.linger.ms log.dir.failure.timeout.ms
            log.initial.task.delay.ms max.request.partition.size.limit
            remote.fetch.max.wait.ms remote.log.manager.copier.thread.pool.size
            remote.log.manager.copy.max.bytes.per.second
            remote.log.manager.copy.quota.window.num
            remote.log.manager.copy.quota.window.size.seconds
            remote.log.manager.expiration.thread.pool.size
            remote.log.manager.fetch.max.bytes.per.second
            remote.log.manager.fetch.quota.window.num
            remote.log.manager.fetch.quota.window.size.seconds
            unstable.feature.versions.enable
        """),
        _Change.of((3, 8), "removes", "unstable.metadata.versions.enable"),
        _Change.of((3, 9), "adds", """
            alter.config.policy.kraft.compatibility.enable
            group.share.delivery.count.limit group.share.enable
            group.share.heartbeat.interval.ms group.share.max.groups
            group.share.max.heartbeat.interval.ms
            group.share.max.record.lock.duration.ms group.share.max.session.timeout.ms
            group.share.max.size group.share.min.heartbeat.interval.ms
            group.share.min.record.lock.duration.ms group.share.min.session.timeout.ms
            group.share.partition.max.record.locks group.share.record.lock.duration.ms
            group.share.session.timeout.ms unclean.leader.election.interval.ms
        """),
        _Change.of((4, 0), "adds", """
            add.partitions.to.txn.retry.backoff.max.ms
            add.partitions.to.txn.retry.backoff.ms
            controller.performance.always.log.threshold.ms
            controller.performance.sample.period.ms group.share.persister.class.name
            remote.list.offsets.request.timeout.ms share.coordinator.append.linger.ms
            share.coordinator.load.buffer.size
            share.coordinator.snapshot.update.records.per.snapshot
            share.coordinator.state.topic.compression.codec
            share.coordinator.state.topic.min.isr
            share.coordinator.state.topic.num.partitions
            share.coordinator.state.topic.prune.interval.ms
            share.coordinator.state.topic.replication.factor
            share.coordinator.state.topic.segment.bytes share.coordinator.threads
            share.coordinator.write.timeout.ms share.fetch.max.fetch.records
            share.fetch.purgatory.purge.interval.requests
        """),
        _Change.of((4, 0), "removes", """
            alter.config.policy.kraft.compatibility.enable auto.include.jmx.reporter
            broker.id.generation.enable control.plane.listener.name
            controlled.shutdown.max.retries controlled.shutdown.retry.backoff.ms
            delegation.token.master.key eligible.leader.replicas.enable
            inter.broker.protocol.version leader.imbalance.per.broker.percentage
            log.message.downconversion.enable log.message.format.version
            log.message.timestamp.difference.max.ms offsets.commit.required.acks
            password.encoder.cipher.algorithm password.encoder.iterations
            password.encoder.key.length password.encoder.keyfactory.algorithm
            password.encoder.old.secret password.encoder.secret reserved.broker.max.id
            zookeeper.clientCnxnSocket zookeeper.connect zookeeper.connection.timeout.ms
            zookeeper.max.in.flight.requests zookeeper.metadata.migration.enable
            zookeeper.metadata.migration.min.batch.size zookeeper.session.timeout.ms
            zookeeper.set.acl zookeeper.ssl.cipher.suites zookeeper.ssl.client.enable
            zookeeper.ssl.crl.enable zookeeper.ssl.enabled.protocols
            zookeeper.ssl.endpoint.identification.algorithm
            zookeeper.ssl.keystore.location zookeeper.ssl.keystore.password
            zookeeper.ssl.keystore.type zookeeper.ssl.ocsp.enable zookeeper.ssl.protocol
            zookeeper.ssl.truststore.location zookeeper.ssl.truststore.password
            zookeeper.ssl.truststore.type
        """),
        _Change.of((4, 1), "adds", """
            group.consumer.regex.refresh.interval.ms group.share.assignors
            group.share.max.share.sessions group.streams.heartbeat.interval.ms
            group.streams.max.heartbeat.interval.ms group.streams.max.session.timeout.ms
            group.streams.max.size group.streams.max.standby.replicas
            group.streams.min.heartbeat.interval.ms group.streams.min.session.timeout.ms
            group.streams.num.standby.replicas group.streams.session.timeout.ms
            internal.metadata.delete.delay.millis internal.metadata.log.segment.bytes
            internal.metadata.max.batch.size.in.bytes
            internal.metadata.max.fetch.size.in.bytes
            share.coordinator.cold.partition.snapshot.interval.ms
            transaction.two.phase.commit.enable
        """),
        _Change.of((4, 1), "removes", """
            group.coordinator.new.enable group.share.max.groups
            metadata.log.segment.min.bytes share.fetch.max.fetch.records
        """),
        _Change.of((4, 2), "adds", """
            config.providers controller.quorum.auto.join.enable
            group.share.initialize.retry.interval.ms
            group.streams.initial.rebalance.delay.ms
            remote.log.manager.follower.thread.pool.size
        """),
        _Change.of((4, 3), "adds", """
            controller.quorum.fetch.max.bytes controller.quorum.fetch.snapshot.max.bytes
            cordoned.log.dirs follower.fetch.last.tiered.offset.enable
            group.consumer.assignment.interval.ms
            group.consumer.max.assignment.interval.ms
            group.consumer.min.assignment.interval.ms
            group.coordinator.background.threads
            group.coordinator.cached.buffer.max.bytes group.share.assignment.interval.ms
            group.share.max.assignment.interval.ms group.share.max.delivery.count.limit
            group.share.max.partition.max.record.locks
            group.share.min.assignment.interval.ms group.share.min.delivery.count.limit
            group.share.min.partition.max.record.locks
            group.streams.assignment.interval.ms
            group.streams.max.assignment.interval.ms
            group.streams.min.assignment.interval.ms remote.log.index.file.cache.ttl.ms
            share.coordinator.cached.buffer.max.bytes
        """),
        _Change.of((4, 3), "removes", """
            group.share.enable internal.metadata.max.fetch.size.in.bytes
        """),
        _Change.of((4, 4), "adds", """
            errors.deadletterqueue.auto.create.topics.enable
            errors.deadletterqueue.topic.name.prefix
            group.consumer.assignor.offload.enable group.share.assignor.offload.enable
            group.share.dlq.manager.class.name group.streams.acceptable.recovery.lag
            group.streams.assignor.offload.enable group.streams.assignors
            group.streams.max.warmup.replicas group.streams.min.task.offset.interval.ms
            group.streams.num.warmup.replicas group.streams.rack.aware.assignment.tags
            group.streams.task.offset.interval.ms
            group.streams.topology.description.plugin.class log.remote.copy.lag.bytes
            log.remote.copy.lag.ms
        """),
    ),
    "topics": (
        _Change.of((2, 0), "adds", "message.downconversion.enable"),
        _Change.of((2, 3), "adds", "max.compaction.lag.ms"),
        _Change.of((3, 0), "adds", """
            local.retention.bytes local.retention.ms remote.storage.enable
        """),
        _Change.of((3, 6), "adds", """
            message.timestamp.after.max.ms message.timestamp.before.max.ms
        """),
        _Change.of((3, 8), "adds", """
            compression.gzip.level compression.lz4.level compression.zstd.level
        """),
        _Change.of((3, 9), "adds", "remote.log.copy.disable remote.log.delete.on.disable"),
        _Change.of((4, 0), "removes", """
            message.downconversion.enable message.format.version
            message.timestamp.difference.max.ms
        """),
        _Change.of((4, 1), "adds", "internal.segment.bytes"),
        _Change.of((4, 4), "adds", """
            errors.deadletterqueue.group.enable remote.copy.lag.bytes remote.copy.lag.ms
        """),
    ),
    "producers": (
        _Change.of((0, 11, 0), "adds", """
            enable.idempotence metrics.recording.level reconnect.backoff.max.ms
            transaction.timeout.ms transactional.id
        """),
        _Change.of((0, 11, 0), "removes", """
            block.on.buffer.full metadata.fetch.timeout.ms timeout.ms
        """),
        _Change.of((2, 1), "adds", "client.dns.lookup delivery.timeout.ms"),
        _Change.of((2, 4), "adds", "security.providers"),
        _Change.of((2, 5), "adds", "metadata.max.idle.ms"),
        _Change.of((2, 6), "adds", "internal.auto.downgrade.txn.commit ssl.engine.factory.class"),
        _Change.of((2, 7), "adds", """
            socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
            ssl.keystore.certificate.chain ssl.keystore.key ssl.truststore.certificates
        """),
        _Change.of((3, 0), "removes", "internal.auto.downgrade.txn.commit"),
        _Change.of((3, 3), "adds", """
            partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms
            partitioner.ignore.keys
        """),
        _Change.of((3, 4), "adds", "auto.include.jmx.reporter"),
        _Change.of((3, 7), "adds", "enable.metrics.push retry.backoff.max.ms"),
        _Change.of((3, 8), "adds", """
            compression.gzip.level compression.lz4.level compression.zstd.level
            metadata.recovery.strategy
        """),
        _Change.of((4, 0), "adds", "metadata.recovery.rebootstrap.trigger.ms"),
        _Change.of((4, 0), "removes", "auto.include.jmx.reporter"),
        _Change.of((4, 1), "adds", "transaction.two.phase.commit.enable"),
        _Change.of((4, 2), "adds", "config.providers"),
        _Change.of((4, 4), "adds", """
            bootstrap.resolve.timeout.ms buffer.memory.allocation.strategy client.rack
            metadata.cluster.check.enable partitioner.rack.aware
        """),
    ),
    "consumers": (
        _Change.of((0, 11, 0), "adds", "isolation.level reconnect.backoff.max.ms"),
        _Change.of((2, 0), "adds", "default.api.timeout.ms"),
        _Change.of((2, 1), "adds", "client.dns.lookup"),
        _Change.of((2, 3), "adds", "allow.auto.create.topics client.rack group.instance.id"),
        _Change.of((2, 4), "adds", "security.providers"),
        _Change.of((2, 6), "adds", """
            internal.throw.on.fetch.stable.offset.unsupported ssl.engine.factory.class
        """),
        _Change.of((2, 7), "adds", """
            socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
            ssl.keystore.certificate.chain ssl.keystore.key ssl.truststore.certificates
        """),
        _Change.of((3, 4), "adds", "auto.include.jmx.reporter"),
        _Change.of((3, 7), "adds", """
            enable.metrics.push group.protocol group.remote.assignor
            retry.backoff.max.ms
        """),
        _Change.of((3, 8), "adds", "metadata.recovery.strategy"),
        _Change.of((4, 0), "adds", "metadata.recovery.rebootstrap.trigger.ms"),
        _Change.of((4, 0), "removes", "auto.include.jmx.reporter"),
        _Change.of((4, 1), "adds", "share.acknowledgement.mode"),
        _Change.of((4, 2), "adds", "config.providers share.acquire.mode"),
        _Change.of((4, 2), "removes", "internal.leave.group.on.close"),
        _Change.of((4, 4), "adds", "bootstrap.resolve.timeout.ms metadata.cluster.check.enable"),
    ),
}
# fmt: on


def is_in_line(name: str, kind: str, line: tuple[int, ...]) -> bool:
    """Whether a line of releases, such as (4, 0), has a setting of a known name.

    A name that no release since 0.10.2 added or removed is taken to be in all of them.
    """
    # Brokers and controllers have the same ConfigDef.
    changes = _CHANGES["brokers" if kind == "controllers" else kind]
    own = [change for change in changes if name in change.names]
    past = [change for change in own if change.line <= line]
    if past:
        return past[-1].is_addition
    return not own or not own[0].is_addition
