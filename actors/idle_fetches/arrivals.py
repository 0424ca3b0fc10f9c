"""The request handlers that idle fetches could need: their arrivals, entered ahead of time."""

from tidegauge.actors.idle_fetches.stages import WAITS
from tidegauge.actors.state.brokers import Brokers
from tidegauge.compiled.rules import code, inner_rule

_ONE = code(1)
#: Arrivals are entered so far ahead, in slots of 128 us; eight counts are one number. Longer slots
#: count as one what comes one after the other: the followers of a leader fetch in bursts, as they
#: have begun to, and with slots of 512 us nearly no pair of 500 brokers could be idle.
SPAN_US = code(1 << 20)
_SLOT_BITS = code(7)
_COUNT_BITS = code(8)
_SLOTS = code(1 << 13)
WORDS_OF_SPAN = code(1 << 10)
#: The largest count.
_MOST = code(0x7F)
#: Most requests have a request handler for less than this.
WINDOW_US = code(1024)
#: Request handlers of a broker that are left to all other requests.
_THREADS_LEFT = code(1)


@inner_rule
def has_threads(world: Brokers, broker: int, more: int) -> bool:
    """Whether a broker has a request handler for each idle fetch that will come, and ``more``.

    A request that has a handler for longer than ``WINDOW_US`` can meet all of them, another one
    those that come by then.
    """
    state = world.brokers[broker]
    now_us = world.context[0].time_us
    busy = more
    long = 0
    for thread in range(state.first_thread, state.first_thread + state.num_io_threads):
        free_us = world.threads[thread].free_us
        busy += 1 if free_us > now_us else 0
        long += 1 if free_us > now_us + WINDOW_US else 0
    peak = world.idle_threads[broker].peak
    if peak + busy <= state.num_io_threads:
        return True
    soon = _most_arrivals(world, broker, now_us, now_us + WINDOW_US)
    return peak + long <= state.num_io_threads and soon + busy <= state.num_io_threads


@inner_rule
def _most_arrivals(world: Brokers, broker: int, from_us: int, until_us: int) -> int:
    """The most idle fetches that the request handlers of a broker have at one time of a while."""
    begin_us = world.context[0].look_ahead_us - SPAN_US
    last = min((until_us - begin_us) >> _SLOT_BITS, _SLOTS - 1)
    most = 0
    for slot in range(max(0, from_us - begin_us) >> _SLOT_BITS, last + 1):
        word = world.idle_arrivals[broker * WORDS_OF_SPAN + (slot >> 3)]
        most = max(most, (word.counts >> ((slot & 7) * _COUNT_BITS)) & 0xFF)
    return most


@inner_rule
def clear_slots(world: Brokers, broker: int) -> None:
    """No idle fetch from a broker is known to arrive."""
    world.idle_threads[broker].peak = 0
    for word in range(broker * WORDS_OF_SPAN, (broker + 1) * WORDS_OF_SPAN):
        world.idle_arrivals[word].counts = 0


@inner_rule
def enter_present(world: Brokers, first: int) -> bool:
    """Enter the fetches of a pair that a request handler would still have."""
    now_us = world.context[0].time_us
    fits = True
    for place in range(first, first + 2 * world.pools[0].fetchers_of_source):
        idle = world.idle_fetches[place]
        until_us = idle.arrived_us + idle.cost_us
        is_here = world.processes[idle.leader].hosted
        if idle.stage == WAITS and until_us > now_us and not idle.on_thread and is_here:
            fits = enter_arrival(world, idle.leader, now_us, until_us) and fits
    return fits


@inner_rule
def enter_arrival(world: Brokers, broker: int, from_us: int, until_us: int) -> bool:
    """Count a fetch that a request handler has for a while; False: the broker has too many."""
    threads = world.idle_threads[broker]
    begin_us = world.context[0].look_ahead_us - SPAN_US
    limit = min(world.brokers[broker].num_io_threads - _THREADS_LEFT, _MOST)
    slot = (from_us - begin_us) >> _SLOT_BITS
    last = min((until_us - begin_us) >> _SLOT_BITS, _SLOTS - 1)
    while slot <= last:
        word = world.idle_arrivals[broker * WORDS_OF_SPAN + (slot >> 3)]
        shift = (slot & 7) * _COUNT_BITS
        count = ((word.counts >> shift) & 0xFF) + 1
        if count > limit:
            return False
        word.counts += _ONE << shift
        threads.peak = max(threads.peak, count)
        slot += 1
    return True
