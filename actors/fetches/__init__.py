"""Fetches, before a partition's role matters: threads, sessions, reads, throttles, purgatories.

``fetcher_thread.py`` is the asking side, ``fetch_sessions.py`` and ``fetch_read.py`` the answering
one; ``replication_quotas.py`` holds replicas back on both. ``producer_connections.py`` holds
requests; ``fetch_purgatory.py`` and ``produce_purgatory.py`` complete those that wait,
``produce_response.py`` answers produces.
"""
