"""The one table of estimators that read logs: for each parameter of a mode at most one."""

from __future__ import annotations

from tidegauge.real_cluster.costs.broker_lives import BROKER_LIVES
from tidegauge.real_cluster.costs.controller_work import CONTROLLER_WORK
from tidegauge.real_cluster.costs.coordinator_loads import COORDINATOR_LOADS
from tidegauge.real_cluster.costs.state_changes import STATE_CHANGES

ESTIMATORS = (*BROKER_LIVES, *STATE_CHANGES, *CONTROLLER_WORK, *COORDINATOR_LOADS)

#: The literals of all lines that tell anything.
MARKERS = tuple(dict.fromkeys(marker for each in ESTIMATORS for marker in each.markers))

#: Parameters that neither logs nor metrics tell, and why.
UNTOLD = {
    "request_partition": "only whole requests are measured",
    "zookeeper_pipelined_write": "lines have milliseconds, and writes of one batch share theirs",
    "controller_partition": "the lines of one batch are written within a millisecond",
    "controller_election": "no line says that a broker begins to try",
    "log_recovery_mebibyte": "no line has the bytes that were read again",
    "offsets_load_mebibyte": "only whole partitions are measured",
    "metadata_record": "microseconds, which no line shows",
    "metadata_append": "only its sum with metadata_fsync shows, which is dominant",
    "metadata_snapshot_mebibyte": "no line has the duration of a transfer",
}
