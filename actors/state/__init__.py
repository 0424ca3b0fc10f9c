"""The state of a broker: its tables, one record per broker, replica, fetcher and thread.

``brokers.py`` has the records, ``locks.py`` what a request waits for, ``broker_stats.py`` what a
broker counts of its requests.
"""
