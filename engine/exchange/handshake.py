"""Handshakes: links between groups, and the checks of callers.

Each group listens, on a Unix socket in a folder of its own and, if asked to, on TCP. Of two groups
the one with the higher number dials the other. Both prove with the challenges of
``multiprocessing.connection`` that they have the key, and then the caller sends its generation and
its number.

Anybody may knock. A stranger costs a thread until its time is over, and never the others' links: it
is sent away, and noted in :attr:`Reception.refused`. Once all links stand there is no listener, and
the socket's file and folder are gone.

``links.py`` has the waits on a link.
"""

import os
import select
import shutil
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import NamedTuple

from tidegauge.engine.exchange.links import LinkError

#: The timeout of a caller's handshake.
HANDSHAKE_S = 10.0

#: A caller's greeting: its generation, its number.
_HELLO = struct.Struct("<qq")
_WELCOME = b"welcome"
_LONGEST_REPLY_BYTES = 1000

#: Exceptions of reading from an untrusted caller; the challenges use ``assert``.
_HANDSHAKE_ERRORS = (AssertionError, AuthenticationError, EOFError, OSError, ValueError, LinkError)

_BACKLOG = 128
#: A path of a Unix socket is shorter than this, on every system.
_LONGEST_PATH_BYTES = 100
#: The period in which a group checks for callers whose handshake has timed out.
_LOOK_MS = 10
#: The retry back-off of a caller while too many others connect.
_CROWD_S = 0.01
#: The timeout for threads whose links were shut down.
_LEAVE_S = 1.0


class Address(NamedTuple):
    """The address that a group listens at."""

    #: Names the machine: groups with the same node reach each other by Unix sockets.
    node: str
    #: Path of a Unix socket.
    unix: str
    #: The host of TCP; empty if the group does not listen there.
    host: str
    port: int


@dataclass(eq=False)
class _Guest:
    """A connection that is shaking hands."""

    link: socket.socket
    #: The time of its timeout, on the monotonic clock.
    late_at_s: float
    late: bool = False

    def cut_off(self) -> None:
        """End it, since its time is over."""
        self.late = True
        _shut_down(self.link)


