"""Tidegauge: the replication of a whole Kafka cluster, to be simulated in virtual time.

A scenario says what the cluster is, what it has to do and what goes wrong; a run leaves a trace
that tells what was lost, for how long, and why.

``run`` and ``Result`` (``api.py``) are Tidegauge from Python. ``simulate.py`` is a whole run. A
run's processes are cut into groups (``group.py``, ``grouping.py``), which an engine runs:
``inline_engine.py`` in this interpreter, ``ray_engine.py`` in actors of Ray, each of which hosts
one (``hosted_group.py``). ``many_runs.py`` runs seeds and variants, ``real_input`` makes scenarios
of real clusters, ``prediction.py`` says what a run would cost, ``history`` what happened in one,
``alert_rehearsal.py`` what alert rules would have made of it.

The package is a house of rooms, each built on the ones below it: ``replication`` (the rules
of one replica), ``controller`` and ``actors`` (the processes that apply them), and this one,
the front door, which puts a run together and holds the command line.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidegauge.api import Event, Result, RunError, ScenarioError, run

__all__ = ["Event", "Result", "RunError", "ScenarioError", "__version__", "run"]

__version__ = version("tidegauge")


def __getattr__(name: str) -> object:
    """What is for users, once it is asked for: the command line answers without."""
    if name in __all__:
        return getattr(import_module("tidegauge.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
