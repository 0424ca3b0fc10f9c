"""The costs of work on the recorded clusters.

The clusters were new: every virtual machine had just started and was still interpreting its code,
and several clusters shared two cores. The figures are medians of the recordings of releases 2.4 to
2.6, without first requests, which take up to half a second. The cost model's own defaults are those
of one cluster alone on its machine.
"""

from __future__ import annotations

from typing import Any

#: The time in which the harness looks up the leader and connects to it.
CONNECTING = "10ms"
#: The time in which the harness reads all files and queries all brokers: a minimum, and by replica.
OBSERVING_MS, OBSERVING_REPLICA_MS = 5.0, 3.0
#: The same minimum of a KRaft cluster, whose metadata log is read too, by seed. The number of
#: NoOpRecords between two steps, two in a second, shows it: 0.05 to 0.5 s on a shared machine.
KRAFT_OBSERVING_MS = (60.0, 200.0, 450.0)

_STOP = {"min": "200ms", "p50": "900ms", "p90": "1600ms", "p99": "2200ms"}
_HOSTING = {"min": "2ms", "p50": "20ms", "p90": "150ms", "p99": "600ms"}

#: ``costs`` of a scenario.
COSTS: dict[str, Any] = {
    # From a session's end to the first write: 7 to 130 ms; from a topic's creation: 20 to 200 ms.
    "controller_event": {"min": "7ms", "p50": "40ms", "p90": "80ms", "p99": "130ms"},
    # From a session's end to the next /controller: 3 to 110 ms.
    "controller_election": {"min": "2ms", "p50": "9ms", "p90": "40ms", "p99": "110ms"},
    # A produce request with acks=1 to a broker that has handled some already: 2 to 5 ms.
    "request": "2ms",
    "append": "1ms",
    # From a registration to the first ISR update that takes the broker back: 0.1 to 3 s.
    "broker_ready": {"min": "120ms", "p50": "500ms", "p90": "1500ms", "p99": "2500ms"},
    # From a topic's first LeaderAndIsr to its last leader: 20 ms to 2 s.
    "become_leader": _HOSTING,
    "become_follower": _HOSTING,
    # From one ISR that a leader writes to its next: 2 to 30 ms.
    "zookeeper_write": {"min": "2ms", "p50": "8ms", "p90": "20ms", "p99": "50ms"},
    # From SIGTERM to the exit: 2.8 to 3.9 s, with 3.9.0 0.8 to 3.5 s.
    "broker_stop": "2700ms",
    "broker_stop_interrupting": "1500ms",
}

#: ``costs`` of a scenario in KRaft mode. The recording's machine was shared by many clusters: of a
#: span its lower part counts.
KRAFT_COSTS: dict[str, Any] = {
    # As above: the requests of clients are the same.
    **{name: COSTS[name] for name in ("request", "append")},
    # As above, of a log on the same disk.
    "metadata_fsync": COSTS["zookeeper_write"],
    # From an unfencing to the first ISR update that takes the broker back: 60 ms to 2.8 s, most
    # often 0.5 s, and a tenth below 0.2 s. A leader that was paused past its session (n1) leads on
    # for 0.2 to 0.5 s. Brokers that wait for the same leader come back in any order.
    "metadata_publication": {"min": "5ms", "p50": "100ms", "p90": "300ms", "p99": "600ms"},
    # From a registration to the unfencing: 0.15 to 5.5 s, half of them below 1.3 s.
    "metadata_first_publication": {"min": "50ms", "p50": "1100ms", "p90": "2900ms", "p99": "5s"},
    # Of the start of a broker, a schedule knows the time of its registration.
    "broker_registration": "50ms",
    # From the record of the fencing to the exit: 0.2 to 2.4 s.
    "broker_stop": _STOP,
    "broker_stop_interrupting": _STOP,
}
