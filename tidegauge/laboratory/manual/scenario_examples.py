"""Examples of every part of a scenario, as YAML: each field of a part is in one of them at least.

The model validates all of them in ``tests/docs/test_generated_pages.py``. A field's example in the
reference is its value in the first of these that has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from tidegauge.laboratory.manual.scenario_sections import SECTIONS
from tidegauge.scenario.model.cluster import (
    BrokerRelease,
    Cluster,
    Controllers,
    FormerState,
    Topic,
    ZooKeeper,
)
from tidegauge.scenario.model.costs import Costs, Latency, Network
from tidegauge.scenario.model.fault_rates import FaultRate
from tidegauge.scenario.model.limits import Machine, Resources
from tidegauge.scenario.model.parts import Part
from tidegauge.scenario.model.scenario import AlertExpectations, Scenario
from tidegauge.scenario.model.workload import ConsumerGroup, ProducerGroup, Workload

_SCENARIO = """\
name: my-cluster
description: What does a crash of broker 2 cost?
seed: 7
duration: 4m
release: "2.6"
protocol: "2.4"
trace: transitions
sample_every: 10s
checkpoint_files: false
cluster: {brokers: 3}
zookeeper: {servers: 3}
topics: [{name: orders, partitions: 6, replication_factor: 3}]
workload: {producers: [{name: shop, topics: [orders], batches_per_second: 10}]}
network: {between_racks: 1ms}
costs: {append: 300us}
resources: {network_in: 1Gbit/s}
faults: [{kind: crash, at: 30s, for: 1m, brokers: [2]}]
fault_rates: [{kind: pause, brokers: [3], mtbf: 1h, repair_time: 5s}]
steps: [{do: observe, at: 2m}]
measure_from: 10s
liveness: true
checks: {strong_isr: true}
alerts: {fire: {UnderReplicatedPartitions: 90s}}
"""

_SCENARIO_WITH_KRAFT = """\
name: my-cluster
duration: 4m
release: "4.1"
mode: kraft
metadata_version: "4.0"
eligible_leader_replicas: true
cluster: {brokers: 3}
controllers: {count: 3}
"""

#: The parts of a scenario but faults and steps, which have their own.
_PARTS: dict[type[Part], list[str]] = {
    Scenario: [_SCENARIO, _SCENARIO_WITH_KRAFT],
    Cluster: [
        """\
brokers: 3
racks: [a, b, c]
placement: drawn
start_spread: 500ms
start: {1: 0s, 2: 250ms}
restart_after_exit: 5s
log_directories: 4
write_back: 30s
settings: {replica.lag.time.max.ms: 10000}
broker_settings: {3: {num.replica.fetchers: 4}}
broker_releases: {3: {release: "2.8"}}
"""
    ],
    BrokerRelease: ['{release: "2.8", protocol: "2.6"}'],
    ZooKeeper: ["{tick_ms: 2000, servers: 3, rack: a}"],
    Controllers: ["{count: 3, racks: [a, b, c], settings: {broker.session.timeout.ms: 6000}}"],
    Topic: [
        """\
name: orders
partitions: 2
replication_factor: 3
assignment: {0: [1, 2, 3], 1: [2, 3, 1]}
state: {0: {leader: 2, isr: [2, 3]}}
size: {0: 120GB, 1: 80GB}
settings: {min.insync.replicas: 2}
"""
    ],
    FormerState: [
        "{leader: 2, isr: [2, 3], leader_epoch: 5}",
        "{isr: [], elr: [1], last_known_leader: 3}",
        "{leader: 2, isr: [2, 3], adding: [1], removing: [3]}",
        "{leader: 2, isr: [2, 3], behind: {1: 2GB}}",
    ],
    Workload: [
        """\
producers: [{name: shop, topics: [orders], batches_per_second: 10}]
consumers: [{name: billing, topics: [orders]}]
"""
    ],
    ProducerGroup: [
        """\
name: shop
clients: 4
topics: [orders]
start: 5s
bootstrap: [1, 2, 3]
rack: a
settings: {acks: all}
batches_per_second: 100
records_per_batch: 10
record_bytes: 500
stop: 3m
"""
    ],
    ConsumerGroup: [
        """\
