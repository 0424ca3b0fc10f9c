"""The state of a broker: its tables, one record per broker, replica, fetcher and thread.

``brokers.py`` has the tables, ``broker_records.py`` and ``replica_records.py`` their records,
``request_times.py`` the times and waits of requests, ``broker_stats.py`` the counts of requests.
"""
