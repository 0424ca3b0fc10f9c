"""Checks: what Kafka's replication promises, judged from the rows of a run.

Rows come in one stream, in their total order (``engine/row_stream.py``), and go through
``judgement.py``: it keeps the history of each partition (``histories.py``, ``lineage.py``) and
calls each check for the rows that can break it. The code is compiled like the kernel, so a row
costs less than a microsecond.

A check is broken in a partition, by an event. Where a setting (unclean election, records that were
not flushed before a loss of power) or a release (KAFKA-14704) gives up the promise, the break is
*permitted*: it is reported together with the setting or release that permits it. The verdict is
false if a check was broken anywhere, true if it was not, and "unknown" if that cannot be decided.

**To add a check**: a file of its own here that says what must hold and cites the source, notes each
breach with ``breaches.note_breach``, and has paragraphs *Permitted*, *Example* and *Source* in its
docstring, from which ``docs/checks.md`` is made; its number in ``numbers.py``; a call where
``judgement.py`` sees the row; its name in :data:`CHECKS`; and a scenario in which it is broken, in
``tests/tidegauge/test_checks.py``.
"""

from __future__ import annotations

from typing import NamedTuple

from tidegauge.traces.checks import numbers


class Check(NamedTuple):
    """Name and meaning of one check."""

    name: str
    #: The condition that must hold.
    promise: str


#: All checks that are judged from rows, by their numbers.
CHECKS: dict[int, Check] = {
    int(numbers.STRONG_ISR): Check(
        "strong_isr", "every member of the ISR in ZooKeeper has every record that was ever exposed"
    ),
    int(numbers.COMMITTED_AGREE): Check(
        "committed_agree", "two replicas agree below both of their high watermarks"
    ),
    int(numbers.EXPOSED_DURABLE): Check(
        "exposed_durable", "the true leader has every record that consumers could ever read"
    ),
    int(numbers.EXPOSED_UNIQUE): Check(
        "exposed_unique", "no offset was ever exposed with two different records"
    ),
    int(numbers.LOG_MATCHING): Check(
        "log_matching", "two logs with the same epoch at an offset agree up to it"
    ),
    int(numbers.ONE_LEADER_PER_EPOCH): Check(
        "one_leader_per_epoch", "in each epoch of a partition one broker leads at most"
    ),
    int(numbers.ACKNOWLEDGED_RECORDS_LOST): Check(
        "acknowledged_records_lost",
        "every record acknowledged with acks=all is in the leader's log",
    ),
    int(numbers.CONSUMER_WENT_BACKWARDS): Check(
        "consumer_went_backwards",
        "no consumer is sent back to an offset before records that it has read",
    ),
}
#: The check of the liveness phase (``engine/liveness.py``).
LIVENESS = Check(
    "liveness", "after all faults have ended, every ISR is full and all logs are equal"
)

#: The names that a scenario can use.
CHECK_NAMES = (*(check.name for check in CHECKS.values()), LIVENESS.name)
