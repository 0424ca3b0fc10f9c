"""The speed of the rules: followers fetch from leaders that append, compiled, on one core.

One fetch costs three rules, as on a real leader:

1. update the leader's view of the follower (``update_fetch_state``),
2. may it enter the ISR (``needs_expand_isr``),
3. may the high watermark move (``maybe_increment_leader_high_watermark``).

Partitions have three followers; partition, follower and lag are drawn at random over
arrays of records that do not fit into the first caches. The checksum is the same wherever
this runs, compiled or not, so nothing can be optimised away unseen.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

from tidegauge.compiled.compile_all import compile_all
from tidegauge.compiled.records import Records, new_records
from tidegauge.compiled.rules import COMPILED, rule
from tidegauge.replication.high_watermark import maybe_increment_leader_high_watermark
from tidegauge.replication.in_sync_replicas import needs_expand_isr
from tidegauge.replication.isr_update import commit_isr, expanded_isr
from tidegauge.replication.partition import initialize_partition
from tidegauge.replication.records import Partition, RemoteReplica
from tidegauge.replication.release_rules import ReleaseRules
from tidegauge.replication.releases import rules_of
from tidegauge.replication.remote_replica import initialize_follower, update_fetch_state
from tidegauge.replication.replica_list import EMPTY, pack

PARTITIONS = 4096
FOLLOWERS = 3
RULES_PER_FETCH = 3
LAG_MS = 30_000


@rule
def fetch_loop(
    rules: ReleaseRules,
    partitions: Records[Partition],
    followers: Records[RemoteReplica],
    fetches: int,
    random_state: int,
) -> int:
    """Let ``fetches`` followers fetch; a checksum over all that they left behind."""
    now_ms = 0
    checksum = 0
    for fetch in range(fetches):
        # A linear congruential generator: cheap, and the same everywhere.
        random_state = (random_state * 1103515245 + 12345) & 0x7FFFFFFF
        partition = partitions[(random_state >> 8) & (PARTITIONS - 1)]
        replica = 1 + (random_state >> 21) % FOLLOWERS
        lag = (random_state >> 4) & 3
        partition.log_end_offset += 1
        now_ms += fetch & 1
        follower = followers[partition.first_follower + replica]
        offset = max(partition.log_end_offset - lag, follower.log_end_offset)
        update_fetch_state(rules, follower, offset, 0, now_ms, partition.log_end_offset)
        if needs_expand_isr(rules, partition, replica, offset, EMPTY):
            commit_isr(partition, expanded_isr(partition, replica), partition.partition_epoch + 1)
        if maybe_increment_leader_high_watermark(
            rules, partition, followers, now_ms, LAG_MS, EMPTY
        ):
            checksum = (checksum * 31 + partition.high_watermark) & 0x7FFFFFFFFFFF
    return checksum


def cluster() -> tuple[Records[Partition], Records[RemoteReplica]]:
    """Partitions that are led here, with three followers each, one of them in sync."""
    partitions = new_records(Partition, PARTITIONS)
    followers = new_records(RemoteReplica, PARTITIONS * (FOLLOWERS + 1))
    for index in range(PARTITIONS):
        partition = partitions[index]
        first_follower = index * (FOLLOWERS + 1)
        initialize_partition(partition, 0, pack(range(FOLLOWERS + 1)), first_follower, 2)
        for replica in range(FOLLOWERS + 1):
            initialize_follower(followers[first_follower + replica], replica)
        partition.leader = 0
        commit_isr(partition, pack([0, 1]), 0)
    return partitions, followers


def compile_anew() -> str:
    """Compile all rules into an empty cache, in a process of its own; its output."""
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run(
            [sys.executable, "-m", "tidegauge", "compile"],
            env=os.environ | {"TIDEGAUGE_CACHE_DIR": folder},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    return next(line for line in said.splitlines() if line.startswith("Compiled"))


def main() -> None:
    """Print the time to compile, the rules per second and the checksum."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fetches", type=int, default=20_000_000 if COMPILED else 20_000)
    parser.add_argument("--passes", type=int, default=5)
    arguments = parser.parse_args()

    if COMPILED:
        print(f"{compile_anew()} (an empty cache)", flush=True)
        compile_all()
    rules = rules_of("2.6")
    speeds = []
    for number in range(1, arguments.passes + 1):
        partitions, followers = cluster()
        started = time.perf_counter()
        checksum = fetch_loop(rules, partitions, followers, arguments.fetches, 1)
        seconds = time.perf_counter() - started
        speeds.append(RULES_PER_FETCH * arguments.fetches / seconds / 1e6)
        print(
            f"pass {number}      {speeds[-1]:.1f} million rules a second, checksum {checksum:x}",
            flush=True,
        )
    print(f"median      {sorted(speeds)[len(speeds) // 2]:.1f} million rules a second on one core")


if __name__ == "__main__":
    main()
