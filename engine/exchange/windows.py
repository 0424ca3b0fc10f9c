"""The time of a group between two runs of its events: it sends, looks at the others, and takes.

All of it is compiled, the system calls too, so that it costs no Python. The driver is needed where
a wait is long or tables have to grow.

A group that waits polls the promises of the others. Where each group has a CPU of its own it keeps
it for some 20 us: the other one needs less than that to go on, and to be woken takes longer. Then,
and at once where groups share CPUs, it lets others run between two polls. Then it sleeps. A group
that begins to wait wakes those that sleep and may go on. From time to time it goes back to the
driver, which sees whether the others live.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.engine.exchange import state as exchanged
from tidegauge.engine.exchange.atomic_words import cycle_count, pause
from tidegauge.engine.exchange.promises import (
    leave_shared_cpu,
    look_at_others,
    next_event_us,
    promise,
    send_tally,
    sleep,
    take,
    wake_others,
    wake_up,
)
from tidegauge.engine.exchange.rings import send_news, send_written
from tidegauge.engine.exchange.system_calls import let_others_run, thread_cpu_ns
from tidegauge.simulation.kernel import Kernel

#: The number of polls that keep the CPU, of some 100 ns, and of those that do not.
_SPINS = code(200)
_YIELDS = code(1000)


@inner_rule
def go_to_next_run(world: Kernel, exchange: exchanged.Exchange) -> int:
    """Wait until the group may run; READY, or the reason to call the driver.

    Returns:
        READY; ENDED or STOPPED; NO_ROOM, STRANGE, BROKEN, AWAITS, PACED or REPORTS.
    """
    state = exchange.state[0]
    begun = cycle_count()
    said = _look(world, exchange)
    state.exchange_ticks += cycle_count() - begun
    if state.distant < len(exchange.groups) - 1:
        wake_others(exchange)
    if said != exchanged.AWAITS or state.in_turn:
        return said
    begun = cycle_count()
    polls = 0
    while said == exchanged.AWAITS and polls < _SPINS and state.has_cpu:
        pause()
        said = _look(world, exchange)
        polls += 1
    state.polling_ticks += cycle_count() - begun
    if said != exchanged.AWAITS:
        return said
    begun_ns = thread_cpu_ns(exchange.clock)
    if state.has_cpu:
        leave_shared_cpu(exchange)
    polls = 0
    while said == exchanged.AWAITS and polls < _YIELDS:
        let_others_run()
        said = _look(world, exchange)
        polls += 1
    # From other machines a message wakes the driver alone.
    while said == exchanged.AWAITS and _may_sleep(state):
        # The first time it only says that it will.
        sleep(exchange)
        said = _look(world, exchange)
        state.sleep_ns *= 2
    if state.sleep_ns > exchanged.FIRST_SLEEP_NS:
        wake_up(exchange)
        state.sleep_ns = exchanged.FIRST_SLEEP_NS
    state.yielding_ns += thread_cpu_ns(exchange.clock) - begun_ns
    return said


@inner_rule
def _may_sleep(state: exchanged.ExchangeState) -> bool:
    """Whether another group will wake this one; the driver has the time of longer sleeps."""
    return (
        state.distant == 0 and not state.is_blocked and state.sleep_ns <= exchanged.LONGEST_SLEEP_NS
    )


@inner_rule
def _look(world: Kernel, exchange: exchanged.Exchange) -> int:
    """Send, look, take; READY where the group may run, AWAITS where it may not."""
    state = exchange.state[0]
    if state.is_blocked:
        send_news(world, exchange)
        wake_others(exchange)
    # An answer to a message that is still to be sent is not among those that others promise.
    is_seen = not state.is_blocked and look_at_others(world, exchange)
    said = take(world, exchange)
    if said != exchanged.READY:
        return said
    promise(world, exchange, is_urgent=True)
    if state.asked_to_stop:
        return exchanged.STOPPED
    return exchanged.REPORTS if state.report_wanted else _begin_run(world, exchange, is_seen)


@inner_rule
def _begin_run(world: Kernel, exchange: exchanged.Exchange, is_seen: bool) -> int:
    """Begin to run if there is an event before the horizon; READY, PACED, ENDED or AWAITS."""
    state = exchange.state[0]
    context = world.context[0]
    next_us = next_event_us(world)
    if next_us < context.horizon_us:
        if next_us >= state.real_time_us:
            return exchanged.PACED
        context.horizon_us = min(context.horizon_us, state.real_time_us)
        state.runs = True
        state.windows += 1
        return exchanged.READY
    # What was promised before does not count: since then this group may have sent a message.
    if is_seen and _is_over(exchange, next_us):
        return exchanged.ENDED
    if state.distant > 0 and not state.is_blocked:
        send_tally(world, exchange)
    return exchanged.AWAITS


@inner_rule
def _is_over(exchange: exchanged.Exchange, next_us: int) -> bool:
    """Whether no group has an event before the end, and those on other machines know it of this."""
    state = exchange.state[0]
    if min(next_us, state.others_us) < state.end_us or state.is_blocked:
        return False
    for other in exchange.groups:
        if other.descriptor >= 0:
            is_sent = send_written(other)
            if other.promised_us < state.end_us or not is_sent:
                return False
    return True
