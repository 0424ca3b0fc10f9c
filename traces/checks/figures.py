"""Figures of a run, counted from its rows in their total order.

A figure in partition-seconds is a count that changes with rows, times its duration. So whether a
partition counts is kept in sums over brokers: when one of them registers, dies or is paused, all
the partitions that it leads come or go at once.

Start-up does not count. Figures begin at the scenario's ``measure_from``, or else when every
partition that exists from the start has a leader for the first time; but not later than the first
fault, whose costs count. If neither ever happens, they begin with the run. Until they have begun,
all is counted as if they had, and dropped when they do. They end with the run; rows of the liveness
phase, which comes after it, are not counted. Only the clients' totals are added at the end itself.
"""

from tidegauge.compiled.records import Record, Records, flag, i32, i64, view_as
from tidegauge.compiled.rules import Tables, code, inner_rule
from tidegauge.replication.replica_list import EMPTY, contains, first, rest, size, without
from tidegauge.simulation.faults import PAUSE
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.trace_rows import controller_rows, process_rows, replica_rows
from tidegauge.simulation.trace_rows.client_rows import ClientTotals
from tidegauge.simulation.trace_rows.row import PartitionRow, Row
from tidegauge.traces.checks import stall_counts
from tidegauge.traces.checks.breaches import slot_of
from tidegauge.traces.checks.histories import Histories

# A partition's part of the counts.
_ENTERS = code(1)
_LEAVES = code(-1)


class Count(Record):
    """The counts: one record."""

    #: The start and the end of figures: events count after the one, and before the other.
    from_us: i64
    ends_us: i64
    #: The start of figures; -1: with the first leaders of all partitions, or the first fault.
    measured_from_us: i64 = -1
    has_begun: flag
    #: The number of partitions that exist from the start.
    first_partitions: i64
    #: The time of the last row that was counted.
    now_us: i64
    faults: i64

    # Partitions now.
    #: The control plane holds a state of them.
    existing: i64
    #: The control plane names a leader that is registered.
    online: i64
    #: The control plane names a leader, and fewer replicas in sync than min.insync.replicas.
    under_min_isr: i64
    #: ... or as many, so that the next one to go has writes refused.
    at_min_isr: i64
    #: Somebody leads in the epoch that the control plane names, and runs.
    accepting: i64
    #: The ISR has one member, and there are more replicas.
    isr_of_one: i64
    #: All of the ISR stands in one rack.
    isr_in_one_rack: i64
    # ... and the total times for which they were not online, not accepting, under
    # min.insync.replicas, at it, with an ISR of one, or with all of it in one rack.
    offline_us: i64
    not_accepting_us: i64
    under_min_isr_us: i64
    at_min_isr_us: i64
    isr_of_one_us: i64
    isr_in_one_rack_us: i64
    #: Stalled for producers, and for consumers.
    writes: stall_counts.StallCount
    reads: stall_counts.StallCount

    # The most at any time.
    isr_in_one_rack_most: i64
    #: The most partitions that the control plane had one broker as the leader of, and the first
    #: broker with so many; -1 until there is a leader.
    leaders_most: i64
    leaders_most_broker: i64 = -1

    isr_shrinks: i64
    isr_expands: i64
    isr_removals: i64
    leader_elections: i64
    unclean_elections: i64
    isr_notifications: i64
    #: From the clients' last rows.
    records_offered: i64
    records_acknowledged: i64
    records_unsent: i64
    records_in_flight: i64
    #: Events that controllers took from their queues.
    controller_events: i64
    #: Time that controllers worked on events, of those that they finished.
    controller_busy_us: i64
    #: The number of times that the ISR of a partition came to have one member.
    isr_of_one_episodes: i64


class CountedBroker(Record):
    """A broker, as far as figures are about it."""

    #: The number of partitions that the control plane has it as the leader of, and that it truly
    #: leads.
    named_leader: i64
    leads: i64
    #: The number of its present life.
    life: i64
    #: The number of faults that stop it now.
    paused: i64
    alive: flag
    #: Number of its rack.
    rack: i64


