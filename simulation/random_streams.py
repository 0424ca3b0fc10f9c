"""Random draws: counter-based streams, so that one subsystem never shifts another's draws.

A draw is a function of (seed, domain, owner, counter) and of nothing else. The domain is the
subject of the draw (``LATENCY``, ``WORKLOAD``, ...), the owner has the draw (a link, a process),
and the counter is its number. No state is shared, so draws do not depend on the order in which
processes run, and a subsystem that is added leaves all others as they were.

A latency is drawn from a *quantile table*: its values at 0/16, 1/16, ... 16/16 of
probability. Between them it is interpolated in integers, since floating point and
transcendental functions differ between machines.
"""

from tidegauge.compiled.records import Record, Records, i64
from tidegauge.compiled.rules import code, rule, wrapped

# Domains.
LATENCY = code(1)
RETRANSMISSION = code(2)
START = code(3)
COST = code(4)
POWER_LOSS = code(5)
RECONNECT = code(6)
DISK = code(7)
FAILURE = code(8)
REPAIR = code(9)
FENCING = code(10)
PERIODIC_TASKS = code(11)
RAFT = code(12)
BOOTSTRAP_VOTERS = code(13)

#: The number of values of a quantile table.
QUANTILES = 17

# Odd 64-bit constants of SplitMix64 (Steele, Lea, Flood 2014), as signed integers.
GOLDEN = -0x61C8864680B583EB
MIX_1 = -0x40A7B892E31B1A47
MIX_2 = -0x6B2FB644ECCEEE15


class Quantile(Record):
    """One value of a quantile table."""

    value_us: i64


@rule
def mix(state: int, value: int) -> int:
    """Fold a value into a 64-bit state: SplitMix64's finalizer over state xor value."""
    mixed = wrapped(int(state ^ value) + GOLDEN)
    mixed = wrapped(int(mixed ^ ((mixed >> 30) & 0x3FFFFFFFF)) * MIX_1)
    mixed = wrapped(int(mixed ^ ((mixed >> 27) & 0x1FFFFFFFFF)) * MIX_2)
    return mixed ^ ((mixed >> 31) & 0x1FFFFFFFF)


@rule
def draw(seed: int, domain: int, owner: int, counter: int) -> int:
    """A uniform integer of 32 bits."""
    return draw_from(stream_of(seed, domain, owner), counter)


@rule
def stream_of(seed: int, domain: int, owner: int) -> int:
    """The stream of an owner's draws."""
    return mix(seed, (domain << 48) ^ owner)


@rule
def draw_from(stream: int, counter: int) -> int:
    """A uniform integer of 32 bits: the draw of a stream with this number."""
    return mix(stream, counter) & 0xFFFFFFFF


@rule
def draw_below(limit: int, seed: int, domain: int, owner: int, counter: int) -> int:
    """A uniform integer from 0 to ``limit`` - 1; ``limit`` is at most 2**31."""
    return (draw(seed, domain, owner, counter) * limit) >> 32


@rule
def quantile_us(table: Records[Quantile], first: int, uniform: int) -> int:
    """The value of the table that starts at ``first`` for a uniform integer of 32 bits."""
    place = first + (uniform >> 28)
    low = table[place].value_us
    high = table[place + 1].value_us
    return low + (((high - low) * ((uniform >> 12) & 0xFFFF)) >> 16)