name: billing
clients: 2
topics: [orders]
start: 5s
bootstrap: [1, 2, 3]
rack: a
settings: {enable.auto.commit: true}
records_per_second: 800
"""
    ],
    Network: [
        """\
within_rack: 200us
between_racks: {min: 250us, p50: 400us, p90: 600us, p99: 1500us, max: 5ms}
clients: 400us
within_host: 30us
retransmission_after_cut: 3s
"""
    ],
    Costs: [
        """\
request: 200us
request_partition: 5us
append: {min: 100us, p50: 200us, p99: 5ms}
zookeeper_read: 390us
zookeeper_write: 570us
zookeeper_pipelined_write: 160us
controller_event: 35ms
controller_partition: 80us
controller_election: 3ms
become_leader: 560us
become_follower: 560us
broker_start: 700ms
broker_ready: 150ms
log_load: 460us
log_recovery: 4600us
log_recovery_mebibyte: 400us
broker_stop: 1700ms
broker_stop_interrupting: 700ms
offsets_load: 5ms
offsets_load_mebibyte: 10ms
controller_failover_partition: 100us
""",
        """\
metadata_record: 2us
metadata_append: 200us
metadata_fsync: 570us
metadata_publication: 50ms
metadata_publication_partition: 20us
metadata_first_publication: 150ms
broker_registration: 300ms
broker_stop_request: 11ms
metadata_snapshot_mebibyte: 9ms
""",
    ],
    Resources: [
        """\
network_in: 10Gbit/s
network_out: 10Gbit/s
between_racks: 40Gbit/s
disk_read: 600MB/s
disk_write: 600MB/s
page_cache: 28GiB
dirty_limit: 256MiB
brokers: {3: {disk_write: 50MB/s}}
"""
    ],
    Machine: [
        """\
network_in: 1Gbit/s
network_out: 1Gbit/s
disk_read: unlimited
disk_write: 1GB/s
dirty_limit: 128MiB
page_cache: 0B
"""
    ],
    Latency: [
        "{min: 1ms, p50: 5ms, p90: 20ms, p99: 300ms, max: 1s}",
        (
            "{table: [1ms, 1ms, 1ms, 2ms, 2ms, 2ms, 3ms, 3ms, 4ms, 4ms, 5ms, 6ms, 8ms, 10ms, 20ms, "
            "50ms, 1s]}"
        ),
    ],
    FaultRate: [
        """\
kind: crash
name: deaths
brokers: [1, 2]
mtbf: 4h
repair_time: {min: 10s, p50: 1m, p99: 10m}
each: broker
start: 1m
stop: 50m
"""
    ],
    AlertExpectations: [
        """\
after: 5m
repaired: 15m
fire: {UnderReplicatedPartitions: 90s}
clear: {UnderReplicatedPartitions: 2m}
silent: all
may_fire: [IsrShrinks]
"""
    ],
}

#: Of every part.
EXAMPLES: dict[type[Part], Sequence[str]] = {
    section.part: _PARTS.get(section.part, section.part.examples) for section in SECTIONS
}

#: What can stand in `brokers` and `between` of a fault, and what it selects.
SELECTORS = {
    "2": "the host of broker 2: the broker and, with ZooKeeper, its controller",
    '"broker:2"': "broker 2 without its controller",
    '"controller:2"': "the controller of broker 2 alone; with KRaft the one of this number",
    '"rack:b"': "all hosts in rack b, with KRaft its controllers, too",
    "zookeeper": "ZooKeeper",
    "controllers": "the controllers of a KRaft cluster: only in `between`",
    "clients": "all clients",
    '"client:shop"': "the clients of the group `shop`",
}


def read(example: str) -> Any:
    """An example as a file gives it to the model."""
    return yaml.safe_load(example)


def example_of(part: type[Part], name: str) -> str | None:
    """The example of a field, as it stands in a file: ``name: value``."""
    for each in EXAMPLES.get(part, ()):
        fields = read(each)
        if name in fields:
            written = yaml.safe_dump(
                {name: fields[name]}, default_flow_style=True, sort_keys=False, width=10_000
            )
            return written.strip().removeprefix("{").removesuffix("}")
    return None
