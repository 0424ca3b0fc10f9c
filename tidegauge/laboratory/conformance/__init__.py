"""Conformance of the simulator with recorded schedules of real clusters.

=============================  ==============================================================
``recorded_schedule.py``       the file of a schedule that was played on real brokers
``recorded_dialects.py``       files of ZooKeeper and of KRaft clusters, in one form
``recorded_quorums.py``        ... of quorums whose voters change
``translation.py``             a schedule becomes a scenario, with the recorded clusters' costs
``schedule_writer.py``         the steps of that scenario
``control_plane_writers.py``   those in which ZooKeeper or a quorum takes part
``quorum_writer.py``           those about the voters of a quorum
``played_schedule.py``         a run of that scenario, in the form of the recording
``played_state.py``            the state that its control plane holds
``played_quorum.py``           ... and the voters of its quorum
``comparison.py``              comparison field by field, and step by step
``known_differences.md``       differences whose cause is known: one row each
``known_differences.py``       reads that table
``conform.py``                 plays one file, with as many seeds as needed
=============================  ==============================================================

**To explain a difference**: a row in ``known_differences.md``. A row that explains nothing fails
the tests.
"""
