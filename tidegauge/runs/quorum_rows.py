"""Rows in the words of KRaft: what a record of a partition holds beside its leader and ISR."""

from __future__ import annotations

from collections.abc import Callable

from tidegauge.replication.records import EMPTY
from tidegauge.traces.run_folder import TraceRow

#: A column of the row in words.
Speak = Callable[[str], str]


def _partition_replicas(row: TraceRow, speak: Speak) -> str:
    parts = [f"eligible leaders are {speak('eligible_leaders')}"]
    if row["last_known_leader"] >= 0:
        parts.append(f"the last known leader is {speak('last_known_leader')}")
    if row["recovering"]:
        parts.append("it recovers from an unclean election")
    if row["adding"] != EMPTY or row["removing"] != EMPTY:
        replicas, adding, removing = (
            speak(column) for column in ("replicas", "adding", "removing")
        )
        parts.append(f"of the replicas {replicas}, {adding} are being added, {removing} removed")
    return "; ".join(parts)


def _request_refused(row: TraceRow, speak: Speak) -> str:
    words = {column: speak(column) for column in ("api_key", "from_process", "error")}
    refused = "refuses {api_key} of {from_process}: {error}".format_map(words)
    return refused if row["offset"] < 0 else f"{refused} (offset {row['offset']})"


#: The words of these kinds in a run with KRaft.
TOLD_BY_QUORUM: dict[str, Callable[[TraceRow, Speak], str]] = {
    "partition_replicas": _partition_replicas,
    "request_refused": _request_refused,
}
