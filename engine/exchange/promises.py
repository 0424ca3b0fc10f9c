"""Promises: how far each group may run, though none waits for a common window.

A group *promises* a time before which nothing can happen in it that others do not know yet: that of
its next event. A message that it has sent is known as soon as its time of arrival stands beside the
receiver's promise, and only then does its sender promise more. So at any moment the earliest of all
promises and arrivals is the time before which nothing more happens anywhere, and this group may
handle its events before the least, over all other groups, of that group's time and the least
latency from there (``lookahead.py``). Its own messages may cause answers before that: then
``links.route`` draws the horizon nearer.

A promise is renewed after each event, so a group that is behind lets the others go on while it
works. A group without events is passed over: to see that takes no step of its own.

Promises are read one after the other, while messages pass from promise to promise. A group that
takes messages makes the number of its promise odd, and then even again. A reader that finds all
numbers even and unchanged, once it has read all promises, knows that no message was taken
meanwhile. A message that was sent meanwhile is either among the arrivals, which it reads last, or
its sender had not yet promised more when its promise was read.

Between machines nothing is read: a promise is sent. It is the least of the sender's next event and
its horizon, since what arrives there has been promised by others. Such promises rise by a latency
with each exchange. So that time without events takes no more than one, a group that has to wait
sends its *tally*: its next event, and how many messages it has sent to each group and taken from
each. Where in the last tallies of all groups each message that was sent was also taken, they belong
to one consistent cut with nothing on its way, and nothing happens before the earliest of the events
in them.

Source: the horizon without windows is that of Chandy and Misra, "Distributed simulation: a case
study in design and verification of distributed programs" (1979), with the knowledge of all groups
in place of null messages; the counts are those of Mattern, "Efficient algorithms for distributed
snapshots and global virtual time approximation" (1993).
"""

from tidegauge.compiled.rules import inner_rule, rule
from tidegauge.engine.exchange import rings
from tidegauge.engine.exchange import state as exchanged
from tidegauge.engine.exchange.atomic_words import (
    cycle_count,
    fence,
    load_word,
    lower_word,
    store_word,
    swap_word,
)
from tidegauge.engine.exchange.shared_memory import (
    ARRIVING,
    CPU,
    NEVER_US,
    NEXT,
    SLEEPS,
    VERSION,
    WAKES,
)
from tidegauge.engine.exchange.system_calls import current_cpu, leave_cpu, sleep_on_word, wake_word
from tidegauge.simulation.kernel import NONE, Kernel


@rule
def next_event_us(world: Kernel) -> int:
    """The time of the next event of this group; idle fetches are known up to a time."""
    context = world.context[0]
    if context.ready.first != NONE:
        return context.time_us
    time_us = world.heap[0].time_us if context.heap_size > 0 else NEVER_US
    return min(time_us, context.look_ahead_us) if context.idle_pairs > 0 else time_us


@inner_rule
def hand_on(world: Kernel, exchange: exchanged.Exchange) -> None:
    """After an event: send its messages, and renew the promise."""
    state = exchange.state[0]
    if state.is_blocked or rings.has_news(world):
        begun = cycle_count()
        rings.send_news(world, exchange)
        state.exchange_ticks += cycle_count() - begun
    promise(world, exchange, is_urgent=False)


@inner_rule
def promise(world: Kernel, exchange: exchanged.Exchange, is_urgent: bool) -> None:
    """Renew the promise, unless messages have still to be sent; to other machines all goes on.

    To other machines it goes if it has risen by a part of the latency, or if it is urgent.
    """
    state = exchange.state[0]
    if not state.is_blocked:
        next_us = _promised_us(world, exchange)
        store_word(state.promise + NEXT, next_us)
        if state.distant > 0:
            _promise_to_distant(exchange, next_us, is_urgent)
    if state.distant > 0:
        # Also what has waited for room in a ring, or in a socket.
        for other in exchange.groups:
            if other.descriptor >= 0:
                rings.send_written(other)


@inner_rule
def _promised_us(world: Kernel, exchange: exchanged.Exchange) -> int:
    """The time before which nothing can happen here that groups of this machine do not know.

    What other machines send they do not know: then it is the horizon, if that comes first.
    """
    state = exchange.state[0]
    next_us = min(next_event_us(world), state.end_us)
    return min(next_us, world.context[0].horizon_us) if state.distant > 0 else next_us


