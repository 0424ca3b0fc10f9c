"""The mesh: direct links between groups of processes, over which frames are exchanged.

At the end of a window each group hands one frame to every other, thousands of times a second. So
a frame travels over a stream socket of its own pair of groups, and the usual exchange, in which
all frames are short, costs a ``send`` and a ``recv_into`` a peer: waiting in a ``poll`` first made
it dearer. Where each group has a CPU it looks for a frame some times before it sleeps: to be woken
costs more than that, on both sides (with 10 us of work between exchanges 20 us of CPU became 11,
and 64 us of wall time 28).

What is sent never blocks: if the kernel does not take a whole frame at once, both directions of all
links go on together until all is done. Groups that first sent and then received hung with frames of
400 kB, each waiting for the other to read. Once all is sent, nobody waits for us, and we may.

A frame begins with its length in bytes and the CRC-32 of all that is behind these two, as 64-bit
integers (little-endian). A peer that has all frames of a window may send its next before we have
read its present one. Such bytes lie behind the present frame until the next exchange.

``mesh_handshake.py`` has how links come to stand.
"""

from __future__ import annotations

import select
import socket
import struct
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tidegauge.simulation.mesh_handshake import Address, Meeting, MeshError

__all__ = ["Address", "FrameError", "LinkBroken", "Links", "Mesh", "MeshError"]

#: Frames longer than this are refused, both ways: no window brings so much.
LONGEST_FRAME_BYTES = 1 << 30

#: How many words a place has in the beginning: 64 KiB.
FIRST_PLACE_WORDS = 8192

#: More than this, and it were dearer than to sleep: some 15 us.
_EAGER_READS = 20

_HEADER = struct.Struct("<qq")
_WORD_BYTES = 8


class _PeerError(MeshError):
    """What went wrong with one peer."""

    def __init__(self, message: str, peer: int) -> None:
        # Both are arguments of the exception, so that it can be pickled.
        super().__init__(message, peer)
        #: Number of the group at the other end.
        self.peer = peer

    def __str__(self) -> str:
        return str(self.args[0])


class LinkBroken(_PeerError):  # noqa: N818  # it says what is, as MeshError's other kinds do
    """A peer is gone, or cannot be reached any more."""


class FrameError(_PeerError):
    """A peer sent what is not a frame."""


class _Link:
    """One end of a link, and how far the present exchange has come on it."""

    __slots__ = (
        *("fileno", "frame_bytes", "name", "number", "place", "receive_into", "received_bytes"),
        *("send", "socket", "unsent"),
    )

    def __init__(self, number: int, name: str, end: socket.socket) -> None:
        self.number = number
        self.name = name
        self.socket = end
        # Looked up once: these are called in every exchange.
        self.fileno = end.fileno()
        self.send = end.send
        self.receive_into = end.recv_into
        #: Where the peer's frame goes.
        self.place = memoryview(b"")
        #: How many bytes lie in the place; those behind the frame belong to the next.
        self.received_bytes = 0
        #: Length of the frame once it is there as a whole, else 0.
        self.frame_bytes = 0
        #: What the kernel has not taken yet of the frame that we send.
        self.unsent: memoryview | None = None


