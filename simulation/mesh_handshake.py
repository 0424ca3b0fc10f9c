"""Links between groups come to stand: who is let in, and who is sent away.

Each group listens, on a Unix socket in a folder of its own and, if asked to, on TCP; of two groups
the one with the higher number dials. Both prove with the challenges of
``multiprocessing.connection`` that they have the key, and then the dialling side says of which
generation it is, who it is, and whom it looks for.

Anybody may knock. A stranger costs a thread until its time is over, and never the others' links:
it is sent away, and noted in :attr:`Meeting.refused`. Once all links stand nobody listens any more,
and the socket's file and folder are gone.
"""

from __future__ import annotations

import os
import select
import shutil
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import NamedTuple

#: So long a stranger may take to say who it is.
HANDSHAKE_S = 10.0

#: Of the side that dials: its generation, its number, the number of the group that it looks for.
_HELLO = struct.Struct("<qqq")
_WELCOME = b"welcome"
_LONGEST_REPLY_BYTES = 1000

#: What reading from somebody raises who may say anything; the challenges use ``assert``.
_HANDSHAKE_ERRORS = (AssertionError, AuthenticationError, EOFError, OSError, ValueError)

_BACKLOG = 128
#: A path of a Unix socket is shorter than this, on every system.
_LONGEST_PATH_BYTES = 100
#: How often the one who waits for links looks for strangers who take too long.
_LOOK_MS = 10
#: So long we wait for threads whose links were shut down.
_LEAVE_S = 1.0


class MeshError(Exception):
    """Groups that cannot be linked, or whose links do not hold."""


class Address(NamedTuple):
    """Where a group listens."""

    #: Names the machine: groups with the same node reach each other by Unix sockets.
    node: str
    #: Path of a Unix socket.
    unix: str
    #: Of TCP; empty if the group does not listen there.
    host: str
    port: int


@dataclass(eq=False)
class _Guest:
    """A connection that is shaking hands."""

    link: socket.socket
    #: When it is cut off, on the monotonic clock.
    late_at_s: float
    late: bool = False


