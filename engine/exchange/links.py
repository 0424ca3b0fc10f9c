"""Sockets between groups: between machines they carry messages, on one machine they end.

Compiled code sends and receives what goes at once (``rings.py``). Here is the rest: to wait, and to
find that a group has ended. On one machine the first group has a socket to each other one. Messages
do not go over it: it carries the file of the shared memory, and its end is that of its group.

``handshake.py`` has the setup of links.
"""

import select
import socket
from collections.abc import Collection, Mapping, Sequence

from tidegauge.engine.exchange.shared_memory import CAN_SHARE


class LinkError(Exception):
    """Groups that cannot be linked, or whose links do not hold."""


class LinkBroken(LinkError):  # noqa: N818  # it says what is, as LinkError does
    """The group at the other end is gone, or sends what is no message."""

    def __init__(self, message: str, group: int) -> None:
        # Both are arguments of the exception, so that it can be pickled.
        super().__init__(message, group)
        #: Number of the group at the other end.
        self.group = group

    def __str__(self) -> str:
        return str(self.args[0])


def peers_of(group: int, nodes: Sequence[str]) -> list[int]:
    """The groups to which one has a socket, given the machine of each group.

    These are all on other machines; and of its own machine the first, or of the first all others.
    """
    first = nodes.index(nodes[group])
    return [
        other
        for other, node in enumerate(nodes)
        if other != group and (node != nodes[group] or first in (group, other) or not CAN_SHARE)
    ]


class Links:
    """Connected sockets, and the waits on them. After an error they can only be closed.

    Args:
        ends: our ends by the numbers of the groups at the others; they are ours to close from now
            on.
        names: what people call each group.
        distant: those of the groups that messages go to over the socket.
    """

    def __init__(
        self, ends: Mapping[int, socket.socket], names: Sequence[str], distant: Collection[int]
    ) -> None:
        self._ends = dict(ends)
        self._names = names
        self._distant = frozenset(distant)
        for end in ends.values():
            end.setblocking(True)
            if end.family != socket.AF_UNIX:
                # Promises are short, and are waited for: never hold one back.
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def descriptors(self) -> dict[int, int]:
        """The sockets that messages go over, by the groups at the other ends."""
        return {group: self._ends[group].fileno() for group in self._distant}

    def wait(self, timeout_ms: int, unsent: Collection[int] = ()) -> None:
        """Wait until something comes, or can be sent to the groups in ``unsent``, or a timeout.

        Raises:
            LinkBroken: a group has ended.
        """
        waiting = select.poll()
        for group, end in self._ends.items():
            wanted = select.POLLIN | (select.POLLOUT if group in unsent else 0)
            waiting.register(end, wanted)
        groups = {end.fileno(): group for group, end in self._ends.items()}
        for descriptor, found in waiting.poll(timeout_ms):
            group = groups[descriptor]
            is_data = found & select.POLLIN and group in self._distant
            if found & ~select.POLLOUT and not is_data:
                raise self.broken(group, _reason(self._ends[group]))

    def close(self) -> None:
        """Close all sockets; waiting peers find them broken."""
        for end in self._ends.values():
            end.close()

    def broken(self, group: int, why: str = "the other side ended it") -> LinkBroken:
        """The error of a link that does not hold."""
        return LinkBroken(f"the link to {self._names[group]} is broken: {why}", group)


def _reason(end: socket.socket) -> str:
    """The reason why a socket that should be silent is not."""
    try:
        found = end.recv(1, socket.MSG_DONTWAIT)
    except OSError as error:
        return error.strerror or str(error)
    return "it sent something" if found else "the other side ended it"