class CountedPartition(Record):
    """A partition, as far as figures are about it."""

    min_insync_replicas: i64
    #: More are never needed.
    most_insync_replicas: i64
    #: The last leader, its life and epoch; -1: none.
    leader: i32 = -1
    life: i32
    epoch: i32
    #: The number of its replicas, of those that a reassignment adds, and of those at its creation.
    replicas: i32
    replicas_at_creation: i32
    #: Clients that are stalled by it.
    writes: stall_counts.PartitionStalls
    reads: stall_counts.PartitionStalls
    #: It is counted with an ISR of one: an episode has begun, and has not ended.
    isr_is_one: flag
    #: The ISR of the state before the one that the control plane holds.
    isr_before: i64
    #: The last election: when it was written, and the version of that state; -1 there was none.
    elected_us: i64 = -1
    elected_version: i32 = -1
    #: The start and the end of its last episode; -1: there was none.
    one_since_us: i64 = -1
    one_until_us: i64 = -1


class StoppedBy(Record):
    """Whether one fault has stopped one broker."""

    stops: flag


class Duration(Record):
    """The wait of an event in a controller's queue."""

    value_us: i64


class Figures(Tables):
    """All that is counted."""

    count: Records[Count]
    brokers: Records[CountedBroker]
    partitions: Records[CountedPartition]
    #: At ``fault * brokers + broker``.
    stopped: Records[StoppedBy]
    queued: Records[Duration]


@inner_rule
def count_row(history: Histories, figures: Figures, row: Row) -> None:
    """Let time go on to a row, and count it."""
    count = figures.count[0]
    _go_on_to(figures, row.time_us)
    kind = row.kind
    if kind == ClientTotals.KIND:
        _add_totals(count, view_as(row, ClientTotals))
        return
    if row.time_us >= count.ends_us:
        return
    if kind == process_rows.FaultBegan.KIND and not count.has_begun and count.measured_from_us < 0:
        _begin(figures, row.time_us)
    if kind in (
        replica_rows.BecameLeader.KIND,
        replica_rows.BecameFollower.KIND,
        replica_rows.ReplicaStopped.KIND,
        replica_rows.LogDeleted.KIND,
    ):
        _change_leader(history, figures, view_as(row, PartitionRow))
    elif kind == controller_rows.PartitionReplicas.KIND:
        _assign(history, figures, view_as(row, controller_rows.PartitionReplicas))
    elif kind == controller_rows.TopicConfigured.KIND:
        _configure(history, figures, view_as(row, controller_rows.TopicConfigured))
    elif stall_counts.is_about_stalls(kind):
        own = figures.partitions[view_as(row, PartitionRow).partition]
        stall_counts.count_stall(row, count.writes, own.writes, count.reads, own.reads)
    elif row.process < len(figures.brokers) and _is_about_life(kind):
        _live_or_die(figures, row)
    elif not count.has_begun or row.time_us > count.from_us:
        _count_event(history, figures, row)


@inner_rule
def _add_totals(count: Count, row: ClientTotals) -> None:
    count.records_offered += row.records_offered
    count.records_acknowledged += row.records_acknowledged
    count.records_unsent += row.records_unsent
    count.records_in_flight += row.records_in_flight


@inner_rule
def count_to_end(figures: Figures) -> None:
    """There are no more rows: let time go on to where figures end."""
    count = figures.count[0]
    _go_on_to(figures, count.ends_us)
    for number in range(len(figures.partitions)):
        stall_counts.end_counting(count.writes, figures.partitions[number].writes, count.ends_us)
        stall_counts.end_counting(count.reads, figures.partitions[number].reads, count.ends_us)


