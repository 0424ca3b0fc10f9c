"""The handlers of events: ``@ZOOKEEPER.handles(...)``, ``@CONTROLLER.handles(...)``.

Handlers of a controller return whether they keep the event.

Tables of legal transitions, in the form in which compiled rules read them.
"""

from collections.abc import Mapping

from tidegauge.compiled.handlers import Handlers

ZOOKEEPER = Handlers()
CONTROLLER = Handlers()


def previous_state_bits(table: Mapping[int, frozenset[int]]) -> tuple[int, ...]:
    """Turn "state entered -> states it may be entered from" into bits.

    Bit s of entry t says that state t may be entered from state s.
    """
    bits = [0] * (max(table) + 1)
    for target, previous_states in table.items():
        bits[target] = sum(1 << int(previous) for previous in previous_states)
    return tuple(bits)
