"""The processes of a run in this interpreter, or in actors of Ray: options, and the default.

Inline is the default wherever one group is the fastest, which is nearly everywhere
(``engine/grouping.py``); only busy clusters with distant racks run faster with actors.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.contract import EngineMaker
from tidegauge.engine.grouping import worth_broker_groups
from tidegauge.engine.inline_engine import inline as all_inline
from tidegauge.engine.ray_engine import on_ray
from tidegauge.scenario.cluster_plan import ClusterPlan


class Hosting(NamedTuple):
    """The options ``--inline``, ``--ray``, ``--actors`` and ``--address``."""

    inline: bool = False
    ray: bool = False
    #: The number of actors that host brokers. None: the usual number.
    actors: int | None = None
    #: Of a Ray cluster. None: that of RAY_ADDRESS, else Ray is started on this machine.
    address: str | None = None

    @property
    def asks_for_ray(self) -> bool:
        """Whether an option needs Ray."""
        return self.ray or self.actors is not None or self.address is not None

    def check(self) -> None:
        """Fail if the options contradict each other."""
        if self.inline and self.asks_for_ray:
            raise TidegaugeError("--inline excludes Ray: leave out --ray, --actors and --address")

    def words(self) -> list[str]:
        """The options as on the command line."""
        words = ["--inline"] if self.inline else []
        words += ["--ray"] if self.ray else []
        words += [] if self.actors is None else ["--actors", str(self.actors)]
        return words + ([] if self.address is None else ["--address", self.address])

    def of(self, plan: ClusterPlan) -> Hosting:
        """These options, with the default decided for this cluster on this machine."""
        if self.inline or self.asks_for_ray:
            return self

        groups = worth_broker_groups(plan, os.cpu_count() or 1)
        return Hosting(inline=True) if groups == 1 else Hosting(ray=True, actors=groups)

    def told(self, asked: Hosting) -> str:
        """The choice in words, with the option for the other choice.

        Args:
            asked: the options, before :meth:`of` has decided.
        """
        if self.inline:
            return "inline" if asked.inline else "inline (--ray: in actors of Ray)"
        if asked.asks_for_ray:
            return "in actors of Ray"
        return f"in {self.actors} actors of Ray, faster here than one process (--inline: without)"

    def engine(self) -> EngineMaker:
        """This interpreter, or actors of Ray."""
        if self.asks_for_ray:
            return on_ray(self.actors, self.address)

        return all_inline()
