"""The page cache of a broker's machine: which records of a log are in memory.

The machine's memory holds the bytes that were appended last to any log of the broker, in the order
of their appends. So the tail of an idle log falls out when appends to others push it out.

The cache is filled in *generations*, each a quarter of it. A log remembers where it ended when each
of the last ones began; it notes that at its next append or read, as it does not change between. So
the oldest record in memory lies between two of these ends, and is found by how much of the present
generation is filled: exactly if the log grows at a steady share of all appends, else within a
quarter of the cache.

The cache is the machine's: it outlives the broker's process, and a loss of power empties it.

Simplified: records that were read from disk are not kept in memory, so those who read the same old
records one after the other read them from disk each. What is deleted or cut leaves its room
unused.
"""

from __future__ import annotations

from tidegauge.actors.state.brokers import Broker, Brokers
from tidegauge.actors.state.machines import GENERATIONS, CachedLog
from tidegauge.compiled.rules import code, inner_rule

#: The first generation of a broker without logs: all of them are in memory from their beginning, so
#: nothing has to be noted of any.
ALL_IN_MEMORY = code(0)

#: Number of parts of a generation: a size of less than 2**50 times it fits into 64 bits.
_PARTS = code(2**13)


@inner_rule
def note_cached(world: Brokers, row: int, base_offset: int, size_bytes: int) -> None:
    """Records were appended to a replica's log from ``base_offset`` on: they are in memory."""
    state = world.brokers[world.hosted[row].broker]
    if state.generation > ALL_IN_MEMORY:
        log = world.cached_logs[row]
        if log.generation != state.generation:
            _begin_generation(state, log, base_offset)
        if base_offset < log.starts[0]:
            # The log was cut: what is here now is new.
            for index in range(GENERATIONS + 1):
                log.starts[index] = min(log.starts[index], base_offset)
    state.generation_left_bytes -= size_bytes
    if state.generation_left_bytes <= 0:
        begun = 1 + -state.generation_left_bytes // state.generation_bytes
        state.generation += begun
        state.generation_left_bytes += begun * state.generation_bytes


@inner_rule
def _begin_generation(state: Broker, log: CachedLog, log_end_offset: int) -> None:
    """Note where a log ended when the generations began that were begun since the last look."""
    begun = state.generation - log.generation
    for back in range(GENERATIONS + 1):
        index = GENERATIONS - back
        log.starts[index] = log.starts[index - begun] if index >= begun else log_end_offset
    log.generation = state.generation


@inner_rule
def cached_from(world: Brokers, row: int) -> int:
    """The first offset of a replica's log from which on all records are in memory."""
    state = world.brokers[world.hosted[row].broker]
    if state.generation == ALL_IN_MEMORY:
        return 0
    log = world.cached_logs[row]
    if log.generation != state.generation:
        _begin_generation(state, log, world.replicas[row].log_end_offset)
    older = int(log.starts[GENERATIONS])
    newer = int(log.starts[GENERATIONS - 1])
    if newer <= older:
        return older
    filled_bytes = state.generation_bytes - state.generation_left_bytes
    filled = filled_bytes * _PARTS // state.generation_bytes
    return older + (newer - older) * filled // _PARTS


@inner_rule
def forget_cached(world: Brokers, row: int) -> None:
    """The memory of the machine is gone, and a generation begun: no record of the log is in it."""
    log = world.cached_logs[row]
    log.generation = world.brokers[world.hosted[row].broker].generation
    for index in range(GENERATIONS + 1):
        log.starts[index] = world.replicas[row].log_end_offset
