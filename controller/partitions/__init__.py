"""Partitions and replicas as a controller moves them: state machines, elections, requests.

``partition_changes.py`` reads, decides and writes; ``request_batch.py`` gathers what brokers must
know, ``channels.py`` sends it.
"""
