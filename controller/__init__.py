"""ZooKeeper, elections and the controller, and the Ray actor that hosts them.

Where to look for what Kafka calls:

==========================================  ================================================
Kafka                                       here
==========================================  ================================================
Election, PartitionLeaderElectionAlgorithms ``elections.py``
LeaderAndIsr, doRemoveReplicasFromIsr       ``leader_and_isr.py``
PartitionStateMachine                       ``partition_state_machine.py``
ReplicaStateMachine                         ``replica_state_machine.py``
==========================================  ================================================

This room imports from ``replication`` and ``simulation`` only; brokers (``actors``) are met
through messages.
"""
