"""The wall time of the loop by kind of process, sampled.

Every few milliseconds a thread samples the process whose event the kernel is handling. The kernel
stores that process when it delivers an event, and releases Python's lock while it runs. So the
loop pays one store for each event, and the rest of the run is not affected. Time outside the
kernel (rows written and judged, tables enlarged, waits for other groups) is the driver's.
"""

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from tidegauge.engine.group import Group
from tidegauge.simulation import kernel

_PERIOD_S = 0.003

#: The names of the kinds of processes.
KINDS = {
    int(kernel.BROKER): "broker",
    int(kernel.CONTROLLER): "controller",
    int(kernel.ZOOKEEPER): "zookeeper",
    int(kernel.CLIENT): "client",
    int(kernel.QUORUM_CONTROLLER): "quorum controller",
    int(kernel.RACK_LINK): "link between racks",
}
_ELSEWHERE = "driver"


class LoopSampler:
    """Samples while it is entered."""

    def __init__(self, groups: Sequence[Group]) -> None:
        """Begin without samples."""
        self._groups = groups
        self._roles = [int(process.role) for process in groups[0].plan.processes]
        #: The number of samples of each kind that the cluster has.
        kinds = (kind for role, kind in KINDS.items() if role in self._roles)
        self.seen = dict.fromkeys((*kinds, _ELSEWHERE), 0)
        self._over = threading.Event()
        self._thread = threading.Thread()

    def __enter__(self) -> Self:
        self._over.clear()
        self._thread = threading.Thread(target=self._sample, name="loop-sampler", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(_PERIOD_S):
            running = next(
                (group for group in self._groups if group.exchange.state.in_kernel), None
            )
            kind = _ELSEWHERE
            if running is not None:
                kind = KINDS[self._roles[int(running.world.context[0].handling)]]
            self.seen[kind] += 1
