"""From stage to stage of an idle fetch, in the order of the events for which the stages stand."""

from tidegauge.actors.state.brokers import CLOCK_OFFSET_MS, Brokers
from tidegauge.actors.state.replica_records import IdleFetch, IdleStage
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.events import TIMER_RANK_BITS
from tidegauge.simulation.kernel import NONE, Kernel, RowMark, impairment_of, link_between
from tidegauge.simulation.links import drawn_latency_us
from tidegauge.simulation.random_streams import QUANTILES
from tidegauge.simulation.rows import REQUEST

# IdleFetch.stage
HANDLED = code(0)  #: its events are handled one by one
REQUESTED = code(1)
WAITS = code(2)
ANSWERED = code(3)

#: Timers of idle fetches come behind the others set at the same time (``events.stamp``).
TIMER_RANK = code(1 << 17)


@inner_rule
def first_of_pair(world: Brokers, one: int, other: int) -> int:
    """The place of a pair's first idle fetch: those of the higher broker come first."""
    high = max(one, other)
    low = min(one, other)
    return (high * (high - 1) // 2 + low) * 2 * world.pools[0].fetchers_of_source


@inner_rule
def place_of(world: Brokers, follower: int, leader: int, number: int) -> int:
    """The place of a follower's fetch from a leader, by the number of its thread."""
    room = world.pools[0].fetchers_of_source
    return first_of_pair(world, follower, leader) + number + (0 if follower > leader else room)


@inner_rule
def fetcher_at(world: Brokers, place: int, one: int, other: int) -> int:
    """The fetcher of a place among those of a pair."""
    room = world.pools[0].fetchers_of_source
    number = place - first_of_pair(world, one, other)
    high = max(one, other)
    low = min(one, other)
    if number < room:
        return (high * world.sizes[0].brokers + low) * room + number
    return (low * world.sizes[0].brokers + high) * room + number - room


@inner_rule
def is_idle(world: Brokers, one: int, other: int) -> bool:
    """Whether the fetches of two brokers from each other are computed."""
    if world.context[0].idle_pairs == 0:
        return False
    first = first_of_pair(world, one, other)
    for place in range(first, first + 2 * world.pools[0].fetchers_of_source):
        if world.idle_fetches[place].stage != HANDLED:
            return True
    return False


@inner_rule
def is_computed(world: Brokers, index: int) -> bool:
    """Whether the fetches of one fetcher are computed."""
    if world.context[0].idle_pairs == 0:
        return False
    fetcher = world.fetchers[index]
    number = index % world.pools[0].fetchers_of_source
    place = place_of(world, fetcher.broker, fetcher.source_broker, number)
    return world.idle_fetches[place].stage != HANDLED


@inner_rule
def _process_of(idle: IdleFetch, stage: int) -> int:
    """The process at which the event of a stage would be handled."""
    return idle.follower if stage == ANSWERED else idle.leader


@inner_rule
def source_of(idle: IdleFetch, stage: int) -> int:
    """The process that would have sent that event."""
    return idle.follower if stage == REQUESTED else idle.leader


@inner_rule
def is_elsewhere(world: Kernel, idle: IdleFetch, at: IdleStage) -> bool:
    """Whether the next event of a fetch is one of a broker in another group."""
    return idle.across_us != 0 and not world.processes[_process_of(idle, at.stage)].hosted


@inner_rule
def known_us(world: Kernel, idle: IdleFetch, at: IdleStage) -> int:
    """The time from which the next event of a fetch counts here.

    That of another group counts when a message that was sent with it can be here: until then the
    other group could still tell that it is another one.
    """
    return at.due_us + idle.across_us if is_elsewhere(world, idle, at) else at.due_us


@inner_rule
def _is_over(world: Kernel, idle: IdleFetch) -> bool:
    """Whether the next event of a fetch comes before the event that is being handled."""
    context = world.context[0]
    at = view_as(idle, IdleStage)
    due_us = known_us(world, idle, at)
    if due_us != context.time_us:
        return due_us < context.time_us
    process = _process_of(idle, idle.stage)
    if is_elsewhere(world, idle, at):
        return idle.follower + idle.leader - process <= context.event_process
    if process != context.event_process:
        return process < context.event_process
    source = source_of(idle, idle.stage)
    if source != context.event_source:
        return source < context.event_source
    return idle.sequence < context.event_sequence


@inner_rule
def _comes_before(
    world: Kernel, idle: IdleFetch, at: IdleStage, other: IdleFetch, other_at: IdleStage
) -> bool:
    """Whether the next event of a fetch comes before that of another one: the order of all events.

    The progress of the two fetches is apart from their content, since it can be ahead of time. At
    each end of a pair that is in two groups it is the order of that end's events.
    """
    due_us = known_us(world, idle, at)
    other_due_us = known_us(world, other, other_at)
    if due_us != other_due_us:
        return due_us < other_due_us
    elsewhere = is_elsewhere(world, idle, at)
    if elsewhere != is_elsewhere(world, other, other_at):
        return elsewhere
    process = _process_of(idle, at.stage)
    other_process = _process_of(other, other_at.stage)
    if process != other_process:
        return process < other_process
    source = source_of(idle, at.stage)
    other_source = source_of(other, other_at.stage)
    if source != other_source:
        return source < other_source
    return at.sequence < other_at.sequence


@inner_rule
def earliest(world: Brokers, first: int) -> int:
    """The place of the fetch of a pair whose next event comes first; NONE: none is computed."""
    found = NONE
    for place in range(first, first + 2 * world.pools[0].fetchers_of_source):
        idle = world.idle_fetches[place]
        if idle.stage == HANDLED:
            continue
        if found == NONE:
            found = place
            continue
        best = world.idle_fetches[found]
        if _comes_before(world, idle, view_as(idle, IdleStage), best, view_as(best, IdleStage)):
            found = place
    return found


@inner_rule
def earliest_ahead(world: Brokers, first: int) -> int:
    """... of all of a pair, ahead of time."""
    found = first
    for place in range(first + 1, first + 2 * world.pools[0].fetchers_of_source):
        if _comes_before(
            world,
            world.idle_fetches[place],
            world.fetches_ahead[place],
            world.idle_fetches[found],
            world.fetches_ahead[found],
        ):
            found = place
    return found


@inner_rule
def _is_later(mark: RowMark, time_us: int, source: int, sequence: int) -> bool:
    if mark.time_us != time_us:
        return mark.time_us > time_us
    if mark.source != source:
        return mark.source > source
    return mark.sequence > sequence


@inner_rule
def _rows_at(world: Kernel, process: int, idle: IdleFetch) -> int:
    """The canonical rows that a process had as it handled the next event of a fetch."""
    state = world.processes[process]
    rows = state.rows
    mark = state.last_mark
    source = source_of(idle, idle.stage)
    while mark != NONE and _is_later(world.row_marks[mark], idle.due_us, source, idle.sequence):
        rows = world.row_marks[mark].rows
        mark = world.row_marks[mark].previous
    return rows


@inner_rule
def _sends(world: Kernel, idle: IdleFetch, source: int, destination: int, cost_us: int) -> None:
    """Have the message of the next stage leave its process, as ``links.send`` does it."""
    rows = _rows_at(world, source, idle)
    link = link_between(world, source, destination)
    departure_us = idle.due_us + cost_us + impairment_of(world, link).delay_us
    arrival_us = departure_us + drawn_latency_us(world, link, source, destination)
    idle.due_us = max(arrival_us, link.last_delivery_us)
    link.last_delivery_us = idle.due_us
    idle.source_rows = rows
    idle.sequence = world.processes[source].sent
    world.processes[source].sent += 1


@inner_rule
def _arrives(world: Kernel, idle: IdleFetch, source: int, destination: int) -> None:
    link = link_between(world, source, destination)
    link.source_rows = max(link.source_rows, idle.source_rows)


@inner_rule
def timer_number(set_us: int, request: int) -> int:
    """The number of a fetch's timer: of two that arrive at one time the one sent first fires."""
    return (set_us << TIMER_RANK_BITS) + TIMER_RANK + request % TIMER_RANK


@inner_rule
def begin_to_wait(at: IdleStage, max_wait_us: int) -> None:
    """A request arrives, and finds nothing."""
    at.stage = WAITS
    at.arrived_us = at.due_us
    at.sequence = timer_number(at.due_us, at.sequence)
    at.due_us += max_wait_us


@inner_rule
def ask_again(at: IdleStage) -> None:
    """A response arrives, and the next request is about to be sent."""
    at.requests += 1
    at.asked_us = at.due_us


@inner_rule
def response_us(world: Kernel) -> int:
    """The time that the response of a fetch takes which has waited in vain."""
    return world.quantiles[REQUEST * QUANTILES].value_us


@inner_rule
def events_of(at: IdleStage) -> int:
    """The number of events that a fetcher's idle fetches have had: three for each request."""
    return 3 * at.requests + at.stage - REQUESTED


@inner_rule
def arrivals_until(events: int) -> int:
    """The arrivals of requests among so many events."""
    return (events + 2) // 3


@inner_rule
def expiries_until(events: int) -> int:
    """The fetches that have expired among so many events."""
    return (events + 1) // 3


@inner_rule
def responses_until(events: int) -> int:
    """The arrivals of responses among so many events."""
    return events // 3


@inner_rule
def go_on(world: Kernel, idle: IdleFetch) -> None:
    """Do what the next event of a fetch would do.

    Source: AbstractFetcherThread.processFetchRequest@2.4.0; ReplicaManager.fetchMessages@2.4.0 and
    DelayedFetch.onComplete@2.4.0 of a fetch session without news (KIP-227).
    """
    at = view_as(idle, IdleStage)
    if idle.stage == REQUESTED:
        _arrives(world, idle, idle.follower, idle.leader)
        idle.on_thread = False
        begin_to_wait(at, idle.max_wait_us)
    elif idle.stage == WAITS:
        _sends(world, idle, idle.leader, idle.follower, response_us(world))
        idle.stage = ANSWERED
    else:
        _arrives(world, idle, idle.leader, idle.follower)
        ask_again(at)
        _sends(world, idle, idle.follower, idle.leader, 0)
        idle.stage = REQUESTED


@inner_rule
def advance(world: Brokers, first: int) -> None:
    """Bring a pair's fetches to the event that is being handled."""
    place = earliest(world, first)
    while place != NONE and _is_over(world, world.idle_fetches[place]):
        go_on(world, world.idle_fetches[place])
        place = earliest(world, first)


@inner_rule
def catch_up(world: Brokers, one: int, other: int) -> None:
    """Bring an idle pair to the event that is being handled, and its sessions with it."""
    if not is_idle(world, one, other):
        return
    first = first_of_pair(world, one, other)
    advance(world, first)
    for place in range(first, first + 2 * world.pools[0].fetchers_of_source):
        idle = world.idle_fetches[place]
        if idle.stage != HANDLED:
            session = world.fetch_sessions[fetcher_at(world, place, one, other)]
            if not idle.on_thread:
                session.fetched_ms = CLOCK_OFFSET_MS + idle.arrived_us // 1000
            events = events_of(view_as(idle, IdleStage))
            session.reads += arrivals_until(events) - arrivals_until(idle.read)
            session.reads += expiries_until(events) - expiries_until(idle.read)
            idle.read = events


@inner_rule
def catch_up_fetcher(world: Brokers, index: int) -> None:
    """Bring the pair of a fetcher to the event that is being handled."""
    if world.context[0].idle_pairs > 0:
        fetcher = world.fetchers[index]
        catch_up(world, fetcher.broker, fetcher.source_broker)


@inner_rule
def deadline_us(world: Brokers, index: int) -> int:
    """The deadline of a fetcher's request in flight, whose fetches are computed."""
    fetcher = world.fetchers[index]
    catch_up(world, fetcher.broker, fetcher.source_broker)
    number = index % world.pools[0].fetchers_of_source
    place = place_of(world, fetcher.broker, fetcher.source_broker, number)
    timeout_us = world.brokers[fetcher.broker].replica_socket_timeout_ms * 1000
    return world.idle_fetches[place].asked_us + timeout_us


@inner_rule
def begin_from_outside(world: Kernel, time_us: int) -> None:
    """An act comes before all events of its time."""
    context = world.context[0]
    context.time_us = time_us
    context.event_process = NONE
    context.event_source = NONE
    context.event_sequence = NONE


@inner_rule
def forget_marks(world: Kernel, remembered_us: int) -> None:
    """No idle fetch has an event left that is earlier than what rows are known from now on.

    But for brokers of other groups, whose last events do not count yet.
    """
    context = world.context[0]
    if context.idles_across and context.first_unsent_mark != context.row_marks:
        return
    count = context.row_marks
    context.row_marks = 0
    for process in range(context.process_count):
        world.processes[process].last_mark = NONE
    for number in range(count):
        mark = world.row_marks[number]
        state = world.processes[mark.process]
        if mark.time_us > context.time_us - remembered_us and not state.hosted:
            kept = world.row_marks[context.row_marks]
            kept.process = mark.process
            kept.time_us = mark.time_us
            kept.source = mark.source
            kept.sequence = mark.sequence
            kept.rows = mark.rows
            kept.previous = state.last_mark
            state.last_mark = context.row_marks
            context.row_marks += 1
    context.first_unsent_mark = context.row_marks
