"""The number of each check: its place in the tables, and in ``CHECKS``."""

from __future__ import annotations

from tidegauge.compiled.codes import code

STRONG_ISR = code(0)
COMMITTED_AGREE = code(1)
EXPOSED_DURABLE = code(2)
EXPOSED_UNIQUE = code(3)
LOG_MATCHING = code(4)
ONE_LEADER_PER_EPOCH = code(5)
ACKNOWLEDGED_RECORDS_LOST = code(6)
CONSUMER_WENT_BACKWARDS = code(7)
#: How many checks are judged from rows.
ROW_CHECKS = 8
