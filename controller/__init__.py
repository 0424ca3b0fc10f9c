"""The controller. So far: its elections, its state machines, and what it stores.

Where to look for what Kafka calls:

==========================================  ================================================
Kafka                                       here
==========================================  ================================================
Election, PartitionLeaderElectionAlgorithms ``elections.py``
LeaderAndIsr, doRemoveReplicasFromIsr       ``leader_and_isr.py``
onReplicasBecomeOffline (which partitions)  ``leader_and_isr.py``
PartitionStateMachine                       ``partition_state_machine.py``
ReplicaStateMachine                         ``replica_state_machine.py``
==========================================  ================================================

This room imports from ``replication`` and ``simulation`` only; brokers (``actors``) are met
through messages.
"""
