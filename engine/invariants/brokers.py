"""Invariants of brokers: processes, request handlers, fetchers, fetch sessions, timers."""

from tidegauge.actors.state import brokers
from tidegauge.compiled.rules import inner_rule
from tidegauge.engine.invariants.checked import (
    ANY,
    HOLDS,
    Checked,
    Invariants,
    clear_marks,
    is_live,
    pending,
    walk_of,
)
from tidegauge.engine.invariants.logs import is_led
from tidegauge.replication.fetcher import FETCHING, NOT_FETCHED
from tidegauge.replication.replica_list import EMPTY
from tidegauge.simulation.events import used_events
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import timers
from tidegauge.simulation.messages.client_requests import FetchRequest
from tidegauge.simulation.messages.controller_requests import AlterPartitionRequest
from tidegauge.simulation.topology import broker_of, is_kraft

BROKERS = Invariants()

_walk_logs = walk_of(__name__, "_walk_logs", brokers.LOGS)
_walk_changed = walk_of(__name__, "_walk_changed", brokers.ISR_CHANGES)
_walk_fetched = walk_of(__name__, "_walk_fetched", brokers.FETCHED)
_walk_moved = walk_of(__name__, "_walk_moved", brokers.MOVED)
_walk_session = walk_of(__name__, "_walk_session", brokers.IN_SESSION)
_walk_active = walk_of(__name__, "_walk_active", brokers.ACTIVE)


@BROKERS.of("brokers")
def the_dead_have_nothing(world: Checked) -> int:
    """A broker whose process does not run has no session, no request, and no logs loaded."""
    for number, broker in enumerate(world.brokers):
        if not world.processes[number].alive and (
            broker.loaded or broker.session != NONE or broker.queue.first != NONE
        ):
            return number
    return HOLDS


@BROKERS.of("brokers")
def logs_are_listed(world: Checked) -> int:
    """A broker lists each log that it has on disk once, and no other."""
    clear_marks(world, len(world.hosted))
    for number, broker in enumerate(world.brokers):
        if _walk_logs(world, broker.first_log, broker.last_log, number) < 0:
            return number
    for row in range(len(world.hosted)):
        number = world.hosted[row].broker
        if world.visits[row].found != (number + 1 if world.on_disk[row].exists else 0):
            return number
    return HOLDS


@BROKERS.of("hosted")
def hosted_replicas_have_a_log(world: Checked) -> int:
    """A replica that its broker hosts has a log on disk, and a process that runs."""
    for row, hosted in enumerate(world.hosted):
        if hosted.exists and not (
            world.on_disk[row].exists and world.processes[hosted.broker].alive
        ):
            return row
    return HOLDS


@BROKERS.of("brokers")
def isr_expiration_waits_for_a_lock(world: Checked) -> int:
    """A run of isr-expiration that has not ended waits for the lock of one partition."""
    for number, broker in enumerate(world.brokers):
        if broker.expiring and not (
            0 <= broker.expiring_row < len(world.hosted)
            and world.hosted[broker.expiring_row].broker == number
            and (world.hosted[broker.expiring_row].locked or broker.ends)
        ):
            return number
    return HOLDS


@BROKERS.of("brokers")
def isr_changes_are_gathered(world: Checked) -> int:
    """A broker lists the partitions whose changed ISRs it has to send, as many as it counts."""
    clear_marks(world, len(world.hosted))
    for number, broker in enumerate(world.brokers):
        count = _walk_changed(world, broker.first_changed, broker.last_changed, number)
        if count != broker.changed_count or not 0 <= broker.propagating <= count:
            return number
    for row in range(len(world.hosted)):
        number = world.hosted[row].broker
        if world.hosted[row].changed != (world.visits[row].found == number + 1):
            return number
    return HOLDS


@BROKERS.of("brokers")
def proposals_are_counted(world: Checked) -> int:
    """A broker counts the partitions whose proposed ISRs have still to be answered."""
    clear_marks(world, len(world.brokers))
    for row in range(len(world.hosted)):
        if world.hosted[row].submitted_isr != EMPTY:
            world.visits[world.hosted[row].broker].found += 1
    for number, broker in enumerate(world.brokers):
        if broker.submitted_isrs != world.visits[number].found:
            return number
        if broker.alter_partition != NONE and (
            not is_live(world, broker.alter_partition, AlterPartitionRequest.KIND)
        ):
            return number
    return HOLDS


