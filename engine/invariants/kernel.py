"""Invariants of virtual time: events, the heap, links, processes, faults.

Invariants of brokers' machines: their disks and page caches.
"""

from tidegauge.actors.state.machines import GENERATIONS
from tidegauge.engine.invariants.checked import HOLDS, Checked, Invariants, clear_marks, mark
from tidegauge.simulation.bandwidth import FLOWS
from tidegauge.simulation.events import precedes, used_events, waiting_count, waiting_entry
from tidegauge.simulation.kernel import BROKER, NONE, RACK_LINK, UNIMPAIRED

KERNEL = Invariants()


@KERNEL.of("heap")
def heap_is_ordered(world: Checked) -> int:
    """No event that waits for its time comes before the one above it in its heap."""
    for place in range(1, world.context[0].heap_size):
        if precedes(world, world.heap[place], world.heap[(place - 1) >> 1]):
            return place
    for place in range(1, world.context[0].later_heap_size):
        if precedes(world, world.later_heap[place], world.later_heap[(place - 1) >> 1]):
            return place
    return HOLDS


@KERNEL.of("heap")
def later_events_are_later(world: Checked) -> int:
    """No event in the heap of later ones is due soon, and there are none if none is due soon."""
    context = world.context[0]
    for place in range(context.later_heap_size):
        if world.later_heap[place].time_us < context.soon_us or context.heap_size == 0:
            return place
    return HOLDS


@KERNEL.of("heap")
def heap_entries_match_events(world: Checked) -> int:
    """A place in the heap has the time of a live event."""
    for place in range(waiting_count(world)):
        entry = waiting_entry(world, place)
        if not 0 <= entry.index < len(world.events):
            return place
        event = world.events[entry.index]
        if event.kind == NONE or event.time_us != entry.time_us:
            return place
    return HOLDS


@KERNEL.of("heap")
def no_event_is_overdue(world: Checked) -> int:
    """No event is due before the present."""
    context = world.context[0]
    if context.heap_size > 0 and world.heap[0].time_us < context.time_us:
        return 0
    return HOLDS


@KERNEL.of("impairments")
def links_hold_back_only_when_cut(world: Checked) -> int:
    """A link holds messages back only while it is cut, or TCP has still to send them again."""
    for place, impairment in enumerate(world.impairments):
        if impairment.cut < 0 or impairment.delay_us < 0:
            return place
        if impairment.held.first != NONE and impairment.cut == 0 and not impairment.stalled:
            return place
    return HOLDS


@KERNEL.of("links")
def impairments_have_one_link(world: Checked) -> int:
    """A link has its own impairment, or the one of all links that nothing has hit."""
    clear_marks(world, len(world.impairments))
    for number, link in enumerate(world.links):
        if link.impairment == UNIMPAIRED:
            continue
        if not mark(world, link.impairment, world.context[0].impairments):
            return number
    return HOLDS


@KERNEL.of("impairments")
def nothing_hits_all_links(world: Checked) -> int:
    """The impairment of the links that nothing has hit has no effect on messages."""
    shared = world.impairments[UNIMPAIRED]
    is_cut = shared.cut != 0 or shared.stalled or shared.held.first != NONE
    has_waited = shared.received_us != 0 or shared.relayed_us != 0 or shared.lost_below != 0
    return 0 if is_cut or has_waited or shared.delay_us != 0 else HOLDS


@KERNEL.of("networks_out")
def transfers_end_with_their_network(world: Checked) -> int:
    """A process's sends end at the latest when its network has moved all that it took on."""
    for process, network in enumerate(world.networks_out):
        for flow in range(FLOWS):
            if network.ends_ns[flow] > network.free_ns:
                return process
    return HOLDS


@KERNEL.of("networks_in")
def networks_receive_what_has_come(world: Checked) -> int:
    """A message to a process has come by now, and is received when its network is free at last."""
    now_ns = world.context[0].time_us * 1_000
    for process, network in enumerate(world.networks_in):
        if network.busy_from_ns > network.free_ns:
            return process
        for flow in range(FLOWS):
            if not network.came_ns[flow] <= network.ends_ns[flow] <= network.free_ns:
                return process
            if world.processes[process].hosted and network.came_ns[flow] > now_ns:
                return process
    return HOLDS


@KERNEL.of("network_threads")
def blocked_threads_are_known(world: Checked) -> int:
    """A process has the time at which the last of its blocked network threads is free."""
    for state in world.processes:
        for number in range(state.network_threads):
            thread = state.first_network_thread + number
            if world.network_threads[thread].free_us > state.network_blocked_us:
                return thread
    return HOLDS


