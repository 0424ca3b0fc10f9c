"""What tests of sweeps share: a scenario whose seeds differ, and the command."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner, Result

from tidegauge.command_line import app

#: One of the brokers is dead for a while; when, and which, is for the seed to say.
CRASHES = """\
name: crashes
duration: 20s
release: "2.6"
cluster: {brokers: 3, settings: {zookeeper.session.timeout.ms: 4000}}
topics: [{name: orders, partitions: 3, replication_factor: 2}]
workload:
  producers: [{name: shop, topics: [orders], batches_per_second: 20, settings: {acks: "all"}}]
fault_rates: [{kind: crash, brokers: [1, 2, 3], mtbf: 20s, repair_time: 5s}]
"""


def sweep(*arguments: str | Path) -> Result:
    """``tidegauge sweep``, as a person at a shell types it."""
    return CliRunner().invoke(app, ["sweep", *map(str, arguments)])
