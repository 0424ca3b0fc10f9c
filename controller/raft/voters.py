"""Which controller of the quorum an event is handled by."""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.raft.state import Raft, Voter
from tidegauge.simulation.kernel import QUORUM_CONTROLLER
from tidegauge.simulation.topology import Topology


@inner_rule
def this_voter(world: Raft) -> Voter:
    """The controller that handles the event."""
    return world.voters[voter_of(world, world.context[0].handling)]


@inner_rule
def voter_of(world: Topology, process: int) -> int:
    """Which controller of the quorum a process is."""
    return process - world.process_ranges[QUORUM_CONTROLLER].first


@inner_rule
def name_of_voter(world: Topology, process: int) -> int:
    """A controller as rows name it: the number of brokers + its own."""
    return world.sizes[0].brokers + voter_of(world, process)
