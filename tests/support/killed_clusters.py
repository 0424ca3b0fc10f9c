"""A cluster of Ray of three nodes, and runs on it whose processes are killed."""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

#: Ray finds within seconds that a node is gone, and not after a quarter of a minute.
_SOON = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_AUTH_MODE": "disabled",
}

_MARK = "TIDEGAUGE_TEST"


def _environment(mark: str) -> dict[str, str]:
    others = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    return others | _SOON | {_MARK: mark}


class Process(NamedTuple):
    """A process of this machine."""

    number: int
    parent: int
    #: Its command line, with blanks.
    command: str

    def kill(self) -> None:
        """Kill it at once, if it is there."""
        with suppress(ProcessLookupError):
            os.kill(self.number, signal.SIGKILL)


def marked_processes(mark: str) -> list[Process]:
    """The processes that have the mark in their environment, whoever their parent is now."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() not in (entry / "environ").read_bytes():
                continue
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        found.append(Process(int(entry.name), parent, command))
    return found


class ThreeNodes:
    """A cluster of Ray: ``ray start`` three times, on this machine. The first has the head."""

    def __init__(self) -> None:
        self.mark = f"nodes-{uuid.uuid4()}"
        self._folder = tempfile.TemporaryDirectory(
            prefix="tr-", dir="/tmp", ignore_cleanup_errors=True
        )
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        head = ("--head", f"--port={port}", f"--temp-dir={self._folder.name}")
        self._start(*head, "--include-dashboard=false", "--disable-usage-stats")
        (self._first,) = self._raylets()
        self.complete()

    def complete(self) -> None:
        """Let there be three nodes, if some were killed."""
        for _ in range(3 - len(self._raylets())):
            self._start(f"--address={self.address}")

    def _start(self, *options: str) -> None:
        subprocess.run(
            [
                *(str(Path(sys.executable).with_name("ray")), "start", *options),
                *("--num-cpus=1", f"--object-store-memory={100 << 20}"),
            ],
            env=_environment(self.mark),
            check=True,
            capture_output=True,
            timeout=120,
        )

    def _raylets(self) -> list[Process]:
        there = marked_processes(self.mark)
        return [each for each in there if "/raylet/raylet " in each.command[:400]]

    def actors(self, name: str) -> list[Process]:
        """The processes of actors of a class."""
        return [each for each in marked_processes(self.mark) if f"ray::{name}" in each.command]

    def busy_node(self) -> list[Process]:
        """A node with an actor, but not the first: its raylet, and then its workers."""
        actors = [*self.actors("BrokerActor"), *self.actors("ControllerActor")]
        hosts = {each.parent for each in actors}
        raylet = next(
            each for each in self._raylets() if each.number in hosts - {self._first.number}
        )
        there = marked_processes(self.mark)
        return [raylet, *(each for each in there if each.parent == raylet.number)]

    def close(self) -> None:
        """Kill all that is left of it."""
        for _ in range(3):
            for process in marked_processes(self.mark):
                process.kill()
            time.sleep(0.2)
        self._folder.cleanup()


_DRIVER = """
import sys
from pathlib import Path
from tidegauge.engine.ray_engine import on_ray
from tidegauge.engine.resuming import resume
from tidegauge.engine.simulate import Watched, simulate
from tidegauge.scenario.reading import load_scenario

scenario, out, actors, address, speed, *snapshots = sys.argv[1:]

def progress(passed):
    print("at", passed.time_us, flush=True)

def tell(line):
    print("told", line, flush=True)

engine = on_ray(int(actors), address=address or None)
try:
    if snapshots:
        simulate(
            load_scenario(Path(scenario)), Path(out), make_engine=engine, progress=progress,
            speed=float(speed), snapshots_us=[int(each) for each in snapshots], tell=tell,
        )
    else:
        resume(Path(out), engine, Watched(progress, float(speed), tell=tell))
except Exception as error:
    print("ended", error, flush=True)
    raise
print("done", flush=True)
"""


class KilledRun:
    """A run in a process of its own, on Ray, with snapshots: what it tells, and when."""

    def __init__(
        self,
        scenario: Path,
        out: Path,
        actors: int,
        *,
        address: str = "",
        speed: float = 10,
        snapshots_us: Sequence[int] = (),
    ) -> None:
        """Begin a run; without snapshots resume one."""
        self.mark = f"run-{uuid.uuid4()}"
        self.told: list[str] = []
        self.reached_us = -1
        self.driver = subprocess.Popen(
            [
                *(sys.executable, "-c", _DRIVER, str(scenario), str(out), str(actors), address),
                *(str(speed), *map(str, snapshots_us)),
            ],
            env=_environment(self.mark),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.driver.stdout is not None
        with self.driver.stdout as lines:
            for line in lines:
                self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def _next(self, limit_s: float = 120) -> str | None:
        """The next line; None: the process has ended."""
        line = self._lines.get(timeout=limit_s)
        word, _, rest = (line or "").partition(" ")
        if word == "at":
            self.reached_us = int(rest)
        elif word in ("told", "ended", "done"):
            # The rest is what Ray says of dead processes.
            self.told.append(line or "")
        return line

    def wait_until(self, time_us: int) -> None:
        """Until the run has reached a virtual time."""
        while self.reached_us < time_us:
            assert self._next() is not None, self.told

    def continues(self) -> float | None:
        """Seconds until it goes on under the next generation; None: it has ended before that."""
        begun_s = time.monotonic()
        before = len(self.told)
        while not any("under generation" in line for line in self.told[before:]):
            if self._next() is None:
                return None
        self.reached_us = -1
        while self.reached_us < 0:
            assert self._next() is not None, self.told
        return time.monotonic() - begun_s

    def end(self) -> int:
        """Wait for its end; the status of the process."""
        while self._next() is not None:
            pass
        return self.driver.wait(60)

    def close(self) -> None:
        """Kill all that is left of it."""
        for _ in range(3):
            for process in marked_processes(self.mark):
                process.kill()
            time.sleep(0.1)
        self.driver.wait(10)
        self._reader.join()
