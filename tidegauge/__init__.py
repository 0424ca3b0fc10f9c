"""Tidegauge simulates the replication of a whole Kafka cluster in virtual time.

Every replica's log, high watermark, leader-epoch cache and in-sync set, the controller and
its ZooKeeper run under faults, deterministically: the same scenario and seed give the same
trace, event for event.

The package is a house of rooms, each built on the ones below it: ``replication`` (the rules
of one replica), ``controller`` and ``actors`` (the processes that apply them), and this one,
the front door, which puts a run together and holds the command line.
"""

from importlib.metadata import version

__version__ = version("tidegauge")
