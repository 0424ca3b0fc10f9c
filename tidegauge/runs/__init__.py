"""The history of a run, and its causes: read from its folder (``traces/run_folder.py``).

=====================================  ==================================================
question                               where
=====================================  ==================================================
the events of a partition, broker,     ``partition_history.py``, ``broker_history.py``,
controller                             ``controller_history.py``; in words: ``story.py``,
                                       ``moments.py``
the reason of an event                 ``reasons.py``; the chain of triggers: ``cause_chain.py``
the result tables of the run           ``result_tables.py``
replicas over time                     ``replica_history.py``
topics at a time                       ``topic_description.py``
ZooKeeper's rows, and its content      ``zookeeper_rows.py`` and its neighbours
KAFKA-14704 in a run                   ``misled_replica.py``
events for programs                    ``events.py``
two to four variants side by side      ``figures.py``, ``compared.py``
=====================================  ==================================================

All that can be counted is in result tables (``analysis/tables``), which views read in SQL. Here are
stories, row by row, and what no table has.

**To add a question**: a table, or a file here that answers it from rows; a view of it in ``views``,
and an option in ``commands``.
``row_selection.py`` selects rows by whole columns. Nothing here runs a scenario.
"""
