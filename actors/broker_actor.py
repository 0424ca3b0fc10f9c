"""Brokers and clients as an actor of Ray."""

from __future__ import annotations

import ray

from tidegauge.simulation.actor_shell import ActorShell


@ray.remote(max_restarts=0, max_task_retries=0, concurrency_groups={"watch": 1})
class BrokerActor(ActorShell):
    """Hosts one broker or several, and clients.

    It is never restarted by Ray, nor is a step repeated: both would go on with blank state. While
    a step runs, the group ``watch`` answers who asks how far it is.
    """
