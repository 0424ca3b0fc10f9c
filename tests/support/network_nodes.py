"""Ray nodes that are machines of their own: each with its network, processes and temporary files.

A node is a set of namespaces of Linux, and a network between nodes is a thread here that passes on
each packet when its time has come: ``tc netem`` does the same where the kernel has it. It needs
root and /dev/net/tun.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

_TUN = Path("/dev/net/tun")
# The request to make a device, and its flags: whole Ethernet frames, without anything before them.
_TUNSETIFF, _TAP, _NO_HEADER = 0x400454CA, 0x0002, 0x1000
_MOST_BYTES = 1 << 16

_PORT = 6379
_MEMORY_BYTES = 100 << 20
_LIMIT_S = 600


def why_no_nodes() -> str:
    """The reason why there can be no such nodes here; "" if there can be."""
    if sys.platform != "linux" or os.geteuid() != 0 or not _TUN.exists():
        return "nodes with a network of their own need Linux, root and /dev/net/tun"
    if shutil.which("ip") is None or shutil.which("unshare") is None:
        return "nodes with a network of their own need ip (iproute2) and unshare (util-linux)"
    return ""


class DelayingSwitch:
    """A switch between devices of Ethernet; each frame takes a while."""

    def __init__(self, devices: Sequence[int], delay_s: float) -> None:
        """Pass on frames between these devices, by their descriptors, until it is closed."""
        self._devices = devices
        self._delay_s = delay_s
        self._is_open = True
        #: Frames on their way: when each arrives, where it comes from, its bytes.
        self._on_way: deque[tuple[float, int, bytes]] = deque()
        #: The device behind which each address is.
        self._places: dict[bytes, int] = {}
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Pass on nothing any more."""
        self._is_open = False
        self._thread.join()

    def _work(self) -> None:
        while self._is_open:
            left_s = self._on_way[0][0] - time.monotonic() if self._on_way else 0.1
            ready, _, _ = select.select(self._devices, [], [], max(0.0, left_s))
            for device in ready:
                frame = os.read(device, _MOST_BYTES)
                self._places[frame[6:12]] = device
                self._on_way.append((time.monotonic() + self._delay_s, device, frame))
            while self._on_way and self._on_way[0][0] <= time.monotonic():
                _, source, frame = self._on_way.popleft()
                place = self._places.get(frame[:6])
                for device in self._devices if place is None else [place]:
                    if device != source:
                        os.write(device, frame)


@contextmanager
def network_of(count: int, delay_s: float) -> Iterator[list[str]]:
    """Namespaces with a network between them; yields their names.

    Args:
        count: their number; number n has the address of :func:`address_of`.
        delay_s: the time that a packet takes from one to another.
    """
    names = [f"tidegauge-{os.getpid()}-{number}" for number in range(count)]
    with ExitStack() as open_:
        devices = []
        for number, name in enumerate(names):
            _call("ip", "netns", "add", name)
            open_.callback(_call, "ip", "netns", "del", name)
            device = f"tg{os.getpid()}-{number}"
            descriptor = os.open(_TUN, os.O_RDWR | os.O_NONBLOCK)
            open_.callback(os.close, descriptor)
            flags = struct.pack("16sH22x", device.encode(), _TAP | _NO_HEADER)
            fcntl.ioctl(descriptor, _TUNSETIFF, flags)
            _call("ip", "link", "set", device, "netns", name)
            inside = ("ip", "-n", name)
            _call(*inside, "addr", "add", f"{address_of(number)}/24", "dev", device)
            _call(*inside, "link", "set", device, "up")
            _call(*inside, "link", "set", "lo", "up")
            _call(*inside, "route", "add", "default", "dev", device)
            devices.append(descriptor)
        switch = DelayingSwitch(devices, delay_s)
        open_.callback(switch.close)
        yield names


def address_of(number: int) -> str:
    """The address of a node."""
    return f"10.231.7.{number + 1}"


def run_on_nodes(
    script: str, arguments: Sequence[str], folder: Path, nodes: int, delay_s: float = 0.001
) -> subprocess.CompletedProcess[str]:
    """Run a script of Python on the first of several Ray nodes, each with one CPU.

    Only the first one sees ``folder``. The address of the cluster is the last argument.
    """
    temporary = tempfile.mkdtemp(prefix="tg")
    address = f"{address_of(0)}:{_PORT}"
    ray = f"{Path(sys.executable).parent / 'ray'} start --num-cpus=1 --disable-usage-stats"
    ray += f" --object-store-memory={_MEMORY_BYTES}"
    own = "mount -t tmpfs none /dev/shm"
    hidden = f"{own}; mount -t tmpfs none {temporary}; mount -t tmpfs none {folder}"
    with ExitStack() as open_:
        open_.callback(shutil.rmtree, temporary, ignore_errors=True)
        names = open_.enter_context(network_of(nodes, delay_s))
        for number in range(1, nodes):
            join = f"{ray} --address={address} --node-ip-address={address_of(number)} --block"
            # The head may come later.
            command = f"{hidden}; until {join}; do sleep 0.5; done"
            open_.enter_context(_begun(names[number], command, subprocess.DEVNULL))
        begin = (
            f"{ray} --head --node-ip-address={address_of(0)} --port={_PORT} --temp-dir={temporary}"
            " --include-dashboard=false"
        )
        command = f'{own}; {begin} >&2 && exec "$@"'
        words = (sys.executable, "-c", script, *arguments, address)
        head = open_.enter_context(_begun(names[0], command, subprocess.PIPE, *words))
        told, complaints = head.communicate(timeout=_LIMIT_S)
        return subprocess.CompletedProcess(script, head.returncode, told, complaints)


@contextmanager
def _begun(
    namespace: str, command: str, output: int, *arguments: str
) -> Iterator[subprocess.Popen[str]]:
    """A command of the shell in namespaces; all that it has started ends with it."""
    with subprocess.Popen(
        [
            *("ip", "netns", "exec", namespace),
            *("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"),
            *("sh", "-c", command, "sh", *arguments),
        ],
        env=os.environ | {"RAY_AUTH_MODE": "disabled"},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _call(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
