"""Kafka's numbers of requests (``protocol/ApiKeys``), as rows of the trace name them.

The simulator numbers all events, requests among them, in a row of its own
(``simulation/kinds.py``).
"""

from __future__ import annotations

from tidegauge.simulation import kinds

#: The request of each kind of event: Kafka's number and name.
_REQUESTS: dict[int, tuple[int, str]] = {
    kinds.PRODUCE: (0, "PRODUCE"),
    kinds.FETCH: (1, "FETCH"),
    kinds.LIST_OFFSETS: (2, "LIST_OFFSETS"),
    kinds.METADATA: (3, "METADATA"),
    kinds.LEADER_AND_ISR: (4, "LEADER_AND_ISR"),
    kinds.STOP_REPLICA: (5, "STOP_REPLICA"),
    kinds.UPDATE_METADATA: (6, "UPDATE_METADATA"),
    kinds.CONTROLLED_SHUTDOWN: (7, "CONTROLLED_SHUTDOWN"),
    kinds.OFFSET_COMMIT: (8, "OFFSET_COMMIT"),
    kinds.FIND_COORDINATOR: (10, "FIND_COORDINATOR"),
    kinds.JOIN_GROUP: (11, "JOIN_GROUP"),
    kinds.HEARTBEAT: (12, "HEARTBEAT"),
    kinds.OFFSETS_FOR_LEADER_EPOCH: (23, "OFFSET_FOR_LEADER_EPOCH"),
    kinds.ALTER_PARTITION: (56, "ALTER_PARTITION"),
}

#: ``api_key``: the name of each number.
API_KEYS = dict(_REQUESTS.values())

#: Kafka's number of each kind of event, for compiled code; -1: it is no such request.
KEY_OF_KIND = tuple(_REQUESTS.get(kind, (-1, ""))[0] for kind in range(kinds.KINDS))
