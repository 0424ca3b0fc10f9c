"""ZooKeeper and the controllers of all brokers as an actor of Ray."""

import ray

from tidegauge.simulation.actor_shell import ACTOR_OPTIONS, ActorShell


@ray.remote(**ACTOR_OPTIONS)
class ControllerActor(ActorShell):
    """Hosts ZooKeeper, and of each broker the controller context: any can become controller."""
