"""Rows in the words of KRaft: what a record of a partition holds beside its leader and ISR."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidegauge.replication.replica_list import EMPTY

if TYPE_CHECKING:
    from tidegauge.history.story import Names
    from tidegauge.traces.run_folder import TraceRow

#: A column of a row in words.
Speak = Callable[["TraceRow", str, "Names"], str]


def _partition_replicas(row: TraceRow, names: Names, speak: Speak) -> str:
    parts = [f"eligible leaders are {speak(row, 'eligible_leaders', names)}"]
    if row["last_known_leader"] >= 0:
        parts.append(f"the last known leader is {speak(row, 'last_known_leader', names)}")
    if row["recovering"]:
        parts.append("it recovers from an unclean election")
    if row["adding"] != EMPTY or row["removing"] != EMPTY:
        replicas, adding, removing = (
            speak(row, column, names) for column in ("replicas", "adding", "removing")
        )
        parts.append(f"of the replicas {replicas}, {adding} are being added, {removing} removed")
    return "; ".join(parts)


def _request_refused(row: TraceRow, names: Names, speak: Speak) -> str:
    words = {column: speak(row, column, names) for column in ("api_key", "from_process", "error")}
    refused = "refuses {api_key} of {from_process}: {error}".format_map(words)
    return refused if row["offset"] < 0 else f"{refused} (offset {row['offset']})"


#: The words of these kinds in a run with KRaft.
TOLD_BY_QUORUM: dict[str, Callable[[TraceRow, Names, Speak], str]] = {
    "partition_replicas": _partition_replicas,
    "request_refused": _request_refused,
}
