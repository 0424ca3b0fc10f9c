"""Bandwidth: the time of a transfer on a shared disk or network.

A resource moves so many bytes per second, and the transfers in flight on it share them. A transfer
ends when all that the resource had taken on before is moved, and the transfer itself; but a small
one does not wait for large ones that began before it: with n others in flight it gets its share of
the bandwidth, so it takes n + 1 times as long as alone. Those that began before keep their ends,
and the work of the small one is done by later ones. So in the long run a resource never moves more
than its bandwidth, and no transfer costs more than one look, whatever is in flight (fair queueing
would change the end of every transfer in flight with each that begins).

A transfer that uses several resources uses them at the same time (a disk is read ahead, a switch
passes on the bytes that it has received so far), so it ends with the last of them, not after their
sum.

The receiver of a message learns of its transfer when that is over: a message arrives with its last
byte. By then the transfer has had those moments of the time in which it flowed that others left
idle (:func:`received_us`). Its need beyond is work that is left: it ends when that is done,
together with the work that others have left, or when it has had its share.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.records import Record, i64
from tidegauge.compiled.rules import code, inner_rule

#: The transfers in flight that are told apart; with more of them the last one ends last.
FLOWS = 16

_NS_PER_US = code(1_000)
_NS_PER_SECOND = code(1_000_000_000)


_flows = Annotated[NDArray[np.int64], (np.int64, (FLOWS,))]


class Bandwidth(Record):
    """A resource with a bandwidth: one direction of a network or a disk."""

    #: 0: unlimited.
    bytes_per_second: i64
    #: The time at which all that it has taken on is moved; nanoseconds, as small transfers take
    #: few.
    free_ns: i64
    #: Ends of the transfers in flight, and the place of the next one.
    ends_ns: _flows
    next_flow: i64


@inner_rule
def transfer_end_us(resource: Bandwidth, size_bytes: int, now_us: int) -> int:
    """The end of a transfer that begins now, which the resource takes on."""
    if resource.bytes_per_second == 0 or size_bytes <= 0:
        return now_us
    now_ns = now_us * _NS_PER_US
    # No request or response is larger than 2**31 bytes, so the product fits into 64 bits.
    alone_ns = size_bytes * _NS_PER_SECOND // resource.bytes_per_second
    end_ns = max(resource.free_ns, now_ns) + alone_ns
    if resource.free_ns > now_ns:
        in_flight = 0
        for flow in range(FLOWS):
            in_flight += 1 if resource.ends_ns[flow] > now_ns else 0
        resource.free_ns = end_ns
        if in_flight < FLOWS:
            end_ns = min(end_ns, now_ns + (in_flight + 1) * alone_ns)
    else:
        resource.free_ns = end_ns
    resource.ends_ns[resource.next_flow] = end_ns
    resource.next_flow = (resource.next_flow + 1) % FLOWS
    return (end_ns + _NS_PER_US - 1) // _NS_PER_US


class IncomingBandwidth(Record):
    """A resource that learns of a transfer at its end."""

    #: 0: unlimited.
    bytes_per_second: i64
    #: The time at which all that has come is received, in nanoseconds; and the start of its present
    #: backlog.
    free_ns: i64
    busy_from_ns: i64
    #: The transfers that came last: their times, their ends, and the time of each alone; and the
    #: place of the next one.
    came_ns: _flows
    ends_ns: _flows
    alone_ns: _flows
    next_flow: i64


@inner_rule
def received_us(resource: IncomingBandwidth, size_bytes: int, took_us: int, now_us: int) -> int:
    """The time at which a transfer that has flowed for the last ``took_us`` is received."""
    if resource.bytes_per_second == 0:
        return now_us
    now_ns = now_us * _NS_PER_US
    began_ns = now_ns - took_us * _NS_PER_US
    alone_ns = size_bytes * _NS_PER_SECOND // resource.bytes_per_second
    end_ns = now_ns
    if resource.free_ns <= began_ns:
        # It was alone, and its sender is not faster than the network here.
        resource.free_ns = now_ns
        resource.busy_from_ns = now_ns
    else:
        end_ns = _shared_end_ns(resource, alone_ns, began_ns, now_ns)
    flow = resource.next_flow
    resource.came_ns[flow] = now_ns
    resource.ends_ns[flow] = end_ns
    resource.alone_ns[flow] = alone_ns
    resource.next_flow = (flow + 1) % FLOWS
    return (end_ns + _NS_PER_US - 1) // _NS_PER_US


@inner_rule
def _shared_end_ns(resource: IncomingBandwidth, alone_ns: int, began_ns: int, now_ns: int) -> int:
    """The end of a transfer during which others came, or were left; it is taken on."""
    used_ns = 0
    others = 0
    came = 0
    for flow in range(FLOWS):
        if resource.ends_ns[flow] > began_ns:
            others += 1
        if began_ns < resource.came_ns[flow] <= resource.busy_from_ns:
            came += 1
            used_ns += min(resource.alone_ns[flow], resource.came_ns[flow] - began_ns)
    oldest_ns = resource.came_ns[resource.next_flow]
    if came == FLOWS and oldest_ns < now_ns:
        # Others came before those that are remembered, as often as these.
        used_ns = used_ns * ((now_ns - began_ns) // 1_000) // max(1, (now_ns - oldest_ns) // 1_000)
    busy_ns = min(resource.free_ns, now_ns) - max(began_ns, resource.busy_from_ns)
    idle_ns = max(0, now_ns - began_ns - used_ns - max(0, busy_ns))
    left_ns = max(0, alone_ns - idle_ns)
    if resource.free_ns <= now_ns:
        resource.free_ns = now_ns
        resource.busy_from_ns = now_ns
    resource.free_ns += left_ns
    if left_ns == 0 or others == FLOWS:
        return resource.free_ns if left_ns > 0 else now_ns
    return min(resource.free_ns, max(now_ns, began_ns + (others + 1) * alone_ns))


@inner_rule
def last_transfer_end_us(resource: Bandwidth, size_bytes: int, now_us: int) -> int:
    """The end of a transfer that yields to all others, which the resource takes on."""
    if resource.bytes_per_second == 0 or size_bytes <= 0:
        return now_us
    alone_ns = size_bytes * _NS_PER_SECOND // resource.bytes_per_second
    resource.free_ns = max(resource.free_ns, now_us * _NS_PER_US) + alone_ns
    return free_us(resource)


@inner_rule
def free_us(resource: Bandwidth) -> int:
    """The time at which a resource has moved all that it has taken on so far."""
    return (resource.free_ns + _NS_PER_US - 1) // _NS_PER_US
