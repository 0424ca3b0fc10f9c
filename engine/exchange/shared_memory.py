"""The memory that groups on one machine share: a promise of each group, and rings between them.

A *promise* is the time before which nothing can happen in a group that others do not know yet
(``promises.py``). Only its group writes it, and all others read it.

A *ring* is the way of messages from one group to another (``rings.py``): the one writes words, and
then how many it has written so far; the other reads them, and then writes how many it has read.
Neither waits for the other one.

Each word that one side writes and another reads has lines of the cache of its own. Groups on
different machines have rings as well, one at each end of a socket, in memory of their own.

The file has no name: the first group of a machine makes it and sends it to the others over their
sockets. So nothing of it is left when all have ended, however they end. Memory that was never
touched takes no place.
"""

import ctypes
import mmap
import os
import socket
from collections.abc import Sequence

from tidegauge.compiled.rules import code
from tidegauge.engine.exchange.atomic_words import store_word

WORD_BYTES = 8

#: Other systems than Linux have no files without a name: groups use sockets there.
CAN_SHARE = hasattr(os, "memfd_create")

# A promise, in bytes.
NEXT = code(0)  #: the time of the next event that can happen in the group
VERSION = code(8)  #: odd while it takes messages; another one behind that
CPU = code(16)  #: the processor that the group was on when it last waited
ARRIVING = code(128)  #: the time of the earliest message to it that it has not taken; any may lower
SLEEPS = code(256)  #: 1: it sleeps, and is to be woken when it may run
WAKES = code(264)  #: its number of wakings: it sleeps on this word (``futex``)
_PROMISE_BYTES = 384

# A ring, in bytes.
WRITTEN = code(0)  #: words written so far
READ = code(128)  #: words read so far
CONTENT = code(256)

#: Later than anything that happens.
NEVER_US = code(2**62)

#: Words of all rings together, and of one: at least for the longest row, at most for a cache.
_ALL_WORDS = 1 << 23
_FEWEST_WORDS, _MOST_WORDS = 1 << 9, 1 << 16


class SharedMemory:
    """The promises of some groups, and the rings from each of them to each other one."""

    def __init__(self, members: Sequence[int], file: int = -1) -> None:
        """Use the memory in a file of :func:`new_file`; by default memory of this process alone."""
        self.members = list(members)
        self.ring_words = _ring_words(len(members))
        self._memory = mmap.mmap(file, _bytes_for(len(members)))
        self._begin = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))

    def begin(self) -> None:
        """Write the promises that groups begin with: nothing has happened yet, or is under way."""
        for group in self.members:
            store_word(self.promise_of(group) + ARRIVING, int(NEVER_US))

    def promise_of(self, group: int) -> int:
        """The address of a group's promise."""
        return self._begin + self.members.index(group) * _PROMISE_BYTES

    def ring(self, source: int, destination: int) -> int:
        """The address of the ring from one group to another."""
        count = len(self.members)
        number = self.members.index(source) * count + self.members.index(destination)
        return self._begin + count * _PROMISE_BYTES + number * _bytes_of_ring(count)


def new_file(count: int) -> int:
    """A file without a name with memory for so many groups, as its descriptor."""
    file = os.memfd_create("tidegauge", os.MFD_CLOEXEC)
    os.ftruncate(file, _bytes_for(count))
    return file


def send_file(end: socket.socket, file: int) -> None:
    """Send a file to the process at the other end of a Unix socket."""
    socket.send_fds(end, [b"."], [file])


def receive_file(end: socket.socket) -> int:
    """The file that the other end of a Unix socket sends.

    Raises:
        OSError: it has ended.
    """
    _, files, _, _ = socket.recv_fds(end, 1, 1)
    if not files:
        raise ConnectionResetError("it sent no memory to share")
    return files[0]


def _ring_words(count: int) -> int:
    """The words of each ring between so many groups: a power of two."""
    words = _ALL_WORDS // max(1, count * count)
    return int(min(_MOST_WORDS, max(_FEWEST_WORDS, 1 << max(0, words.bit_length() - 1))))


def _bytes_of_ring(count: int) -> int:
    return int(CONTENT) + _ring_words(count) * WORD_BYTES


def _bytes_for(count: int) -> int:
    return count * _PROMISE_BYTES + count * count * _bytes_of_ring(count)
