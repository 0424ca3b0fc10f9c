"""Where the replicas of a topic go that has no assignment, as Kafka places those of a new topic.

=============================  ==========================================================
subject                        file
=============================  ==========================================================
the choice; ZooKeeper mode     ``replica_assignment.py``: a round robin (AdminUtils)
KRaft                          ``striped_replica_placer.py``: stripes (StripedReplicaPlacer)
the draws of both              ``java_random.py``
=============================  ==========================================================

**To add a placement**: its file here, and a line in ``replica_assignment.drawn_placement``. This
room knows racks and ids of brokers only, and no scenario.
"""
