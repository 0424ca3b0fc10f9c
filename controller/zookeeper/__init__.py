"""ZooKeeper's server: znodes with versions and watches, sessions, settings of topics, throttles.

``zookeeper.py``, ``znode_reads.py`` and ``znode_writes.py`` handle requests, ``held_states.py``
lays out a cluster that was there before the run. No controller's rule is known here.
"""
