"""Conformance of the simulator with recorded schedules of real clusters.

==========================  ==============================================================
``recorded_schedule.py``    the file of a schedule that was played on real brokers
``translation.py``          a schedule becomes a scenario
``recorded_costs.py``       costs of work on the recorded clusters
``played_schedule.py``      a run of that scenario, in the form of the recording
``comparison.py``           comparison field by field
``neighbouring_steps.py``   values seen a step sooner or later than recorded
``known_differences.md``    differences whose cause is known: one row each
``known_differences.py``    reads that table
``conform.py``              plays one file, with as many seeds as needed
==========================  ==============================================================

**To explain a difference**: a row in ``known_differences.md``. A row that explains nothing
any more fails the tests.
"""
