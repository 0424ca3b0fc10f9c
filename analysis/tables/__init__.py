"""Result tables of runs, in columns with units, made by Spark alone.

========================  =========================================================================
``result_table.py``       a table: its name, its documented columns, its query
``all_tables.py``         all of them, and the page ``TABLES.md`` that documents them
``written_tables.py``     tables as Parquet, run by run; and how they are read back
``run_rows.py``           the source rows of tables
``run_tables.py``         tables of some runs, made on demand
``topology.py``           the objects behind the numbers in rows
``replica_lists.py``      ISRs and assignments, which rows hold as one integer
``intervals.py``          changes made to intervals, intervals laid over each other
``causes.py``             the origins of rows: their triggers and faults
``partition_states.py``   the state of every partition over time; the intervals of
``isr_intervals.py``      ISRs, their members and leaders, and of times
``unavailable.py``        offline, not accepting, under or at min ISR
``isr_changes.py``        shrinks, expands and removals, one by one
``elections.py``          elections, and the parts of the time until a new leader
``notifications.py``      changes in notifications, and their delays
``controller.py``         events of the controller, and their time in its queue
``gauges.py``             values of brokers' own gauges
``logs.py``               truncations, and the lag of high watermarks
``acknowledged.py``       acknowledged ranges, the lost ones, and the causes
``faults.py``             times of active faults
``run_figures.py``        the figures of the summary, from these tables
========================  =========================================================================

**To add a table**, write its function from :class:`run_rows.RunRows` to a DataFrame and its
columns, add it to ``all_tables.py``, and generate ``TABLES.md`` again. Join with small tables and
use window functions over the whole order of rows; Python handles no single row.
"""
