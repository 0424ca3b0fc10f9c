"""The tables of a group, laid out for a scenario: a file for each kind of process.

``cluster_tables.py`` has the kernel, the topology and the clients, with ``network_tables.py``;
``step_tables.py`` faults, steps and rolling restarts. ``broker_tables.py`` has the state of
brokers, and the logs that existed before; ``controller_tables.py`` and ``quorum_tables.py`` that of
ZooKeeper and of controllers; ``check_tables.py`` that of checks and figures. ``by_name.py`` fills
records from settings, each field from the setting of its name.
The rooms that own the records know no scenario; this one reads the cluster's plan for them.
"""
