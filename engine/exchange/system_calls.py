"""System calls that rules make: groups exchange frames without going back to Python.

A window that went through Python took some 40 us of each group, and left the caches cold for the
kernel (quickstart in seven actors on two cores: 21 s became 5). Calls that return at once are made
here; a call that would have to wait, or fails, is left to Python's sockets, which also have its
error message.

Plain Python makes the same calls by way of ``ctypes``.
"""

import ctypes
import socket
import time
from collections.abc import Callable
from typing import Any

import numba

from tidegauge.compiled.records import Record, Records, i64
from tidegauge.compiled.rules import COMPILED, code, inner_rule

WORD_BYTES = 8

_DONT_WAIT = code(int(socket.MSG_DONTWAIT))
# Without this flag, Python has SIGPIPE ignored.
_SEND_FLAGS = code(int(socket.MSG_DONTWAIT | getattr(socket, "MSG_NOSIGNAL", 0)))
_CLOCK = code(int(time.CLOCK_THREAD_CPUTIME_ID))
_NS_PER_S = code(1_000_000_000)


class Word(Record):
    """64 bits of a frame, or of a row."""

    value: i64


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
_read_clock = _c_function("clock_gettime", "int32", "int32", "uintp")


@inner_rule
def send_words(descriptor: int, words: Records[Word], first: int, count: int) -> int:
    """Send words over a socket if they can go at once; the number of bytes sent, or -1."""
    address = words.ctypes.data + first * WORD_BYTES
    return int(_send(descriptor, address, count * WORD_BYTES, _SEND_FLAGS))


@inner_rule
def receive_words(descriptor: int, words: Records[Word]) -> int:
    """Read available bytes from a socket; their number, 0 at its end, or -1."""
    return int(_receive(descriptor, words.ctypes.data, len(words) * WORD_BYTES, _DONT_WAIT))


@inner_rule
def let_others_run() -> None:
    """Let another thread or process have this CPU, if one waits for it."""
    _yield()


@inner_rule
def thread_cpu_ns(reading: Records[ClockReading]) -> int:
    """CPU time of this thread; the clock is read into the one record of ``reading``."""
    _read_clock(_CLOCK, reading.ctypes.data)
    return reading[0].seconds * _NS_PER_S + reading[0].nanoseconds
