"""Partitions and replicas as a controller moves them: state machines, elections, requests.

``partition_changes.py`` reads, decides and writes; ``channels.py`` gathers the updates for brokers,
and sends them.
"""
