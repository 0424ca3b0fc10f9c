"""What work takes on the clusters that were recorded.

They were young: every virtual machine had just started and was still interpreting its code,
and several clusters shared two cores. The figures are those of releases 2.4 to 2.6 in the
middle of what was recorded, first requests left out, which take up to half a second. The
cost model's own defaults are those of brokers that have run for a while.
"""

from __future__ import annotations

from typing import Any

_HOSTING = {"min": "2ms", "p50": "10ms", "p90": "80ms", "p99": "300ms"}

#: ``costs`` of a scenario.
COSTS: dict[str, Any] = {
    # From a session's end to the first write: 7 to 83 ms; from a topic's znode: 20 to 60 ms.
    "controller_event": {"min": "12ms", "p50": "35ms", "p90": "60ms", "p99": "83ms"},
    # A produce with acks=1 to a broker that has answered some already: 2 to 5 ms.
    "request": "2ms",
    "append": "1ms",
    # From a topic's first LeaderAndIsr to its last leader: 20 to 400 ms.
    "become_leader": _HOSTING,
    "become_follower": _HOSTING,
    # From SIGTERM to the exit: 2.8 to 3.9 s.
    "broker_stop": "2700ms",
}
