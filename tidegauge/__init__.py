"""Tidegauge: the replication of a whole Kafka cluster, to be simulated in virtual time.

So far it has the rules of that replication, release by release; the simulation is being
built on them.

The package is a house of rooms, each built on the ones below it: ``replication`` (the rules
of one replica), ``controller`` and ``actors`` (the processes that apply them), and this one,
the front door, which puts a run together and holds the command line.
"""

from importlib.metadata import version

__version__ = version("tidegauge")
