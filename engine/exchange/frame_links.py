"""Links between groups of processes, over which frames are exchanged.

The groups form a star: group 0 is the hub, and each other group, a leaf, has one link, to the hub.
On a link the two strictly take turns: a leaf sends a frame and waits for the hub's next one, and
the hub sends to a leaf only when it has that leaf's frame. So no group runs ahead, at most one
frame is in flight on a link, and to send may block: the receiver reads already, or will without
needing anything of the sender.

Frames come thousands of times a second, and most are short, so compiled code sends and receives
them if that is possible at once (``windows.py``). Here is the rest: to wait, frames that come or go
in pieces, and error messages.

``frames.py`` has the content of a frame, ``handshake.py`` the setup of links.
"""

import socket
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tidegauge.engine.exchange.frames import HEAD, LENGTH
from tidegauge.engine.exchange.system_calls import WORD_BYTES

#: Longer frames are refused: no window brings so much.
LONGEST_FRAME_BYTES = 1 << 30

_HEAD_BYTES = int(HEAD * WORD_BYTES)


class LinkError(Exception):
    """Groups that cannot be linked, or whose links do not hold."""


class _GroupError(LinkError):
    """The failure of one group."""

    def __init__(self, message: str, group: int) -> None:
        # Both are arguments of the exception, so that it can be pickled.
        super().__init__(message, group)
        #: Number of the group at the other end.
        self.group = group

    def __str__(self) -> str:
        return str(self.args[0])


class LinkBroken(_GroupError):  # noqa: N818  # it says what is, as LinkError's other kinds do
    """The group at the other end is gone."""


class FrameError(_GroupError):
    """A group sent no frame, or not the one that was due."""


class FrameLinks:
    """Connected links, and the waits on them. After an error they can only be closed.

    Args:
        ends: our ends of the links by the numbers of the groups at the others; they are ours to
            close from now on.
        names: what people call each group.
    """

    def __init__(self, ends: Mapping[int, socket.socket], names: Sequence[str]) -> None:
        self._ends = dict(ends)
        self._names = names
        for end in ends.values():
            end.setblocking(True)
            if end.family != socket.AF_UNIX:
                # A frame is sent in one go, and is waited for: never hold back its end.
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def descriptors(self) -> dict[int, int]:
        """The sockets to the other groups, for senders and receivers that need no waiting."""
        return {group: end.fileno() for group, end in self._ends.items()}

    def send_rest(self, group: int, rest: memoryview) -> None:
        """Send a group the rest of a frame; this may block until the group reads.

        Raises:
            LinkBroken: the group has ended.
        """
        try:
            self._ends[group].sendall(rest)
        except OSError as error:
            raise self._broken(group, error.strerror or str(error)) from error

    def receive_rest(
        self, group: int, place: NDArray[np.int64], received: int
    ) -> NDArray[np.int64]:
        """Wait until a group's frame has arrived as a whole.

        Args:
            group: whose it is.
            place: where it comes in, from word 0 on.
            received: how many bytes of it are there already.

        Returns:
            The frame's address: the same memory, or a larger one.

        Raises:
            LinkBroken: the group ended before a whole frame was here.
            FrameError: this is no frame, or something came behind it.
        """
        while received < _HEAD_BYTES:
            received += self._receive(group, place, received)
        length = int(place[LENGTH])
        if not _HEAD_BYTES <= length <= LONGEST_FRAME_BYTES or length % WORD_BYTES:
            what = f"a length of {length} bytes"
            raise FrameError(f"a frame of {self._names[group]} is damaged: it has {what}", group)
        if length > place.nbytes:
            larger = np.empty(2 * length // WORD_BYTES, np.int64)
            larger[: len(place)] = place
            place = larger
        while received < length:
            received += self._receive(group, place, received)
        if received > length:
            raise FrameError(f"{self._names[group]} sent more than a frame", group)
        return place

    def close(self) -> None:
        """Close all links; waiting peers find them broken."""
        for end in self._ends.values():
            end.close()

    def _receive(self, group: int, place: NDArray[np.int64], received: int) -> int:
        """Wait for more bytes; the number of bytes that have arrived."""
        try:
            count = self._ends[group].recv_into(place.data.cast("B")[received:])
        except OSError as error:
            raise self._broken(group, error.strerror or str(error)) from error
        if count == 0:
            raise self._broken(group, "the other side ended it")
        return count

    def _broken(self, group: int, why: str) -> LinkBroken:
        return LinkBroken(f"the link to {self._names[group]} is broken: {why}", group)
