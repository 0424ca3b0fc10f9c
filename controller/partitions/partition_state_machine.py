"""The states of a partition, as the controller sees it (``PartitionStateMachine``).

A table and nothing else: the state that is entered, and the states that it may be entered
from. A transition that is not in the table is refused and changes nothing. Entering ONLINE
from NEW initialises leader and ISR, from OFFLINE or ONLINE it elects; what is written for
either stands in ``leader_and_isr.py`` and ``elections.py``.

Source: ``PartitionState`` with ``validPreviousStates``, PartitionStateMachine@2.4.0.
"""

from __future__ import annotations

from typing import Final

from tidegauge.compiled.rules import code, rule
from tidegauge.controller.state.transitions import previous_state_bits

NEW_PARTITION = code(0)
ONLINE_PARTITION = code(1)
OFFLINE_PARTITION = code(2)
NON_EXISTENT_PARTITION = code(3)

#: State entered -> states from which it may be.
VALID_PREVIOUS_STATES: Final[dict[int, frozenset[int]]] = {
    NEW_PARTITION: frozenset({NON_EXISTENT_PARTITION}),
    ONLINE_PARTITION: frozenset({NEW_PARTITION, ONLINE_PARTITION, OFFLINE_PARTITION}),
    OFFLINE_PARTITION: frozenset({NEW_PARTITION, ONLINE_PARTITION, OFFLINE_PARTITION}),
    NON_EXISTENT_PARTITION: frozenset({OFFLINE_PARTITION}),
}

_VALID_PREVIOUS = previous_state_bits(VALID_PREVIOUS_STATES)


@rule
def may_enter(state: int, target: int) -> bool:
    """Whether a partition in ``state`` may enter ``target``.

    Source: ControllerContext.checkValidPartitionStateChange@2.4.0.
    """
    return (_VALID_PREVIOUS[target] >> state) & 1 == 1
