"""Throttles that the operator writes into ZooKeeper: ``ZkThrottleRequest.scope``."""

from __future__ import annotations

from tidegauge.compiled.rules import code

#: The replicas that the setting itself names.
THROTTLE_NAMED = code(0)
#: The replicas that are to be moved, from where they are and to where they go.
THROTTLE_MOVES = code(1)
#: No replica any more, unless replicas are being moved.
THROTTLE_NOTHING = code(2)
