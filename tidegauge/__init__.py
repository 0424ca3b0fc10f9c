"""Tidegauge: the replication of a whole Kafka cluster, simulated in virtual time.

A scenario names a cluster, its workload and its faults; a run of it leaves a trace, from which
every loss follows with its duration and its cause.

``run``, ``resume``, ``branch``, ``sweep``, ``compare``, ``import_cluster`` and ``Result``
(``api.py``, ``result.py``) are Tidegauge from Python; ``command_line.py`` is the command.
The house stands on these rooms, from the ground up:

==================  ==============================================================================
room                subject
==================  ==============================================================================
``compiled``        compiled code and records, without any Kafka
``replication``     the rules of one replica, by release
``simulation``      virtual time: events, links, faults, random streams, costs, rows
``traces``          trace files and their hash; checks and figures of a run
``clients``         producers, consumers, groups; the operator
``scenario``        scenario files, from YAML to numbers
``controller``      ZooKeeper and the controllers
``actors``          brokers
``metrics``         Prometheus: metrics, endpoint
``analysis``        result tables in SQL, made by DuckDB; questions
``spark_analysis``  Spark: recorded rows as DataFrames, result tables of many runs
``engine``          a scenario laid out as tables, cut into groups, run: inline or on Ray
``tidegauge``       the front door: ``runs`` (the history of a run), ``report``, ``rehearsal``,
                    ``rewind``, ``sweeps``, ``what_if``, ``views``, ``commands``, and two wings:
                    ``real_cluster`` and ``laboratory``
==================  ==============================================================================

A room imports from lower rooms only; ``tests/house/test_floors.py`` has the floors.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidegauge.api import (
        QueryError,
        Result,
        RunError,
        ScenarioError,
        Sweep,
        TidegaugeError,
        TraceEvent,
        branch,
        compare,
        import_cluster,
        resume,
        run,
        sweep,
    )

__all__ = [
    "QueryError",
    "Result",
    "RunError",
    "ScenarioError",
    "Sweep",
    "TidegaugeError",
    "TraceEvent",
    "__version__",
    "branch",
    "compare",
    "import_cluster",
    "resume",
    "run",
    "sweep",
]

__version__ = version("tidegauge")


def __getattr__(name: str) -> object:
    """The names for users, once they are asked for: the command line answers without."""
    if name in __all__:
        return getattr(import_module("tidegauge.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The names for users, before they are imported, without those that this file imports."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
