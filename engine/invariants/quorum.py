"""Invariants of a KRaft quorum: the active controller's decisions, appends and commits.

Invariants of the voters of a KRaft quorum: leaders, logs, timers.
"""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.partition_records import is_active
from tidegauge.engine.invariants.checked import HOLDS, Checked, Invariants, is_within, pending
from tidegauge.engine.invariants.voter_sets import lost_disks
from tidegauge.replication.replica_list import EMPTY, contains, first, rest, size, without
from tidegauge.simulation.events import used_events
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import controller_timers
from tidegauge.simulation.messages.controller_requests import CommittedResponse
from tidegauge.simulation.topology import broker_of, quorum_process
from tidegauge.simulation.trace_rows.codes import LEADER

QUORUM_STATE = Invariants()


@inner_rule
def _features_have_changed(world: Checked) -> bool:
    """Whether a step has changed the finalized features, in memory at least."""
    state = world.active_controller[0]
    is_initial = state.metadata_version == 0 and state.elr_version == state.committed_elr_version
    return bool(state.features_offset != NONE) or not is_initial


@QUORUM_STATE.of("registrations")
def elr_and_isr_share_nobody(world: Checked) -> int:
    """No replica is both in sync and in the ELR."""
    for partition, known in enumerate(world.registrations):
        if without(known.elr, known.isr) != known.elr:
            return partition
    return HOLDS


@QUORUM_STATE.of("registrations")
def elr_is_empty_while_the_isr_is_large_enough(world: Checked) -> int:
    """A partition whose ISR has min.insync.replicas members has no ELR.

    One that a feature has turned off stays until the next change of its partition.
    """
    for partition, known in enumerate(world.registrations):
        if _features_have_changed(world):
            continue
        topic = world.quorum_topics[world.partitions[partition].topic]
        if size(known.isr) >= topic.min_insync_replicas and known.elr != EMPTY:
            return partition
    return HOLDS


@QUORUM_STATE.of("registrations")
def a_last_known_leader_leads_no_longer(world: Checked) -> int:
    """At most one last leader is known, and only while there is no leader.

    One of ELRs that a feature has turned off stays known.
    """
    for partition, known in enumerate(world.registrations):
        if known.last_known_elr == EMPTY or _features_have_changed(world):
            continue
        if size(known.last_known_elr) > 1 or known.leader != NONE:
            return partition
    return HOLDS


@QUORUM_STATE.of("registrations")
def leaders_are_in_their_isr(world: Checked) -> int:
    """A leader is in sync, and an in-sync replica is a replica."""
    for partition, known in enumerate(world.registrations):
        if known.leader != NONE and not contains(known.isr, known.leader):
            return partition
        if not is_within(known.isr, known.replicas) or not is_within(known.elr, known.replicas):
            return partition
    return HOLDS


@QUORUM_STATE.of("registrations")
def no_fenced_broker_is_in_an_isr(world: Checked) -> int:
    """Each replica in an ISR is active; without ELR but for the last one of a partition offline.

    In 4.0 the last known leader is elected although it is fenced (KAFKA-19522). The last member of
    a partition that was offline as ELRs were turned on stays until its next change. A registration
    that a pin delivers late fences a broker where it is, up to 3.8 (KAFKA-16952).
    """
    if world.context[0].has_pins and not world.active_controller[0].incarnation_keeps_epoch:
        return HOLDS
    for partition, known in enumerate(world.registrations):
        if known.recovering and world.kraft_switches[0].fenced_last_known_leader_elected:
            continue
        has_always_had_elr = bool(
            world.kraft_switches[0].eligible_leader_replicas
        ) and not _features_have_changed(world)
        if known.leader == NONE and not has_always_had_elr:
            continue
        left = known.isr
        while left != EMPTY:
            if not is_active(world, broker_of(world, partition, first(left))):
                return partition
            left = rest(left)
    return HOLDS


@QUORUM_STATE.of("quorum_brokers")
def led_partitions_of_brokers_are_counted(world: Checked) -> int:
    """A broker's count of leaderships is that of the partitions that it leads."""
    for broker, known in enumerate(world.quorum_brokers):
        count = 0
        for number in range(known.replica_count):
            partition = world.hosted_replicas[known.first_replica + number].partition
            leader = world.registrations[partition].leader
            count += 1 if broker_of(world, partition, leader) == broker else 0
        if world.active_controller[0].voter != NONE and count != known.leader_count:
            return broker
    return HOLDS


