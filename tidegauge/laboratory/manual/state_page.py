"""The page ``docs/state-machines.md``: the legal transitions of partitions, replicas and voters.

Each diagram is drawn from the table that the rules of the machine read.
"""

import inspect
import textwrap
from collections.abc import Mapping
from types import ModuleType
from typing import NamedTuple

from tidegauge.controller.partitions import partition_changes, replica_state_machine
from tidegauge.controller.raft import transitions
from tidegauge.laboratory.manual.markdown import code_block
from tidegauge.simulation.trace_rows.codes import VOTER_STATES

_OPENING = """\
# State machines

This page covers three state machines of Kafka's control planes: the states of a partition and of a
replica, as a ZooKeeper controller sees them, and the states of a voter of a KRaft quorum. An arrow
is a legal transition; the diagrams are drawn from the tables that the simulated controllers obey.
"""


class _Machine(NamedTuple):
    heading: str
    meaning: str
    source: ModuleType
    #: The name of each state.
    names: Mapping[int, str]

    @property
    def table(self) -> Mapping[int, frozenset[int]]:
        previous: Mapping[int, frozenset[int]] = self.source.VALID_PREVIOUS_STATES
        return previous


def _states_of(module: ModuleType) -> dict[int, str]:
    """The states that a module declares, by their constants' names."""
    states = set(module.VALID_PREVIOUS_STATES)
    declared = inspect.getsource(module)
    return {
        int(value): name
        for name, value in vars(module).items()
        if f"\n{name} = code(" in declared and value in states
    }


_MACHINES = (
    _Machine(
        "Partitions",
        "Kafka: `PartitionStateMachine`. A transition that is not drawn is refused and changes "
        "nothing.",
        partition_changes,
        _states_of(partition_changes),
    ),
    _Machine(
        "Replicas",
        "Kafka: `ReplicaStateMachine` of 2.3 and later; before that no offline replica "
        "becomes ineligible for deletion. A transition that is not drawn is refused.",
        replica_state_machine,
        _states_of(replica_state_machine),
    ),
    _Machine(
        "Voters",
        "Kafka: `QuorumState`. `stopped` is a process that does not run; one that starts resumes "
        "with the epoch, the leader and the vote of its disk. `prospective` exists from 4.0 on "
        "(KIP-996); before that a voter becomes a candidate at once. A transition that is not "
        "drawn is an error, and ends the run.",
        transitions,
        VOTER_STATES,
    ),
)


def documentation() -> str:
    """The page, without the line that ends it."""
    return _OPENING + "".join(_section(machine) for machine in _MACHINES)


def _section(machine: _Machine) -> str:
    arrows = [
        f"    {_label(machine, state)} --> {_label(machine, target)}"
        for target, previous in machine.table.items()
        for state in sorted(previous)
    ]
    diagram = "\n".join(["stateDiagram-v2", *arrows])
    meaning = textwrap.fill(machine.meaning, 100)
    return f"\n## {machine.heading}\n\n{meaning}\n\n{code_block(diagram, 'mermaid')}"


def _label(machine: _Machine, state: int) -> str:
    """The name of a state, in small letters and without the name of its owner."""
    name = machine.names[state].lower()
    return name.removesuffix("_partition").removesuffix("_replica").removeprefix("replica_")
