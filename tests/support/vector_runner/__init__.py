"""Runs test vectors: Kafka's replication rules as data, one fact each.

A file of vectors says of each one its area, what is given, which operations follow and what
is to be seen then; its own ``conventions`` document every key. Here each area is a class
(``area.py``) that drives the very functions that the simulation runs. Whatever a vector
contains that its area does not know is a failure, never a skip.

To add an area, write a class with ``@area("name")`` in a module of this package and import
the module below. To add an operation or something to be seen, add a method to the class.
"""

from vector_runner import (
    accumulator,
    checkpoints,
    controller,
    epoch_cache,
    fencing,
    fetching,
    high_watermark,
    in_sync,
    leader_state,
    producer_state,
    reconfiguration,
    voter_set_history,
    voter_sets,
    workflow,
)
from vector_runner.area import AREAS, run_vector
from vector_runner.vector_file import VectorFile, load_vectors

__all__ = [
    "AREAS",
    "VectorFile",
    "accumulator",
    "checkpoints",
    "controller",
    "epoch_cache",
    "fencing",
    "fetching",
    "high_watermark",
    "in_sync",
    "leader_state",
    "load_vectors",
    "producer_state",
    "reconfiguration",
    "run_vector",
    "voter_set_history",
    "voter_sets",
    "workflow",
]