class Links:
    """Links that stand, and the exchange of frames over them.

    Args:
        ends: our ends of the links by the numbers of the groups at the others; they are ours to
            close from now on.
        names: what people call each group.
    """

    def __init__(self, ends: Mapping[int, socket.socket], names: Sequence[str]) -> None:
        self._links = [_Link(number, names[number], end) for number, end in sorted(ends.items())]
        self._exchanging = threading.RLock()
        self._closed = False
        for link in self._links:
            link.socket.setblocking(True)
        #: How often a peer's frame is looked for before we sleep until it comes.
        self.eager_reads = 0
        self.place_words = FIRST_PLACE_WORDS
        self._lay_out()

    def exchange(self, outgoing: Sequence[memoryview | None]) -> None:
        """Send each peer its frame, and wait for one of each; see :meth:`Mesh.exchange`."""
        with self._exchanging:
            if self._closed:
                raise MeshError("the mesh is closed")
            links = self._links
            if None in outgoing:
                both = zip(self._links, outgoing, strict=True)
                links = [link for link, frame in both if frame is not None]
            if self._send_all(links, outgoing):
                for link in links:
                    for _ in range(self.eager_reads):
                        if link.frame_bytes:
                            break
                        self._receive(link, socket.MSG_DONTWAIT)
                    while not link.frame_bytes:
                        self._receive(link)
            else:
                self._go_on_together(links)

    def _send_all(self, links: Sequence[_Link], outgoing: Sequence[memoryview | None]) -> bool:
        """Send the frames; whether all of all of them could be sent at once."""
        all_sent = True
        frames = [frame for frame in outgoing if frame is not None]
        for link, frame in zip(links, frames, strict=True):
            if not _send(link, frame):
                all_sent = False
            if link.received_bytes != link.frame_bytes:
                self._take_up(link)
            else:
                link.received_bytes = link.frame_bytes = 0
        return all_sent

    def close(self) -> None:
        """Close all links; an exchange that waits in another thread ends with an error."""
        self._closed = True
        for link in self._links:
            with suppress(OSError):  # the other side may have been faster
                link.socket.shutdown(socket.SHUT_RDWR)
        # Not before the exchange has ended: a number of a file that is closed may be used again.
        with self._exchanging:
            for link in self._links:
                link.socket.close()

    def _go_on_together(self, links: Sequence[_Link]) -> None:
        """Send and receive on all links that have either to do, as each can."""
        unfinished = {}
        waiting = select.poll()
        for link in links:
            if link.unsent is not None or not link.frame_bytes:
                unfinished[link.fileno] = link
                waiting.register(link.fileno, _still_to_do(link))
        while unfinished:
            for fileno, events in waiting.poll():
                link = unfinished[fileno]
                if link.unsent is not None and events & ~select.POLLIN:
                    _send_more(link)
                if not link.frame_bytes and events & ~select.POLLOUT:
                    self._receive(link, socket.MSG_DONTWAIT)
                if link.unsent is None and link.frame_bytes:
                    waiting.unregister(fileno)
                    del unfinished[fileno]
                else:
                    waiting.modify(fileno, _still_to_do(link))

    def _receive(self, link: _Link, flags: int = 0) -> None:
        """Read once, what there is; wait for it unless ``flags`` say otherwise."""
        received = link.received_bytes
        try:
            count = link.receive_into(link.place[received:] if received else link.place, 0, flags)
        except BlockingIOError:
            return
        except OSError as error:
            raise self._broken(link, error.strerror or str(error)) from error
        if not count:
            raise self._broken(link, "the other side ended it")
        link.received_bytes = received + count
        self._find_frame(link)

    def _find_frame(self, link: _Link) -> None:
        """Note whether a whole frame lies in a link's place; make room for one that does not fit.

        Raises:
            FrameError: it is damaged.
        """
        if link.received_bytes < _HEADER.size:
            return
        length, checksum = _HEADER.unpack_from(link.place)
        if length > link.received_bytes:
            if length > LONGEST_FRAME_BYTES or length % _WORD_BYTES:
                raise self._damaged(link, f"a length of {length} bytes")
            if length > len(link.place):
                while length > self.place_words * _WORD_BYTES:
                    self.place_words *= 2
                self._lay_out()
            return
        if length < _HEADER.size or length % _WORD_BYTES:
            raise self._damaged(link, f"a length of {length} bytes")
        if crc32(link.place[_HEADER.size : length]) != checksum:
            raise self._damaged(link, "a checksum that does not match")
        link.frame_bytes = length

    def _take_up(self, link: _Link) -> None:
        """Begin with what came of this frame right behind the last one."""
        kept = link.received_bytes - link.frame_bytes
        link.place[:kept] = link.place[link.frame_bytes : link.received_bytes]
        link.received_bytes = kept
        link.frame_bytes = 0
        self._find_frame(link)

    def _lay_out(self) -> None:
        """Make an array with places of the present size; what was received is kept."""
        self.incoming: NDArray[np.int64] = np.empty(
            len(self._links) * self.place_words, dtype=np.int64
        )
        if not self._links:
            return
        everything = self.incoming.data.cast("B")
        place_bytes = self.place_words * _WORD_BYTES
        for index, link in enumerate(self._links):
            place = everything[index * place_bytes : (index + 1) * place_bytes]
            place[: link.received_bytes] = link.place[: link.received_bytes]
            link.place = place

    def _broken(self, link: _Link, why: str) -> LinkBroken:
        if self._closed:
            why = "the mesh was closed on this side"
        return LinkBroken(f"the link to {link.name} is broken: {why}", link.number)

    def _damaged(self, link: _Link, what: str) -> FrameError:
        return FrameError(f"a frame of {link.name} is damaged: it has {what}", link.number)


