"""Virtual time: events and their order, links, faults, random streams, costs, rows of the trace.

=============================  ==========================================================
subject                        file
=============================  ==========================================================
processes, events, tables      ``kernel.py``: records and tables of the kernel
events and their order         ``events.py``; ``kinds.py`` lists the kinds
messages between processes     ``links.py``
what every broker can know     ``metadata_log.py``, ``offset_commits.py``: one log each
the cluster's numbers          ``topology.py``: brokers, partitions, znodes, processes
faults                         ``faults.py``; ``slow_disks.py``, ``timed_stops.py``
random draws, the cost model   ``random_streams.py``, ``costs.py``
rows of the trace              ``row_kinds.py`` (the schema), ``rows.py`` (writing, hash)
codes that messages carry      ``zookeeper_errors.py``, ``throttles.py``
times as people write them     ``durations.py``
the JVM's orders               ``java_hash.py``, ``scala_hash.py``
the shell of a Ray actor       ``actor_shell.py``
=============================  ==========================================================

**To add** a kind of event: a line in ``kinds.py`` and a branch where its process handles it. A kind
of row: a line in ``row_kinds.py``, and its words in ``tidegauge/history/story.py``. A fault: its
model in ``scenario/model/faults.py``, its record in ``engine/layout/fault_tables.py``, its effect
in ``faults.py`` and in the process that it hits (``actors/broker.py``). A cost: its field in
``scenario/model/costs.py`` and its place in ``costs.py``.

Code that runs inside the loop is compiled: ``@inner_rule`` functions over tables, which only other
rules call. This room imports from ``compiled`` and ``replication`` only.
"""
