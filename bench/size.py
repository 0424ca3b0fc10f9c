"""Memory and time of a large cluster in both modes, and their growth.

A generated cluster of three controllers loses a broker and then its active controller, which is a
broker with ZooKeeper. There are no clients. Each run is a process of its own, one after the other.
Its span of virtual time is the same in both modes: the start, the faults, and the time after them
until all partitions have leaders again with ZooKeeper, whose controller is the slower one.

Memory is that of the whole process at its peak. The slope of it over partitions must not grow with
the number of brokers: then the parts of the state that are of a broker and a partition would be its
cause.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from tidegauge.commands.generate import generated_scenario
from tidegauge.commands.scenario_options import GenerateOptions
from tidegauge.engine.simulate import simulate
from tidegauge.replication.release_versions import (
    DEFAULT_RELEASES,
    KRAFT_MODE,
    ZOOKEEPER_MODE,
    Mode,
)
from tidegauge.scenario.reading import Scenario, scenario_from_mapping

PARTITIONS = (25_000, 50_000, 100_000, 200_000)
BROKERS = 100
#: The slope is measured again with so many brokers, between the first two numbers of partitions.
FEW_BROKERS = 25
PARTITIONS_OF_TOPIC = 100
#: The most that KRaft may take, times ZooKeeper.
MOST_MEMORY, MOST_TIME = 1.2, 1.3
#: The limits for the start-up of a cluster, and for new leaders after the loss of its controller.
_UP_S, _UP_OF_PARTITION_S = 10, 0.0006
_BETWEEN_S = 40
_AGAIN_S, _AGAIN_OF_PARTITION_S = 40, 0.0008


class Size(NamedTuple):
    """The figures of a run."""

    #: Wall time of the tables and the run, in seconds.
    wall_s: float
    #: Processor time, in user and system mode.
    cpu_s: float
    peak_mib: float
    #: From the losses to the last write of a partition's state, in seconds of virtual time.
    after_broker_s: float
    after_controller_s: float
    #: Partitions that have no live leader at the end.
    leaderless: int
    #: Other work of this machine as the run began, in processes.
    load: float


def losses_s(partitions: int) -> tuple[int, int, int]:
    """The virtual times of a broker's loss, of the controller's, and of the end, in seconds."""
    broker_s = round(_UP_S + partitions * _UP_OF_PARTITION_S)
    controller_s = broker_s + _BETWEEN_S
    return (
        broker_s,
        controller_s,
        controller_s + round(_AGAIN_S + partitions * _AGAIN_OF_PARTITION_S),
    )


def scenario_of(mode: Mode, brokers: int, partitions: int) -> Scenario:
    """The cluster, and the loss of broker 2 and of the active controller after it."""
    broker_s, controller_s, end_s = losses_s(partitions)
    layout = GenerateOptions(
        Path(f"size-{mode}-{brokers}-{partitions}.yaml"),
        brokers=brokers,
        topics=partitions // PARTITIONS_OF_TOPIC,
        partitions=partitions,
        batches_per_second=0,
        release=DEFAULT_RELEASES[mode],
        mode=mode,
        duration=f"{end_s}s",
    )
    story: dict[str, Any] = generated_scenario(layout)
    # The first broker is up first, and so is the controller if there is no quorum.
    story["cluster"]["start"] = {
        broker: "0s" if broker == 1 else "100ms" for broker in range(1, brokers + 1)
    }
    story["faults"] = [
        {"kind": "crash", "brokers": [2], "at": f"{broker_s}s"},
        {"kind": "crash", "brokers": [_active(mode)], "at": f"{controller_s}s"},
    ]
    story["liveness"] = False
    return scenario_from_mapping(story, layout.name)


def _active(mode: Mode) -> int | str:
    return "controller:0" if mode == KRAFT_MODE else 1


def measured(mode: Mode, brokers: int, partitions: int) -> Size:
    """A run in this process."""
    load = os.getloadavg()[0]
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = simulate(scenario_of(mode, brokers, partitions), Path(folder, "run"))
        wall_s = time.perf_counter() - started
        used = resource.getrusage(resource.RUSAGE_SELF)
        cpu_s = used.ru_utime + used.ru_stime
        written = run.table("partition_state")
        seconds = written["time_us"] / 1e6
        broker_s, controller_s, end_s = losses_s(partitions)
        after_broker, after_controller = (
            float(seconds[(seconds > begin) & (seconds < end)].max(initial=begin) - begin)
            for begin, end in ((broker_s, controller_s), (controller_s, end_s))
        )
        leaders = dict(zip(written["partition"].tolist(), written["leader"].tolist(), strict=True))
        live = set(range(brokers)) - ({1} if mode == KRAFT_MODE else {0, 1})
        leaderless = sum(leader not in live for leader in leaders.values())
        assert len(leaders) == partitions
    peak_mib = used.ru_maxrss / 1024
    return Size(wall_s, cpu_s, peak_mib, after_broker, after_controller, leaderless, load)


def in_its_own_process(mode: Mode, brokers: int, partitions: int) -> Size:
    """The same in a process of its own: its peak is that of no other run."""
    said = subprocess.run(
        [sys.executable, __file__, "--one", mode, str(brokers), str(partitions)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    return Size(*json.loads(said.splitlines()[-1]))


def main() -> None:
    """Print a line for each size, the slopes of memory, and the ratios of the modes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--partitions", type=int, nargs="+", default=PARTITIONS)
    parser.add_argument("--brokers", type=int, default=BROKERS)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        mode, brokers, partitions = arguments.one
        print(json.dumps(measured(mode, int(brokers), int(partitions))))
        return
    print("brokers  partitions  mode       peak MiB  wall s  cpu s  last state write after  load")
    print("                                                         broker     controller")
    slopes = {}
    for brokers, sizes in (
        (arguments.brokers, arguments.partitions),
        (FEW_BROKERS, arguments.partitions[:2]),
    ):
        runs = [_both(brokers, partitions) for partitions in sizes]
        for mode in DEFAULT_RELEASES:
            first, last = runs[0][mode], runs[-1][mode]
            more = (last.peak_mib - first.peak_mib) * 1024 / (sizes[-1] - sizes[0])
            slopes[brokers, mode] = f"{more:.1f} KiB with {brokers} brokers"
    for mode in DEFAULT_RELEASES:
        each = ", ".join(slope for (_, of), slope in slopes.items() if of == mode)
        print(f"{mode}: each partition takes {each}")


def _both(brokers: int, partitions: int) -> dict[Mode, Size]:
    """Run both modes, and print the runs and their ratios."""
    sizes = {}
    for mode in DEFAULT_RELEASES:
        size = sizes[mode] = in_its_own_process(mode, brokers, partitions)
        print(
            f"{brokers:<9}{partitions:<12,}{mode:<11}{size.peak_mib:<10,.0f}{size.wall_s:<8.1f}"
            f"{size.cpu_s:<7.1f}{f'{size.after_broker_s:.1f} s':<11}"
            f"{f'{size.after_controller_s:.1f} s':<13}{size.load:.1f}"
            + (f"  {size.leaderless:,} partitions without a leader" if size.leaderless else ""),
            flush=True,
        )
    zookeeper, kraft = sizes[ZOOKEEPER_MODE], sizes[KRAFT_MODE]
    print(
        f"{'':21}ratio      {kraft.peak_mib / zookeeper.peak_mib:<10.2f}"
        f"{kraft.wall_s / zookeeper.wall_s:<8.2f}{kraft.cpu_s / zookeeper.cpu_s:.2f}",
        flush=True,
    )
    return sizes


if __name__ == "__main__":
    main()
