"""The tables of a group, laid out for a scenario: a file for each kind of process.

``cluster_tables.py`` has the kernel, the topology and the clients, with ``fault_tables.py``,
``step_tables.py`` and ``roll_tables.py``; ``broker_tables.py`` and ``controller_tables.py`` the
state of brokers, of ZooKeeper and of controllers; ``check_tables.py`` that of checks and figures.
``existing_logs.py`` has the logs that existed before, and
``throttled_replicas.py`` numbers the replicas that settings of topics throttle.
The rooms that own the records know no scenario; this one reads the cluster's plan for them.
"""
