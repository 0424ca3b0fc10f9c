"""Invariants of replicas: their logs, their leader epochs, their roles and ISRs.

A loss of power takes records from the log of a broker that is down, and leaves the rest to its next
start: a log's other fields are valid while its broker runs with its logs loaded.
"""

from tidegauge.actors.state.brokers import epochs_of, now_ms, runs_of
from tidegauge.compiled.rules import inner_rule
from tidegauge.engine.invariants.checked import HOLDS, Checked, Invariants, all_slots, is_within
from tidegauge.replication.isr_update import alters_partition
from tidegauge.replication.partition import is_leader
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.replica_list import EMPTY, contains
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.topology import is_kraft
from tidegauge.simulation.zookeeper_tree import is_administered

LOGS = Invariants()


@inner_rule
def is_in_use(world: Checked, row: int) -> bool:
    """Whether the broker of a replica hosts it, with its logs loaded."""
    broker = world.brokers[world.hosted[row].broker]
    return world.hosted[row].exists and broker.loaded


@inner_rule
def is_led(world: Checked, row: int) -> bool:
    """Whether a replica leads its partition, as far as its broker knows."""
    return is_in_use(world, row) and is_leader(world.replicas[row])


@LOGS.of("replicas")
def records_lie_in_the_log(world: Checked) -> int:
    """Each record of a log, from its start to its end, has the leader epoch of one run."""
    for row, partition in enumerate(world.replicas):
        count = partition.run_count
        if not 0 <= partition.log_start_offset <= partition.log_end_offset:
            return row
        if (count == 0) != (partition.log_start_offset == partition.log_end_offset):
            return row
        if not 0 <= count <= world.hosted[row].epoch_room or not _are_runs(world, row):
            return row
    return HOLDS


@inner_rule
def _are_runs(world: Checked, row: int) -> bool:
    """Whether the runs of a log begin at its start, follow each other, and end before its end."""
    partition = world.replicas[row]
    runs = runs_of(world, row)
    for index in range(partition.run_count):
        if runs[index].start_offset >= partition.log_end_offset:
            return False
        if index == 0 and runs[index].start_offset != partition.log_start_offset:
            return False
        if index > 0 and (
            runs[index].start_offset <= runs[index - 1].start_offset
            or runs[index].epoch == runs[index - 1].epoch
        ):
            return False
    return True


@LOGS.of("replicas")
def epoch_cache_rises_within_the_log(world: Checked) -> int:
    """Entries of a leader-epoch cache rise, and none begins behind the log end."""
    for row, partition in enumerate(world.replicas):
        epochs = epochs_of(world, row)
        if not 0 <= partition.epoch_count <= len(epochs):
            return row
        for index in range(partition.epoch_count if is_in_use(world, row) else 0):
            if epochs[index].start_offset > partition.log_end_offset:
                return row
            if index > 0 and (
                epochs[index].epoch <= epochs[index - 1].epoch
                or epochs[index].start_offset < epochs[index - 1].start_offset
            ):
                return row
    return HOLDS


@LOGS.of("replicas")
def no_record_is_of_a_later_epoch(world: Checked) -> int:
    """A replica that knows its leader epoch has no record, and no cached epoch, of a later one.

    Up to protocol 2.0 no fetch names its epoch, and an ablation answers those that do: a follower
    can be behind its leader's.
    """
    for row, partition in enumerate(world.replicas):
        if not is_in_use(world, row) or partition.leader_epoch == UNDEFINED:
            continue
        rules = world.rules[world.hosted[row].broker]
        is_fenced = rules.fetch_fenced and not rules.fenced_fetch_is_answered
        if not (is_leader(partition) or is_fenced):
            continue
        if partition.run_count > 0 and (
            runs_of(world, row)[partition.run_count - 1].epoch > partition.leader_epoch
        ):
            return row
        if partition.epoch_count > 0 and (
            epochs_of(world, row)[partition.epoch_count - 1].epoch > partition.leader_epoch
        ):
            return row
    return HOLDS


@LOGS.of("replicas")
def high_watermark_lies_in_the_log(world: Checked) -> int:
    """A leader's high watermark is not above its log end, a follower's from 2.4 on neither.

    From 2.4 on it is not below the log start; before, a leader may not know it (-1).
    """
    for row, partition in enumerate(world.replicas):
        clamped = world.rules[world.hosted[row].broker].high_watermark_clamped_to_log
        if not is_in_use(world, row) or not (clamped or is_leader(partition)):
            continue
        if partition.high_watermark > partition.log_end_offset:
            return row
        if partition.high_watermark < (partition.log_start_offset if clamped else UNDEFINED):
            return row
    return HOLDS


@LOGS.of("on_disk")
def recovery_point_lies_in_the_log(world: Checked) -> int:
    """The flushed end of a log that is in use lies before its end."""
    for row, on_disk in enumerate(world.on_disk):
        if is_in_use(world, row) and not (
            on_disk.exists and on_disk.recovery_point <= world.replicas[row].log_end_offset
        ):
            return row
    return HOLDS


