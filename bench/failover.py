"""The duration of a controller's failover, by the number of partitions, in both modes.

Virtual time, from the kill of the active controller on. With ZooKeeper the next controller reads
the state of every partition before it decides anything; in a KRaft quorum it has read all of it
before. The controller of a ZooKeeper cluster is a broker, and dies as one; that of a KRaft cluster
is a controller and nothing else. The partitions get no records. A seed draws the same timeouts of
elections for any number of partitions; where two of them are close, a split vote can cost another
round. So the times of a quorum are medians over some seeds.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from tidegauge.engine.simulate import simulate
from tidegauge.replication.release_versions import (
    DEFAULT_RELEASES,
    KRAFT_MODE,
    ZOOKEEPER_MODE,
    Mode,
)
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.trace_rows.codes import LEADER
from tidegauge.traces.run_folder import RunFolder

PARTITIONS = (100, 10_000, 200_000)
#: The limit for the start-up of a cluster of 200,000 partitions, and for the failover after that.
_UP_S = 300
_LATER_S = {ZOOKEEPER_MODE: 600, KRAFT_MODE: 15}


class Failover(NamedTuple):
    """The times from the kill of the controller, in seconds of virtual time."""

    #: Another one is elected.
    elected_s: float
    #: It has elected the leader of a first partition, or in a quorum committed its first record.
    first_s: float
    #: It has elected leaders of all partitions that were led by the broker that died.
    last_s: float
    #: Wall time of the run, in seconds of this machine.
    computed_s: float


def scenario_of(mode: Mode, partitions: int, seed: int) -> Scenario:
    """Three brokers; the first one is the controller if there is no quorum."""
    is_kraft = mode == KRAFT_MODE
    # In a quorum it is a setting of the controllers.
    settings = {} if is_kraft else {"auto.leader.rebalance.enable": False}
    active = "controller:0" if is_kraft else 1
    story: dict[str, Any] = {
        "release": DEFAULT_RELEASES[mode],
        "mode": mode,
        "seed": seed,
        "duration": f"{_UP_S + _LATER_S[mode]}s",
        "liveness": False,
        "sample_every": "5m",
        "cluster": {
            "brokers": 3,
            "start": {1: "0s", 2: "100ms", 3: "100ms"},
            "settings": settings,
        },
        "topics": [{"name": "orders", "partitions": partitions, "replication_factor": 2}],
        "faults": [{"kind": "crash", "brokers": [active], "at": f"{_UP_S}s"}],
    }
    if is_kraft:
        story["controllers"] = {"count": 3}
    return scenario_from_mapping(story, f"failover-{mode}-{partitions}")


def failover(mode: Mode, partitions: int, seed: int) -> Failover:
    """Run a failover, and measure it."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = simulate(scenario_of(mode, partitions, seed), Path(folder, "run"))
        assert len(run.table("became_leader")["time_us"]) >= partitions, "all are up"
        if mode == KRAFT_MODE:
            elected = _times_s(run, "voter_state", voter_state=int(LEADER))
            decided = _times_s(run, "controller_active")
        else:
            elected = _times_s(run, "controller_elected")
            decided = _times_s(run, "partition_state")
    return Failover(elected[0], decided[0], decided[-1], time.perf_counter() - started)


def _times_s(run: RunFolder, kind: str, **columns: int) -> list[float]:
    """The times of such rows after the kill, in seconds from it on; not those of a loss."""
    table = run.table(kind)
    killed_us = _UP_S * 1_000_000
    wanted = table["time_us"] > killed_us
    for name, value in columns.items():
        wanted &= table[name] == value
    return sorted(((table["time_us"][wanted] - killed_us) / 1e6).tolist())


def main() -> None:
    """Print a line for each number of partitions, and how the times compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--partitions", type=int, nargs="+", default=PARTITIONS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    arguments = parser.parse_args()

    first_seed, *_ = seeds = arguments.seeds
    print("Kill of the active controller: virtual seconds from then on")
    of_zookeeper = f"ZooKeeper, {DEFAULT_RELEASES[ZOOKEEPER_MODE]}, seed {first_seed}"
    print(f"{'':12}{of_zookeeper:42}", end="")
    print(f"KRaft, {DEFAULT_RELEASES[KRAFT_MODE]}, median of {counted(len(seeds), 'seed')}")
    print(f"{'':12}next        first     last partition      next        first record")
    print(f"{'partitions':12}controller  elected   elected             controller  committed")
    decided: dict[str, list[list[float]]] = {mode: [] for mode in DEFAULT_RELEASES}
    computed = []
    for partitions in arguments.partitions:
        zookeeper = failover(ZOOKEEPER_MODE, partitions, first_seed)
        kraft = [failover(KRAFT_MODE, partitions, seed) for seed in seeds]
        print(
            f"{partitions:<12,}{zookeeper.elected_s:<12.3f}{zookeeper.first_s:<10.3f}"
            f"{zookeeper.last_s:<20.3f}{median(each.elected_s for each in kraft):<12.3f}"
            f"{median(each.first_s for each in kraft):.3f}",
            flush=True,
        )
        decided[ZOOKEEPER_MODE].append([zookeeper.first_s])
        decided[KRAFT_MODE].append([each.first_s for each in kraft])
        seconds = (zookeeper.computed_s, sum(each.computed_s for each in kraft))
        computed.append(f"{partitions:,}: {seconds[0]:.0f} and {seconds[1]:.0f} s")
    few, *_, many = arguments.partitions
    growth = ", ".join(f"{mode} x {_growth(times):.3f}" for mode, times in decided.items())
    print(f"First decision, {many:,} partitions to {few:,}: {growth} (median of each seed's own)")
    print(f"Computed in {'; '.join(computed)}")


def _growth(times: Sequence[Sequence[float]]) -> float:
    """The median, over the seeds, of the last time to the first one."""
    return median(last / first for first, last in zip(times[0], times[-1], strict=True))


if __name__ == "__main__":
    main()
