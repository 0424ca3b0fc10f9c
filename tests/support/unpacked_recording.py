"""A recording read back, one number after the other, by what ``recording.py`` says of its bytes."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

EXISTS, OFFLINE, ACCEPTING, UNDER_MIN_ISR, AT_MIN_ISR, UNDER_REPLICATED = 1, 2, 4, 8, 16, 32


class UnpackedRecording:
    """A recording, as lists."""

    def __init__(self, text: str) -> None:
        content = zlib.decompress(b64decode(text))
        end = 4 + int.from_bytes(content[:4], "little")
        self.header: dict[str, Any] = json.loads(content[4:end])
        numbers = _numbers(content[end:])
        partitions = sum(count for _, _, count in self.header["topics"])
        counts = [next(numbers) for _ in range(partitions)]
        hosts = [[next(numbers) for _ in range(count)] for count in counts]
        brokers = self.header["brokers"]
        #: Ids of the brokers in the slots of each partition.
        self.slots = [[brokers[host] for host in of_one] for of_one in hosts]
        count = self.header["changes"]
        times = accumulate([next(numbers) for _ in range(count)])
        places = accumulate([_signed(next(numbers)) for _ in range(count)])
        states = [self.header["states"][next(numbers)] for _ in range(count)]
        #: Time, partition and state of each change.
        self.changes = list(zip(times, places, states, strict=True))
        assert next(numbers, None) is None

    def at(self, time_us: int) -> dict[int, dict[str, Any]]:
        """All partitions that exist at a time, by number; brokers are ids."""
        held: dict[int, dict[str, Any]] = {}
        for changed_us, partition, state in self.changes:
            if changed_us > time_us:
                break
            epoch = held.pop(partition, {"epoch": 0})["epoch"]
            if state[3] & EXISTS:
                held[partition] = self._told(partition, state, epoch)
        return held

    def _told(self, partition: int, state: list[Any], epoch: int) -> dict[str, Any]:
        leader, epochs, min_insync_replicas, conditions, isr, replicas = state
        slots = self.slots[partition]
        return {
            "leader": None if leader < 0 else slots[leader],
            "epoch": epoch + epochs,
            "min_insync_replicas": min_insync_replicas,
            "conditions": conditions,
            "isr": [slots[slot] for slot in isr],
            "replicas": [slots[slot] for slot in replicas],
        }

    def partition_seconds(self, from_us: int) -> dict[str, float]:
        """How long partitions were in each condition from a time on, as a summary names it."""
        sums = dict.fromkeys(("offline", "not_accepting", "under_min_isr", "at_min_isr"), 0)
        since: dict[int, tuple[int, int]] = {}
        ends = [(self.header["ends"], number, [0, 0, 0, 0]) for number in range(len(self.slots))]
        for time_us, partition, (_, _, _, conditions, *_) in [*self.changes, *ends]:
            began_us, was = since.get(partition, (time_us, 0))
            if was & EXISTS:
                lasted_us = max(time_us, from_us) - max(began_us, from_us)
                sums["offline"] += lasted_us * bool(was & OFFLINE)
                sums["not_accepting"] += lasted_us * (not was & ACCEPTING)
                sums["under_min_isr"] += lasted_us * bool(was & UNDER_MIN_ISR)
                sums["at_min_isr"] += lasted_us * bool(was & AT_MIN_ISR)
            since[partition] = (time_us, conditions)
        return {name: value / 1e6 for name, value in sums.items()}


def _numbers(content: bytes) -> Iterator[int]:
    value = bits = 0
    for byte in content:
        value |= (byte & 127) << bits
        bits += 7
        if byte < 128:
            yield value
            value = bits = 0


def _signed(number: int) -> int:
    return -(number + 1) // 2 if number % 2 else number // 2
