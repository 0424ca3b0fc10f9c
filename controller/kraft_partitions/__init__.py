"""One partition in KRaft: which record each cause of a change writes, as pure rules.

``partition_change.py``  the record that reaches a target, or none (PartitionChangeBuilder)
``partition_target.py``  a function for each cause, which sets the target
``alter_partition.py``   validateAlterPartitionData; what metadata version and features decide

They work on records and replica lists, so ``tests/controller/test_partition_change.py`` holds them
against each partition record that real controllers wrote. The room ``kraft`` asks them.
"""