@KERNEL.of("events")
def records_are_relayed_between_racks(world: Checked) -> int:
    """A message on the way over a link between racks has records, and another receiver."""
    for index, event in enumerate(used_events(world)):
        if event.kind == NONE:
            continue
        is_at_link = world.processes[event.destination].role == RACK_LINK
        if event.relayed_to == NONE:
            if is_at_link and event.size_bytes > 0:
                return index
        elif not is_at_link or event.size_bytes == 0 or event.relayed_to == event.destination:
            return index
    return HOLDS


@KERNEL.of("events")
def outbox_leaves_the_group(world: Checked) -> int:
    """Messages in the outbox go to processes of other groups, events in the heap to its own."""
    context = world.context[0]
    index = context.outbox.first
    while index != NONE:
        if world.processes[world.events[index].destination].hosted:
            return index
        index = world.events[index].next
    for place in range(waiting_count(world)):
        event = world.events[waiting_entry(world, place).index]
        if not world.processes[event.destination].hosted:
            return event.index
    return HOLDS


@KERNEL.of("events")
def messages_were_sent(world: Checked) -> int:
    """An event that waits for its time has a number that its source has given already."""
    for place in range(waiting_count(world)):
        event = world.events[waiting_entry(world, place).index]
        if event.source >= 0 and world.processes[event.source].hosted:
            source = world.processes[event.source]
            # The number of a timer is the time at which it was set.
            is_timer = event.source == event.destination
            was_sent = is_timer or 0 <= event.sequence < source.sent
            if not was_sent or event.source_rows > source.rows:
                return event.index
    return HOLDS


@KERNEL.of("events")
def causes_are_written(world: Checked) -> int:
    """The cause of an event is a row that its process has written already."""
    for index, event in enumerate(used_events(world)):
        if event.kind == NONE or event.cause_process < 0:
            continue
        cause = world.processes[event.cause_process]
        if cause.hosted and not NONE <= event.cause_sequence < cause.rows:
            return index
    return HOLDS


@KERNEL.of("processes")
def stops_are_counted(world: Checked) -> int:
    """A process counts the faults that stop it now, keep it down, or take its power."""
    count = world.context[0].process_count
    for number, process in enumerate(world.processes):
        stops = 0
        down = 0
        for fault in range(len(world.faults)):
            role = world.fault_roles[fault * count + number]
            stops += 1 if role.stops else 0
            if role.side != 0 and role.active and world.faults[fault].stops:
                down += 1
        if process.hosted and (process.paused != stops or process.without_power > down):
            return number
        if process.role == BROKER and process.hosted and process.held_down != down:
            return number
    return HOLDS


@KERNEL.of("metadata_changes")
def changes_are_chained_by_subject(world: Checked) -> int:
    """Controllers' news of a partition or a broker are chained from the newest to the oldest."""
    heads = len(world.metadata_heads)
    for head in range(heads):
        index = world.metadata_heads[head].change
        while index != NONE:
            if not 0 <= index < world.context[0].metadata_changes:
                return 0
            change = world.metadata_changes[index]
            subject = change.subject if change.subject >= 0 else heads + change.subject
            if subject != head:
                return index
            older = change.previous
            if older != NONE and older < world.context[0].metadata_changes:
                before = world.metadata_changes[older]
                if before.controller_epoch > change.controller_epoch or (
                    before.controller_epoch == change.controller_epoch
                    and before.position >= change.position
                ):
                    return index
            index = older
    return HOLDS


MACHINES = Invariants()


@MACHINES.of("brokers")
def page_caches_have_room_left(world: Checked) -> int:
    """The generation of a page cache that is filled now is not full."""
    for number, broker in enumerate(world.brokers):
        if not 0 < broker.generation_left_bytes <= broker.generation_bytes:
            return number
    return HOLDS


@MACHINES.of("cached_logs")
def logs_know_no_later_generation(world: Checked) -> int:
    """A log was looked at in a generation of its broker's page cache that has begun."""
    for row, log in enumerate(world.cached_logs):
        if not 0 <= log.generation <= world.brokers[world.hosted[row].broker].generation:
            return row
        for back in range(GENERATIONS + 1):
            if log.starts[back] < 0:
                return row
    return HOLDS


@MACHINES.of("disk_reads")
def reads_end_with_the_last(world: Checked) -> int:
    """No read of a disk ends after everything is read that it has taken on."""
    for place, disk in enumerate(world.disk_reads):
        for flow in range(FLOWS):
            if disk.ends_ns[flow] > disk.free_ns:
                return place
    return HOLDS


@MACHINES.of("brokers")
def appends_wait_for_no_more_than_the_writes(world: Checked) -> int:
    """Appends wait at most until the last of a broker's disks has written its backlog."""
    for number, broker in enumerate(world.brokers):
        first = number * broker.log_directories
        latest_ns = 0
        for place in range(first, first + broker.log_directories):
            latest_ns = max(latest_ns, world.disk_writes[place].free_ns)
        if broker.writes_wait_until_us * 1000 > latest_ns + 1000:
            return number
    return HOLDS
