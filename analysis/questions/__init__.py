"""Questions about runs: one small module each, answered from the result tables.

======================  ===========================================================================
``question.py``         a question: its name, text, columns and query; the time of a fault
``all_questions.py``    all of them
======================  ===========================================================================

Each other module is a question; its docstring explains the answer.

**To add a question**, write its query over result tables and its columns, in a module of its own,
and add it to ``all_questions.py``: ``tidegauge analyze --question`` and the report then include it.
DuckDB executes it, whichever engine made the tables, so it may use all of DuckDB's SQL.
"""
