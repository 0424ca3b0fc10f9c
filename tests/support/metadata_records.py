"""The metadata records of a recorded KRaft cluster, as the rows of a run that did the same.

A record of a partition has only what changes. The leader epoch is not in it: it grows with each
record that names a leader, and the partition epoch with each record (PartitionRegistration.merge).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidegauge.replication.replica_list import pack
from tidegauge.runs.trace_events import Names
from tidegauge.simulation.trace_rows.codes import (
    BROKER_ACTIVE,
    BROKER_FENCED,
    BROKER_REGISTERS,
    BROKER_SESSION_EXPIRED,
    BROKER_SHUTTING_DOWN,
    BROKER_UNFENCED,
    STATE_CREATED,
    STATE_DELETED,
    STATE_WRITTEN,
)
from tidegauge.traces.run_folder import TraceRow

#: By the names of a record's fields: those of the state.
_FIELDS = {
    "Isr": "isr",
    "Leader": "leader",
    "EligibleLeaderReplicas": "elr",
    "LastKnownElr": "last_known_elr",
    "LeaderRecoveryState": "recovering",
    "Replicas": "replicas",
    "AddingReplicas": "adding",
    "RemovingReplicas": "removing",
}
_REPLICAS = ("replicas", "adding", "removing", "elr", "last_known_elr", "recovering")


def manifest_of(recording: dict[str, Any]) -> dict[str, Any]:
    """The names in the manifest of a run with the brokers and topics of a recording."""
    created = [step["step"] for step in recording["steps"] if step["step"]["op"] == "create"]
    assigned = {each["topic"]: each["assign"] for each in created}
    return {
        "brokers": recording["brokers"],
        "controllers": [],
        "registered_before": [],
        "topics": [*assigned],
        "partitions": [
            {"topic": topic, "partition": int(number), "replicas": replicas}
            | {"slots": recording["brokers"], "min_insync_replicas": 1}
            | {"most_insync_replicas": None}
            for topic, partitions in assigned.items()
            for number, replicas in partitions.items()
        ],
        "faults": [],
        "processes": [],
        "zookeeper_tree": [],
    }


class Replay:
    """The rows of a repeat's records, one after the other."""

    def __init__(self, recording: dict[str, Any]) -> None:
        self.names = Names(manifest_of(recording))
        self.brokers = recording["brokers"]
        self.states: dict[str, dict[str, Any]] = {}
        #: Brokers that are neither fenced nor shutting down.
        self.active: set[int] = set()
        self.epoch = 0

    def rows(self, records: list[list[Any]], begin_us: int) -> Iterator[TraceRow]:
        """The rows of these records; their times count from the start of their step."""
        for time_ms, kind, key, data, _, epoch in records:
            columns = {"time_us": begin_us + round(time_ms * 1000)}
            if epoch != self.epoch:
                self.epoch = epoch
                place = {"broker": len(self.brokers), "controller_epoch": epoch}
                yield TraceRow("controller_active", columns | place)
            if "cordoned_log_dirs" in data:
                # The state of the broker stays the same.
                continue
            for name, more in self._of(kind, key, data):
                yield TraceRow(name, columns | more)

    def _of(self, kind: str, key: str, data: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        if kind == "PartitionRecord":
            yield from self._created(key)
        elif kind == "PartitionChangeRecord":
            yield from self._changed(key, data)
        elif kind == "ClearElrRecord":
            for name in self._partitions(key):
                if self.states[name]["elr"] or self.states[name]["last_known_elr"]:
                    cleared: dict[str, Any] = {"EligibleLeaderReplicas": [], "LastKnownElr": []}
                    yield from self._changed(name, cleared)
        elif kind == "RemoveTopicRecord":
            for name in self._partitions(key):
                yield self._state_row(name, self.states.pop(name), int(STATE_DELETED))
        elif kind == "ConfigRecord" and ":" in key and key.split(":")[1] in self.names.topics:
            topic = self.names.topics.index(key.split(":")[1])
            yield "topic_configured", {"topic": topic}
        elif kind in {"RegisterBrokerRecord", "BrokerRegistrationChangeRecord"}:
            yield "broker_state", self._broker(kind, int(key.removeprefix("b")), data)

    def _partitions(self, topic: str) -> list[str]:
        return [name for name in self.states if name.rpartition("-")[0] == topic]

    def _created(self, name: str) -> Iterator[tuple[str, Any]]:
        number = self.names.partitions[name]
        replicas = self.names.replicas(number)
        isr = [each for each in replicas if each in self.active]
        self.states[name] = {
            "leader": isr[0],
            "isr": isr,
            "leader_epoch": 0,
            "partition_epoch": 0,
            "replicas": replicas,
            "adding": [],
            "removing": [],
            "elr": [],
            "last_known_elr": [],
            "recovering": 0,
        }
        yield self._state_row(name, self.states[name], int(STATE_CREATED))
        yield self._replicas_row(name)

    def _changed(self, name: str, data: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        state = self.states[name]
        before = [state[each] for each in _REPLICAS]
        state |= {_FIELDS[each]: value for each, value in data.items()}
        state["leader_epoch"] += "Leader" in data
        state["partition_epoch"] += 1
        yield self._state_row(name, state, int(STATE_WRITTEN))
        if before != [state[each] for each in _REPLICAS]:
            yield self._replicas_row(name)

    def _state_row(self, name: str, state: dict[str, Any], change: int) -> tuple[str, Any]:
        return "partition_state", {
            "partition": self.names.partitions[name],
            "change": change,
            "leader": self._index(state["leader"]),
            "isr": self._packed(state["isr"]),
            "leader_epoch": state["leader_epoch"],
            "partition_epoch": state["partition_epoch"],
            "controller_epoch": self.epoch,
        }

    def _replicas_row(self, name: str) -> tuple[str, Any]:
        state = self.states[name]
        return "partition_replicas", {
            "partition": self.names.partitions[name],
            "replicas": self._packed(state["replicas"]),
            "adding": self._packed(state["adding"]),
            "removing": self._packed(state["removing"]),
            "eligible_leaders": self._packed(state["elr"]),
            "last_known_leader": self._index(*state["last_known_elr"] or [-1]),
            "recovering": state["recovering"],
        }

    def _broker(self, kind: str, broker: int, data: dict[str, Any]) -> dict[str, int]:
        if kind == "RegisterBrokerRecord":
            state, reason = BROKER_FENCED, BROKER_REGISTERS
        elif data.get("in_controlled_shutdown"):
            state, reason = BROKER_SHUTTING_DOWN, BROKER_UNFENCED
        elif data["fenced"]:
            state, reason = BROKER_FENCED, BROKER_SESSION_EXPIRED
        else:
            state, reason = BROKER_ACTIVE, BROKER_UNFENCED
        (self.active.add if state == BROKER_ACTIVE else self.active.discard)(broker)
        return {
            "broker": self._index(broker),
            "broker_epoch": data["broker_epoch"],
            "state": int(state),
            "state_reason": int(reason),
        }

    def _index(self, broker: int) -> int:
        return self.brokers.index(broker) if broker in self.brokers else -1

    def _packed(self, brokers: list[int]) -> int:
        return int(pack(self._index(each) for each in brokers))
