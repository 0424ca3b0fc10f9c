"""The page cache and the disks of a broker's machine: which records are in memory, and I/O times.

**The page cache** holds the bytes that were appended last to any log of the broker, in the order of
their appends. So the tail of an idle log falls out when appends to others push it out.

It is filled in *generations*, each a quarter of it. A log notes its end at the start of each of the
last ones, at its next append or read. The oldest record in memory lies between two of these ends.
The filled part of the present generation gives its place: exactly if the log grows at a steady
share of all appends, else within a quarter of the cache.

Simplified: records that were read from disk are not kept in memory, so readers of the same old
records read them from disk each. Deleted and cut records leave their room unused.

**Disks**: each log directory is a disk of its own, with the bandwidths of the scenario's
``resources``. The operating system begins at once to write an append, first come first served. An
append waits only while its disk's backlog exceeds its share of the memory for dirty pages
(``resources.dirty_limit``); a flush waits until the backlog is written. Reads of records in memory
cost nothing; reads and writes do not slow each other down.

Both are the machine's: they outlive the broker's process, and a loss of power empties the cache.

Source: Documentation/admin-guide/sysctl/vm.rst of Linux (dirty_ratio), mm/page-writeback.c
(balance_dirty_pages).
"""

from tidegauge.actors.state.broker_records import Broker
from tidegauge.actors.state.brokers import LOGS, Brokers
from tidegauge.actors.state.machines import GENERATIONS, CachedLog
from tidegauge.actors.storage.logs import NEVER_FLUSHED, offset_on_disk
from tidegauge.compiled.records import Records
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.bandwidth import FLOWS, Bandwidth, free_us, last_transfer_end_us
from tidegauge.simulation.kernel import NONE

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
            # The log was cut: its present end is new.
            for index in range(GENERATIONS + 1):
                log.starts[index] = min(log.starts[index], base_offset)
    state.generation_left_bytes -= size_bytes
    if state.generation_left_bytes <= 0:
        begun = 1 + -state.generation_left_bytes // state.generation_bytes
        state.generation += begun
        state.generation_left_bytes += begun * state.generation_bytes


@inner_rule
def _begin_generation(state: Broker, log: CachedLog, log_end_offset: int) -> None:
    """Note a log's end at the start of each generation since its last read or append."""
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


#: A read that no bandwidth is too large for.
_PIECE_BYTES = code(2**31)
_MS_PER_SECOND = code(1_000)
_US_PER_MS = code(1_000)
#: Number of steps in which a loss of power takes records.
PARTS = code(2**16)


@inner_rule
def disk_of(disks: Records[Bandwidth], world: Brokers, row: int) -> Bandwidth:
    """One direction of the disk on which a replica's log lies."""
    broker = world.hosted[row].broker
    count = world.brokers[broker].log_directories
    return disks[broker * count + world.on_disk[row].directory] if count > 1 else disks[broker]


@inner_rule
def write_back(world: Brokers, row: int, size_bytes: int) -> None:
    """Have the operating system write a replica's new records."""
    disk = disk_of(world.disk_writes, world, row)
    if disk.bytes_per_second == 0:
        return
    state = world.brokers[world.hosted[row].broker]
    end_us = last_transfer_end_us(disk, size_bytes, world.context[0].time_us)
    state.writes_wait_until_us = max(state.writes_wait_until_us, end_us - state.dirty_us)


@inner_rule
def writes_wait(world: Brokers, broker: int) -> bool:
    """Whether there is a log directory to which appends have to wait."""
    return world.brokers[broker].writes_wait_until_us >= world.context[0].time_us


@inner_rule
def write_wait_us(world: Brokers, row: int) -> int:
    """The wait of an append to a replica's log until there is room for its dirty pages.

    One that comes at the very end of another's wait goes behind that.
    """
    state = world.brokers[world.hosted[row].broker]
    now_us = world.context[0].time_us
    if state.writes_wait_until_us < now_us:
        return 0
    until_us = free_us(disk_of(world.disk_writes, world, row)) - state.dirty_us
    return max(1, until_us - now_us) if until_us >= now_us else 0


