"""ZooKeeper, and the controller context of each broker.

Where to look for what Kafka calls:

==========================================  ================================================
Kafka                                       here
==========================================  ================================================
KafkaController                             ``controller.py``, ``zookeeper_answers.py``
ControllerEventManager                      ``event_queue.py``
onControllerFailover, onControllerResign... ``failover.py``, ``context.py``
processBrokerChange, onBrokerFailure        ``broker_changes.py``
processIsrChangeNotification                ``notification_changes.py``
doElectLeaderForPartitions,                 ``partition_changes.py``
removeReplicasFromIsr                       (what is written), ``elections.py`` (who leads),
..                                          ``leader_and_isr.py`` (leader, epoch, ISR)
processTopicChange                          ``topic_changes.py``
processLogDirEventNotification,             ``log_dir_changes.py``
processLeaderAndIsrResponseReceived         ..
onPartitionReassignment                     ``reassignments.py``, ``assignments.py``
TopicDeletionManager                        ``topic_deletions.py``
doControlledShutdown                        ``broker_shutdowns.py``
processAlterIsr, processAlterPartition      ``alter_partition.py``
checkAndTriggerAutoLeaderRebalance,         ``preferred_elections.py``
processZkPreferredReplicaLeaderElection
Election, PartitionLeaderElectionAlgorithms ``elections.py``
PartitionStateMachine                       ``partition_state_machine.py``
ReplicaStateMachine                         ``replica_state_machine.py``, ``replica_states.py``
ControllerBrokerRequestBatch                ``request_batch.py``
ControllerChannelManager                    ``channels.py``
KafkaZkClient (the controller's side)       ``zookeeper_requests.py``
ZooKeeper's server                          ``zookeeper.py``, ``znodes.py``, ``sessions.py``
/config/topics, /config/changes             ``topic_configs.py``
throttles in /config                        ``replication_throttles.py``
==========================================  ================================================

``state.py`` is all that ZooKeeper and the controllers remember, ``new_tables.py`` its
beginning; ``former_states.py`` has clusters that were there before the run. ``controller_actor.py``
is a shell without rules or state in which Ray hosts all of them.
**To add an event of the controller**: its name in ``phases.py``, a file with its
phases, a branch in ``event_queue.py``.

This room imports from ``replication`` and ``simulation`` only; brokers (``actors``) are met
through messages.
"""
