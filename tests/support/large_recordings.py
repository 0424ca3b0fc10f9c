"""Recordings of clusters larger than a test can run: many partitions that change all the time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types

from tidegauge.report.recording import RecordedRun, recording_of

S = 1_000_000
END_US = 900 * S
_REPLICAS = 3
_RACKS = ("a", "b", "c")


def large_manifest(brokers: int, partitions: int) -> dict[str, Any]:
    """The manifest of a cluster in three racks; each partition has a replica in each."""
    ids = range(1, brokers + 1)
    return {
        "scenario": {
            "cluster": {"racks": {rack: list(ids)[at::3] for at, rack in enumerate(_RACKS)}}
        },
        "processes": [
            {"process": place, "name": f"broker {broker}", "role": "broker", "number": place}
            for place, broker in enumerate(ids)
        ],
        "brokers": list(ids),
        "controllers": [],
        "registered_before": list(ids),
        "topics": ["orders"],
        "partitions": [
            {
                "topic": "orders",
                "partition": number,
                "replicas": (replicas := [(number + each) % brokers + 1 for each in range(3)]),
                "slots": replicas,
                "min_insync_replicas": 2,
                "most_insync_replicas": None,
            }
            for number in range(partitions)
        ],
        "faults": [],
        "zookeeper_tree": [],
    }


def large_recording(brokers: int, partitions: int, changes: int) -> str:
    """A recording in which ISRs of random sizes follow each other, with a leader or without one."""
    manifest = large_manifest(brokers, partitions)
    each = changes // partitions
    random = np.random.default_rng(1)
    begins = np.sort(random.integers(1, END_US, (partitions, each)), axis=1)
    begins[:, 0] = 0
    ends = np.append(begins[:, 1:], np.full((partitions, 1), END_US), axis=1)
    in_sync = random.integers(0, _REPLICAS + 1, (partitions, each))
    in_sync[:, 0] = _REPLICAS
    replicas = np.array([of["replicas"] for of in manifest["partitions"]])
    isrs = [replicas[number, :size].tolist() for number, row in enumerate(in_sync) for size in row]
    leads = in_sync.ravel() > 0
    leader = np.repeat(replicas[:, 0], each)
    states = pa.table(
        {
            "partition": np.repeat(np.arange(partitions), each),
            "begin_us": begins.ravel(),
            "end_us": ends.ravel(),
            "leader": pa.array(leader, pa.int64(), mask=~leads),
            "leader_epoch": np.tile(np.arange(each), partitions),
            "isr": pa.array(isrs, pa.list_(pa.int64())),
            "replicas": pa.array(np.repeat(replicas, each, axis=0).tolist(), pa.list_(pa.int64())),
            "adding": pa.array([[]] * changes, pa.list_(pa.int64())),
            "min_insync_replicas": np.full(changes, 2),
            "offline": ~leads,
            "accepting": leads,
            "under_min_isr": in_sync.ravel() == 1,
            "at_min_isr": in_sync.ravel() == 2,
        }
    )
    faults = [
        {
            "begin_us": at * 100 * S,
            "end_us": (at * 100 + 80) * S,
            "fault": at,
            "fault_name": f"power of rack {rack}",
            "fault_kind": "power_loss",
            "fault_text": f"rack:{rack}",
            "ended": True,
            "processes": list(range(at, brokers, 3)),
        }
        for at, rack in enumerate(_RACKS)
    ]
    return recording_of(manifest, RecordedRun(states, faults), END_US)
