"""Virtual time: events and their order, links, faults, random streams, costs, rows of the trace.

=============================  ==========================================================
subject                        file
=============================  ==========================================================
processes, events, tables      ``kernel.py``: records and tables of the kernel
events and their order         ``events.py``; the room ``messages`` has the kinds
messages between processes     ``links.py``; ``transfers.py``: those with records;
                               ``bandwidth.py``
what every broker can know     ``metadata_log.py``, ``offset_commits.py``: one log each
the cluster's numbers          ``topology.py``: brokers, partitions, processes;
                               ``zookeeper_tree.py``
faults                         ``faults.py``; ``slow_disks.py``
messages held, dropped, sent   ``pins.py``
twice, one by one
random draws, the cost model   ``random_streams.py``, ``rows.py``
rows of the trace              the room ``trace_rows`` (the schema), ``rows.py`` (writing, hash)
codes in rows and messages     ``trace_rows/codes.py``; their names: ``trace_rows/schema.py``
times, bytes as text           ``quantities.py``
the JVM's orders               ``jvm_orders.py``
the shell of a Ray actor       ``actor_shell.py``
=============================  ==========================================================

**To add a kind of event**: a class in ``messages``, and its handler where its process handles it.
``X.to(world, process, ...)`` makes a message of it, ``X.at`` and ``X.after`` set a timer.

**To add a kind of row**: a class in ``trace_rows``; ``X.write(world, ...)`` writes one. Events and
rows take the values of fields as keywords, or from records that have fields of the same names.

**To add a fault**: a class of the scenario (``scenario/model/fault.py`` says which facts it gives),
and its rule with its code in ``faults.py`` or in the room of the processes that it hits.

**To add a cost**: its field in ``scenario/model/costs.py``, its place in ``rows.py``, its use in
``scenario/used_resources.py``, its example in
``tidegauge/laboratory/manual/scenario_examples.yaml``.

Code that runs inside the loop is compiled: ``@inner_rule`` functions over tables, which only other
rules call. This room imports from ``compiled`` and ``replication`` only.
"""
