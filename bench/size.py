"""Time and memory of large clusters in both modes, against the limits that they have to keep.

A case is a generated cluster: idle, or with producers of so many batches a second, whole or losing
a rack, or broker 2 and then the active controller. Each run is a process of its own, one after the
other, so its peak of memory is that of no other run. The results go to ``bench/size_results.json``,
from which ``bench/growth.py`` fits how time and memory grow, and what ``validate`` predicts:

    python -m bench.size --list                 the cases, with the limits of each
    python -m bench.size --all                  run all of them
    python -m bench.size grid idle-500          run the cases whose names begin so
    python -m bench.growth                      fit from the results that are there

The set-up is all from the start of the process to the first event; the loop is that of the event
loop; the end is the rest. Memory is the peak of the whole process. A loop's speed is that of the
time from ``clients_s`` on, in which the clients are there.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tidegauge.commands.generate import generated_scenario
from tidegauge.commands.scenario_options import GenerateOptions
from tidegauge.engine.contract import EngineInput
from tidegauge.engine.grouping import Grouping
from tidegauge.engine.inline_engine import InlineEngine
from tidegauge.engine.prediction import amounts_of, machine_ns
from tidegauge.engine.simulate import simulate
from tidegauge.replication.release_versions import DEFAULT_RELEASES, KRAFT_MODE, Mode
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario, load_scenario, scenario_from_mapping
from tidegauge.scenario.shipped import FOLDER, find_scenario

RESULTS = Path(__file__).with_name("size_results.json")
PARTITIONS_OF_TOPIC = 100
#: With ZooKeeper half a millisecond for each partition until the cluster is up; with KRaft less.
_UP_S, _UP_OF_PARTITION_S = 5, {KRAFT_MODE: 0.00001, "zookeeper": 0.0006}
#: From the loss of a broker to that of the controller, and from that to the end.
_BETWEEN_S, _AGAIN_S, _AGAIN_OF_PARTITION_S = 40, 40, 0.0008
GIB = 2**30


class Limits(NamedTuple):
    """What a run has to keep."""

    #: From the start of the process to its end, and to the first event, in seconds.
    most_wall_s: float = float("inf")
    most_set_up_s: float = float("inf")
    most_gib: float = float("inf")
    #: The speed of the loop while the clients are there, as a multiple of real time.
    least_speed: float = 0.0

    def __str__(self) -> str:
        said = {
            "wall time at most {:g} s": self.most_wall_s,
            "set-up at most {:g} s": self.most_set_up_s,
            "memory below {:g} GiB": self.most_gib,
            "loop at least {:g} x real time": self.least_speed,
        }
        none = (float("inf"), 0.0)
        return ", ".join(text.format(limit) for text, limit in said.items() if limit not in none)


class Case(NamedTuple):
    """A cluster, and what happens to it."""

    name: str
    mode: Mode
    brokers: int
    partitions: int
    batches_per_second: int = 0
    #: From the start of the clients to the end, in virtual seconds.
    seconds: int = 20
    #: "rack": all power of a rack is lost halfway; "controller": broker 2, then the controller.
    loses: str = ""
    replicas: int = 3
    consumer_groups: int = 0
    limits: Limits = Limits()

    @property
    def key(self) -> str:
        """The case in the results."""
        return f"{self.name} {self.mode}"

    @property
    def clients_s(self) -> int:
        """The virtual time at which the cluster is up, and clients begin; an idle one has none."""
        if self.batches_per_second or self.loses:
            return round(_UP_S + self.partitions * _UP_OF_PARTITION_S[self.mode])
        return 0

    @property
    def end_s(self) -> int:
        """The virtual time of the end."""
        if self.loses == "controller":
            again_s = round(_AGAIN_S + self.partitions * _AGAIN_OF_PARTITION_S)
            return self.clients_s + _BETWEEN_S + again_s
        return self.clients_s + self.seconds

    def scenario(self) -> Scenario:
        """The cluster, its clients and its losses; or a scenario that ships."""
        if not self.brokers:
            return load_scenario(find_scenario(self.name.removeprefix(_SHIPPED)))
        layout = GenerateOptions(
            Path(f"{self.name}-{self.mode}.yaml"),
            brokers=self.brokers,
            topics=max(1, self.partitions // PARTITIONS_OF_TOPIC),
            partitions=self.partitions,
            replication_factor=self.replicas,
            batches_per_second=self.batches_per_second,
            consumer_groups=self.consumer_groups,
            release=DEFAULT_RELEASES[self.mode],
            mode=self.mode,
            duration=f"{self.end_s}s",
        )
        story: dict[str, Any] = generated_scenario(layout)
        for kind in story.get("workload", {}).values():
            for group in kind:
                group["start"] = f"{self.clients_s}s"
        story["faults"] = [*self._faults()]
        story["liveness"] = False
        if self.loses == "controller":
            # The first broker is up first, and so is the controller if there is no quorum.
            story["cluster"]["start"] = {
                broker: "0s" if broker == 1 else "100ms" for broker in range(1, self.brokers + 1)
            }
        return scenario_from_mapping(story, layout.name)

    def _faults(self) -> Iterator[dict[str, Any]]:
        if self.loses == "rack":
            halfway_s = self.clients_s + self.seconds // 2
            yield {"kind": "power_loss", "brokers": ["rack:r2"], "at": f"{halfway_s}s"}
        elif self.loses == "controller":
            active = "controller:0" if self.mode == KRAFT_MODE else 1
            yield {"kind": "crash", "brokers": [2], "at": f"{self.clients_s}s"}
            at_s = self.clients_s + _BETWEEN_S
            yield {"kind": "crash", "brokers": [active], "at": f"{at_s}s"}


#: Brokers, partitions, batches a second: one grows at a time, then together.
_GRID = (
    *((20, 4_000, 500), (50, 4_000, 500), (100, 4_000, 500)),
    *((50, 10_000, 500), (50, 20_000, 500), (100, 20_000, 500)),
    *((50, 10_000, 2_000), (50, 10_000, 8_000), (100, 20_000, 8_000), (20, 20_000, 2_000)),
)
_LARGE_GRID = (
    *((300, 60_000, 2_000), (300, 60_000, 20_000), (1_000, 60_000, 2_000)),
    *((300, 200_000, 2_000), (1_000, 200_000, 10_000)),
)


_SHIPPED = "shipped-"


def _cases() -> Iterator[Case]:
    """All cases: scenarios that ship, which have all kinds of events, then from small to large."""
    for file in sorted(FOLDER.glob("*.yaml")):
        scenario = load_scenario(file)
        yield Case(_SHIPPED + file.stem, scenario.mode, 0, 0, seconds=scenario.duration_us // 10**6)
    for mode in DEFAULT_RELEASES:
        for name, grid in (("grid", _GRID), ("large-grid", _LARGE_GRID)):
            for brokers, partitions, batches in grid if mode == KRAFT_MODE else grid[:8:3]:
                own = f"{name}-{brokers}-{partitions}-{batches}"
                yield Case(own, mode, brokers, partitions, batches, seconds=15)
        yield Case("grid-2-replicas", mode, 50, 20_000, 500, seconds=15, replicas=2)
        yield Case("grid-consumers", mode, 50, 5_000, 500, seconds=15, consumer_groups=1)
        yield Case("grid-idle", mode, 100, 20_000)
        yield Case("grid-rack", mode, 50, 10_000, 2_000, seconds=30, loses="rack")
        yield Case("slope-few", mode, 100, 20_000, loses="controller")
        yield Case("slope-many", mode, 100, 100_000, loses="controller")
        yield Case("idle-120", mode, 120, 24_000)
        yield Case("idle-500", mode, 500, 100_000, limits=Limits(most_wall_s=15))
        yield Case(
            *("rack-1000", mode, 1_000, 200_000, 50_000, 30, "rack"),
            limits=Limits(most_gib=6, least_speed=2),
        )
        yield Case(
            *("million", mode, 1_000, 1_000_000, 20_000, 30),
            limits=Limits(most_gib=14, least_speed=1, most_set_up_s=60),
        )


PARTS = ("set_up", "up", "clients", "end")
CASES = {case.key: case for case in _cases()}
#: The two cases whose difference in memory is that of their partitions, and its limit.
SLOPE = ("slope-few", "slope-many")
MOST_BYTES_OF_PARTITION = 10 * 1024


class Span(NamedTuple):
    """The duration of a part of a run."""

    wall_s: float
    #: Of all threads.
    cpu_s: float


class Size(NamedTuple):
    """The figures of a run."""

    #: From the start of the process to the first event.
    set_up: Span
    #: The loop until the clients begin, and from then on.
    up: Span
    clients: Span
    #: The rest.
    end: Span
    #: The virtual time in which the clients are there, in seconds.
    clients_virtual_s: float
    peak_bytes: int
    events: int
    #: What the run consists of, as ``validate`` counts it beforehand (``engine/prediction.py``).
    amounts: dict[str, float]
    #: The calibration of this machine.
    machine_ns: float
    #: Other work of this machine as the run began, in processes.
    load: float

    @property
    def wall_s(self) -> float:
        """The time of the whole process."""
        return sum(part.wall_s for part in (self.set_up, self.up, self.clients, self.end))

    @property
    def speed(self) -> float:
        """Virtual seconds in a second of the loop, while the clients are there."""
        return self.clients_virtual_s / self.clients.wall_s

    def exceeds(self, limits: Limits) -> Iterator[str]:
        """What is not kept."""
        if self.wall_s > limits.most_wall_s:
            yield f"wall time {self.wall_s:.1f} s"
        if self.set_up.wall_s > limits.most_set_up_s:
            yield f"set-up {self.set_up.wall_s:.1f} s"
        if self.peak_bytes > limits.most_gib * GIB:
            yield f"memory {self.peak_bytes / GIB:.1f} GiB"
        if self.speed < limits.least_speed:
            yield f"loop {self.speed:.2f} x real time"


class _Timed(InlineEngine):
    """An engine that notes when its loop begins, when the clients begin, and when it ends."""

    #: The virtual time at which the clients begin.
    clients_us = 0
    began = clients_began = ended = (0.0, 0.0)

    def run_to(self, end_us: int) -> None:
        """Run, in two parts; the liveness phase comes after that."""
        if self.ended > self.began:
            super().run_to(end_us)
            return
        self.began = now()
        super().run_to(self.clients_us)
        self.clients_began = now()
        super().run_to(end_us)
        self.ended = now()


def now() -> tuple[float, float]:
    """Wall time, on a clock that all processes share, and processor time of this one."""
    return time.monotonic(), time.process_time()


def measured(case: Case, started_s: float) -> Size:
    """The run of a case in this process, which was started at this time."""
    load = os.getloadavg()[0]
    engines = []

    def make(run: EngineInput) -> _Timed:
        everything = [[*range(len(run.plan.processes))]]
        engine = _Timed(run, Grouping(["all"], everything))
        engine.clients_us = case.clients_s * 1_000_000
        engines.append(engine)
        return engine

    with tempfile.TemporaryDirectory() as folder:
        run = simulate(case.scenario(), Path(folder, "run"), make_engine=make)
        ended = now()
        (engine,) = engines
        assert run.summary is not None
        events = run.summary["events"]
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    times = ((started_s, 0.0), engine.began, engine.clients_began, engine.ended, ended)
    set_up, up, clients, end = (
        Span(*(after[clock] - before[clock] for clock in (0, 1)))
        for before, after in pairwise(times)
    )
    return Size(
        set_up,
        up,
        clients,
        end,
        case.end_s - case.clients_s,
        peak_bytes,
        events,
        amounts_of(ClusterPlan(case.scenario()))._asdict(),
        machine_ns(),
        load,
    )


def in_its_own_process(case: Case) -> Size:
    """The same in a process of its own: its peak is that of no other run."""
    command = [sys.executable, "-m", "bench.size", "--one", case.key, str(time.monotonic())]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return size_of(json.loads(said.splitlines()[-1]))


def size_of(found: dict[str, Any]) -> Size:
    """The figures of a run from its result in JSON."""
    spans = {name: Span(*found[name]) for name in PARTS}
    return Size(**{**found, **spans})


def results() -> dict[str, Size]:
    """All results that are there, by the keys of their cases."""
    if not RESULTS.exists():
        return {}
    return {key: size_of(found) for key, found in json.loads(RESULTS.read_text()).items()}


def keep(case: Case, size: Size) -> None:
    """Put a result in place of the one before it."""
    found = results() | {case.key: size}
    lines = [
        f"{json.dumps(key)}: {json.dumps(found[key]._asdict())}" for key in CASES if key in found
    ]
    RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def slopes(found: Mapping[str, Size]) -> Iterator[tuple[Mode, float]]:
    """The memory of one more partition of three replicas, in bytes."""
    for mode in DEFAULT_RELEASES:
        few, many = (CASES[f"{name} {mode}"] for name in SLOPE)
        if few.key in found and many.key in found:
            more_bytes = found[many.key].peak_bytes - found[few.key].peak_bytes
            yield mode, more_bytes / (many.partitions - few.partitions)


def run(cases: Sequence[Case]) -> bool:
    """Run cases, and print a line for each; whether all limits are kept."""
    heads = "set-up s  loop s  end s   x real  GiB    events  load"
    print(f"{'case':39}{heads}")
    is_kept = True
    for case in cases:
        size = in_its_own_process(case)
        keep(case, size)
        exceeded = ", ".join(size.exceeds(case.limits))
        is_kept &= not exceeded
        print(
            f"{case.key:39}{size.set_up.wall_s:<10.1f}{size.up.wall_s + size.clients.wall_s:<8.1f}"
            f"{size.end.wall_s:<8.1f}{size.speed:<8.2f}{size.peak_bytes / GIB:<7.2f}"
            f"{size.events / 1e6:.1f} M  {size.load:<5.1f}"
            + (f" EXCEEDS {case.limits}: {exceeded}" if exceeded else ""),
            flush=True,
        )
    for mode, slope_bytes in slopes(results()):
        exceeded = "" if slope_bytes <= MOST_BYTES_OF_PARTITION else ": EXCEEDS 10 KiB"
        is_kept &= not exceeded
        print(f"{mode}: a partition of three replicas takes {slope_bytes / 1024:.1f} KiB{exceeded}")
    return is_kept


def main() -> None:
    """Run the named cases."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="*", help="beginnings of the names of cases")
    parser.add_argument("--all", action="store_true", help="all cases")
    parser.add_argument("--mode", choices=DEFAULT_RELEASES, help="only this mode")
    parser.add_argument("--list", action="store_true", help="print the cases and their limits")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        key, started_s = arguments.one
        print(json.dumps(measured(CASES[key], float(started_s))._asdict()))
        return
    chosen = [
        case
        for case in CASES.values()
        if (arguments.all or case.name.startswith(tuple(arguments.cases)))
        and arguments.mode in (None, case.mode)
    ]
    if arguments.list:
        for case in CASES.values():
            print(f"{case.key:39}{case.limits}")
        return
    sys.exit(not run(chosen))


if __name__ == "__main__":
    main()
