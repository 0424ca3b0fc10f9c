"""The shell of an actor of Ray: a name, and something that it hosts.

The shells themselves are in ``actors/broker_actor.py`` and ``controller/controller_actor.py``: they
hold no rule and no state. Their content comes from their creator (``engine/hosted_group.py``),
since it joins handlers of both rooms.
"""

from collections.abc import Callable
from typing import Any

#: Ray's options of a shell. It is never restarted, nor is a step repeated: both would go on with
#: blank state. While a step runs the group ``watch`` answers requests about its progress, and
#: the group ``packs`` compresses its state.
ACTOR_OPTIONS: dict[str, Any] = {
    "max_restarts": 0,
    "max_task_retries": 0,
    "concurrency_groups": {"watch": 1, "packs": 1},
}


class ActorShell:
    """Calls its hosted object's methods by name."""

    def __init__(self, make_hosted: Callable[[], Any]) -> None:
        """Make the hosted object, in the actor's own process."""
        self._hosted = make_hosted()

    def do(self, step: str, *arguments: Any) -> Any:
        """One step of the run: the hosted object's method of this name."""
        return getattr(self._hosted, step)(*arguments)