@inner_rule
def flushes_by_itself(world: Brokers, broker: int) -> bool:
    """Whether a broker flushes logs by log.flush.interval.messages."""
    return world.brokers[broker].log_flush_interval_messages != NEVER_FLUSHED


@inner_rule
def flush_wait_us(world: Brokers, row: int) -> int:
    """The time in which the disk writes a log that has just been flushed; 0 if it was not."""
    if not flushes_by_itself(world, world.hosted[row].broker):
        return 0
    if world.on_disk[row].recovery_point != world.replicas[row].log_end_offset:
        return 0
    return max(0, free_us(disk_of(world.disk_writes, world, row)) - world.context[0].time_us)


@inner_rule
def backlog_us(world: Brokers, broker: int) -> int:
    """The time in which all disks of a broker write their backlog."""
    first = broker * world.brokers[broker].log_directories
    longest_us = 0
    for place in range(first, first + world.brokers[broker].log_directories):
        left_us = free_us(world.disk_writes[place]) - world.context[0].time_us
        longest_us = max(longest_us, left_us)
    return longest_us


@inner_rule
def old_bytes(world: Brokers, row: int, first_offset: int, end_offset: int) -> int:
    """The bytes of these records that have to be read from disk."""
    cached_offset = cached_from(world, row)
    if first_offset >= cached_offset:
        return 0
    record_bytes = world.partitions[world.hosted[row].partition].record_bytes
    return (min(cached_offset, end_offset) - first_offset) * record_bytes


@inner_rule
def recovery_read_us(world: Brokers, row: int, first_offset: int) -> int:
    """The time to read a log from disk for its recovery, as far as it is not in memory.

    Logs of a directory are read one after the other, directories at the same time.
    """
    disk = disk_of(world.disk_reads, world, row)
    now_us = world.context[0].time_us
    left_bytes = old_bytes(world, row, first_offset, world.replicas[row].log_end_offset)
    end_us = now_us
    while left_bytes > 0:
        end_us = last_transfer_end_us(disk, min(left_bytes, _PIECE_BYTES), now_us)
        left_bytes -= _PIECE_BYTES
    return end_us - now_us


@inner_rule
def unwritten_part(world: Brokers, broker: int, directory: int) -> int:
    """The part that is not on disk of the records that the operating system may not have written.

    In ``PARTS``. Its logs have the same part, as it is not known in which order they are written.
    """
    disk = world.disk_writes[broker * world.brokers[broker].log_directories + directory]
    left_us = free_us(disk) - world.context[0].time_us
    if left_us <= 0:
        return 0
    unwritten_bytes = left_us // _US_PER_MS * disk.bytes_per_second // _MS_PER_SECOND
    young_bytes = 1
    for row in LOGS.of(world, world.brokers[broker]):
        if world.on_disk[row].directory == directory:
            young = world.replicas[row].log_end_offset - offset_on_disk(
                world.context[0], world, row
            )
            young_bytes += young * world.partitions[world.hosted[row].partition].record_bytes
    return min(PARTS, unwritten_bytes * PARTS // young_bytes)


@inner_rule
def lose_memory(world: Brokers, broker: int) -> None:
    """The machine's power is gone: nothing is in memory, and its disks are idle."""
    state = world.brokers[broker]
    first = broker * state.log_directories
    for place in range(first, first + state.log_directories):
        _become_idle(world.disk_reads[place])
        _become_idle(world.disk_writes[place])
    state.writes_wait_until_us = NONE
    state.generation += 1
    state.generation_left_bytes = state.generation_bytes
    for row in LOGS.of(world, state):
        forget_cached(world, row)


@inner_rule
def _become_idle(disk: Bandwidth) -> None:
    disk.free_ns = 0
    for flow in range(FLOWS):
        disk.ends_ns[flow] = 0
