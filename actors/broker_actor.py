"""Brokers and clients as an actor of Ray."""

import ray

from tidegauge.simulation.actor_shell import ACTOR_OPTIONS, ActorShell


@ray.remote(**ACTOR_OPTIONS)
class BrokerActor(ActorShell):
    """Hosts one broker or several, and clients."""