def _still_to_do(link: _Link) -> int:
    to_receive = 0 if link.frame_bytes else select.POLLIN
    return to_receive if link.unsent is None else to_receive | select.POLLOUT


def _send(link: _Link, frame: memoryview) -> bool:
    """Complete a frame and send what the kernel takes of it; whether that is all."""
    length = len(frame)
    assert length >= _HEADER.size
    assert length % _WORD_BYTES == 0
    if length > LONGEST_FRAME_BYTES:
        raise MeshError(f"a frame of {length} bytes for {link.name} is too long")
    _HEADER.pack_into(frame, 0, length, crc32(frame[_HEADER.size :]))
    try:
        sent = link.send(frame, socket.MSG_DONTWAIT)
    except BlockingIOError:
        sent = 0
    except OSError:
        # The peer is gone; but what it sent before may lie here as a whole, and counts.
        sent = length
    if sent == length:
        return True
    link.unsent = frame[sent:]
    return False


def _send_more(link: _Link) -> None:
    assert link.unsent is not None
    try:
        sent = link.send(link.unsent, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return
    except OSError:
        # As above: what it sent before counts.
        sent = len(link.unsent)
    link.unsent = link.unsent[sent:] if sent < len(link.unsent) else None


class Mesh:
    """The links of one group to all others.

    It listens from the beginning; then everybody's :attr:`address` is handed round, and
    :meth:`connect` makes the links.

    Args:
        number: which group this is, of ``len(names)``.
        names: what people call each group: "brokers 1, 4", "controller".
        key: the secret that all groups have.
        generation: groups of another one are not let in.
        node: an opaque name of this machine; groups with the same one meet on Unix sockets.
        tcp_host: the address of this machine at which groups of others reach it; None: they
            do not.
    """

    def __init__(
        self,
        number: int,
        names: Sequence[str],
        key: bytes,
        generation: int,
        *,
        node: str,
        tcp_host: str | None,
    ) -> None:
        self._names = names
        self._meeting = Meeting(number, names, key, generation, node=node, tcp_host=tcp_host)
        #: Those of a mesh that is not connected are none.
        self._links = Links({}, names)
        self._closed = False

    @property
    def address(self) -> Address:
        """Where this group listens until all links stand."""
        return self._meeting.address

    @property
    def refused(self) -> list[str]:
        """Who was sent away and why, a line for each."""
        return self._meeting.refused

    @property
    def incoming(self) -> NDArray[np.int64]:
        """The frames of the last exchange, for reading only.

        That of the i-th peer, in the order of group numbers, begins at word ``i * place_words``.
        An exchange may put a larger array in its place, so look here anew after each.
        """
        return self._links.incoming

    @property
    def place_words(self) -> int:
        """How many words lie between the beginnings of two peers' frames."""
        return self._links.place_words

    def connect(
        self, addresses: Sequence[Address], timeout_s: float = 30, *, is_eager: bool = False
    ) -> None:
        """Link to all groups, whose addresses stand in the order of their numbers.

        Then nobody listens any more, and no file is left. A group ``is_eager`` if it has a CPU for
        itself, as all its peers here have: then it looks for frames for a while before it sleeps.

        Raises:
            MeshError: groups did not come in time, or refused us, or are not who they should be.
        """
        self._links = Links(self._meeting.join(addresses, timeout_s), self._names)
        self._links.eager_reads = _EAGER_READS if is_eager else 0
        if self._closed:
            self._links.close()

    def exchange(self, outgoing: Sequence[memoryview | None]) -> None:
        """Send each peer its frame, and wait for one of each in :attr:`incoming`.

        After an error the mesh can only be closed.

        Args:
            outgoing: a frame for each peer, in the order of group numbers, as writable bytes,
                a multiple of 8 of them; length and checksum are set here in the first 16. None:
                the peer is left out; what it has sent stays where it is until the next time.

        Raises:
            LinkBroken: a peer ended before a whole frame of it was here, or the mesh was closed.
            FrameError: a frame is damaged.
            MeshError: the mesh is closed, or a frame to be sent is too long.
        """
        self._links.exchange(outgoing)

    def close(self) -> None:
        """Close all; an exchange that waits in another thread ends with an error."""
        self._closed = True
        self._meeting.close()
        self._links.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