@QUORUM_STATE.of("active_controller")
def partitions_without_their_leader_are_counted(world: Checked) -> int:
    """Partitions without a leader are counted, and those that another one leads than is wanted."""
    for number, state in enumerate(world.active_controller):
        leaderless = 0
        imbalanced = 0
        for partition, known in enumerate(world.registrations):
            if world.quorum_topics[world.partitions[partition].topic].exists:
                leaderless += 1 if known.leader == NONE else 0
                imbalanced += 1 if known.leader != first(known.replicas) else 0
        are_counted = leaderless == state.leaderless_partitions
        is_right = are_counted and imbalanced == state.imbalanced_partitions
        if state.voter != NONE and not is_right:
            return number
    return HOLDS


@QUORUM_STATE.of("active_controller")
def records_that_are_not_committed_are_kept(world: Checked) -> int:
    """The ring's oldest record is not committed; the active controller's records are in its log.

    Source: OffsetControlManager@4.1.0.
    """
    for number, state in enumerate(world.active_controller):
        for place in range(state.record_count):
            index = (state.first_record + place) % len(world.metadata_records)
            record = world.metadata_records[index]
            if place == 0 and record.offset < state.committed_offset:
                return number
            if state.voter != NONE and record.epoch == state.epoch:
                voter = world.voters[state.voter]
                if voter.epoch == state.epoch and record.offset >= voter.log_end_offset:
                    return number
    return HOLDS


@QUORUM_STATE.of("voters")
def a_voter_flushes_what_it_has(world: Checked) -> int:
    """A log is on the disk at most up to its end, and its end at most that in memory."""
    for number, voter in enumerate(world.voters):
        if not voter.flushed_offset <= voter.drained_offset <= voter.log_end_offset:
            return number
        if voter.high_watermark > voter.drained_offset:
            return number
    return HOLDS


@QUORUM_STATE.of("voters")
def responses_wait_in_the_order_of_offsets(world: Checked) -> int:
    """A response waits for records that are appended and not committed, in the order of the log."""
    for number, voter in enumerate(world.voters):
        if voter.state != LEADER or voter.claimed_epoch != voter.epoch:
            continue
        offset = 0
        index = voter.deferred.first
        while index != NONE:
            response = view_as(world.events[index], CommittedResponse)
            if not offset <= response.waits_for_offset <= voter.log_end_offset:
                return number
            offset = response.waits_for_offset
            index = response.next
    return HOLDS


@QUORUM_STATE.of("committed_partitions")
def what_is_committed_lies_below_the_high_watermark(world: Checked) -> int:
    """Readers of the metadata log see only committed records, none newer than the last decided."""
    for partition, known in enumerate(world.committed_partitions):
        if known.offset >= world.active_controller[0].committed_offset:
            return partition
        if world.active_controller[0].voter == NONE:
            continue
        newest = world.registrations[partition].partition_epoch
        exists = world.quorum_topics[world.partitions[partition].topic].exists
        if known.exists and exists and known.partition_epoch > newest:
            return partition
    return HOLDS


@QUORUM_STATE.of("voters")
def quorum_timers_match_their_flags(world: Checked) -> int:
    """A timer is set exactly while its flag is set, and queued events are going to be handled.

    A task that waits in the queue has its timer still.
    """
    for number, voter in enumerate(world.voters):
        if not voter.runs:
            continue
        process = quorum_process(world, number)
        if (pending(world, process, controller_timers.QuorumWorks.KIND) == 1) != voter.works:
            return number
        if (
            pending(world, process, controller_timers.RaftFetchExpires.KIND) == 1
        ) != voter.fetch_timer:
            return number
        if not voter.works and voter.queue.first != NONE:
            return number
        state = world.active_controller[0]
        if state.voter == number and (
            (_tasks(world, process, controller_timers.FencingCheck.KIND) == 1) != state.fences
            or (_tasks(world, process, controller_timers.PreferredLeaderBalance.KIND) == 1)
            != state.balances
            or (_tasks(world, process, controller_timers.UncleanElectionCheck.KIND) == 1)
            != state.elects_uncleanly
        ):
            return number
    return HOLDS


