"""Result tables of runs: one query for each, in columns with units.

========================  =========================================================================
``result_table.py``       a table: its name, its documented columns, its query
``all_tables.py``         all of them, and the page ``TABLES.md`` that documents them
``dialect.py``            functions of queries, and where the engines differ
``topology.py``           the objects behind the numbers in rows, as relations
``interval_queries.py``   changes made to intervals, intervals laid over each other
``causes.py``             the origins of rows: their triggers and faults
``partition_states.py``   the state of every partition over time; the intervals of
``isr_intervals.py``      ISRs, their members and leaders, and of times
``unavailable.py``        offline, not accepting, under or at min ISR, under-replicated
``described_states.py``   the same states until the very end, as ``describe`` prints them
``broker_states.py``      the state of every broker over time
``acting_leaders.py``     who acts as leader, of older epochs, too
``partition_figures.py``  each partition in one row, for the ranking of ``show``
``isr_changes.py``        shrinks, expands and removals, one by one
``elections.py``          elections, and the parts of the time until a new leader
``notifications.py``      changes in notifications, and their delays
``controller.py``         events of the controller, and their time in its queue
``gauges.py``             values of brokers' own gauges
``logs.py``               truncations, and the lag of high watermarks
``acknowledged.py``       acknowledged ranges, the lost ones, and the causes
``faults.py``             times of active faults; steps
``fault_costs.py``        the effects that are charged to each fault
``run_figures.py``        the figures of the summary, from these tables
========================  =========================================================================

**To add a table**, write its query and its documented columns, add it to ``all_tables.py``, and
generate ``TABLES.md`` again. Join with small tables and use window functions over the whole order
of rows; Python handles no single row.
"""
