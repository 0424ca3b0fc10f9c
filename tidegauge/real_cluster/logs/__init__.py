"""Logs of a real cluster as a run: ``tidegauge read-logs``.

=======
===========================  ===============================================================
``log_files.py``             the log files of a folder
``log_nodes.py``             the node of each
``log_layout.py``            Kafka's own layout: header, time, the words by which lines are found
``foreign_layout.py``        other layouts and prefixes, brought into Kafka's own
``foreign_dates.py``         ... times in other forms
``json_lines.py``            ... JSON objects
``record_layouts.py``        ... records of several lines: pretty JSON, CSV, journald's export
``cut_lines.py``             ... lines that a container runtime has cut
``shared_lines.py``          the lines of one node in a file that several write
``log_stream.py``            the bytes of a file, in blocks of whole entries
``log_lines.py``             entries of a file with time, level, logger, message
``partition_rows.py``        lines about partitions as rows of integers
``partition_lines.py``       the table of lines about partitions
``log_events.py``            events of brokers, controllers and topics, and their lines
``log_reading.py``           all files read with these tables, by several processes
``last_cluster.py``          the content without that of a cluster with another id
``clock_offsets.py``         offsets of clocks, from causes that precede their effects
``partition_states.py``      the states of a partition from the lines about it
``broker_states.py``         registrations, processes, controllers
``real_history.py``          all of it on one clock
``logged_configuration.py``  release, features and settings, as lines tell them
``logged_voters.py``         the voters of a quorum, and the directories of controllers
``logged_cluster.py``        the cluster as a scenario, and the names for numbers in rows
``run_rows.py``              rows of the trace
``voter_rows.py``            ... those about the voters
``logged_run.py``            the folder of the run, and the report
===========================  ===============================================================

A layout that is not found is a case of ``foreign_layout.py``, a form of times a pattern of
``foreign_dates.py``, and each a line of ``tests/real_logs/test_logs_as_people_have_them.py``: all
rooms behind them see Kafka's own layout alone. Nothing is guessed: a file that cannot be read is
refused with its first line.

To add a kind of line about one partition, add an entry to ``PARTITION_LINES``: the speaker, the
words by which it is found, the rest that must follow, its values in named groups. Any other line is
an event: add a class to ``log_events.py``, and use it in ``broker_states.py``. A line that only
intends, restates, or may not have been committed must add no state of its own:
``tests/real_logs/test_lines_that_lie.py`` has such lines.
"""
