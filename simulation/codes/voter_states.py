"""The states of a voter of a KRaft quorum (Kafka: EpochState), as rows of the trace have them."""

from __future__ import annotations

from tidegauge.compiled.codes import code

VOTER_STATES = {
    0: "stopped",
    1: "unattached",
    2: "follower",
    3: "prospective",
    4: "candidate",
    5: "leader",
    6: "resigned",
}
#: Its process does not run.
VOTER_STOPPED = code(0)
#: It knows no leader of its epoch; it may have voted in it.
UNATTACHED = code(1)
FOLLOWER = code(2)
#: It asks for votes without an epoch of its own (KIP-996; from 4.0).
PROSPECTIVE = code(3)
CANDIDATE = code(4)
LEADER = code(5)
#: It was the leader of its epoch, and has given that up.
RESIGNED = code(6)
