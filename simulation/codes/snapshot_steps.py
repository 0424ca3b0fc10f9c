"""What happens to a snapshot of the metadata log, as rows of the trace have it."""

from __future__ import annotations

from tidegauge.compiled.codes import code

SNAPSHOT_STEPS = {0: "writes", 1: "loads", 2: "begins its log with"}
WRITTEN = code(0)
#: It was fetched from the leader: the log ended before that of the leader began.
LOADED = code(1)
#: All before it was deleted.
CLEANED = code(2)
