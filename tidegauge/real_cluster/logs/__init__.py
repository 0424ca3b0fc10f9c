"""Logs of a real cluster as a run: ``tidegauge read-logs``.

========================  ===============================================================
``log_files.py``          the log files of a folder, and the node that each is of
``log_stream.py``         the bytes of a file, compressed or torn
``log_layout.py``         how lines begin; their times
``log_openings.py``       one pattern that finds the lines that tell something
``log_lines.py``          entries of a file with time, level, logger, message
``told.py``               what lines tell, as rows of integers; events
``partition_lines.py``    the table of lines about partitions
``event_lines.py``        the table of lines about brokers, controllers, topics
``log_reading.py``        all files read with these tables, by several processes
``clock_offsets.py``      offsets of clocks, from causes that precede their effects
``partition_states.py``   lines about a partition put together as its states
``broker_lives.py``       registrations, processes, controllers
``real_history.py``       all of it on one clock
``logged_cluster.py``     the cluster as a scenario, and the names for numbers in rows
``run_rows.py``           rows of the trace
``run_writing.py``        the folder of the run
``log_reporting.py``      what was found, for people and programs
========================  ===============================================================

To add a kind of line, add an entry to ``PARTITION_LINES`` if it is about one partition, and to
``EVENT_LINES`` otherwise: the speaker, the words by which it is found, what must follow, and what
it tells. A line about partitions needs no more if it tells a state; an event is taken up in
``broker_lives.py``. A line that only intends, restates, or may not have been committed must add no
state of its own: ``tests/real_logs/test_lines_that_lie.py`` has such lines.
"""
