"""The doors of the rooms: the handlers of events and faults for processes of each role.

The loop calls them by address (``compiled/rule_calls.py``), so only the rooms are compiled and
loaded whose roles a scenario has: no KRaft quorum for a cluster with ZooKeeper, and no ZooKeeper
for one with KRaft. A new role is one line here.

The state of a group of processes: all tables under one name.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from tidegauge.actors.broker import expect_broker_event, handle_broker_event, take_broker_fault
from tidegauge.clients.client import expect_client_event, handle_client_event
from tidegauge.clients.rolling_restarts import take_operator_fault
from tidegauge.compiled.codes import COMPILED
from tidegauge.compiled.rule_calls import address_of
from tidegauge.controller.controller import handle_controller_event, take_controller_fault
from tidegauge.controller.kraft.active_controller import handle_quorum_event
from tidegauge.controller.kraft.controller_processes import take_quorum_fault
from tidegauge.controller.zookeeper.zookeeper import handle_zookeeper_event, take_zookeeper_fault
from tidegauge.metrics.snapshots.snapshot import MeasuredState
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.kernel import (
    BROKER,
    CLIENT,
    CONTROLLER,
    QUORUM_CONTROLLER,
    RACK_LINK,
    ZOOKEEPER,
    Kernel,
)
from tidegauge.simulation.links import handle_rack_link_event, take_rack_link_fault


class Doors(NamedTuple):
    """The rules that take the events of a role's process."""

    handle: Callable[..., Any]
    take_fault: Callable[..., Any]
    #: Takes an event before it is due (``compiled/prefetching.py``).
    expect: Callable[..., Any] | None = None


#: Partitions of a cluster whose tables are larger than caches.
_LARGE = 2000

DOORS = {
    int(BROKER): Doors(handle_broker_event, take_broker_fault, expect_broker_event),
    int(CONTROLLER): Doors(handle_controller_event, take_controller_fault),
    int(ZOOKEEPER): Doors(handle_zookeeper_event, take_zookeeper_fault),
    int(CLIENT): Doors(handle_client_event, take_operator_fault, expect_client_event),
    int(QUORUM_CONTROLLER): Doors(handle_quorum_event, take_quorum_fault),
    int(RACK_LINK): Doors(handle_rack_link_event, take_rack_link_fault),
}


def enter_doors(plan: ClusterPlan, kernel: Kernel) -> None:
    """Enter the addresses of the doors of all roles that processes of a scenario have."""
    # Smaller tables stay in the processor's cache: there loading ahead costs 3 % and gains nothing.
    loads_ahead = COMPILED and len(plan.partitions) >= _LARGE
    kernel.context[0].loads_ahead = loads_ahead
    for role, numbers in enumerate(plan.process_ranges):
        if len(numbers) > 0:
            door = DOORS[role]
            kernel.roles[role].handle = address_of(door.handle)
            kernel.roles[role].take_fault = address_of(door.take_fault)
            if loads_ahead and door.expect is not None:
                kernel.roles[role].expect = address_of(door.expect)


class World(MeasuredState):
    """Brokers, controllers, ZooKeeper and clients of one group, with time and topology.

    A rule of a room takes the class of tables that concern the room, of which this is one.
    """
