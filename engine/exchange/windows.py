"""Windows: the work of a group with links between two runs of its events.

A group goes from phase to phase (``ExchangeState.phase``) until it may run:

=========  ====================================  ====================================
phase      the hub                               a leaf
=========  ====================================  ====================================
RECEIVES   takes what the leaves say that went   takes what the hub says; then RUNS
PLANS      chooses who goes on
WRITES     a frame for each of those             a frame for the hub
SENDS      ... to them; RUNS if it goes itself   ... to it; then RECEIVES
RUNS       up to its horizon; then RECEIVES      up to its horizon; then WRITES
=========  ====================================  ====================================

All of it is compiled, the system calls too, so that a window costs no Python. The driver is needed
where a wait is long or tables have to grow; it comes back into the same phase.

A waiting group polls for the frame for a while before it sleeps, and lets others have the CPU
meanwhile: to be woken costs more than that, on both sides (quickstart in seven actors on two cores
took half the time, in three even less).
"""

from tidegauge.compiled.records import Records
from tidegauge.compiled.rules import inner_rule, rule, wrapped
from tidegauge.engine.exchange import frame_exchange, frames, system_calls
from tidegauge.simulation.kernel import HUB, Kernel
from tidegauge.simulation.random_streams import MIX_1, mix

#: The number of polls for a frame: for some 100 us.
_LOOKS = 100


@inner_rule
def go_to_next_run(world: Kernel, exchange: frame_exchange.Exchange) -> int:
    """Go from phase to phase until the group may run; READY, or the reason to call the driver.

    Returns:
        READY; ENDED or STOPPED, where all groups come to the end; NO_ROOM, STRANGE, DAMAGED,
        AWAITS, UNSENT or PACED.
    """
    state = exchange.state[0]
    said = frame_exchange.READY
    while said == frame_exchange.READY and state.phase != frame_exchange.RUNS:
        if state.phase == frame_exchange.RECEIVES:
            said = _receive(world, exchange)
        elif state.phase == frame_exchange.PLANS:
            said = _plan(world, exchange)
        elif state.phase == frame_exchange.WRITES:
            said = _write(world, exchange)
        else:
            said = _send(exchange)
    return said


@inner_rule
def end_run(exchange: frame_exchange.Exchange) -> None:
    """All events before the horizon have been handled."""
    state = exchange.state[0]
    state.phase = frame_exchange.RECEIVES if state.group == HUB else frame_exchange.WRITES


@inner_rule
def _receive(world: Kernel, exchange: frame_exchange.Exchange) -> int:
    """Take over the frames that the group waits for, one after the other."""
    state = exchange.state[0]
    for group, other in enumerate(exchange.groups):
        if not other.awaited:
            continue
        state.peer = group
        if state.received_bytes == 0 and not _look_for_frame(exchange, group):
            return frame_exchange.AWAITS
        if exchange.incoming[frames.CHECKSUM].value != _checksum(
            exchange.incoming,
            frames.NOTHING,
            exchange.incoming[frames.LENGTH].value // system_calls.WORD_BYTES,
        ):
            return frame_exchange.DAMAGED
        said = frames.read_frame(world, exchange, group)
        if said == frame_exchange.NO_ROOM:
            return said
        state.received_bytes = 0
        other.awaited = False
        if said != frame_exchange.READY:
            # The end: the next phase, if there is one, begins with a frame of each leaf.
            state.phase = frame_exchange.WRITES
            return said
    state.phase = frame_exchange.PLANS if state.group == HUB else frame_exchange.RUNS
    return frame_exchange.READY


@inner_rule
def _look_for_frame(exchange: frame_exchange.Exchange, group: int) -> bool:
    """Poll for a group's frame for a while; whether it has come, as a whole."""
    state = exchange.state[0]
    words = exchange.incoming
    received = system_calls.receive_words(exchange.groups[group].descriptor, words)
    if received < 0:
        begun_ns = system_calls.thread_cpu_ns(exchange.clock)
        for _ in range(_LOOKS):
            # The other side may wait for this CPU.
            system_calls.let_others_run()
            received = system_calls.receive_words(exchange.groups[group].descriptor, words)
            if received >= 0:
                break
        state.waiting_cpu_ns += system_calls.thread_cpu_ns(exchange.clock) - begun_ns
    state.received_bytes = max(0, received)
    return (
        received > frames.GENERATION * system_calls.WORD_BYTES
        and received == words[frames.LENGTH].value
    )


@inner_rule
def _plan(world: Kernel, exchange: frame_exchange.Exchange) -> int:
    """Choose the groups that go on; the driver may hold all back."""
    state = exchange.state[0]
    said = frames.plan_window(world, exchange, state.end_us)
    state.phase = frame_exchange.WRITES
    return (
        frame_exchange.PACED
        if state.paced and said != frame_exchange.STOPPED
        else frame_exchange.READY
    )


@inner_rule
def _write(world: Kernel, exchange: frame_exchange.Exchange) -> int:
    """Write a frame for each group that is to have one."""
    if frames.write_frames(world, exchange) == frame_exchange.NO_ROOM:
        return frame_exchange.NO_ROOM
    for other in exchange.groups:
        if other.words > 0:
            other.unsent = True
            exchange.outgoing[other.first_word + frames.CHECKSUM].value = _checksum(
                exchange.outgoing, other.first_word, other.words
            )
    exchange.state[0].phase = frame_exchange.SENDS
    return frame_exchange.READY


@inner_rule
def _send(exchange: frame_exchange.Exchange) -> int:
    """Send the written frames; each receiver answers with one."""
    state = exchange.state[0]
    for group, other in enumerate(exchange.groups):
        if not other.unsent:
            continue
        sent = system_calls.send_words(
            other.descriptor, exchange.outgoing, other.first_word, other.words
        )
        other.unsent = False
        other.awaited = True
        if sent != other.words * system_calls.WORD_BYTES:
            state.peer = group
            state.sent_bytes = max(0, sent)
            return frame_exchange.UNSENT
    goes = state.group == HUB and state.order == frame_exchange.READY and exchange.groups[HUB].goes
    state.phase = frame_exchange.RUNS if goes else frame_exchange.RECEIVES
    return state.order if state.group == HUB else frame_exchange.READY


@inner_rule
def _checksum(words: Records[system_calls.Word], first: int, count: int) -> int:
    """The checksum of a frame's words without the checksum's own: each is folded into the next."""
    checksum = words[first + frames.LENGTH].value
    for number in range(frames.GENERATION, count):
        # An odd factor maps different words to different ones: no single one changes unseen.
        checksum = wrapped(int(checksum ^ words[first + number].value) * MIX_1)
    return mix(checksum, count)


@rule
def frame_checksum(words: Records[system_calls.Word]) -> int:
    """The checksum of a frame that has these words."""
    return _checksum(words, frames.NOTHING, len(words))
