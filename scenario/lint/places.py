"""Faults of places: racks of replicas and controllers, the number of controllers, who leads."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tidegauge.scenario.lint.finding import Concerned, Finding, Simulation
from tidegauge.scenario.lint.linted_cluster import BEGIN_MS, MARGIN_MS, LintedCluster, check, outage
from tidegauge.scenario.model.cluster import DEFAULT_RACK

_REBALANCE = "auto.leader.rebalance.enable"
#: leader.imbalance.per.broker.percentage by default, of all partitions here.
_FEW_PERCENT = 10
#: Leaders of a broker above the mean of all brokers: in proportion, and at least.
_MUCH_MORE, _MANY_MORE = 1.5, 10
_SPREAD = "move replicas so that each is in a rack of its own (kafka-reassign-partitions)"


@check
def replicas_in_one_rack(cluster: LintedCluster) -> Finding | None:
    """Partitions with all replicas in one rack, of a cluster with several racks.

    Kafka spreads the replicas of a new topic over racks (KIP-36), but not those of a topic that was
    created before brokers had broker.rack, or whose assignment was given.

    Source: AdminUtils.assignReplicasToBrokersRackAware@2.6.0, StripedReplicaPlacer.place@3.9.0.
    """
    found = cluster.partitions_where(
        lambda topic: (topic.replicas > 1) & (topic.most_in_a_rack == topic.replicas)
    )
    if found is None or not cluster.has_several_racks:
        return None
    return Finding(
        found.concerned,
        "all replicas are in one rack, so its loss takes them offline",
        _SPREAD,
        cluster.run_without_rack(cluster.scenario.rack_of(found.leader)),
    )


@check
def rack_loss_refuses_writes(cluster: LintedCluster) -> Finding | None:
    """Partitions that lose so many replicas with one rack that acks=all is refused.

    Racks count, not replicas: 3 replicas in 2 racks with min.insync.replicas=2 do not survive the
    rack that has two of them.

    Source: Partition.appendRecordsToLeader@2.6.0; KIP-36.
    """
    found = cluster.partitions_where(
        lambda topic: (
            (topic.most_in_a_rack < topic.replicas)
            & (topic.min_insync_replicas < topic.replicas)
            & (topic.replicas - topic.most_in_a_rack < topic.min_insync_replicas)
            & topic.takes_acks_all
        )
    )
    if found is None:
        return None
    racks = Counter(map(cluster.scenario.rack_of, [found.leader, *found.followers]))
    return Finding(
        found.concerned,
        "one rack has so many of the replicas that the others are fewer than min.insync.replicas, "
        "so its loss refuses acks=all",
        f"{_SPREAD}: as many racks as replicas",
        cluster.run_without_rack(racks.most_common(1)[0][0]),
    )


@check
def controllers_in_one_rack(cluster: LintedCluster) -> Finding | None:
    """A majority of the quorum's voters, or the ZooKeeper ensemble, in one rack.

    Without a majority nothing is elected and no ISR changes, however many brokers are up.

    Source: QuorumState, LeaderState.maybeUpdateHighWatermark@3.9.0; KIP-595.
    """
    scenario = cluster.scenario
    if not cluster.has_several_racks:
        return None
    remedy = "controllers in three racks, one or two in each"
    if not scenario.has_kraft:
        rack = scenario.zookeeper.rack
        if rack is None:
            return None
        servers = range(1, scenario.zookeeper.servers + 1)
        return Finding(
            Concerned.of("ZooKeeper server", servers),
            f"all are in rack {rack}, whose loss leaves no ZooKeeper: no leader is elected and no "
            "ISR changes",
            "ZooKeeper servers in three racks (here: no zookeeper.rack)",
            cluster.run_without_rack(rack, "zookeeper"),
        )
    voters = scenario.controllers.first_voters
    racks = Counter(map(scenario.controller_rack, voters))
    rack, in_it = racks.most_common(1)[0]
    if rack is None or len(voters) == 1 or 2 * in_it < len(voters):
        return None
    lost = [f"controller:{n}" for n in voters if scenario.controller_rack(n) == rack]
    return Finding(
        Concerned.of("controller", lost),
        f"{in_it} of {len(voters)} controllers are in rack {rack}, whose loss leaves no majority: "
        "no leader is elected and no ISR changes",
        remedy,
        cluster.run_without_rack(rack),
    )


@check
def single_controller(cluster: LintedCluster) -> Finding | None:
    """A quorum of one controller, or a ZooKeeper ensemble of one server.

    While it is down no leader is elected, so the loss of any broker takes partitions offline.

    Source: QuorumState@3.9.0; the documentation of ZooKeeper.
    """
    scenario = cluster.scenario
    voters, servers = scenario.controllers.first_voters, scenario.zookeeper.servers
    if (len(voters) if scenario.has_kraft else servers) > 1:
        return None
    noun = "controller" if scenario.has_kraft else "ZooKeeper server"
    return Finding(
        Concerned.of(noun, ["controller:0" if scenario.has_kraft else 1]),
        f"it is the only {noun}: while it is down no leader is elected",
        f"3 {noun}s",
        _without_control(cluster),
    )


@check
def even_number_of_controllers(cluster: LintedCluster) -> Finding | None:
    """A ZooKeeper ensemble, or the voters of a quorum (KIP-853), in an even number.

    A majority of 4 is 3: they survive the loss of one, as do 3, and are one more that can fail.
    controller.quorum.voters of a scenario are 1, 3 or 5.

    Source: the documentation of ZooKeeper, VoterSet@3.9.0.
    """
    scenario = cluster.scenario
    servers: Sequence[int | str] = range(1, scenario.zookeeper.servers + 1)
    noun = "ZooKeeper server"
    if scenario.has_kraft:
        servers = [f"controller:{number}" for number in scenario.controllers.first_voters]
        noun = "controller"
    count = len(servers)
    if count % 2:
        return None
    return Finding(
        Concerned.of(noun, servers),
        f"{count} {noun.split()[-1]}s survive the loss of {count // 2 - 1}, as {count - 1} do, and "
        "a split in halves leaves no majority",
        f"{count - 1} or {count + 1} {noun}s",
        _without_control(cluster),
    )


def _without_control(cluster: LintedCluster) -> Simulation:
    """A run in which a broker dies while there is no control plane."""
    broker = cluster.scenario.broker_ids()[0]
    dies = outage("crash", [broker], at_ms=BEGIN_MS + MARGIN_MS)
    if cluster.scenario.has_kraft:
        return cluster.run_with(outage("crash", ["controllers"]), dies)
    return cluster.run_with(outage("zookeeper_outage"), dies)


@check
def brokers_without_rack(cluster: LintedCluster) -> Finding | None:
    """Brokers without broker.rack, while others have one.

    With ZooKeeper kafka-topics refuses to create a topic, and topics that are created automatically
    ignore all racks. KRaft takes all brokers without a rack for one rack.

    Source: AdminZkClient.getBrokerMetadatas@2.6.0, StripedReplicaPlacer.RackList@3.9.0.
    """
    racks = cluster.scenario.cluster.racks
    if DEFAULT_RACK not in racks or not cluster.has_several_racks:
        return None
    risk = "a new topic is refused, or placed as if there were no racks, while others have a rack"
    if cluster.scenario.has_kraft:
        risk = "the controller takes them for one rack of their own as it places replicas"
    return Finding(
        Concerned.of("broker", racks[DEFAULT_RACK]),
        risk,
        "broker.rack for every broker (here: cluster.racks)",
        cluster.run_without_rack(DEFAULT_RACK),
    )


@check
def leaders_not_preferred(cluster: LintedCluster) -> Finding | None:
    """More than a tenth of partitions led by others than their preferred replica, for good.

    With auto.leader.rebalance.enable=false leadership stays where the last outage left it.

    Source: KafkaController.checkAndTriggerAutoLeaderRebalance@2.6.0,
    ReplicationControlManager.maybeBalancePartitionLeaders@3.9.0.
    """
    scenario = cluster.scenario
    settings = [*cluster.settings.values()]
    if scenario.has_kraft:
        settings = [scenario.controller_settings()]
    led_by_others = [
        (f"{topic.topic.name}-{number}", state.leader)
        for topic in cluster.topics
        for number, state in (topic.topic.state or {}).items()
        if state.leader not in (None, topic.assignments[number][0])
    ]
    partitions = sum(len(topic.replicas) for topic in cluster.topics)
    is_given_back = all(own[_REBALANCE] for own in settings)
    if is_given_back or len(led_by_others) * 100 <= partitions * _FEW_PERCENT:
        return None
    busiest, _ = Counter(leader for _, leader in led_by_others).most_common(1)[0]
    assert busiest is not None
    return Finding(
        Concerned.of("partition", (name for name, _ in led_by_others)),
        f"{_REBALANCE}=false leaves them with a leader that is not the preferred one, so some "
        "brokers do the work of others",
        f"kafka-leader-election --election-type preferred, or {_REBALANCE}=true",
        cluster.run_with(outage("restart", [busiest])),
    )


@check
def preferred_leaders_uneven(cluster: LintedCluster) -> Finding | None:
    """Brokers that are the preferred leader of far more partitions than others.

    They have half as many again as the mean of all brokers, and 10 more at least.

    Source: the assignments; the preferred replica is the first one.
    """
    counts = np.zeros(len(cluster.brokers))
    for topic in cluster.topics:
        leaders = np.searchsorted(cluster.brokers, topic.assignments.table[:, 0])
        counts += np.bincount(leaders, minlength=len(counts))
    mean = counts.mean()
    over = np.flatnonzero((counts > _MUCH_MORE * mean) & (counts >= mean + _MANY_MORE))
    if not len(over):
        return None
    busiest = over[counts[over].argsort()[::-1]]
    brokers = cluster.brokers[busiest].tolist()
    return Finding(
        Concerned.of("broker", brokers),
        f"broker {brokers[0]} is to lead {int(counts[busiest[0]])} partitions, with a mean of "
        f"{mean:.0f}, so its loss stops more producers, and its network is the first to be full",
        "another order of replicas in assignments (kafka-reassign-partitions)",
        cluster.run_with(outage("crash", brokers[:1])),
    )
