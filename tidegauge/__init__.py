"""Tidegauge: the replication of a whole Kafka cluster, to be simulated in virtual time.

A scenario says what the cluster is, what it has to do and what goes wrong; a run leaves a trace
that tells what was lost, for how long, and why.

``simulate.py`` is a whole run. A run's processes are cut into groups (``group.py``,
``grouping.py``), which an engine runs: ``inline_engine.py`` in this interpreter, ``ray_engine.py``
in actors of Ray, each of which hosts one (``hosted_group.py``).

The package is a house of rooms, each built on the ones below it: ``replication`` (the rules
of one replica), ``controller`` and ``actors`` (the processes that apply them), and this one,
the front door, which puts a run together and holds the command line.
"""

from importlib.metadata import version

__version__ = version("tidegauge")
