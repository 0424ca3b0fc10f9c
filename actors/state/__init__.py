"""The state of a broker: its tables, one record per broker, replica, fetcher and thread.

``brokers.py`` has the tables, ``broker_records.py`` and ``replica_records.py`` their records,
``request_times.py`` how long a request takes and what it waits for,
``broker_stats.py`` the counts of requests.
"""
