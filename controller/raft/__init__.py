"""Raft among the voters of a KRaft quorum (Kafka: KafkaRaftClient).

==============================  =========================================================
Kafka                           here
==============================  =========================================================
QuorumState, its states         ``state.py``; ``transitions.py``: what each state begins with
pollCurrentState, Vote,         ``elections.py``: what is due when the time in a state is over,
BeginQuorumEpoch, -End-         votes, the start and end of a leader's epoch
ReplicatedLog                   ``snapshots.py``: ends, epochs, truncation, flush
BatchAccumulator, LeaderState   ``replication.py``: what a leader appends, and who has it
follower's fetches              ``follower.py``
snapshots, cleaning of the log  ``snapshots.py``
ControllerApis, RequestMetrics  ``measured.py``: how responses are sent and counted
start and end of a process      ``processes.py``
==============================  =========================================================

A record is known by its epoch and its offset, as one leader writes all records of an epoch. Its
content does not matter here: the room ``kraft`` keeps that, and learns by timers of its own
process that the leader has committed more, that it may act as the controller, that it may not any
more (``simulation/messages/controller_timers.py``).

This room imports from ``simulation`` and the rooms below it, and does not know ``kraft``.
"""