@inner_rule
def _go_on_to(figures: Figures, time_us: int) -> None:
    count = figures.count[0]
    if not count.has_begun and time_us > count.now_us:
        if 0 <= count.measured_from_us <= time_us:
            _pass(count, count.measured_from_us)
            _begin(figures, count.measured_from_us)
        elif count.measured_from_us < 0 and 0 < count.first_partitions <= count.accepting:
            _begin(figures, count.now_us)
    _pass(count, time_us)


@inner_rule
def _begin(figures: Figures, from_us: int) -> None:
    """Drop all counts of start-up; the highest values begin with the present ones."""
    count = figures.count[0]
    count.has_begun = True
    count.from_us = from_us
    count.offline_us = 0
    count.not_accepting_us = 0
    count.under_min_isr_us = 0
    count.at_min_isr_us = 0
    count.isr_of_one_us = 0
    count.isr_in_one_rack_us = 0
    count.isr_shrinks = 0
    count.isr_expands = 0
    count.isr_removals = 0
    count.leader_elections = 0
    count.unclean_elections = 0
    count.isr_notifications = 0
    count.controller_events = 0
    count.controller_busy_us = 0
    count.isr_of_one_episodes = count.isr_of_one
    count.isr_in_one_rack_most = count.isr_in_one_rack
    stall_counts.begin_counting(count.writes)
    stall_counts.begin_counting(count.reads)
    for number in range(len(figures.partitions)):
        figures.partitions[number].one_since_us = from_us
        stall_counts.begin_counting_of(count.writes, figures.partitions[number].writes, from_us)
        stall_counts.begin_counting_of(count.reads, figures.partitions[number].reads, from_us)
    count.leaders_most = 0
    count.leaders_most_broker = NONE
    for broker in range(len(figures.brokers)):
        led = figures.brokers[broker].named_leader
        if led > count.leaders_most:
            count.leaders_most = led
            count.leaders_most_broker = broker


@inner_rule
def _pass(count: Count, time_us: int) -> None:
    passed_us = min(time_us, count.ends_us) - count.now_us
    if passed_us <= 0:
        return
    count.offline_us += passed_us * (count.existing - count.online)
    count.not_accepting_us += passed_us * (count.existing - count.accepting)
    count.under_min_isr_us += passed_us * count.under_min_isr
    count.at_min_isr_us += passed_us * count.at_min_isr
    count.isr_of_one_us += passed_us * count.isr_of_one
    count.isr_in_one_rack_us += passed_us * count.isr_in_one_rack
    stall_counts.let_pass(count.writes, passed_us)
    stall_counts.let_pass(count.reads, passed_us)
    count.now_us += passed_us


@inner_rule
def _count_event(history: Histories, figures: Figures, row: Row) -> None:
    count = figures.count[0]
    kind = row.kind
    if kind == replica_rows.IsrShrunk.KIND:
        count.isr_shrinks += 1
    elif kind == replica_rows.IsrExpanded.KIND:
        count.isr_expands += 1
    elif kind == controller_rows.RemovedFromIsr.KIND:
        removed = view_as(row, controller_rows.RemovedFromIsr)
        count.isr_removals += _is_taken_out(history, figures, removed)
    elif kind == replica_rows.NotificationSent.KIND:
        count.isr_notifications += 1
    elif kind == controller_rows.LeaderElected.KIND:
        elected = view_as(row, controller_rows.LeaderElected)
        count.leader_elections += 1 if elected.leader != elected.old_leader else 0
        count.unclean_elections += elected.unclean
        count.isr_removals += _taken_out_by_election(history, figures, elected)
    elif kind == controller_rows.ControllerEvent.KIND:
        figures.queued[count.controller_events].value_us = view_as(
            row, controller_rows.ControllerEvent
        ).queued_us
        count.controller_events += 1
    elif kind == controller_rows.ControllerEventDone.KIND:
        count.controller_busy_us += view_as(row, controller_rows.ControllerEventDone).processing_us


