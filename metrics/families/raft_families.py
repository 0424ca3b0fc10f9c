"""Metrics of Raft: each broker and controller of a quorum as a client of it.

Brokers are observers, which fetch the log and do not vote. Averages, maxima and rates are those
of the last 30 to 60 s (``simulation/sampled_stats.py``); a mean or maximum of nothing is NaN.
"""

from __future__ import annotations

from tidegauge.metrics.families.family import Family, Scope
from tidegauge.metrics.families.mbean import MBean

_RAFT = "kafka.server:type=raft-metrics"
_CHANNEL = "kafka.server:type=raft-channel-metrics"

STATE = (
    Family(
        MBean(_RAFT, "current-state", is_text=True),
        "gauge",
        Scope.RAFT_STATE,
        "one",
        "1, with the state as a label: leader, follower, candidate, observer, unattached, and "
        "what a release has beside these.",
    ),
)

#: Attribute, column, meaning.
_NOW = {
    "current-leader": ("leader_id", "Id of the leader that this node knows; -1 if it knows none."),
    "current-vote": (
        "vote_id",
        (
            "Id of the controller that this one has voted for; -1 if for none, up to 3.9 also once "
            "there is a leader."
        ),
    ),
    "current-epoch": ("epoch", "Epoch of the quorum that this node knows."),
    "high-watermark": (
        "high_watermark",
        "Offset up to which the metadata log is committed, as this node knows; -1 if it does not.",
    ),
    "log-end-offset": ("log_end_offset", "End of this node's metadata log."),
    "log-end-epoch": ("log_end_epoch", "Epoch of the last record in this node's metadata log."),
    "fetch-records-rate": (
        "fetch_rate",
        "Records of the metadata log that this node has fetched per second.",
    ),
    "append-records-rate": (
        "append_rate",
        "Records that this node has appended to the metadata log per second, as the leader.",
    ),
}

_TIMES = {
    "commit-latency": ("commit", "from the append of records by this leader to their commit"),
    "election-latency": (
        "election",
        "that this controller has been a candidate until there was a leader",
    ),
}

RAFT = (
    *(
        Family(MBean(_RAFT, attribute), "gauge", Scope.RAFT, column, meaning)
        for attribute, (column, meaning) in _NOW.items()
    ),
    *(
        Family(
            MBean(_RAFT, f"{attribute}-{of}"),
            "gauge",
            Scope.RAFT,
            f"{column}_{of}_ms",
            f"{name} time (virtual milliseconds) {meaning}; NaN if there was none.",
            has_nan=True,
        )
        for attribute, (column, meaning) in _TIMES.items()
        for of, name in (("avg", "Mean"), ("max", "Longest"))
    ),
    Family(
        MBean(_RAFT, "poll-idle-ratio-avg"),
        "gauge",
        Scope.RAFT,
        "idle_ratio",
        "Share of the time since the last scrape in which this controller's thread has not written "
        "to its disk (0 to 1): nothing else takes it time.",
    ),
    Family(
        MBean(_RAFT, "number-unknown-voter-connections"),
        "gauge",
        Scope.RAFT,
        lambda of: of["requests"] * 0,
        # KafkaRaftClient.initialize@4.1.0
        "Always 0, as in Kafka, where all voters are known from the beginning.",
    ),
)

#: Attribute, column, meaning.
_COUNTS = {
    "request-total": ("requests", "Requests that this node has sent to voters."),
    "response-total": ("responses", "Responses of voters that this node has received."),
    "outgoing-byte-total": (
        "outgoing_bytes",
        "Bytes of the requests that this node has sent to voters, as Kafka's protocol writes them.",
    ),
    "incoming-byte-total": (
        "incoming_bytes",
        (
            "Bytes of the responses that this node has received from voters: as Kafka's protocol "
            "writes them, and as an estimate 72 for each record of the metadata log."
        ),
    ),
}

CHANNEL = tuple(
    Family(MBean(_CHANNEL, attribute), "counter", Scope.RAFT, column, meaning)
    for attribute, (column, meaning) in _COUNTS.items()
)
