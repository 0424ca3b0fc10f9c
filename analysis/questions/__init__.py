"""Questions about runs, answered from the result tables.

======================  ===========================================================================
``question.py``         a question: its name, text, columns and query; the time of a fault
``all_questions.py``    all of them
======================  ===========================================================================

Each other module has the questions of a subject; its docstring explains their answers.

**To add a question**, write its query over result tables and its columns, in the module of its
subject, and add it to ``all_questions.py``: ``tidegauge analyze --question`` and the report then
include it. DuckDB executes it, whichever engine made the tables, so it may use all of DuckDB's SQL.
"""