@inner_rule
def _is_taken_out(
    history: Histories, figures: Figures, row: controller_rows.RemovedFromIsr
) -> bool:
    """Whether a replica leaves the ISR with this row: the last member stays in it.

    With KRaft the election of the same record has already been counted.
    """
    slot = slot_of(history, row.partition, row.replica)
    own = figures.partitions[row.partition]
    is_counted = own.elected_us == row.time_us and own.elected_version == row.version
    return not is_counted and not contains(row.isr, slot)


@inner_rule
def _taken_out_by_election(
    history: Histories, figures: Figures, row: controller_rows.LeaderElected
) -> int:
    """The number of replicas that an election takes out of the ISR.

    ZooKeeper's controller writes the row after the state, a quorum before it.
    """
    known = history.partitions[row.partition]
    own = figures.partitions[row.partition]
    own.elected_us = row.time_us
    own.elected_version = row.version
    is_held = known.leader == row.leader and known.leader_epoch == row.leader_epoch
    return size(without(own.isr_before if is_held else known.isr, row.isr))


@inner_rule
def leave_account(history: Histories, figures: Figures, partition: int) -> None:
    """Something about a partition is about to change: it does not count meanwhile."""
    _account(history, figures, partition, _LEAVES)


@inner_rule
def open_account(history: Histories, figures: Figures, partition: int) -> None:
    """Something about a partition has changed: it counts again."""
    _account(history, figures, partition, _ENTERS)
    count = figures.count[0]
    if count.now_us < count.ends_us:
        _count_highest(history, figures, partition)


@inner_rule
def _count_highest(history: Histories, figures: Figures, partition: int) -> None:
    """Count an episode that begins, and the highest numbers, as a partition counts again."""
    count = figures.count[0]
    known = history.partitions[partition]
    own = figures.partitions[partition]
    is_one = known.exists and _is_isr_of_one(history, figures, partition)
    if is_one and not own.isr_is_one:
        # States of one instant are one change.
        if own.one_until_us != count.now_us:
            count.isr_of_one_episodes += 1
            own.one_since_us = count.now_us
    elif own.isr_is_one and not is_one:
        own.one_until_us = count.now_us
        if own.one_since_us == count.now_us:
            count.isr_of_one_episodes -= 1
            own.one_until_us = NONE
    own.isr_is_one = is_one
    count.isr_in_one_rack_most = max(count.isr_in_one_rack_most, count.isr_in_one_rack)
    if known.exists and known.leader >= 0:
        led = figures.brokers[known.leader].named_leader
        if led > count.leaders_most:
            count.leaders_most = led
            count.leaders_most_broker = known.leader


@inner_rule
def _account(history: Histories, figures: Figures, partition: int, sign: int) -> None:
    known = history.partitions[partition]
    if not known.exists:
        return
    count = figures.count[0]
    own = figures.partitions[partition]
    count.existing += sign
    count.isr_of_one += sign * _is_isr_of_one(history, figures, partition)
    count.isr_in_one_rack += sign * _is_isr_in_one_rack(history, figures, partition)
    if known.leader >= 0:
        figures.brokers[known.leader].named_leader += sign
        if history.brokers[known.leader].registered:
            count.online += sign
        in_sync = size(known.isr)
        if in_sync < own.min_insync_replicas:
            count.under_min_isr += sign
        elif in_sync == own.min_insync_replicas:
            count.at_min_isr += sign
    if own.leader != NONE and own.epoch == known.leader_epoch:
        broker = figures.brokers[own.leader]
        if broker.life == own.life:
            broker.leads += sign
            if broker.paused == 0:
                count.accepting += sign


@inner_rule
def _is_isr_of_one(history: Histories, figures: Figures, partition: int) -> bool:
    in_sync = size(history.partitions[partition].isr)
    return in_sync == 1 and figures.partitions[partition].replicas > 1


@inner_rule
def _is_isr_in_one_rack(history: Histories, figures: Figures, partition: int) -> bool:
    first_slot = history.places[partition].first_slot
    isr = history.partitions[partition].isr
    if isr == EMPTY:
        return False
    rack = figures.brokers[history.slots[first_slot + first(isr)].broker].rack
    others = rest(isr)
    while others != EMPTY:
        broker = history.slots[first_slot + first(others)].broker
        if figures.brokers[broker].rack != rack:
            return False
        others = rest(others)
    return True


