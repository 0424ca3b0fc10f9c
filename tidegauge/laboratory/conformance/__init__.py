"""Conformance of the simulator with recorded schedules of real clusters.

==========================  ==============================================================
``recorded_schedule.py``    the file of a schedule that was played on real brokers
``recorded_dialects.py``    files of ZooKeeper and of KRaft clusters, in one form
``broker_records.py``       records of a KRaft controller about brokers, numbered by order
``translation.py``          a schedule becomes a scenario
``schedule_writer.py``      the steps of that scenario
``zookeeper_writer.py``     those that ZooKeeper takes part in
``kraft_writer.py``         those that a quorum takes part in
``recorded_costs.py``       costs of work on the recorded clusters
``played_schedule.py``      a run of that scenario, in the form of the recording
``step_outcome.py``         the outcome of one step
``zookeeper_state.py``      the state that ZooKeeper holds
``kraft_state.py``          the state that the active controller of a quorum holds
``comparison.py``           comparison field by field
``neighbouring_steps.py``   values seen a step sooner or later than recorded
``known_differences.md``    differences whose cause is known: one row each
``known_differences.py``    reads that table
``conform.py``              plays one file, with as many seeds as needed
==========================  ==============================================================

**To explain a difference**: a row in ``known_differences.md``. A row that explains nothing
any more fails the tests.
"""
