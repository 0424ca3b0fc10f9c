"""Questions that people ask of runs: one small module each, answered from the result tables.

======================  ===========================================================================
``question.py``         what a question is: its name, what it asks, its documented columns, how
``all_questions.py``    all of them
``fault_windows.py``    which time belongs to which fault
``run_settings.py``     in which settings runs differ: the axes of a sweep
======================  ===========================================================================

All others are a question each, and say in their docstrings how the answer is to be read.

**To add a question**, write its function from ``RunTables`` to a DataFrame and its columns, in a
module of its own, and add it to ``all_questions.py``: ``tidegauge analyze --question`` and the
report have it then.
"""