@inner_rule
def _promise_to_distant(exchange: exchanged.Exchange, next_us: int, is_urgent: bool) -> None:
    """Promise a time to the groups on other machines for which that is worth a row."""
    for other in exchange.groups:
        worth_us = 1 if is_urgent else max(1, other.nearest_us // 4)
        if other.descriptor >= 0 and next_us - other.promised_us >= worth_us:
            rings.write_promise(other, next_us)


@inner_rule
def look_at_others(world: Kernel, exchange: exchanged.Exchange) -> bool:
    """Move the horizon to where the others' promises allow; whether they could be read."""
    state = exchange.state[0]
    for other in exchange.groups:
        if other.promise != 0:
            other.version = load_word(other.promise + VERSION)
            if other.version & 1:
                return False
            other.next_us = load_word(other.promise + NEXT)
    others_us = NEVER_US
    horizon_us = NEVER_US
    for other in exchange.groups:
        if other.inbox == 0:
            continue
        if other.promise != 0:
            arriving_us = load_word(other.promise + ARRIVING)
            if load_word(other.promise + VERSION) != other.version:
                return False
            other.next_us = min(other.next_us, arriving_us)
        others_us = min(others_us, other.next_us)
        horizon_us = min(horizon_us, other.next_us + other.nearest_us)
    if state.distant > 0:
        horizon_us = max(horizon_us, _tallied_horizon_us(exchange))
    state.others_us = others_us
    world.context[0].horizon_us = min(horizon_us, state.end_us)
    return True


@inner_rule
def _tallied_horizon_us(exchange: exchanged.Exchange) -> int:
    """The horizon by the tallies of the others and this group's own; 0: they do not match."""
    own = exchange.state[0].group
    count = len(exchange.groups)
    horizon_us = NEVER_US
    for number, other in enumerate(exchange.groups):
        if number != own:
            exchange.ways[own * count + number].sent = other.sent_messages
            exchange.ways[number * count + own].taken = other.taken_messages
            horizon_us = min(horizon_us, other.tallied_us + other.nearest_us)
    for way in exchange.ways:
        if way.sent != way.taken:
            return 0
    return horizon_us


@inner_rule
def send_tally(world: Kernel, exchange: exchanged.Exchange) -> None:
    """Send this group's tally to all others, if it is another one than the last."""
    state = exchange.state[0]
    next_us = min(next_event_us(world), state.end_us)
    messages = 0
    for other in exchange.groups:
        messages += other.sent_messages + other.taken_messages
    if next_us == state.tallied_us and messages == state.tallied_messages:
        return
    state.tallied_us = next_us
    state.tallied_messages = messages
    for other in exchange.groups:
        if other.inbox != 0:
            if not rings.write_tally(exchange, other):
                # It will be another one than the last.
                state.tallied_messages = NONE
            if other.descriptor >= 0:
                rings.send_written(other)


@inner_rule
def wake_others(exchange: exchanged.Exchange) -> None:
    """Wake the groups that sleep and may run, as this one sees it, or have to make room for it."""
    is_blocked = exchange.state[0].is_blocked
    fence()
    for number, other in enumerate(exchange.groups):
        if (
            other.promise != 0
            and load_word(other.promise + SLEEPS) != 0
            and (is_blocked or other.next_us < _horizon_of(exchange, number))
        ):
            store_word(other.promise + SLEEPS, 0)
            store_word(other.promise + WAKES, load_word(other.promise + WAKES) + 1)
            wake_word(other.promise + WAKES)


@inner_rule
def _horizon_of(exchange: exchanged.Exchange, number: int) -> int:
    """The horizon of another group on this machine, as this one sees it."""
    state = exchange.state[0]
    count = len(exchange.groups)
    horizon_us = state.end_us
    for source, other in enumerate(exchange.groups):
        next_us = load_word(state.promise + NEXT) if source == state.group else other.next_us
        if source != number:
            horizon_us = min(horizon_us, next_us + exchange.ways[source * count + number].time_us)
    return horizon_us


@inner_rule
def sleep(exchange: exchanged.Exchange) -> None:
    """Say that this group is going to sleep; or if it has said so, sleep.

    It sleeps until another group wakes it, or some time is over.
    """
    state = exchange.state[0]
    wakes = load_word(state.promise + WAKES)
    if swap_word(state.promise + SLEEPS, 1) == 1:
        sleep_on_word(state.promise + WAKES, wakes, state.sleep_ns, exchange.clock)


@inner_rule
def wake_up(exchange: exchanged.Exchange) -> None:
    """It sleeps no more."""
    store_word(exchange.state[0].promise + SLEEPS, 0)


@inner_rule
def leave_shared_cpu(exchange: exchanged.Exchange) -> None:
    """Go to another CPU if this one is another group's: a poll would keep that from running.

    Linux wakes a thread on the CPU of the one that wakes it, and leaves both there.
    """
    state = exchange.state[0]
    cpu = current_cpu()
    for number, other in enumerate(exchange.groups):
        if other.promise != 0 and number < state.group and load_word(other.promise + CPU) == cpu:
            leave_cpu(cpu, exchange.cpus)
            cpu = current_cpu()
    store_word(state.promise + CPU, cpu)


@rule
def take(world: Kernel, exchange: exchanged.Exchange) -> int:
    """Take what has come in; READY, NO_ROOM, STRANGE or BROKEN."""
    state = exchange.state[0]
    has_arrivals = load_word(state.promise + ARRIVING) != NEVER_US
    if not has_arrivals and not _has_rows(exchange):
        return exchanged.READY
    version = load_word(state.promise + VERSION)
    store_word(state.promise + VERSION, version + 1)
    arriving_us = swap_word(state.promise + ARRIVING, NEVER_US)
    said = rings.take_news(world, exchange)
    if said != exchanged.READY:
        lower_word(state.promise + ARRIVING, arriving_us)
    next_us = _promised_us(world, exchange)
    if next_us < load_word(state.promise + NEXT) or not state.is_blocked:
        store_word(state.promise + NEXT, next_us)
    store_word(state.promise + VERSION, version + 2)
    return said


@inner_rule
def _has_rows(exchange: exchanged.Exchange) -> bool:
    """Whether there is something to take from any group."""
    found = False
    for other in exchange.groups:
        # Of each socket, so that none waits for another.
        if other.inbox != 0 and rings.has_rows(other):
            found = True
    return found