@LOGS.of("on_disk")
def future_log_lies_in_another_directory(world: Checked) -> int:
    """A future log lies in another log directory than the log, and is not longer."""
    for row, on_disk in enumerate(world.on_disk):
        if on_disk.future_directory == NONE or not is_in_use(world, row):
            continue
        if on_disk.future_directory == on_disk.directory:
            return row
        if on_disk.future_end_offset > world.replicas[row].log_end_offset:
            return row
    return HOLDS


@LOGS.of("replicas")
def replicas_know_their_slots(world: Checked) -> int:
    """A hosted replica is in the slot of its broker, and its assignment has only slots."""
    for row, partition in enumerate(world.replicas):
        facts = world.partitions[world.hosted[row].partition]
        slots = all_slots(facts.slot_count)
        if not world.hosted[row].exists:
            continue
        if partition.local_replica != row - facts.first_slot or (
            not is_within(partition.replicas, slots)
        ):
            return row
        moved = partition.adding_replicas | partition.removing_replicas
        if moved != EMPTY and not (
            is_within(partition.adding_replicas, partition.replicas)
            and is_within(partition.removing_replicas, partition.replicas)
        ):
            return row
    return HOLDS


@LOGS.of("replicas")
def isr_is_within_replicas(world: Checked) -> int:
    """A leader is in its own ISR, and so are only replicas that are assigned.

    While replicas are moved the ISR can still have one that is not assigned any more.
    """
    for row, partition in enumerate(world.replicas):
        if not is_led(world, row):
            continue
        if not contains(partition.isr, partition.local_replica):
            return row
        if not is_administered(world) and not is_within(partition.isr, partition.replicas):
            return row
    return HOLDS


@LOGS.of("replicas")
def maximal_isr_covers_the_isr(world: Checked) -> int:
    """An ISR member holds back the high watermark; without a proposal no other replica does."""
    for row, partition in enumerate(world.replicas):
        if not is_within(partition.isr, partition.maximal_isr):
            return row
        if partition.proposed_isr == EMPTY and partition.maximal_isr != partition.isr:
            return row
    return HOLDS


@LOGS.of("replicas")
def followers_leave_the_isr_to_their_leader(world: Checked) -> int:
    """A follower has no ISR and no start of its leader's epoch; a leader has begun its own."""
    for row, partition in enumerate(world.replicas):
        if not is_in_use(world, row) or partition.leader == UNDEFINED:
            continue
        start = partition.leader_epoch_start_offset
        if is_leader(partition):
            if not 0 <= start <= partition.log_end_offset:
                return row
        elif partition.isr != EMPTY or start != UNDEFINED:
            return row
    return HOLDS


@LOGS.of("replicas")
def replicas_obey_controllers_that_the_broker_knows(world: Checked) -> int:
    """No replica follows a controller of a later epoch than its broker does; KRaft sends none."""
    if is_kraft(world):
        return HOLDS
    for row, partition in enumerate(world.replicas):
        broker = world.brokers[world.hosted[row].broker]
        if (
            is_in_use(world, row)
            and partition.leader != UNDEFINED
            and (partition.controller_epoch > broker.controller_epoch)
        ):
            return row
    return HOLDS


@LOGS.of("followers")
def followers_were_not_caught_up_in_the_future(world: Checked) -> int:
    """No follower has fetched, or was caught up, later than now."""
    present_ms = now_ms(world.context[0])
    for place, follower in enumerate(world.followers):
        if max(follower.last_fetch_time_ms, follower.last_caught_up_time_ms) > present_ms:
            return place
    return HOLDS


@LOGS.of("hosted")
def acknowledged_records_are_in_the_log(world: Checked) -> int:
    """All that a leader has acknowledged in its term lies before its log end."""
    for row, hosted in enumerate(world.hosted):
        if not 0 <= hosted.acknowledged_all_first <= hosted.acknowledged_all_end:
            return row
        if not 0 <= hosted.acknowledged_leader_first <= hosted.acknowledged_leader_end:
            return row
        end_offset = max(hosted.acknowledged_all_end, hosted.acknowledged_leader_end)
        if is_led(world, row) and end_offset > world.replicas[row].log_end_offset:
            return row
    return HOLDS


@LOGS.of("hosted")
def locks_have_a_pending_write(world: Checked) -> int:
    """Requests wait for a lock only while an ISR is written, and only to ZooKeeper inside it."""
    for row, hosted in enumerate(world.hosted):
        if not hosted.locked and (hosted.waiting.first != NONE or hosted.writing_request != NONE):
            return row
        if hosted.locked and (
            hosted.written_isr == EMPTY or alters_partition(world.rules[hosted.broker])
        ):
            return row
    return HOLDS


@LOGS.of("hosted")
def lost_writes_keep_the_lock(world: Checked) -> int:
    """An ISR that is written again under the next session still has its partition's lock."""
    for row in range(len(world.hosted)):
        if world.hosted[row].write_lost and not world.hosted[row].locked:
            return row
    return HOLDS


@LOGS.of("hosted")
def proposals_are_of_leaders(world: Checked) -> int:
    """A proposed ISR was submitted by a replica that is hosted, in no later leader epoch."""
    for row, hosted in enumerate(world.hosted):
        if hosted.submitted_isr != EMPTY and not (
            hosted.exists and hosted.submitted_leader_epoch <= world.replicas[row].leader_epoch
        ):
            return row
    return HOLDS
