"""Questions of the operator to a quorum's active controller: ``DescribeQuorumState.question``."""

from __future__ import annotations

from tidegauge.compiled.codes import code

#: Which brokers are unfenced: they are the entries of the response.
LIVE_BROKERS = code(0)
#: The state of a partition.
PARTITION_STATE = code(1)
#: Which controller is active.
ACTIVE_CONTROLLER = code(2)
#: Whether no replicas are being moved.
REASSIGNED = code(3)
#: Whether everything has come to rest.
QUIESCENT = code(4)
