"""The codes of what a step waits for, and of what it does: ``Step.start``, ``Step.action``."""

from __future__ import annotations

from tidegauge.compiled.rules import NamedCodes, code

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

#: Step.action, by the action of a step in a scenario; each stands beside its rule.
STEP_CODES = NamedCodes()
