"""The cost model: how long work takes, drawn from the scenario's quantile tables.

The tables follow those of the network in ``Kernel.quantiles``, in the order below.
"""

from __future__ import annotations

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.kernel import Kernel
from tidegauge.simulation.links import NETWORK_TABLES
from tidegauge.simulation.random_streams import COST, QUANTILES, draw, quantile_us

#: Fields of ``costs`` in a scenario, in the order of their tables.
COST_NAMES = (
    *("request", "request_partition", "append", "become_leader", "become_follower"),
    *("zookeeper_read", "zookeeper_write", "zookeeper_pipelined_write"),
    *("controller_event", "controller_partition"),
    *("broker_start", "log_load", "log_recovery", "log_recovery_mebibyte", "broker_stop"),
    *("controller_failover_partition", "broker_ready", "controller_election"),
    *("offsets_load", "offsets_load_mebibyte", "broker_stop_interrupting"),
    *("metadata_record", "metadata_append", "metadata_fsync"),
    *("metadata_publication", "metadata_publication_partition", "metadata_first_publication"),
    *("broker_registration", "broker_stop_request", "metadata_snapshot_mebibyte"),
)
REQUEST = code(int(NETWORK_TABLES) + 0)
REQUEST_PARTITION = code(int(NETWORK_TABLES) + 1)
APPEND = code(int(NETWORK_TABLES) + 2)
BECOME_LEADER = code(int(NETWORK_TABLES) + 3)
BECOME_FOLLOWER = code(int(NETWORK_TABLES) + 4)
ZOOKEEPER_READ = code(int(NETWORK_TABLES) + 5)
ZOOKEEPER_WRITE = code(int(NETWORK_TABLES) + 6)
ZOOKEEPER_PIPELINED_WRITE = code(int(NETWORK_TABLES) + 7)
CONTROLLER_EVENT_COST = code(int(NETWORK_TABLES) + 8)
CONTROLLER_PARTITION_COST = code(int(NETWORK_TABLES) + 9)
BROKER_START_COST = code(int(NETWORK_TABLES) + 10)
LOG_LOAD = code(int(NETWORK_TABLES) + 11)
LOG_RECOVERY = code(int(NETWORK_TABLES) + 12)
LOG_RECOVERY_MEBIBYTE = code(int(NETWORK_TABLES) + 13)
BROKER_STOP = code(int(NETWORK_TABLES) + 14)
CONTROLLER_FAILOVER_PARTITION = code(int(NETWORK_TABLES) + 15)
BROKER_READY = code(int(NETWORK_TABLES) + 16)
CONTROLLER_ELECTION = code(int(NETWORK_TABLES) + 17)
OFFSETS_LOAD = code(int(NETWORK_TABLES) + 18)
OFFSETS_LOAD_MEBIBYTE = code(int(NETWORK_TABLES) + 19)
BROKER_STOP_INTERRUPTING = code(int(NETWORK_TABLES) + 20)
METADATA_RECORD = code(int(NETWORK_TABLES) + 21)
METADATA_APPEND = code(int(NETWORK_TABLES) + 22)
METADATA_FSYNC = code(int(NETWORK_TABLES) + 23)
METADATA_PUBLICATION = code(int(NETWORK_TABLES) + 24)
METADATA_PUBLICATION_PARTITION = code(int(NETWORK_TABLES) + 25)
METADATA_FIRST_PUBLICATION = code(int(NETWORK_TABLES) + 26)
BROKER_REGISTRATION = code(int(NETWORK_TABLES) + 27)
BROKER_STOP_REQUEST = code(int(NETWORK_TABLES) + 28)
METADATA_SNAPSHOT_MEBIBYTE = code(int(NETWORK_TABLES) + 29)


@inner_rule
def cost_us(world: Kernel, process: int, table: int) -> int:
    """How long something takes that a process does now."""
    first = table * QUANTILES
    value_us = world.quantiles[first].value_us
    if world.quantiles[first + QUANTILES - 1].value_us != value_us:
        state = world.processes[process]
        uniform = draw(world.context[0].seed, COST, process, state.draws)
        state.draws += 1
        value_us = quantile_us(world.quantiles, first, uniform)
    use = world.quantile_uses[table]
    use.times += 1
    use.total_us += value_us
    return value_us
