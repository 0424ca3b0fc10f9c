"""The tables of a KRaft quorum and of its voters; in ZooKeeper mode they are empty."""

import numpy as np

from tidegauge.compiled.records import R, Records, column, grown, lengthened
from tidegauge.controller.kraft.state import (
    FORMER_INCARNATION,
    ActiveController,
    ActiveControllerSettings,
    Quorum,
)
from tidegauge.controller.kraft_partitions.partition_change import NO_LEADER
from tidegauge.controller.raft.state import Raft, VoterSettings
from tidegauge.engine.layout.by_name import new_tables, set_by_name, set_columns
from tidegauge.engine.layout.cluster_tables import FIRST_SLOTS
from tidegauge.engine.layout.step_tables import throttled_replicas_of
from tidegauge.replication.errors import ERROR_COUNT
from tidegauge.replication.replica_list import pack
from tidegauge.replication.replication_quota import UNLIMITED
from tidegauge.replication.voter_set import ANY_DIRECTORY
from tidegauge.replication.voter_set import pack as pack_voters
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.settings import THROTTLED_RATES
from tidegauge.simulation.messages.kinds import CONTROLLER_TYPE_COUNT
from tidegauge.simulation.sampled_stats import BUCKETS


def new_quorum(plan: ClusterPlan) -> Quorum:
    """An active controller without state, or with the state from before the run."""
    count = 1 if plan.is_kraft else 0
    partitions = count * len(plan.partitions)
    replicas = count * plan.partitions.slot_count
    quorum = new_tables(
        Quorum,
        active_controller=count,
        quorum_brokers=count * len(plan.brokers),
        quorum_topics=count * len(plan.scenario.topics),
        registrations=partitions,
        committed_partitions=partitions,
        metadata_records=0,
        recorded_registrations=0,
        kraft_switches=count,
        partition_target=count,
        hosted_replicas=replicas,
        throttled_replicas=replicas,
        controller_stats=len(plan.controllers),
        controller_event_times=2 * len(plan.controllers) * int(BUCKETS),
    )
    if plan.is_kraft:
        _set_settings(plan, quorum.active_controller[0])
        _set_features(plan, quorum.active_controller[0])
        _set_topics(plan, quorum)
        _set_replicas(plan, quorum)
        _set_throttles(plan, quorum)
        _set_preexisting_states(plan, quorum)
        enlarge_quorum(plan, quorum)
    return quorum


def _set_topics(plan: ClusterPlan, quorum: Quorum) -> None:
    for topic, planned in zip(quorum.quorum_topics, plan.scenario.topics, strict=True):
        numbers = plan.numbers_of[planned.name]
        first = plan.partitions[numbers.start]
        topic.first_partition = numbers.start
        topic.min_insync_replicas = first.controllers_min_insync_replicas
        topic.unclean_leader_election = first.unclean_leader_election
        topic.committed_min_insync_replicas = first.controllers_min_insync_replicas
        topic.committed_unclean_leader_election = first.unclean_leader_election
        topic.assigned_by_hand = planned.assignment is not None
        topic.partition_count = len(numbers)


def _set_replicas(plan: ClusterPlan, quorum: Quorum) -> None:
    """List the partitions of each broker, so that its changes need not read all."""
    hosts = plan.partitions.columns.hosts
    counts = np.bincount(hosts, minlength=len(plan.brokers))
    set_columns(
        quorum.quorum_brokers, first_replica=np.cumsum(counts) - counts, replica_count=counts
    )
    by_broker = np.argsort(hosts, kind="stable")
    column(quorum.hosted_replicas, "partition")[:] = plan.partitions.of_slots[by_broker]


def _set_throttles(plan: ClusterPlan, quorum: Quorum) -> None:
    """Throttles of replication that are records of the metadata log as the run begins."""
    for known, broker in zip(quorum.quorum_brokers, plan.brokers, strict=True):
        settings = plan.scenario.settings_of(broker)
        rates = [settings[name] for name in THROTTLED_RATES]
        known.leader_rate, known.follower_rate = rates
        known.committed_leader_rate, known.committed_follower_rate = rates
        if any(rate != UNLIMITED for rate in rates):
            known.rates_offset = 0
    for each in throttled_replicas_of(plan):
        throttled = quorum.throttled_replicas[each.row]
        throttled.as_leader = throttled.committed_as_leader = each.as_leader
        throttled.as_follower = throttled.committed_as_follower = each.as_follower