@inner_rule
def _tasks(world: Checked, process: int, kind: int) -> int:
    """The number of the active controller's tasks of a kind; those of former epochs ended."""
    count = 0
    for event in used_events(world):
        if event.kind == kind and event.destination == process:
            task = view_as(event, controller_timers.ControllerTask)
            count += 1 if task.epoch == world.active_controller[0].epoch else 0
    return count


VOTERS = Invariants()


@VOTERS.of("voters")
def one_voter_leads_an_epoch(world: Checked) -> int:
    """No two voters are leaders of one epoch, and a leader knows itself as that.

    A voter that has lost its disk can have voted for both.
    """
    for number, voter in enumerate(world.voters):
        if voter.state != LEADER:
            continue
        if voter.leader != number:
            return number
        for other in range(number):
            is_same = world.voters[other].epoch == voter.epoch
            if world.voters[other].state == LEADER and is_same and lost_disks(world) == 0:
                return number
    return HOLDS


@VOTERS.of("epoch_starts")
def epochs_of_a_log_ascend(world: Checked) -> int:
    """The epochs of a log ascend, and so does where they begin; none is beyond the voter's."""
    if len(world.voters) == 0:
        return HOLDS
    room = len(world.epoch_starts) // len(world.voters)
    for number, voter in enumerate(world.voters):
        before = 0
        for place in range(number * room, number * room + voter.epoch_count):
            entry = world.epoch_starts[place]
            if not before < entry.epoch <= voter.epoch:
                return place
            if place > number * room:
                start_before = world.epoch_starts[place - 1].start_offset
                if entry.start_offset <= start_before:
                    return place
            if entry.start_offset > voter.log_end_offset:
                return place
            before = entry.epoch
    return HOLDS


@VOTERS.of("snapshots")
def snapshots_of_a_voter_ascend(world: Checked) -> int:
    """The snapshots of a voter ascend and are of its log, which begins with none or the oldest."""
    if len(world.voters) == 0:
        return HOLDS
    room = len(world.snapshots) // len(world.voters)
    for number, voter in enumerate(world.voters):
        before = voter.log_start_offset - 1
        for place in range(number * room, number * room + voter.snapshot_count):
            snapshot = world.snapshots[place]
            if not before < snapshot.end_offset <= voter.drained_offset:
                return place
            before = snapshot.end_offset
    return HOLDS


@VOTERS.of("follower_progress")
def a_follower_has_no_more_than_its_leader(world: Checked) -> int:
    """A leader counts no follower beyond the end of its own log."""
    count = len(world.voters)
    for number in range(count):
        voter = world.voters[number]
        for other in range(count):
            place = number * count + other
            end_offset = world.follower_progress[place].end_offset
            if voter.state == LEADER and end_offset > voter.drained_offset:
                return place
    return HOLDS


@VOTERS.of("voters")
def voter_timers_match_their_flags(world: Checked) -> int:
    """A timer of a voter is set exactly while its flag is set.

    All that a leader has appended is going to be written.
    """
    for number, voter in enumerate(world.voters):
        process = quorum_process(world, number)
        if not voter.runs:
            continue
        if (
            (pending(world, process, controller_timers.VoterFetchExpires.KIND) == 1)
            != voter.voter_fetch_timer
            or (pending(world, process, controller_timers.VoterFetchTimeout.KIND) == 1)
            != voter.fetch_watch
            or (pending(world, process, controller_timers.VoterFetchDue.KIND) == 1)
            != voter.fetch_due
        ):
            return number
        if (_deadlines(world, number) == 1) != (voter.deadline_timer_us != NONE):
            return number
        is_written = (
            pending(world, process, controller_timers.RaftAppended.KIND) > 0 or voter.drains
        )
        if voter.drained_offset < voter.log_end_offset and not is_written:
            return number
        if voter.drains and pending(world, process, controller_timers.QuorumDrains.KIND) == 0:
            return number
    return HOLDS


@inner_rule
def _deadlines(world: Checked, number: int) -> int:
    """The number of timers for the end of a voter's time in its state."""
    process = quorum_process(world, number)
    state = world.processes[process]
    count = 0
    for event in used_events(world):
        if event.kind != controller_timers.VoterDeadline.KIND or event.destination != process:
            continue
        is_valid = (
            view_as(event, controller_timers.VoterDeadline).number
            == world.voters[number].deadline_number
        )
        count += 1 if is_valid and event.asked_us >= state.up_since_us else 0
    return count