@BROKERS.of("threads")
def waiting_threads_have_one_request(world: Checked) -> int:
    """A request handler that waits has one request, which waits for a lock, a disk or its work."""
    for number, broker in enumerate(world.brokers):
        for thread in range(broker.num_io_threads if not broker.ends else 0):
            place = broker.first_thread + thread
            if world.threads[place].free_us == brokers.NEVER_US and not _has_request(
                world, number, thread
            ):
                return place
    return HOLDS


@inner_rule
def _has_request(world: Checked, broker: int, thread: int) -> bool:
    for event in used_events(world):
        if event.kind != NONE and event.thread == thread and event.destination == broker:
            return True
    return False


@BROKERS.of("brokers")
def queued_requests_are_looked_at_again(world: Checked) -> int:
    """A broker with requests in its queue has a timer to serve it, unless all its threads wait.

    One that has still to register serves none yet.
    """
    for number, broker in enumerate(world.brokers):
        if broker.queue.first == NONE or broker.handler_due_us > 0 or broker.registers:
            continue
        for thread in range(broker.first_thread, broker.first_thread + broker.num_io_threads):
            if world.threads[thread].free_us != brokers.NEVER_US:
                return number
    return HOLDS


@BROKERS.of("fetchers")
def fetchers_list_their_replicas(world: Checked) -> int:
    """A replica that is fetched is in the list of one fetcher, of its own broker."""
    clear_marks(world, len(world.hosted))
    for number, fetcher in enumerate(world.fetchers):
        count = _walk_fetched(world, fetcher.first_row, fetcher.last_row, number)
        if count != fetcher.row_count:
            return number
    for row in range(len(world.hosted)):
        number = world.hosted[row].fetcher
        if world.visits[row].found != number + 1:
            return max(0, number)
        if number != NONE and world.fetchers[number].broker != world.hosted[row].broker:
            return number
    return HOLDS


@BROKERS.of("hosted")
def followers_are_fetched_from_their_leader(world: Checked) -> int:
    """A fetcher's replica follows a leader on the fetcher's source broker; a leader fetches not."""
    for row, hosted in enumerate(world.hosted):
        if hosted.fetcher == NONE:
            continue
        leader = broker_of(world, hosted.partition, world.replicas[row].leader)
        if is_led(world, row) or leader != world.fetchers[hosted.fetcher].source_broker:
            return row
    return HOLDS


@BROKERS.of("fetch_states")
def fetch_states_match_fetchers(world: Checked) -> int:
    """A replica has a fetch state exactly while it is in a fetcher, and then has not failed."""
    for row, state in enumerate(world.fetch_states):
        if (state.state == NOT_FETCHED) != (world.hosted[row].fetcher == NONE):
            return row
        if state.failed and world.hosted[row].fetcher != NONE:
            return row
    return HOLDS


@BROKERS.of("fetch_states")
def followers_fetch_at_their_log_end(world: Checked) -> int:
    """A follower that fetches asks for the record behind its log end.

    Up to 2.3 its high watermark can lie behind that, and then it may begin there (KAFKA-9491).
    """
    for row, state in enumerate(world.fetch_states):
        if state.state != FETCHING or state.fetch_offset == world.replicas[row].log_end_offset:
            continue
        is_clamped = world.rules[world.slots[row].broker].high_watermark_clamped_to_log
        if is_clamped or state.fetch_offset < world.replicas[row].log_end_offset:
            return row
    return HOLDS


@BROKERS.of("fetchers")
def moved_replicas_are_listed(world: Checked) -> int:
    """The replicas whose fetch offsets have moved are a list of a fetcher that has a session."""
    clear_marks(world, len(world.hosted))
    for number, fetcher in enumerate(world.fetchers):
        count = _walk_moved(world, fetcher.first_moved, fetcher.last_moved, number)
        if count < 0 or (count > 0 and not fetcher.in_session):
            return number
    for row, hosted in enumerate(world.hosted):
        if world.visits[row].found != (hosted.fetcher + 1 if hosted.moved else 0):
            return max(0, hosted.fetcher)
    return HOLDS