def _set_preexisting_states(plan: ClusterPlan, quorum: Quorum) -> None:
    """Lay out the state from before the run (``controller/kraft/claims.py``)."""
    if not plan.was_there_before:
        return
    planned, columns = plan.partitions, plan.partitions.columns
    existed = columns.existed != 0
    for topic, own in zip(quorum.quorum_topics, plan.scenario.topics, strict=True):
        topic.exists = own.existed
    replicas = FIRST_SLOTS[columns.replica_counts[existed]]
    column(quorum.registrations, "replicas")[existed] = replicas
    # The preferred leader leads, and all are in sync.
    column(quorum.registrations, "leader")[existed] = 0
    column(quorum.registrations, "leader_epoch")[existed] = planned.leader_epochs[existed]
    column(quorum.registrations, "isr")[existed] = replicas
    in_sync = {index for number in planned.own_states for index in _set_state(plan, quorum, number)}
    # Of all others that existed, which have leaders.
    existed[list(planned.own_states)] = False
    well = np.repeat(existed, columns.replica_counts)
    in_sync.update(np.unique(columns.replicas[well]).tolist())
    for index, is_back in enumerate(plan.registered_before):
        known = quorum.quorum_brokers[index]
        known.registered = True
        known.software = plan.software_of(plan.scenario.release_of(plan.brokers[index]))
        known.fenced = not is_back and index not in in_sync
        if not is_back:
            known.incarnation = FORMER_INCARNATION


def _set_state(plan: ClusterPlan, quorum: Quorum, number: int) -> list[int]:
    """Lay out a partition's own state; the indexes of the brokers in sync, if there is a leader."""
    state = plan.partitions.own_states[number]
    hosts = plan.partitions[number].slots
    slots = {plan.brokers[broker]: slot for slot, broker in enumerate(hosts)}
    registration = quorum.registrations[number]
    registration.leader = NO_LEADER if state.leader is None else slots[state.leader]
    registration.isr = pack(slots[broker] for broker in state.isr)
    registration.elr = pack(sorted(slots[broker] for broker in state.elr))
    registration.adding = pack(slots[broker] for broker in state.adding)
    registration.removing = pack(slots[broker] for broker in state.removing)
    if state.last_known_leader is not None:
        registration.last_known_elr = pack([slots[state.last_known_leader]])
    # An ISR without a leader may be the one that was left when its last member was fenced.
    return [] if state.leader is None else [plan.broker_index(broker) for broker in state.isr]


def enlarge_quorum(plan: ClusterPlan, world: Quorum) -> None:
    """Enlarge the ring of records that are not committed until one event has room for its own."""
    if len(world.active_controller) == 0:
        return
    state = world.active_controller[0]
    reserve = record_reserve_of(plan)
    state.record_reserve = reserve
    room = len(world.metadata_records)
    if room - state.record_count >= reserve:
        return
    # The ring begins again at place 0.
    larger = 2 * room + 2 * reserve
    records = lengthened(world.metadata_records, 0, larger)
    registrations = lengthened(world.recorded_registrations, 0, larger)
    for number in range(int(state.record_count)):
        place = (int(state.first_record) + number) % room
        records[number] = world.metadata_records[place]
        registrations[number] = world.recorded_registrations[place]
    state.first_record = 0
    state.likely_record = 0
    world.metadata_records = records
    world.recorded_registrations = registrations


def record_reserve_of(plan: ClusterPlan) -> int:
    """The most records that one event can append: two for each partition, and some of brokers."""
    return 2 * len(plan.partitions) + len(plan.brokers) + len(plan.scenario.topics) + 16


def _set_settings(plan: ClusterPlan, state: ActiveController) -> None:
    set_by_name(state, ActiveControllerSettings, plan.scenario.controller_settings())
    state.voters = len(plan.controllers)
    of_brokers = plan.scenario.settings_of(plan.brokers[0])
    state.heartbeat_deadline_us = of_brokers["broker.heartbeat.interval.ms"] * 1000 // 2


