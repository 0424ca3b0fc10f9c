"""What a step of the scenario waits for, and what it does: ``Step.start``, ``Step.action``."""

from __future__ import annotations

from tidegauge.compiled.rules import code

# Step.start
AT = code(0)
AFTER = code(1)
WHEN_ISR = code(2)
WHEN_LEADER = code(3)
WHEN_REGISTERED = code(4)
WHEN_UNREGISTERED = code(5)
WHEN_CONTROLLER = code(6)
WHEN_QUIESCENT = code(7)
WHEN_LEADER_IS_NOT = code(8)
WHEN_ANSWERED = code(9)
WHEN_REASSIGNED = code(10)

# Step.action
PRODUCES = code(0)
FETCHES = code(1)
BEGINS_FAULT = code(2)
ENDS_FAULT = code(3)
ASKS_EPOCH = code(4)
PREFERS = code(5)
CONFIGURES = code(6)
CREATES_TOPIC = code(7)
OBSERVES = code(8)
WAITS = code(9)
REASSIGNS = code(10)
DELETES_TOPIC = code(11)
CONFIGURES_BROKERS = code(12)
VERIFIES = code(13)
RESTARTS_CONSUMERS = code(14)
ALTERS_REASSIGNMENTS = code(15)
