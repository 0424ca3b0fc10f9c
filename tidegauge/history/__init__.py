"""What happened in a run, and why: read from its folder (``traces/run_folder.py``).

=====================================  ==================================================
question                               where
=====================================  ==================================================
what happened to a partition, broker,  ``partition_history.py``, ``broker_history.py``,
controller                             ``controller_history.py``; in words: ``story.py``,
                                       ``moments.py``
what led to it                         ``cause_chain.py``
what each fault has cost               ``fault_costs.py``, ``fault_spans.py``
who led and was in sync, over time     ``replica_history.py``, ``cluster_history.py``
what ZooKeeper held at a time          ``znode_tree.py``, ``znode_paths.py``; as topics:
                                       ``topic_description.py``
in which row two runs part             ``run_comparison.py``
what a program reads of an event       ``events.py``
=====================================  ==================================================

**To add a question**: a file here that answers it from rows, a view of it in ``commands``.
``row_selection.py`` selects rows by whole columns. Nothing here runs a scenario.
"""