def _set_features(plan: ClusterPlan, state: ActiveController) -> None:
    """The finalized features as the run begins; metadata.version is the first of those planned."""
    state.elr_version = int(plan.scenario.has_eligible_leader_replicas())
    state.committed_elr_version = state.elr_version


#: As the run begins this voter leads this epoch.
_FIRST_LEADER = 0
_FIRST_EPOCH = 1

#: The first room of each log in epochs and in voter sets, and of each voter in snapshots.
_EPOCHS = 16
_SNAPSHOTS = 8
_VOTER_SETS = 8
#: The most pending batches that are measured.
_BATCHES = 64


def new_raft(plan: ClusterPlan) -> Raft:
    """Voters that have elected a leader before the run."""
    count = len(plan.controllers)
    types = count * int(CONTROLLER_TYPE_COUNT)
    raft = new_tables(
        Raft,
        voters=count,
        epoch_starts=count * _EPOCHS,
        snapshots=count * _SNAPSHOTS,
        voter_sets=count * _VOTER_SETS,
        follower_progress=count * count,
        observer_progress=count * count,
        voter_stats=count,
        appended_batches=count * _BATCHES,
        controller_requests=types,
        controller_request_errors=types * int(ERROR_COUNT),
        controller_request_times=types * int(BUCKETS),
    )
    if plan.is_kraft:
        _set_raft_settings(plan, raft)
    return raft


def _set_raft_settings(plan: ClusterPlan, raft: Raft) -> None:
    """The settings of the controllers, and the voters with which each was formatted."""
    controllers = plan.scenario.controllers
    is_static = not controllers.voters
    static = pack_voters((number, int(ANY_DIRECTORY)) for number in range(controllers.count))
    initial = pack_voters((number, 1) for number in controllers.voters)
    for number, voter in enumerate(raft.voters):
        formatted = raft.voter_sets[number * _VOTER_SETS]
        if is_static or number in controllers.voters:
            formatted.voters = static if is_static else initial
        formatted.kraft_version = 0 if is_static else 1
        voter.voter_set = formatted.voters
        voter.kraft_version = formatted.kraft_version
        voter.voter_set_count = 1
        voter.voters_may_change = plan.scenario.voters_may_change()
        voter.is_new = controllers.start_us.get(number, 0) > 0
        if not voter.is_new:
            voter.epoch = _FIRST_EPOCH
            voter.leader = _FIRST_LEADER
        set_by_name(voter, VoterSettings, plan.scenario.controller_settings())
        voter.configured_servers = configured_servers_of(plan)


def configured_servers_of(plan: ClusterPlan) -> int:
    """The controllers of controller.quorum.bootstrap.servers, as bits."""
    return sum(1 << voter for voter in plan.scenario.controllers.bootstrap_servers)


def enlarge_raft(world: Raft) -> None:
    """Enlarge the room of each voter, for epochs, voter sets and snapshots, once half is in use."""
    count = len(world.voters)
    if count == 0:
        return
    epochs = max(int(voter.epoch_count) for voter in world.voters)
    if 2 * epochs > len(world.epoch_starts) // count:
        world.epoch_starts = _doubled(world.epoch_starts, count)
    voter_sets = max(int(voter.voter_set_count) for voter in world.voters)
    if 2 * voter_sets > len(world.voter_sets) // count:
        world.voter_sets = _doubled(world.voter_sets, count)
    snapshots = max(int(voter.snapshot_count) for voter in world.voters)
    if 2 * snapshots > len(world.snapshots) // count:
        world.snapshots = _doubled(world.snapshots, count)


def double_raft(world: Raft) -> None:
    """Double the room of each voter for epochs, voter sets and snapshots."""
    count = len(world.voters)
    if count > 0:
        world.epoch_starts = _doubled(world.epoch_starts, count)
        world.voter_sets = _doubled(world.voter_sets, count)
        world.snapshots = _doubled(world.snapshots, count)


def _doubled(table: Records[R], voters: int) -> Records[R]:
    """A table with twice the room for each voter."""
    room = len(table) // voters
    larger = grown(table, 2 * len(table))
    for number in range(1, voters):
        for place in range(room):
            larger[2 * number * room + place] = table[number * room + place]
    return larger
