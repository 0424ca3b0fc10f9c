"""System calls that rules make: groups send, wait and wake without going back to Python.

A wait that went through Python took some 40 us of each group, and left the caches cold for the
kernel. A socket that would have to wait, or fails, is left to Python, which has its error message.

Plain Python makes the same calls by way of ``ctypes``.
"""

import ctypes
import platform
import socket
import time
from collections.abc import Callable
from typing import Any

import numba

from tidegauge.compiled.records import Record, Records, i64
from tidegauge.compiled.rules import COMPILED, code, inner_rule

_DONT_WAIT = code(int(socket.MSG_DONTWAIT))
# Without this flag, Python has SIGPIPE ignored.
_SEND_FLAGS = code(int(socket.MSG_DONTWAIT | getattr(socket, "MSG_NOSIGNAL", 0)))
_CLOCK = code(int(time.CLOCK_THREAD_CPUTIME_ID))
_MONOTONIC = code(int(time.CLOCK_MONOTONIC))
#: The number of the call futex, of Linux.
_FUTEX = code(98 if platform.machine() in {"aarch64", "arm64"} else 202)
_WAIT, _WAKE = code(0), code(1)
_NS_PER_S = code(1_000_000_000)


class ClockReading(Record):
    """A clock's time: the C library's ``struct timespec``."""

    seconds: i64
    nanoseconds: i64


def _c_function(name: str, result: str, *parameters: str) -> Callable[..., Any]:
    """A function of the C library, for rules to call; types are named as Numba names them."""
    if COMPILED:
        return numba.types.ExternalFunction(  # type: ignore[no-any-return]  # Numba has no stubs
            name, getattr(numba.types, result)(*(getattr(numba.types, each) for each in parameters))
        )
    ctype = {
        "int32": ctypes.c_int32,
        "int64": ctypes.c_int64,
        "uintp": ctypes.c_void_p,
    }
    function = getattr(ctypes.CDLL(None), name)
    function.restype = ctype[result]
    function.argtypes = [ctype[each] for each in parameters]
    return lambda *values: function(*(int(value) for value in values))


_send = _c_function("send", "int64", "int32", "uintp", "uintp", "int32")
_receive = _c_function("recv", "int64", "int32", "uintp", "uintp", "int32")
_yield = _c_function("sched_yield", "int32")
_call = _c_function("syscall", "int64", "int64", "uintp", "int64", "int64", "uintp")
_cpu = _c_function("sched_getcpu", "int32")
_set_cpus = _c_function("sched_setaffinity", "int32", "int32", "uintp", "uintp")
_read_clock = _c_function("clock_gettime", "int32", "int32", "uintp")


@inner_rule
def send_bytes(descriptor: int, address: int, count: int) -> int:
    """Send bytes over a socket as far as they can go at once; their number, or -1."""
    return int(_send(descriptor, address, count, _SEND_FLAGS))


@inner_rule
def receive_bytes(descriptor: int, address: int, count: int) -> int:
    """Read at most so many available bytes from a socket; their number, 0 at its end, or -1."""
    return int(_receive(descriptor, address, count, _DONT_WAIT))


class CpuMask(Record):
    """The CPUs of a thread as 64 bits of the mask of all: the C library's ``cpu_set_t``."""

    bits: i64


@inner_rule
def current_cpu() -> int:
    """The number of the CPU that this thread is on."""
    return int(_cpu())


@inner_rule
def leave_cpu(cpu: int, allowed: Records[CpuMask]) -> None:
    """Go to another CPU among those that this thread may be on; it may come back later."""
    word = allowed[cpu // 64]
    bit = 1 << (cpu % 64)
    word.bits ^= bit
    _set_cpus(0, len(allowed) * 8, allowed.ctypes.data)
    word.bits ^= bit
    _set_cpus(0, len(allowed) * 8, allowed.ctypes.data)


@inner_rule
def let_others_run() -> None:
    """Let another thread or process have this CPU, if one waits for it."""
    _yield()


@inner_rule
def sleep_on_word(address: int, value: int, time_ns: int, clock: Records[ClockReading]) -> None:
    """Sleep until another process wakes this word, or a time is over, if the word has this value.

    A word of the call has 32 bits: the lower ones, as processors of today have them.
    """
    clock[0].seconds = time_ns // _NS_PER_S
    clock[0].nanoseconds = time_ns % _NS_PER_S
    _call(_FUTEX, address, _WAIT, value & 0x7FFFFFFF, clock.ctypes.data)


@inner_rule
def wake_word(address: int) -> None:
    """Wake the process that sleeps on a word."""
    _call(_FUTEX, address, _WAKE, 1, 0)


@inner_rule
def clock_ns(reading: Records[ClockReading]) -> int:
    """The time of a clock that only goes on, read into the one record of ``reading``."""
    _read_clock(_MONOTONIC, reading.ctypes.data)
    return reading[0].seconds * _NS_PER_S + reading[0].nanoseconds


@inner_rule
def thread_cpu_ns(reading: Records[ClockReading]) -> int:
    """CPU time of this thread; the clock is read into the one record of ``reading``."""
    _read_clock(_CLOCK, reading.ctypes.data)
    return reading[0].seconds * _NS_PER_S + reading[0].nanoseconds
