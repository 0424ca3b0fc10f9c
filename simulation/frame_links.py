"""Links between groups of processes, over which frames are exchanged.

The groups form a star: group 0 is the hub, and each other group, a leaf, has one link, to the hub.
On a link the two strictly take turns: a leaf sends a frame and waits for the hub's next one, and
the hub sends to a leaf only when it has that leaf's frame. So nobody runs ahead, at most one frame
is under way on a link, and to send may block: whoever it is for reads already, or will without
needing anything of the sender.

Frames come thousands of times a second, and most are short: one costs a ``send`` and a
``recv_into``. Who waits looks for the frame for a while before it sleeps, and lets others have the
CPU meanwhile: to be woken costs more than that, on both sides (quickstart in six actors on two
cores: 27 s became 14, in two: 11 s became 5).

A frame begins with its length in bytes and the CRC-32 of all that is behind these two, as 64-bit
integers (little-endian).

``handshake.py`` has how links come to stand.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

#: Frames longer than this are refused, both ways: no window brings so much.
LONGEST_FRAME_BYTES = 1 << 30

#: How many words there is room for in the beginning: 64 KiB.
FIRST_PLACE_WORDS = 8192

#: So often a frame is looked for: for some 100 us.
_EAGER_READS = 60

_HEADER = struct.Struct("<qq")
_HEADER_BYTES = _HEADER.size
_WORD_BYTES = 8


class LinkError(Exception):
    """Groups that cannot be linked, or whose links do not hold."""


class _GroupError(LinkError):
    """What went wrong with one group."""

    def __init__(self, message: str, group: int) -> None:
        # Both are arguments of the exception, so that it can be pickled.
        super().__init__(message, group)
        #: Number of the group at the other end.
        self.group = group

    def __str__(self) -> str:
        return str(self.args[0])


class LinkBroken(_GroupError):  # noqa: N818  # it says what is, as LinkError's other kinds do
    """The group at the other end is gone, or the link was closed on this side."""


class FrameError(_GroupError):
    """A group sent what is not a frame, or more than one."""


class _Link:
    """One end of a link."""

    __slots__ = ("name", "number", "receive_into", "send", "send_all", "socket")

    def __init__(self, number: int, name: str, end: socket.socket) -> None:
        self.number = number
        self.name = name
        self.socket = end
        # Looked up once: these are called for every frame.
        self.send = end.send
        self.send_all = end.sendall
        self.receive_into = end.recv_into


class FrameLinks:
    """Links that stand, and the frames that go over them.

    One thread sends and receives; any may close. After an error they can only be closed.

    Args:
        ends: our ends of the links by the numbers of the groups at the others; they are ours to
            close from now on.
        names: what people call each group.
    """

    def __init__(self, ends: Mapping[int, socket.socket], names: Sequence[str]) -> None:
        self._links = {number: _Link(number, names[number], end) for number, end in ends.items()}
        # Held while a socket is in use. Re-entrant, since a signal's handler may close.
        self._in_use = threading.RLock()
        self._closed = False
        for end in ends.values():
            end.setblocking(True)
            if end.family != socket.AF_UNIX:
                # A frame is sent in one go, and is waited for: never hold back its end.
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        #: The frame received last, from word 0 on, for reading only. To receive may put a larger
        #: array in its place, so look here anew each time.
        self.incoming: NDArray[np.int64] = np.empty(FIRST_PLACE_WORDS, dtype=np.int64)
        self._place = self.incoming.data.cast("B")
        #: CPU time in which frames were looked for that had not come yet.
        self.waiting_cpu_ns = 0

    def send(self, group: int, frame: memoryview) -> None:
        """Send a group a frame; this may block until the group reads.

        Args:
            group: its number.
            frame: writable bytes, a multiple of 8, at least 16; length and checksum are set here
                in the first 16.

        Raises:
            LinkBroken: the group has ended, or the links were closed.
            LinkError: the frame is longer than 1 GiB.
        """
        link = self._links[group]
        length = len(frame)
        assert length >= _HEADER_BYTES
        assert length % _WORD_BYTES == 0
        if length > LONGEST_FRAME_BYTES:
            raise LinkError(f"a frame of {length} bytes for {link.name} is too long")
        _HEADER.pack_into(frame, 0, length, crc32(frame[_HEADER_BYTES:]))
        with self._in_use:
            try:
                sent = link.send(frame)
                if sent != length:
                    link.send_all(frame[sent:])
            except OSError as error:
                raise self._broken(link, error.strerror or str(error)) from error

    def receive(self, group: int) -> None:
        """Wait for a group's frame, and have it in :attr:`incoming`.

        Raises:
            LinkBroken: the group ended before a whole frame was here, or the links were closed.
            FrameError: the frame is damaged, or something came behind it.
        """
        with self._in_use:
            link = self._links[group]
            received = self._look_for(link)
            if received is None:
                try:
                    received = link.receive_into(self._place)
                except OSError as error:
                    raise self._broken(link, error.strerror or str(error)) from error
            # Of less than a header the rest is left over; no such length is that of a frame.
            length, checksum = _HEADER.unpack_from(self._place)
            if length != received or length < _HEADER_BYTES or length % _WORD_BYTES:
                length, checksum = self._receive_rest(link, received)
            if crc32(self._place[_HEADER_BYTES:length]) != checksum:
                raise _damaged(link, "a checksum that does not match")

    def close(self) -> None:
        """Close all links; whoever waits for one in another thread is told that it is broken."""
        self._closed = True
        for link in self._links.values():
            with suppress(OSError):  # the other side may have been faster
                link.socket.shutdown(socket.SHUT_RDWR)
        # Not while somebody waits: a number of a file that is closed may be used again.
        with self._in_use:
            for link in self._links.values():
                link.socket.close()

    def _look_for(self, link: _Link) -> int | None:
        """Read without sleeping; the number of bytes, or None if nothing comes for a while."""
        begun_ns = None
        try:
            for _ in range(_EAGER_READS):
                try:
                    return link.receive_into(self._place, 0, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    begun_ns = begun_ns or time.thread_time_ns()
                    # The other side may wait for this CPU.
                    os.sched_yield()
        except OSError as error:
            raise self._broken(link, error.strerror or str(error)) from error
        finally:
            if begun_ns is not None:
                self.waiting_cpu_ns += time.thread_time_ns() - begun_ns
        return None

    def _receive_rest(self, link: _Link, received: int) -> tuple[int, int]:
        """Read on until a frame is here as a whole; its length, and its checksum as it was sent.

        Args:
            link: where it comes from.
            received: how many bytes of it were read, 0 if the other side has ended.
        """
        count = received
        length = checksum = 0
        while count:
            if not length and received >= _HEADER_BYTES:
                length, checksum = _HEADER.unpack_from(self._place)
                if not _HEADER_BYTES <= length <= LONGEST_FRAME_BYTES or length % _WORD_BYTES:
                    raise _damaged(link, f"a length of {length} bytes")
                if length > len(self._place):
                    self._enlarge(length, received)
            if length and received > length:
                raise FrameError(f"{link.name} sent more than a frame", link.number)
            if length and received == length:
                return length, checksum
            try:
                count = link.receive_into(self._place[received:])
            except OSError as error:
                raise self._broken(link, error.strerror or str(error)) from error
            received += count
        raise self._broken(link, "the other side ended it")

    def _enlarge(self, length: int, received: int) -> None:
        """Make room for a frame of this length, in bytes; what was received of it is kept."""
        words = len(self.incoming)
        while words * _WORD_BYTES < length:
            words *= 2
        self.incoming = np.empty(words, dtype=np.int64)
        place = self.incoming.data.cast("B")
        place[:received] = self._place[:received]
        self._place = place

    def _broken(self, link: _Link, why: str) -> LinkBroken:
        if self._closed:
            why = "it was closed on this side"
        return LinkBroken(f"the link to {link.name} is broken: {why}", link.number)


def _damaged(link: _Link, what: str) -> FrameError:
    return FrameError(f"a frame of {link.name} is damaged: it has {what}", link.number)
