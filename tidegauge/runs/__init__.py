"""One history of a run: a folder with its manifest, its rows as events and its result tables.

=====================================  ==================================================
question                               where
=====================================  ==================================================
a run, its names, events and tables    ``run.py``
a row: its values and its words        ``trace_events.py``; many at once: ``moments.py``
the reason of a row, and the chain     ``causes.py``
of triggers
states and rows of partitions          ``partitions.py``; their replicas: ``replicas.py``
... of brokers                         ``brokers.py``; the last samples: ``samples.py``
... of controllers and the quorum      ``controllers.py``, ``quorum.py``; the records of its
                                       log: ``metadata_records.py``
... of ZooKeeper                       ``zookeeper.py`` and its neighbour
... of clients                         ``clients.py``
the table of figures                   ``figures.py``
variants, and runs, side by side       ``compared.py``, ``side_by_side.py``
the true costs of faults               ``fault_costs.py``; in words: ``told_costs.py``
=====================================  ==================================================

All that can be counted is in result tables (``analysis/tables``), which are read in SQL: here are
their rows as classes, stories row by row, and the facts that no table has.

**To add a question**: a table, or a function here that answers it from events; a view of it in
``views``, and an option in ``commands``. ``Run.selected`` selects rows by whole columns. Nothing
here runs a scenario.
"""
