"""KRaft's active controller: where to find the decisions of Kafka's ``QuorumController``.

==========================================  ================================================
Kafka                                       here
==========================================  ================================================
PartitionChangeBuilder.build                ``partition_change.py``
ClearElrRecord, createTopic's registration  ..
PartitionChangeBuilder's setters,           ``partition_target.py``: one function for each
PartitionReassignmentReplicas, ...Revert    cause of a change
validateAlterPartitionData                  ``alter_partition.py``
MetadataVersion, EligibleLeaderReplicas...  ``switches.py``
==========================================  ================================================

Every decision here is a rule over records and replica lists: it reads no clock and sends nothing.
So ``tests/controller/test_partition_change.py`` holds the rules against each partition record that
real controllers wrote.

**To add a cause of a change**, write a function in ``partition_target.py`` that sets what the cause
wants, and let the caller call ``partition_change``: nothing else changes a partition.

This room imports from ``replication`` and ``compiled``. It does not know the controller of
ZooKeeper mode (``events``, ``partitions``, ``state``, ``zookeeper``).
"""
