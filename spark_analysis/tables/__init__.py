"""Result tables: what runs come to, in columns with units, made by Spark alone.

========================  =========================================================================
``result_table.py``       what a table is: its name, its documented columns, how it is made
``all_tables.py``         all of them, and the page ``TABLES.md`` that documents them
``written_tables.py``     tables as Parquet, run by run; and how they are read back
``run_rows.py``           the rows that tables are made of
``topology.py``           who the numbers in rows stand for
``replica_lists.py``      ISRs and assignments, which rows hold as one integer
``intervals.py``          changes made to intervals, intervals laid over each other
``causes.py``             what rows go back to: what triggered them, which fault
``partition_states.py``   what every partition was at every time; the intervals of
``isr_intervals.py``      ISRs, their members and leaders, and of what was
``unavailable.py``        offline, not accepting, under or at min ISR
``isr_changes.py``        shrinks, expands and removals, one by one
``elections.py``          elections, and where the time went until somebody led again
``notifications.py``      what was gathered into them, and why it took how long
``controller.py``         events of the controller, and how long its queue held them up
``gauges.py``             what brokers' own gauges said
``logs.py``               truncations, and the lag of high watermarks
``acknowledged.py``       acknowledged ranges, and which of them are lost and why
``faults.py``             when which fault was on
``run_figures.py``        the figures of the summary, from these tables
========================  =========================================================================

**To add a table**, write its function from :class:`run_rows.RunRows` to a DataFrame and its
columns, add it to ``all_tables.py``, and write ``TABLES.md`` anew. Join with small tables and use
window functions over the whole order of rows; no row is touched in Python.
"""
