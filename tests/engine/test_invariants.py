"""Each invariant has a state that violates it, and is the one that says so.

A cluster runs while one of its brokers is stopped, so that requests wait everywhere. Each test
takes a copy of its state and corrupts it in one place. A second one, of the same brokers, has a
KRaft quorum: a topic has just been created in it, so that records and a response wait for a commit.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tidegauge.actors.state.brokers import NEVER_US
from tidegauge.compiled.records import view_as
from tidegauge.engine.doors import World
from tidegauge.engine.group import Group
from tidegauge.engine.invariants.quorum import QUORUM_STATE, VOTERS
from tidegauge.engine.invariants.validator import INVARIANTS, InvariantViolatedError, Validator
from tidegauge.engine.invariants.voter_sets import VOTER_SETS
from tidegauge.replication.replica_list import pack, without
from tidegauge.replication.voter_set import without_voter
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.simulation.kernel import CONTROLLER, NONE
from tidegauge.simulation.messages.client_requests import FetchRequest
from tidegauge.simulation.messages.controller_requests import CommittedResponse, StopReplicaRequest
from tidegauge.simulation.messages.timers import SessionPing
from tidegauge.simulation.messages.zookeeper_requests import ZkTick
from tidegauge.simulation.trace_rows.codes import CANDIDATE, LEADER, PROSPECTIVE, UNATTACHED
from tidegauge.simulation.zookeeper_tree import BROKERS, STATES, TOPICS_ZNODE

STORY = {
    "duration": "30s",
    "seed": 3,
    "release": "2.6",
    "cluster": {"brokers": 3},
    "topics": [{"name": "orders", "partitions": 4, "replication_factor": 3}],
    "workload": {
        "producers": [
            {"name": "shop", "topics": ["orders"], "batches_per_second": 40},
            {
                "name": "once",
                "topics": ["orders"],
                "batches_per_second": 4,
                "settings": {"enable.idempotence": True},
            },
        ],
        "consumers": [{"name": "billing", "topics": ["orders"]}],
    },
    "faults": [{"kind": "pause", "at": "20s", "for": "5s", "brokers": [2]}],
}
PLAN = ClusterPlan(scenario_from_mapping(STORY, "one broker is stopped"))

QUORUM_STORY = {
    "duration": "30s",
    "seed": 3,
    "release": "4.1",
    "cluster": {"brokers": 3},
    "topics": [{"name": "orders", "partitions": 4, "replication_factor": 3}],
    "faults": [{"kind": "crash", "at": "5s", "for": "20s", "brokers": [2]}],
}
QUORUM_PLAN = ClusterPlan(scenario_from_mapping(QUORUM_STORY, "one broker is dead"))
#: Soon after that a NoOpRecord waits for its commit.
SETTLED_US = 20_000_000

#: A slot that no partition has.
NO_SLOT = 14

CORRUPTIONS: dict[str, Callable[[World], None]] = {}


def violates(invariant: str) -> Callable[[Callable[[World], None]], None]:
    """Enter a function that corrupts a state in one place, by the invariant that names it."""

    def enter(corrupt: Callable[[World], None]) -> None:
        CORRUPTIONS[invariant] = corrupt

    return enter


@pytest.fixture(scope="module")
def healthy() -> World:
    group = Group(PLAN, range(len(PLAN.processes)))
    group.run_to(20_300_000, lambda _rows: None)
    return group.world


@pytest.fixture(scope="module")
def quorum() -> World:
    group = Group(QUORUM_PLAN, range(len(QUORUM_PLAN.processes)))
    time_us = SETTLED_US
    group.run_to(time_us, lambda _rows: None)
    while group.world.active_controller[0].record_count == 0:
        time_us += 1_000
        group.run_to(time_us, lambda _rows: None)
    return group.world


def copy_of(world: World) -> World:
    copied = World.__new__(World)
    vars(copied).update({name: copy.deepcopy(table) for name, table in vars(world).items()})
    return copied


def validator_of(world: World, plan: ClusterPlan = PLAN) -> Validator:
    validator = Validator(plan)
    validator.look_at(world)
    return validator


def test_a_run_violates_nothing(healthy: World, quorum: World) -> None:
    validator_of(healthy).check()
    validator_of(quorum, QUORUM_PLAN).check()


@pytest.mark.parametrize("name", [each.name for each in INVARIANTS])
def test_each_invariant_names_the_state_that_violates_it(
    name: str, healthy: World, quorum: World
) -> None:
    is_of_quorum = name in {each.name for each in [*VOTERS, *VOTER_SETS, *QUORUM_STATE]}
    world = copy_of(quorum if is_of_quorum else healthy)
    CORRUPTIONS[name](world)
    violation = validator_of(world, QUORUM_PLAN if is_of_quorum else PLAN).violation()
    assert violation is not None
    assert violation.invariant.name == name


def test_a_violation_says_what_does_not_hold_of_whom_and_when(healthy: World) -> None:
    world = copy_of(healthy)
    CORRUPTIONS["high_watermark_lies_in_the_log"](world)
    with pytest.raises(InvariantViolatedError) as told:
        validator_of(world).check()
    row = leader(world)
    broker = PLAN.brokers[world.slots[row].broker]
    text = str(told.value)
    assert text.startswith("high_watermark_lies_in_the_log: A leader's high watermark")
    assert f"replicas[{row}] (broker {broker}, orders-" in text
    assert f"high_watermark={world.replicas[row].high_watermark}" in text
    assert "at 20.2" in text
    assert "TIDEGAUGE_CHECKED=1" in text


# Where things are.


def first_where(table: Any, holds: Callable[[Any], bool]) -> int:
    """The place of the first record of which something holds."""
    return next(place for place in range(len(table)) if holds(table[place]))


def leader(world: World) -> int:
    return first_where(world.replicas, lambda each: each.leader == each.local_replica)


def follower(world: World) -> int:
    return first_where(world.hosted, lambda each: each.fetcher != NONE)


def active(world: World) -> Any:
    return world.controllers[first_where(world.controllers, lambda each: each.active)]


def known_partition(world: World) -> int:
    """The place of what the active controller knows of partition 0."""
    return int(active(world).context) * len(world.partitions)


def last_epoch(world: World, row: int) -> Any:
    hosted = world.hosted[row]
    last = hosted.first_entry + hosted.epoch_room + world.replicas[row].epoch_count - 1
    return world.epoch_entries[last]


def state_znode(world: World) -> Any:
    return world.znodes[world.tree_ranges[int(STATES)].first]


def in_heap(world: World, holds: Callable[[Any], bool] = lambda _event: True) -> Any:
    """An event that waits for its time."""
    context = world.context[0]
    soon = world.heap[: int(context.heap_size)]
    later = world.later_heap[: int(context.later_heap_size)]
    entries = (entry for heap in (soon, later) for entry in heap)
    events = (world.events[entry.index] for entry in entries)
    return next(event for event in events if holds(event))


def new_event(world: World, kind: int, destination: int) -> Any:
    """A slot taken from the free ones."""
    slots = world.context[0].event_slots
    event = world.events[slots.first_free]
    slots.first_free = event.next
    slots.free -= 1
    event.kind, event.source, event.destination = kind, destination, destination
    event.next = event.first_item = event.last_item = event.thread = NONE
    event.item_count = 0
    event.cause_process = NONE
    return event


def put(events: Any, event: Any) -> None:
    """Make an event the only one of a list."""
    events.first = events.last = event.index
    events.length = 1


# Pools.


@violates("events_name_processes")
def _(world: World) -> None:
    in_heap(world).destination = len(world.processes)


@violates("purgatories_watch_requests")
def _(world: World) -> None:
    world.delayed_produces[follower(world)].last = 0


@violates("every_watch_has_one_place")
def _(world: World) -> None:
    world.pools[0].watch_slots.free += 1


@violates("free_events_are_counted")
def _(world: World) -> None:
    world.context[0].event_slots.free -= 1


@violates("every_event_has_one_place")
def _(world: World) -> None:
    # The last event of the heap is forgotten.
    world.context[0].heap_size -= 1


@violates("free_entries_are_counted")
def _(world: World) -> None:
    world.context[0].item_slots.free += 1


@violates("chains_are_whole")
def _(world: World) -> None:
    in_heap(world).item_count += 1


@violates("every_entry_has_one_place")
def _(world: World) -> None:
    # A chain is not given back with its request.
    event = world.events[first_where(world.events, lambda each: each.item_count > 0)]
    event.first_item = event.last_item = NONE
    event.item_count = 0


# Virtual time.


@violates("heap_is_ordered")
def _(world: World) -> None:
    event = world.events[world.heap[0].index]
    event.time_us = world.heap[0].time_us = 10**12


@violates("later_events_are_later")
def _(world: World) -> None:
    world.context[0].soon_us = 10**12


@violates("heap_entries_match_events")
def _(world: World) -> None:
    in_heap(world).time_us += 1


@violates("no_event_is_overdue")
def _(world: World) -> None:
    world.context[0].time_us = world.heap[0].time_us + 1


@violates("links_hold_back_only_when_cut")
def _(world: World) -> None:
    # A heal too many.
    world.impairments[0].cut -= 1


@violates("impairments_have_one_link")
def _(world: World) -> None:
    world.links[0].impairment = world.context[0].impairments


@violates("nothing_hits_all_links")
def _(world: World) -> None:
    # A slow link is noted for all of them.
    world.impairments[0].delay_us += 1_000


@violates("transfers_end_with_their_network")
def _(world: World) -> None:
    world.networks_out[0].ends_ns[0] = 10**18


@violates("networks_receive_what_has_come")
def _(world: World) -> None:
    world.networks_in[0].busy_from_ns = 10**18


@violates("blocked_threads_are_known")
def _(world: World) -> None:
    world.network_threads[0].free_us = 10**15


@violates("records_are_relayed_between_racks")
def _(world: World) -> None:
    # It was not passed on.
    in_heap(world).relayed_to = 0


@violates("outbox_leaves_the_group")
def _(world: World) -> None:
    world.processes[world.events[world.heap[0].index].destination].hosted = False


@violates("messages_were_sent")
def _(world: World) -> None:
    in_heap(world, lambda each: each.source >= 0).source_rows = 10**9


@violates("causes_are_written")
def _(world: World) -> None:
    in_heap(world, lambda each: each.cause_process >= 0).cause_sequence = 10**9


@violates("stops_are_counted")
def _(world: World) -> None:
    world.processes[0].paused += 1


@violates("changes_are_chained_by_subject")
def _(world: World) -> None:
    world.metadata_changes[world.metadata_heads[0].change].subject = 1


# Logs.


@violates("records_lie_in_the_log")
def _(world: World) -> None:
    world.epoch_entries[world.hosted[leader(world)].first_entry].start_offset += 1


@violates("epoch_cache_rises_within_the_log")
def _(world: World) -> None:
    row = leader(world)
    last_epoch(world, row).start_offset = world.replicas[row].log_end_offset + 1


@violates("no_record_is_of_a_later_epoch")
def _(world: World) -> None:
    last_epoch(world, leader(world)).epoch += 1


@violates("high_watermark_lies_in_the_log")
def _(world: World) -> None:
    partition = world.replicas[leader(world)]
    partition.high_watermark = partition.log_end_offset + 1


@violates("recovery_point_lies_in_the_log")
def _(world: World) -> None:
    row = leader(world)
    world.on_disk[row].recovery_point = world.replicas[row].log_end_offset + 1


@violates("future_log_lies_in_another_directory")
def _(world: World) -> None:
    on_disk = world.on_disk[leader(world)]
    on_disk.future_directory = on_disk.directory


@violates("replicas_know_their_slots")
def _(world: World) -> None:
    world.replicas[follower(world)].replicas = pack([0, 1, 2, NO_SLOT])


@violates("isr_is_within_replicas")
def _(world: World) -> None:
    # A leader that has left its own ISR.
    partition = world.replicas[leader(world)]
    others = pack(slot for slot in range(3) if slot != partition.local_replica)
    partition.isr = partition.maximal_isr = others


@violates("maximal_isr_covers_the_isr")
def _(world: World) -> None:
    world.replicas[leader(world)].maximal_isr = pack([])


@violates("followers_leave_the_isr_to_their_leader")
def _(world: World) -> None:
    world.replicas[follower(world)].leader_epoch_start_offset = 0


@violates("replicas_obey_controllers_that_the_broker_knows")
def _(world: World) -> None:
    world.replicas[leader(world)].controller_epoch += 1


@violates("followers_were_not_caught_up_in_the_future")
def _(world: World) -> None:
    world.followers[0].last_caught_up_time_ms = 2**50


@violates("acknowledged_records_are_in_the_log")
def _(world: World) -> None:
    row = leader(world)
    world.hosted[row].acknowledged_all_end = world.replicas[row].log_end_offset + 1


@violates("locks_have_a_pending_write")
def _(world: World) -> None:
    hosted = world.hosted[leader(world)]
    hosted.locked = True
    hosted.written_isr = pack([])


@violates("lost_writes_keep_the_lock")
def _(world: World) -> None:
    world.hosted[leader(world)].write_lost = True


@violates("proposals_are_of_leaders")
def _(world: World) -> None:
    hosted = world.hosted[leader(world)]
    hosted.submitted_isr = pack([0])
    hosted.submitted_leader_epoch = 1000


# Brokers.


@violates("the_dead_have_nothing")
def _(world: World) -> None:
    world.processes[0].alive = False


@violates("logs_are_listed")
def _(world: World) -> None:
    world.brokers[0].last_log = NONE


@violates("hosted_replicas_have_a_log")
def _(world: World) -> None:
    # A crash that has forgotten to forget what the process hosted.
    world.processes[0].alive = False
    world.brokers[0].loaded = False
    world.brokers[0].session = NONE


@violates("isr_expiration_waits_for_a_lock")
def _(world: World) -> None:
    world.brokers[0].expiring = True
    world.brokers[0].expiring_row = world.brokers[0].first_log


@violates("isr_changes_are_gathered")
def _(world: World) -> None:
    world.brokers[0].changed_count += 1


@violates("proposals_are_counted")
def _(world: World) -> None:
    world.brokers[0].submitted_isrs += 1


@violates("waiting_threads_have_one_request")
def _(world: World) -> None:
    # The lock was released, and the thread that waited for it not.
    broker = world.brokers[0]
    world.threads[broker.first_thread + broker.num_io_threads - 1].free_us = NEVER_US


@violates("queued_requests_are_looked_at_again")
def _(world: World) -> None:
    put(world.brokers[0].queue, new_event(world, int(FetchRequest.KIND), 0))
    world.brokers[0].handler_due_us = 0


@violates("fetchers_list_their_replicas")
def _(world: World) -> None:
    world.fetchers[world.hosted[follower(world)].fetcher].row_count += 1


@violates("followers_are_fetched_from_their_leader")
def _(world: World) -> None:
    partition = world.replicas[follower(world)]
    partition.leader = 3 - partition.leader - partition.local_replica


@violates("fetch_states_match_fetchers")
def _(world: World) -> None:
    world.fetch_states[follower(world)].state = 0


@violates("followers_fetch_at_their_log_end")
def _(world: World) -> None:
    world.fetch_states[follower(world)].fetch_offset += 1


@violates("moved_replicas_are_listed")
def _(world: World) -> None:
    hosted = world.hosted[follower(world)]
    hosted.moved = not hosted.moved


@violates("requests_in_flight_have_a_deadline")
def _(world: World) -> None:
    busy = first_where(world.fetchers, lambda each: each.in_flight != 0)
    world.fetchers[busy].deadline_timer = False


@violates("fetch_sessions_list_their_partitions")
def _(world: World) -> None:
    world.fetch_sessions[0].partition_count += 1


@violates("active_partitions_are_listed")
def _(world: World) -> None:
    world.fetch_sessions[0].last_active = 1000


@violates("waiting_fetches_are_of_their_session")
def _(world: World) -> None:
    waiting = first_where(world.fetch_sessions, lambda each: each.waiting != NONE)
    world.fetch_sessions[waiting].expiry_us = 0


@violates("fetch_timers_match_their_owners")
def _(world: World) -> None:
    fetcher = world.fetchers[0]
    fetcher.wake_timer = not fetcher.wake_timer


@violates("periodic_tasks_are_due_once")
def _(world: World) -> None:
    world.brokers[0].alter_partition_deadline = True


# Machines.


@violates("page_caches_have_room_left")
def _(world: World) -> None:
    world.brokers[1].generation_left_bytes = 0


@violates("logs_know_no_later_generation")
def _(world: World) -> None:
    world.cached_logs[0].generation += 1


@violates("reads_end_with_the_last")
def _(world: World) -> None:
    world.disk_reads[0].ends_ns[3] = 10**15


@violates("appends_wait_for_no_more_than_the_writes")
def _(world: World) -> None:
    world.brokers[1].writes_wait_until_us = 10**15


# ZooKeeper.


@violates("open_sessions_are_listed")
def _(world: World) -> None:
    world.zookeeper_sessions[world.ensemble[0].first_session].open = False


@violates("sessions_expire_at_a_tick")
def _(world: World) -> None:
    world.zookeeper_sessions[world.ensemble[0].first_session].expires_us += 1


@violates("registrations_have_a_session")
def _(world: World) -> None:
    world.znodes[world.tree_ranges[int(BROKERS)].first].broker = 1


@violates("persistent_znodes_have_no_session")
def _(world: World) -> None:
    world.znodes[int(TOPICS_ZNODE)].session = world.ensemble[0].first_session


@violates("states_name_replicas")
def _(world: World) -> None:
    state_znode(world).isr = pack([NO_SLOT])


@violates("states_are_not_ahead_of_the_controller")
def _(world: World) -> None:
    state_znode(world).controller_epoch += 1


@violates("assignments_are_within_slots")
def _(world: World) -> None:
    world.assignments[0].adding = pack([NO_SLOT])


@violates("notifications_are_children_or_free")
def _(world: World) -> None:
    ensemble = world.ensemble[0]
    ensemble.free_notification = world.znodes[ensemble.free_notification].next


@violates("watches_are_set_or_free")
def _(world: World) -> None:
    ensemble = world.ensemble[0]
    ensemble.free_watch = world.znode_watches[ensemble.free_watch].next


@violates("watches_end_with_their_session")
def _(world: World) -> None:
    watched = first_where(world.znodes, lambda each: each.first_watch != NONE)
    # Sessions are counted from 1.
    world.znode_watches[world.znodes[watched].first_watch].session = 0


@violates("zookeeper_ticks_once")
def _(world: World) -> None:
    in_heap(world, lambda each: each.kind == ZkTick.KIND).kind = SessionPing.KIND


@violates("brokers_have_sessions_of_their_own")
def _(world: World) -> None:
    world.brokers[0].session = world.brokers[1].session


# Controllers.


@violates("active_controllers_have_a_context")
def _(world: World) -> None:
    active(world).active = False


@violates("contexts_belong_to_active_controllers")
def _(world: World) -> None:
    free = first_where(world.controller_contexts, lambda each: each.controller == NONE)
    world.controller_contexts[free].controller = 0


@violates("one_controller_in_each_epoch")
def _(world: World) -> None:
    active(world).controller_epoch += 1


@violates("controllers_that_do_not_run_are_idle")
def _(world: World) -> None:
    idle = world.controllers[first_where(world.controllers, lambda each: not each.active)]
    idle.running = False
    idle.event = 1


@violates("events_go_on_by_answers_or_work")
def _(world: World) -> None:
    # The answer has come, and nobody has gone on.
    world.controllers[0].event = 1


@violates("channels_send_what_is_queued")
def _(world: World) -> None:
    world.controller_brokers[int(active(world).context) * 3].in_flight = 1000


@violates("requests_being_made_are_of_their_kind")
def _(world: World) -> None:
    process = int(world.process_ranges[int(CONTROLLER)].first)
    event = new_event(world, int(StopReplicaRequest.KIND), process)
    world.controller_brokers[int(active(world).context) * 3].building = event.index


@violates("touched_partitions_are_listed")
def _(world: World) -> None:
    known = world.controller_partitions[known_partition(world)]
    known.touched = not known.touched


@violates("moves_are_listed")
def _(world: World) -> None:
    active(world).last_move = 0


@violates("controllers_know_no_state_before_zookeeper")
def _(world: World) -> None:
    world.controller_leader_and_isr[known_partition(world)].leader_epoch += 1


@violates("known_states_name_replicas")
def _(world: World) -> None:
    world.controller_partitions[known_partition(world)].replicas = pack([NO_SLOT])


@violates("dead_brokers_have_no_channel")
def _(world: World) -> None:
    process = int(world.process_ranges[int(CONTROLLER)].first)
    known = world.controller_brokers[int(active(world).context) * 3]
    put(known.queue, new_event(world, int(StopReplicaRequest.KIND), process))
    known.alive = False


# The active controller of a quorum: broker 2, slot 1 of partition 0, is dead.


@violates("elr_and_isr_share_nobody")
def _(world: World) -> None:
    world.registrations[0].elr = world.registrations[0].isr


@violates("elr_is_empty_while_the_isr_is_large_enough")
def _(world: World) -> None:
    known = world.registrations[0]
    known.elr = without(known.replicas, known.isr)


@violates("a_last_known_leader_leads_no_longer")
def _(world: World) -> None:
    world.registrations[0].last_known_elr = pack([1])


@violates("leaders_are_in_their_isr")
def _(world: World) -> None:
    known = world.registrations[0]
    known.isr = without(known.isr, pack([int(known.leader)]))


@violates("no_fenced_broker_is_in_an_isr")
def _(world: World) -> None:
    known = world.registrations[0]
    known.isr = known.replicas


@violates("led_partitions_of_brokers_are_counted")
def _(world: World) -> None:
    world.quorum_brokers[0].leader_count += 1


@violates("partitions_without_their_leader_are_counted")
def _(world: World) -> None:
    world.active_controller[0].leaderless_partitions += 1


@violates("records_that_are_not_committed_are_kept")
def _(world: World) -> None:
    state = world.active_controller[0]
    world.metadata_records[int(state.first_record)].offset += 1


@violates("responses_wait_in_the_order_of_offsets")
def _(world: World) -> None:
    voter = world.voters[0]
    response = view_as(world.events[int(voter.deferred.first)], CommittedResponse)
    response.waits_for_offset = voter.log_end_offset + 1


@violates("what_is_committed_lies_below_the_high_watermark")
def _(world: World) -> None:
    world.committed_partitions[0].partition_epoch += 1


@violates("quorum_timers_match_their_flags")
def _(world: World) -> None:
    world.active_controller[0].fences = False


@violates("a_voter_flushes_what_it_has")
def _(world: World) -> None:
    world.voters[1].flushed_offset = world.voters[1].drained_offset + 1


@violates("one_voter_leads_an_epoch")
def _(world: World) -> None:
    world.voters[1].state = int(LEADER)
    world.voters[1].leader = 1


@violates("epochs_of_a_log_ascend")
def _(world: World) -> None:
    world.epoch_starts[0].epoch = world.voters[0].epoch + 1


@violates("snapshots_of_a_voter_ascend")
def _(world: World) -> None:
    world.voters[0].snapshot_count = 1
    world.snapshots[0].end_offset = world.voters[0].drained_offset + 1


@violates("a_follower_has_no_more_than_its_leader")
def _(world: World) -> None:
    world.follower_progress[1].end_offset = world.voters[0].drained_offset + 1


@violates("voters_in_force_are_the_newest_of_the_log")
def _(world: World) -> None:
    world.voters[1].voter_set = int(without_voter(int(world.voters[1].voter_set), 2))


@violates("only_voters_ask_for_votes")
def _(world: World) -> None:
    everybody = int(world.voters[1].voter_set)
    room = len(world.voter_sets) // len(world.voters)
    world.voters[1].voter_set = int(without_voter(everybody, 1))
    world.voter_sets[room].voters = world.voters[1].voter_set
    world.voters[1].state = int(PROSPECTIVE)


@violates("states_name_their_leader")
def _(world: World) -> None:
    world.voters[1].state = int(CANDIDATE)


@violates("controllers_know_one_leader_of_an_epoch")
def _(world: World) -> None:
    world.voters[1].leader = 2


@violates("votes_are_those_of_voters")
def _(world: World) -> None:
    room = len(world.voter_sets) // len(world.voters)
    world.voters[1].voter_set = int(without_voter(int(world.voters[1].voter_set), 2))
    world.voter_sets[room].voters = world.voters[1].voter_set
    world.voters[1].state = int(PROSPECTIVE)
    world.voters[1].votes_granted = 0b110


@violates("logs_agree_below_their_high_watermarks")
def _(world: World) -> None:
    room = len(world.epoch_starts) // len(world.voters)
    world.voters[1].epoch += 1
    world.voters[1].leader = NONE
    world.voters[1].state = int(UNATTACHED)
    world.epoch_starts[room].epoch += 1


@violates("the_newest_leader_has_what_is_committed")
def _(world: World) -> None:
    for voter in [world.voters[1], world.voters[2]]:
        voter.drained_offset = voter.log_end_offset = world.voters[0].drained_offset + 9
    world.voters[1].high_watermark = world.voters[1].drained_offset


@violates("what_is_committed_is_in_the_log_of_a_voter")
def _(world: World) -> None:
    world.voters[0].state = int(UNATTACHED)
    world.voters[0].leader = NONE
    world.voters[1].high_watermark = world.voters[0].drained_offset + 9


@violates("voter_timers_match_their_flags")
def _(world: World) -> None:
    world.voters[1].fetch_due = True


# Clients.


@violates("free_batches_are_counted")
def _(world: World) -> None:
    world.pool[0].free_batches += 1


@violates("batches_of_connections_are_listed")
def _(world: World) -> None:
    world.connections[0].in_flight += 1


@violates("batches_are_in_flight_on_their_connection")
def _(world: World) -> None:
    sent = first_where(world.batches, lambda each: each.number != NONE and each.in_flight)
    world.batches[sent].broker = (world.batches[sent].broker + 1) % 3


@violates("batches_have_room_for_their_records")
def _(world: World) -> None:
    used = first_where(world.batches, lambda each: each.number != NONE)
    world.batches[used].records = world.client_targets[0].batch_records + 1


@violates("every_joined_send_has_one_place")
def _(world: World) -> None:
    world.batches[0].joined += 1


@violates("queues_of_partitions_are_whole")
def _(world: World) -> None:
    world.client_targets[0].queue_length += 1


@violates("partitions_that_wait_are_listed")
def _(world: World) -> None:
    world.client_targets[0].listed = 0 if world.client_targets[0].listed == NONE else NONE


@violates("buffered_bytes_are_those_of_batches")
def _(world: World) -> None:
    world.clients[0].buffered_bytes += 1


@violates("numbered_batches_are_in_sequence")
def _(world: World) -> None:
    world.client_targets[0].last_numbered = 0


@violates("every_place_for_a_producer_has_one_owner")
def _(world: World) -> None:
    world.pools[0].producer_slots.free += 1


@violates("remembered_batches_are_in_the_log")
def _(world: World) -> None:
    first = first_where(world.hosted, lambda each: each.first_producer != NONE)
    entry = world.producer_states[world.hosted[first].first_producer]
    world.producer_batches[entry.first_batch + entry.oldest].last_offset = 1 << 40


@violates("late_batches_are_listed")
def _(world: World) -> None:
    world.batches[0].late = 0


@violates("requests_of_clients_have_a_deadline")
def _(world: World) -> None:
    fetching = first_where(world.connections, lambda each: each.fetch != 0)
    world.connections[fetching].deadline_timer = False


@violates("leaders_in_metadata_are_brokers")
def _(world: World) -> None:
    world.known_partitions[0].leader = len(world.brokers)


@violates("targets_are_known_partitions")
def _(world: World) -> None:
    world.client_targets[0].known = len(world.known_partitions)


@violates("led_partitions_are_counted")
def _(world: World) -> None:
    world.clients[0].led_partitions += 1


@violates("consumers_process_what_they_have_read")
def _(world: World) -> None:
    world.client_targets[0].processed = world.client_targets[0].position + 1


@violates("every_record_sent_is_in_one_place")
def _(world: World) -> None:
    world.clients[0].records_acknowledged += 1


@violates("batches_without_an_outcome_are_listed")
def _(world: World) -> None:
    world.clients[0].youngest = len(world.batches) - 1


@violates("overdue_batches_are_counted")
def _(world: World) -> None:
    world.client_targets[0].overdue += 1


@violates("client_timers_match_their_owners")
def _(world: World) -> None:
    world.clients[0].refresh_timer = not world.clients[0].refresh_timer
