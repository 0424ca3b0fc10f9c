"""Raft among the voters of a KRaft quorum (Kafka: KafkaRaftClient).

==============================  =========================================================
Kafka                           here
==============================  =========================================================
QuorumState, its states         ``state.py``; ``transitions.py``: what each state begins with
pollCurrentState, Vote          ``elections.py``: what is due when the time in a state is over,
                                votes
BeginQuorumEpoch, -End-         ``leadership.py``: the start and end of a leader's epoch
ReplicatedLog                   ``snapshots.py``: ends, epochs, truncation, flush
BatchAccumulator, LeaderState   ``replication.py``: what a leader appends, and who has it
follower's fetches              ``follower.py``
VoterSetHistory                 ``voters.py``: who is a voter, by each log
AddVoterHandler, -Remove-,      ``voter_changes.py``: how a leader changes its voters
UpdateVoterHandler
snapshots, cleaning of the log  ``snapshots.py``
ControllerApis, RequestMetrics  ``measured.py``: how responses are sent and counted
start and end of a process      ``processes.py``
==============================  =========================================================

A record is known by its epoch and its offset, as one leader writes all records of an epoch. The
room ``kraft`` keeps its content, and gets timers of its own process: the leader has committed more,
the controller may act, it may not act any more (``simulation/messages/controller_timers.py``).

This room imports from ``simulation`` and the rooms below it, and does not know ``kraft``.
"""
