"""What real clusters did, and what the simulator does with the same schedule.

=========================  ==============================================================
``recorded_schedule.py``   the file of a schedule that was played on real brokers
``translation.py``         a schedule becomes a scenario
``played_schedule.py``     what a run of that scenario shows, in the recording's own shape
``comparison.py``          field by field: what is equal, and what is not
``neighbouring_steps.py``   what is seen a step sooner or later than it was recorded
``known_differences.md``   differences whose cause is known: one row each
``known_differences.py``   reads that table
``conform.py``             plays one file, with as many seeds as it takes
=========================  ==============================================================

**To explain a difference**: a row in ``known_differences.md``. A row that explains nothing
any more fails the tests.
"""
