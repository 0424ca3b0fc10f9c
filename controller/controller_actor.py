"""ZooKeeper and the controllers of all brokers as an actor of Ray."""

from __future__ import annotations

import ray

from tidegauge.simulation.actor_shell import ActorShell


@ray.remote(max_restarts=0, max_task_retries=0, concurrency_groups={"watch": 1})
class ControllerActor(ActorShell):
    """Hosts ZooKeeper, and of each broker the controller context: any can become controller.

    As with brokers (``BrokerActor``), nothing of it is ever repeated by Ray.
    """
