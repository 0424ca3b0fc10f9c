"""ZooKeeper, and the controller context of each broker: where to find what Kafka calls ...

==========================================  ================================================
Kafka                                       here
==========================================  ================================================
KafkaController                             ``controller.py``, ``zookeeper_responses.py``;
..                                          ``state/handlers.py``: who handles what
ControllerEventManager                      ``event_queue.py``
onControllerFailover, onControllerResign... ``events/failover.py``
processBrokerChange, onBrokerFailure        ``events/broker_changes.py``
processIsrChangeNotification                ``events/alter_partition.py``
doElectLeaderForPartitions,                 ``partitions/partition_changes.py``
removeReplicasFromIsr                       (what is written), ``partitions/leader_and_isr.py``
..                                          (which leader, epoch, ISR)
processTopicChange                          ``events/topic_changes.py``
processLogDirEventNotification,             ``events/log_dir_changes.py``
processLeaderAndIsrResponseReceived         ..
onPartitionReassignment                     ``events/reassignments.py``
TopicDeletionManager                        ``events/topic_deletions.py``
doControlledShutdown                        ``events/broker_changes.py``
processAlterIsr, processAlterPartition      ``events/alter_partition.py``
checkAndTriggerAutoLeaderRebalance,         ``events/preferred_elections.py``
processZkPreferredReplicaLeaderElection
Election, PartitionLeaderElectionAlgorithms ``partitions/leader_and_isr.py``
PartitionStateMachine                       ``partitions/partition_changes.py``
ReplicaStateMachine                         ``partitions/replica_state_machine.py``
ControllerBrokerRequestBatch                ``partitions/channels.py``
ControllerChannelManager                    ``partitions/channels.py``
KafkaZkClient (the controller's side)       ``state/assignments.py``
ZooKeeper's server                          the room ``zookeeper``
/config/topics, /config/changes             ``zookeeper/topic_configs.py``
throttles in /config                        ``zookeeper/topic_configs.py``
QuorumController (KRaft)                    the room ``kraft``
unclean election (KRaft), and of the ELR    ``kraft_partitions/partition_change.py``,
..                                          ``kraft/elections.py`` (periodic)
PartitionChangeBuilder (KRaft)              the room ``kraft_partitions``
KafkaRaftClient (KRaft)                     the room ``raft``
==========================================  ================================================

The rooms, from the ground up: ``state`` (all that ZooKeeper and the controllers hold),
``zookeeper`` (its server), ``partitions`` (states, elections, requests to brokers), ``events``
(each event of a controller). ``raft``, ``kraft_partitions`` and ``kraft`` on both of them stand
by themselves. ``controller_actor.py`` is a shell without rules or state in which Ray hosts all of
them.

**To add an event of the controller**: its type in ``simulation/trace_rows/codes.py``, a
file with its steps in ``events``, a branch in ``event_queue.py``.

This room imports from ``simulation`` and the rooms below it; brokers (``actors``) are met through
messages.
"""