@inner_rule
def _assign(history: Histories, figures: Figures, row: controller_rows.PartitionReplicas) -> None:
    """A partition's replicas are others; those that are still being added do not count."""
    leave_account(history, figures, row.partition)
    figures.partitions[row.partition].replicas = size(without(row.replicas, row.adding))
    open_account(history, figures, row.partition)


@inner_rule
def create_again(figures: Figures, partition: int) -> None:
    """A partition that was deleted is created: it has the replicas that it began with."""
    own = figures.partitions[partition]
    own.replicas = own.replicas_at_creation


@inner_rule
def move_registration(history: Histories, figures: Figures, broker: int, exists: bool) -> None:
    """A broker registers, or its registration is gone."""
    if history.brokers[broker].registered == exists:
        return
    history.brokers[broker].registered = exists
    led = figures.brokers[broker].named_leader
    figures.count[0].online += led if exists else -led


@inner_rule
def _change_leader(history: Histories, figures: Figures, row: PartitionRow) -> None:
    """A replica leads from now on, or stops leading."""
    partition = row.partition
    own = figures.partitions[partition]
    leads = row.kind == replica_rows.BecameLeader.KIND
    if not leads and own.leader != row.process:
        return
    leave_account(history, figures, partition)
    own.leader = NONE
    if leads:
        own.leader = row.process
        own.life = figures.brokers[row.process].life
        own.epoch = view_as(row, replica_rows.BecameLeader).leader_epoch
    open_account(history, figures, partition)


@inner_rule
def _is_about_life(kind: int) -> bool:
    return kind in (
        process_rows.BrokerLoading.KIND,
        process_rows.BrokerStarted.KIND,
        process_rows.BrokerStopped.KIND,
        process_rows.FaultBegan.KIND,
        process_rows.FaultEnded.KIND,
    )


@inner_rule
def _live_or_die(figures: Figures, row: Row) -> None:
    """A broker's process begins or ends, is stopped by a pause or goes on."""
    broker = figures.brokers[row.process]
    if row.kind == process_rows.BrokerStopped.KIND:
        if broker.paused == 0:
            figures.count[0].accepting -= broker.leads
        broker.leads = 0
        broker.life += 1
        broker.paused = 0
        broker.alive = False
        for each in range(figures.count[0].faults):
            figures.stopped[each * len(figures.brokers) + row.process].stops = False
    elif row.kind == process_rows.FaultBegan.KIND or row.kind == process_rows.FaultEnded.KIND:
        fault = view_as(row, process_rows.FaultRow)
        if fault.fault_kind == PAUSE:
            _pause(figures, fault, broker)
    else:
        broker.alive = True


@inner_rule
def _pause(figures: Figures, row: process_rows.FaultRow, broker: CountedBroker) -> None:
    by = figures.stopped[row.fault * len(figures.brokers) + row.process]
    if row.kind == process_rows.FaultBegan.KIND and broker.alive:
        by.stops = True
        broker.paused += 1
        if broker.paused == 1:
            figures.count[0].accepting -= broker.leads
    elif row.kind == process_rows.FaultEnded.KIND and by.stops:
        by.stops = False
        broker.paused -= 1
        if broker.paused == 0:
            figures.count[0].accepting += broker.leads


@inner_rule
def _configure(history: Histories, figures: Figures, row: controller_rows.TopicConfigured) -> None:
    for partition in range(len(figures.partitions)):
        if history.places[partition].topic == row.topic:
            leave_account(history, figures, partition)
            own = figures.partitions[partition]
            own.min_insync_replicas = min(row.min_insync_replicas, own.most_insync_replicas)
            history.partitions[partition].unclean_enabled = row.unclean_enabled != 0
            open_account(history, figures, partition)
