"""Result tables of runs, in columns with units: one SQL query for each, for every engine.

========================  =========================================================================
``result_table.py``       a table: its name, its documented columns, its query; views
``all_tables.py``         all of them, and the page ``TABLES.md`` that documents them
``dialect.py``            functions for queries, defined for DuckDB and for Spark; changes made
                          to intervals, intervals laid over each other
``topology.py``           relations of the objects behind the numbers in rows
``partition_states.py``   the state of every partition over time; the intervals of
``isrs.py``               ISRs, their members and leaders, with each change; and of times
``unavailable.py``        stalled, offline, not accepting, under or at min ISR, under-replicated
``described_states.py``   the same states until the very end, as ``describe`` prints them
``broker_states.py``      the state of every broker over time; who acts as leader, of older
                          epochs, too
``partition_figures.py``  each partition in one row, for the ranking of ``show``
``elections.py``          elections, and the parts of the time until a new leader; events of the
                          controller, and their time in its queue
``notifications.py``      changes in notifications, and their delays
``control_plane.py``      the cost of a control plane, in either mode
``clients.py``            throughput and failures of clients, second by second; refusals;
                          acknowledgements; what came of the records of each group
``logs.py``               truncations, the lag of high watermarks, nodes' own gauges; what leaders
                          have at each sample
``acknowledged.py``       acknowledged ranges, the lost ones, and the causes
``faults.py``             times of active faults, and the service meanwhile; steps
``fault_costs.py``        the effects that are charged to each fault
``run_figures.py``        the figures of the summary, from these tables
========================  =========================================================================

A query reads relations by their names (``making/engine.py`` finds them in its text):

* the rows of a kind by the kind's name, with ``run``, ``time_us``, ``process``, ``sequence``,
  ``minor`` and the kind's own columns: ``partition_state`` has those of the run,
  ``partition_state_to_the_last`` also those of the liveness phase;
* the objects behind numbers: ``runs``, ``brokers``, ``partitions`` and others (``topology.py``);
* other tables and views.

**To add a table**, write its columns, its query in Spark's dialect with the functions of
``dialect.py``, and its key, add it to ``all_tables.py``, and generate ``TABLES.md`` again.
``tests/analysis/tables/test_engines_agree.py`` holds the engines against each other; functions that
only one of them has (``unnest``, ``explode``, lambda functions) stay out of queries.

**A table never varies**: no query may depend on the order in which rows come. A window orders rows
by all of ``time_us, process, sequence, minor``, or by the key of its relation; ``min_by`` and the
like take the ``place`` of a row for ties. Two windows may order equal rows unlike, so that equal
intervals are made one first (``united``). ``tests/analysis/tables/test_total_orders.py`` finds
windows, aggregates and limits without a total order, and
``tests/analysis/tables/test_shuffled_rows.py`` makes all tables of shuffled rows.
"""
