"""The states of a replica, as the controller sees it (``ReplicaStateMachine``).

A table and nothing else, as for partitions: the state that is entered, and the states that it may
be entered from. Entering OFFLINE takes the replica out of the ISR (``leader_and_isr.py``); the
deletion states lead a topic's replicas to their end. The table is that of 2.3 and later;
transitions that were not legal before have a switch.

Source: ``ReplicaState`` with ``validPreviousStates``, ReplicaStateMachine@2.2.0 and @2.4.0.
"""

from typing import Final

from tidegauge.compiled.codes import previous_state_bits
from tidegauge.compiled.rules import code, rule
from tidegauge.replication.release_rules import ReleaseRules

NEW_REPLICA = code(1)
ONLINE_REPLICA = code(2)
OFFLINE_REPLICA = code(3)
REPLICA_DELETION_STARTED = code(4)
REPLICA_DELETION_SUCCESSFUL = code(5)
REPLICA_DELETION_INELIGIBLE = code(6)
NON_EXISTENT_REPLICA = code(7)

_ALIVE_OR_DEAD = frozenset(
    {NEW_REPLICA, ONLINE_REPLICA, OFFLINE_REPLICA, REPLICA_DELETION_INELIGIBLE}
)

#: State entered -> states from which it may be.
VALID_PREVIOUS_STATES: Final[dict[int, frozenset[int]]] = {
    NEW_REPLICA: frozenset({NON_EXISTENT_REPLICA}),
    ONLINE_REPLICA: _ALIVE_OR_DEAD,
    OFFLINE_REPLICA: _ALIVE_OR_DEAD,
    REPLICA_DELETION_STARTED: frozenset({OFFLINE_REPLICA}),
    REPLICA_DELETION_SUCCESSFUL: frozenset({REPLICA_DELETION_STARTED}),
    REPLICA_DELETION_INELIGIBLE: frozenset({OFFLINE_REPLICA, REPLICA_DELETION_STARTED}),
    NON_EXISTENT_REPLICA: frozenset({REPLICA_DELETION_SUCCESSFUL}),
}

_VALID_PREVIOUS = previous_state_bits(VALID_PREVIOUS_STATES)


@rule
def may_enter(rules: ReleaseRules, state: int, target: int) -> bool:
    """Whether a replica in ``state`` may enter ``target``.

    Source: ControllerContext.checkValidReplicaStateChange@2.4.0.
    """
    if state == OFFLINE_REPLICA and target == REPLICA_DELETION_INELIGIBLE:
        return rules.offline_replica_turns_ineligible
    return (_VALID_PREVIOUS[target] >> state) & 1 == 1
