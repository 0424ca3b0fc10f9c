"""The rows of the trace: a class for each kind, from which all else about it is derived.

The writer (``simulation/rows.py``), the header of trace files, the words of ``tidegauge show`` and
the page ``docs/trace-rows.md`` read the class: there is no other list of kinds or columns.

* ``columns.py``: the integer in a column, with its unit, its meaning, the words of codes
  (``codes.py``);
* ``row.py``: the columns of every row, and how a class becomes a kind;
* ``*_rows.py``: the kinds, by subject;
* ``schema.py``: all of them, and the version.

**To add a kind**: a class in the file of its subject, with the next free number, and a call of
its ``write`` where it happens. A column that no kind has yet is a line in ``columns.py``. A kind or
column that changes its meaning raises the version of the schema.
"""