class Meeting:
    """One group's part in bringing all groups together; it listens from the beginning.

    Args:
        number: which group this is.
        names: what people call each group.
        key: the secret that all groups have.
        generation: groups of another one are survivors of a run that was given up.
        node: names the machine.
        tcp_host: by which address others reach this machine; None: Unix sockets only.
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
        assert 0 <= number < len(names)
        #: Who was sent away and why, a line for each.
        self.refused: list[str] = []
        self._number = number
        self._names = names
        self._key = key
        self._generation = generation
        self._lock = threading.Lock()
        # Under the lock, since every handshake has its own thread.
        self._guests: set[_Guest] = set()
        self._claimed: set[int] = set()
        self._links: dict[int, socket.socket] = {}
        self._failure: MeshError | None = None
        self._over = False
        self._threads: list[threading.Thread] = []
        self._folder = _private_folder()
        self._listeners: list[socket.socket] = []
        host, port = "", 0
        try:
            path = os.path.join(self._folder, "link")  # noqa: PTH118  # sockets take strings
            self._listeners.append(socket.socket(socket.AF_UNIX))
            self._listeners[0].bind(path)
            if tcp_host is not None:
                family = socket.AF_INET6 if ":" in tcp_host else socket.AF_INET
                self._listeners.append(socket.create_server((tcp_host, 0), family=family))
                host, port = self._listeners[1].getsockname()[:2]
            for listener in self._listeners:
                listener.listen(_BACKLOG)
                listener.setblocking(False)
        except BaseException:
            self.close()
            raise
        self.address = Address(node, path, host, port)

    def join(self, addresses: Sequence[Address], timeout_s: float) -> dict[int, socket.socket]:
        """Wait until a link to every other group stands; then listen no more.

        Returns:
            The links by the groups' numbers, as plain sockets that do not block.

        Raises:
            MeshError: a group did not come in time, or refused us, or is not who it should be.
        """
        assert len(addresses) == len(self._names)
        deadline_s = time.monotonic() + timeout_s
        try:
            for number in range(self._number):
                self._start(partial(self._dial, number, addresses[number], deadline_s))
            while len(self._links) < len(self._names) - 1:
                self._answer_doors()
                self._complain(deadline_s, timeout_s)
                self._cut_off_who_is_late()
        except BaseException:
            self.close()
            for link in self._links.values():
                link.close()
            raise
        self.close()
        for link in self._links.values():
            link.setblocking(False)
            if link.family != socket.AF_UNIX:
                # A frame is sent in one go, and is waited for: never hold back its end.
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._links

    def close(self) -> None:
        """Listen no more, and send away who is still shaking hands; leaves no file behind."""
        with self._lock:
            self._over = True
            for guest in self._guests:
                _shut_down(guest.link)
        for listener in self._listeners:
            listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(_LEAVE_S)

    def _complain(self, deadline_s: float, timeout_s: float) -> None:
        """Raise what makes it useless to wait any longer, if anything does."""
        if self._over:
            raise MeshError("closed before all groups were linked")
        if self._failure is not None:
            raise self._failure
        if time.monotonic() > deadline_s:
            missing = "; ".join(
                name
                for number, name in enumerate(self._names)
                if number != self._number and number not in self._links
            )
            sent_away = "".join(f"; sent away: {line}" for line in self.refused)
            raise MeshError(f"not linked within {timeout_s:g} s: {missing}{sent_away}")

    def _start(self, handshake: Callable[[], None]) -> None:
        thread = threading.Thread(target=handshake, name="handshake", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _answer_doors(self) -> None:
        waiting = select.poll()
        try:
            for listener in self._listeners:
                waiting.register(listener, select.POLLIN)
            waiting.poll(_LOOK_MS)
            for listener in self._listeners:
                try:
                    link, _ = listener.accept()
                except (BlockingIOError, ConnectionAbortedError):
                    continue
                link.setblocking(True)
                self._start(partial(self._receive, link))
        except (OSError, ValueError):
            # Another thread may have closed the doors while we stood there.
            if not self._over:
                raise

    def _cut_off_who_is_late(self) -> None:
        now_s = time.monotonic()
        with self._lock:
            for guest in self._guests:
                if now_s > guest.late_at_s:
                    guest.late = True
                    _shut_down(guest.link)

    def _receive(self, link: socket.socket) -> None:
        """Shake hands with somebody who dialled, in a thread of its own."""
        visitor = _visitor(link)
        guest = _Guest(link, time.monotonic() + HANDSHAKE_S)
        number = None
        try:
            self._seat(guest)
            with Connection(os.dup(link.fileno())) as connection:
                deliver_challenge(connection, self._key)
                answer_challenge(connection, self._key)
                number = self._claim(connection.recv_bytes(_HELLO.size), connection)
                # Before the link is known: a frame must not overtake the welcome.
                connection.send_bytes(_WELCOME)
            self._keep(guest, number)
        except (*_HANDSHAKE_ERRORS, MeshError) as error:
            with self._lock:
                self._guests.discard(guest)
                if number is not None:
                    self._claimed.discard(number)
                self.refused.append(f"{visitor}: {_reason(error, guest)}")
            link.close()

    def _claim(self, hello: bytes, connection: Connection) -> int:
        """The number of a group that may be linked; else say to it, too, why not."""
        with self._lock:
            why_not = self._why_not(hello)
            if not why_not:
                _, number, _ = _HELLO.unpack(hello)
                self._claimed.add(number)
                return int(number)
        connection.send_bytes(why_not.encode())
        raise MeshError(why_not)

    def _why_not(self, hello: bytes) -> str:
        if len(hello) != _HELLO.size:
            return f"a greeting of {len(hello)} bytes is none of ours"
        generation, number, wanted = _HELLO.unpack(hello)
        if generation != self._generation:
            return f"it is of generation {generation}, not {self._generation}"
        if wanted != self._number:
            return f"it looks for group {wanted}, this is {self._number}"
        if not self._number < number < len(self._names):
            return f"no group {number} dials group {self._number} of {len(self._names)}"
        if number in self._claimed:
            return f"{self._names[number]} is linked already"
        return ""

    def _dial(self, number: int, address: Address, deadline_s: float) -> None:
        """Link to a group with a lower number, in a thread of its own."""
        guest = None
        try:
            guest = _Guest(self._reach(address, deadline_s), deadline_s)
            self._seat(guest)
            with Connection(os.dup(guest.link.fileno())) as connection:
                answer_challenge(connection, self._key)
                deliver_challenge(connection, self._key)
                connection.send_bytes(_HELLO.pack(self._generation, self._number, number))
                reply = connection.recv_bytes(_LONGEST_REPLY_BYTES)
                _expect_welcome(reply)
            self._keep(guest, number)
        except (*_HANDSHAKE_ERRORS, MeshError) as error:
            late = guest is not None and guest.late
            with self._lock:
                if guest is not None:
                    self._guests.discard(guest)
                    guest.link.close()
                # Who only did not answer in time is named with all who did not come.
                if not (late or self._failure):
                    reason = _reason(error, guest)
                    self._failure = MeshError(f"no link to {self._names[number]}: {reason}")

    def _reach(self, address: Address, deadline_s: float) -> socket.socket:
        if address.node == self.address.node:
            link = socket.socket(socket.AF_UNIX)
            try:
                link.connect(address.unix)
            except OSError:
                link.close()
                raise
            return link
        if not address.host:
            raise MeshError("it is on another machine, and does not listen on TCP")
        left_s = max(deadline_s - time.monotonic(), 0.001)
        link = socket.create_connection((address.host, address.port), timeout=left_s)
        link.setblocking(True)
        return link

    def _seat(self, guest: _Guest) -> None:
        """From now on somebody sees to it that this handshake ends."""
        with self._lock:
            if self._over:
                raise MeshError("it came when all was over")
            self._guests.add(guest)

    def _keep(self, guest: _Guest, number: int) -> None:
        with self._lock:
            if self._over:
                raise MeshError("it came when all was over")
            self._guests.discard(guest)
            self._links[number] = guest.link


def _private_folder() -> str:
    """A folder that only this user may enter, with room for a name in a socket's path."""
    folder = tempfile.mkdtemp(prefix="tidegauge-")
    if len(os.fsencode(folder)) + len("/link") > _LONGEST_PATH_BYTES:
        os.rmdir(folder)  # noqa: PTH106  # a string all along, as sockets want it
        folder = tempfile.mkdtemp(prefix="tidegauge-", dir="/tmp")
    return folder


def _shut_down(link: socket.socket) -> None:
    """Wake whoever reads from a link or writes to it."""
    with suppress(OSError):  # the other side may have been faster
        link.shutdown(socket.SHUT_RDWR)


def _expect_welcome(reply: bytes) -> None:
    if reply != _WELCOME:
        raise MeshError(f"it refused us: {reply.decode(errors='replace')}")


def _visitor(link: socket.socket) -> str:
    """What can be said of somebody who dialled."""
    try:
        if link.family != socket.AF_UNIX:
            host, port = link.getpeername()[:2]
            return f"{host}:{port}"
        if hasattr(socket, "SO_PEERCRED"):
            credentials = struct.Struct("3i")
            packed = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size)
            process, user, _ = credentials.unpack(packed)
            return f"process {process} of user {user}"
    except OSError:
        pass  # it is gone already
    return "somebody unknown"


def _reason(error: Exception, guest: _Guest | None) -> str:
    if guest is not None and guest.late:
        return f"it did not say who it is within {HANDSHAKE_S:g} s"
    if isinstance(error, AuthenticationError):
        return "it does not have our key"
    if isinstance(error, EOFError):
        return "the connection ended before it had said who it is"
    return str(error) or type(error).__name__