class Reception:
    """A group's door; it is open from the beginning.

    Args:
        number: the group.
        names: what people call each group.
        key: the secret that all groups have.
        generation: groups of another one are survivors of a run that was given up.
        node: an opaque name of this machine; groups with the same one come by Unix sockets.
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
        #: Refused callers and the reasons, a line for each.
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
        #: The address that others dial.
        self.address = Address(node, path, host, port)

    def wait_for(self, callers: Collection[int], timeout_s: float = 30) -> dict[int, socket.socket]:
        """Wait until links to all of these groups stand; then listen no more.

        Returns:
            The links by the groups' numbers, as plain sockets that block.

        Raises:
            LinkError: some did not come in time, or :meth:`close` was called.
        """
        deadline_s = time.monotonic() + timeout_s
        try:
            while not self._links.keys() >= set(callers):
                self._answer_doors()
                self._complain(callers, deadline_s, timeout_s)
                self._cut_off_who_is_late()
        except BaseException:
            self.close()
            for link in self._links.values():
                link.close()
            raise
        self.close()
        return self._links

    def close(self) -> None:
        """Listen no more, and close the connections of pending callers; leaves no file behind.

        Links that stand are their owner's to close.
        """
        with self._lock:
            self._over = True
            for guest in self._guests:
                _shut_down(guest.link)
        for listener in self._listeners:
            listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        for thread in self._threads:
            thread.join(_LEAVE_S)

    def _complain(self, callers: Collection[int], deadline_s: float, timeout_s: float) -> None:
        """Raise an error that makes it useless to wait any longer, if there is one."""
        if self._over:
            raise LinkError("closed before all groups were linked")
        with self._lock:
            missing = [self._names[each] for each in callers if each not in self._links]
        if missing and time.monotonic() > deadline_s:
            sent_away = "".join(f"; sent away: {line}" for line in self.refused)
            raise LinkError(f"not linked within {timeout_s:g} s: {'; '.join(missing)}{sent_away}")

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
                thread = threading.Thread(
                    target=self._welcome, args=(link,), name="handshake", daemon=True
                )
                thread.start()
                self._threads.append(thread)
        except (OSError, ValueError):
            # Another thread may have closed the doors while we stood there.
            if not self._over:
                raise

    def _cut_off_who_is_late(self) -> None:
        now_s = time.monotonic()
        with self._lock:
            for guest in self._guests:
                if now_s > guest.late_at_s:
                    guest.cut_off()

    def _welcome(self, link: socket.socket) -> None:
        """Shake hands with a caller, in a thread of its own."""
        visitor = _visitor(link)
        guest = _Guest(link, time.monotonic() + HANDSHAKE_S)
        number = None
        try:
            with self._lock:
                self._expect_open()
                self._guests.add(guest)
            with Connection(os.dup(link.fileno())) as connection:
                deliver_challenge(connection, self._key)
                answer_challenge(connection, self._key)
                number = self._claim(connection.recv_bytes(_HELLO.size), connection)
                # Before the link is known: nothing must overtake the welcome.
                connection.send_bytes(_WELCOME)
            with self._lock:
                self._expect_open()
                self._guests.discard(guest)
                self._links[number] = link
        except _HANDSHAKE_ERRORS as error:
            if guest.late:
                reason = f"its handshake timed out after {HANDSHAKE_S:g} s"
            else:
                reason = _reason(error)
            with self._lock:
                self._guests.discard(guest)
                if number is not None:
                    self._claimed.discard(number)
                self.refused.append(f"{visitor}: {reason}")
            link.close()

    def _expect_open(self) -> None:
        if self._over:
            raise LinkError("it came when all was over")

    def _claim(self, hello: bytes, connection: Connection) -> int:
        """The number of a caller that may be linked; else an error for it, too."""
        with self._lock:
            why_not = self._why_not(hello)
            if not why_not:
                _, number = _HELLO.unpack(hello)
                self._claimed.add(number)
                return int(number)
        connection.send_bytes(why_not.encode())
        raise LinkError(why_not)

    def _why_not(self, hello: bytes) -> str:
        if len(hello) != _HELLO.size:
            return f"a greeting of {len(hello)} bytes is none of ours"
        generation, number = _HELLO.unpack(hello)
        if generation != self._generation:
            return f"it is of generation {generation}, not {self._generation}"
        if not self._number < number < len(self._names):
            return f"no group {number} dials group {self._number} of {len(self._names)}"
        if number in self._claimed:
            return f"{self._names[number]} is linked already"
        return ""


def dial(
    address: Address,
    caller: int,
    name: str,
    key: bytes,
    generation: int,
    *,
    node: str,
    timeout_s: float = 30,
) -> socket.socket:
    """Link a group to one with a lower number.

    Args:
        address: where the other group listens.
        caller: the number of this one.
        name: what people call the other one.
        key: the secret that all groups have.
        generation: that of the other one, too.
        node: an opaque name of this machine.
        timeout_s: so long the other one may take to let us in.

    Returns:
        The link, as a plain socket that blocks.

    Raises:
        LinkError: it is not there, or did not let us in, or does not have the key.
    """
    deadline_s = time.monotonic() + timeout_s
    guest = None
    try:
        guest = _Guest(_reach(address, node, deadline_s), deadline_s)
        _expect_welcome(_introduce(guest, key, _HELLO.pack(generation, caller)))
    except _HANDSHAKE_ERRORS as error:
        is_late = isinstance(error, TimeoutError)
        if guest is not None:
            is_late = is_late or guest.late
            guest.link.close()
        reason = f"it did not answer within {timeout_s:g} s" if is_late else _reason(error)
        raise LinkError(f"no link to {name}: {reason}") from error
    return guest.link


def _introduce(guest: _Guest, key: bytes, hello: bytes) -> bytes:
    """Send the other group our identity; its reply."""
    # The timer ends the handshake, whatever the other side sends.
    ending = threading.Timer(max(guest.late_at_s - time.monotonic(), 0), guest.cut_off)
    ending.daemon = True
    ending.start()
    try:
        with Connection(os.dup(guest.link.fileno())) as connection:
            answer_challenge(connection, key)
            deliver_challenge(connection, key)
            connection.send_bytes(hello)
            reply = connection.recv_bytes(_LONGEST_REPLY_BYTES)
    finally:
        ending.cancel()
        ending.join()
    if guest.late:  # a welcome that came just then is none: the link is shut down
        raise TimeoutError
    return reply


def _expect_welcome(reply: bytes) -> None:
    if reply != _WELCOME:
        raise LinkError(f"it refused us: {reply.decode(errors='replace')}")


def _reach(address: Address, node: str, deadline_s: float) -> socket.socket:
    """A blocking connection to a listener there.

    Raises:
        TimeoutError: it was not accepted in time. OSError: there is no listener. LinkError: there
        is no way.
    """
    if address.node != node:
        if not address.host:
            raise LinkError("it is on another machine, and does not listen on TCP")
        left_s = max(deadline_s - time.monotonic(), 0.001)
        link = socket.create_connection((address.host, address.port), timeout=left_s)
    else:
        link = socket.socket(socket.AF_UNIX)
        try:
            # To connect would block without limit while a group that hangs has many callers.
            link.setblocking(False)
            _enter(link, address.unix, deadline_s)
        except BaseException:
            link.close()
            raise
    link.setblocking(True)
    return link


def _enter(link: socket.socket, path: str, deadline_s: float) -> None:
    while True:
        try:
            link.connect(path)
        except BlockingIOError as error:
            if time.monotonic() > deadline_s:
                raise TimeoutError from error
            time.sleep(_CROWD_S)
        else:
            return


def _private_folder() -> str:
    """A folder that only this user may enter, with room for a name in a socket's path."""
    folder = tempfile.mkdtemp(prefix="tidegauge-")
    if len(os.fsencode(folder)) + len("/link") > _LONGEST_PATH_BYTES:
        os.rmdir(folder)  # noqa: PTH106  # a string all along, as sockets want it
        folder = tempfile.mkdtemp(prefix="tidegauge-", dir="/tmp")
    return folder


def _shut_down(link: socket.socket) -> None:
    """Wake the reader and the writer of a link."""
    with suppress(OSError):  # the other side may have been faster
        link.shutdown(socket.SHUT_RDWR)


def _visitor(link: socket.socket) -> str:
    """A caller in words."""
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
    return "an unknown peer"


def _reason(error: Exception) -> str:
    if isinstance(error, AuthenticationError):
        return "it does not have our key"
    if isinstance(error, EOFError):
        return "the connection ended before its handshake"
    return str(error) or type(error).__name__
