"""A broker of a KRaft cluster: its registration, and the metadata log that it reads.

=========================  =======================================================================
file                       subject
=========================  =======================================================================
``broker_lifecycle.py``    registration, heartbeats, unfencing, controlled shutdown
``metadata_fetch.py``      the broker as an observer of the quorum: it looks for the leader, and
..                         fetches what is committed
``metadata_publisher.py``  what was fetched is published: metadata cache first, then the replicas;
..                         the first publication loads the logs
..                         and what a publication does to the replicas that the broker hosts
=========================  =======================================================================

In a KRaft cluster no controller sends state to a broker: the broker fetches the metadata log. Its
metadata is a position in one log of changes (``simulation/metadata_log.py``), here
an offset. The entries of a fetch's response name the replicas that it hosts. In ZooKeeper mode
nothing of this room runs.

**To add something that follows from a record of the log**, add it to the entries of the response
(``PublishedPartition``), and apply it in ``metadata_publisher.py``.
"""