@BROKERS.of("fetchers")
def requests_in_flight_have_a_deadline(world: Checked) -> int:
    """A fetcher's request in flight is the last that it has sent, and has a timer."""
    for number, fetcher in enumerate(world.fetchers):
        if fetcher.in_flight != 0 and not (
            fetcher.in_flight == fetcher.requests and fetcher.deadline_timer
        ):
            return number
    return HOLDS


@BROKERS.of("fetch_sessions")
def fetch_sessions_list_their_partitions(world: Checked) -> int:
    """A partition is in the list of the fetch session that it is in, which counts them."""
    clear_marks(world, len(world.follower_fetches))
    for number, session in enumerate(world.fetch_sessions):
        if _walk_session(world, session.first, ANY, number) != session.partition_count:
            return number
    for place, told in enumerate(world.follower_fetches):
        if world.visits[place].found != (told.fetcher + 1 if told.in_session else 0):
            return told.fetcher
    return HOLDS


@BROKERS.of("fetch_sessions")
def active_partitions_are_listed(world: Checked) -> int:
    """The partitions that the next fetch reads are a list of those of the session."""
    clear_marks(world, len(world.follower_fetches))
    for number, session in enumerate(world.fetch_sessions):
        if _walk_active(world, session.first_active, session.last_active, number) < 0:
            return number
    for place, told in enumerate(world.follower_fetches):
        is_active = told.active and told.in_session
        if told.active != is_active or (
            world.visits[place].found != (told.fetcher + 1 if is_active else 0)
        ):
            return told.fetcher
    return HOLDS


@BROKERS.of("fetch_sessions")
def waiting_fetches_are_of_their_session(world: Checked) -> int:
    """A follower's fetch in the purgatory was sent by the session's fetcher, and will expire."""
    for number, session in enumerate(world.fetch_sessions):
        if session.waiting == NONE:
            continue
        fetcher = world.fetchers[number]
        if not is_live(world, session.waiting, FetchRequest.KIND) or session.expiry_us == 0:
            return number
        request = world.events[session.waiting]
        if request.source != fetcher.broker or request.destination != fetcher.source_broker:
            return number
    return HOLDS


@BROKERS.of("brokers")
def fetch_timers_match_their_owners(world: Checked) -> int:
    """A broker has one timer for each fetcher and fetch session with the flag of one."""
    clear_marks(world, 3 * len(world.brokers))
    for number, fetcher in enumerate(world.fetchers):
        world.visits[3 * fetcher.broker].found += 1 if fetcher.wake_timer else 0
        world.visits[3 * fetcher.broker + 1].found += 1 if fetcher.deadline_timer else 0
        if world.fetch_sessions[number].expiry_us != 0:
            world.visits[3 * fetcher.source_broker + 2].found += 1
    for number in range(len(world.brokers)):
        if world.visits[3 * number].found != pending(world, number, timers.FetcherWakes.KIND):
            return number
        if world.visits[3 * number + 1].found != pending(world, number, timers.FetcherTimeout.KIND):
            return number
        expiring = pending(world, number, timers.FollowerFetchExpires.KIND)
        # A broker that stops has dropped its sessions, not their timers.
        if world.visits[3 * number + 2].found != expiring and not world.brokers[number].ends:
            return number
    return HOLDS


@BROKERS.of("brokers")
def periodic_tasks_are_due_once(world: Checked) -> int:
    """A broker that runs pings its session, if it has one, and expires ISRs by one timer each."""
    pings = 0 if is_kraft(world) else 1
    for number, broker in enumerate(world.brokers):
        if not world.processes[number].alive or broker.starts == 0:
            continue
        if pending(world, number, timers.SessionPing.KIND) != pings:
            return number
        is_due = broker.loaded and not broker.expiring
        if not broker.ends and pending(world, number, timers.IsrExpiration.KIND) != (
            1 if is_due else 0
        ):
            return number
        deadlines = 1 if broker.alter_partition_deadline else 0
        if (
            not broker.ends
            and pending(world, number, timers.AlterPartitionTimeout.KIND) != deadlines
        ):
            return number
    return HOLDS
