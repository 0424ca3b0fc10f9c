"""Rows as Parquet: for Spark and every other tool of a data engineer.

====================  =============================================================================
``row_schema.py``     the relations, their columns, units and meanings: their one description
``row_names.py``      the names of the numbers in rows
``row_files.py``      the rows of some runs, written as one file for each relation
``exported_rows.py``  a folder of such files for many runs, as readers find it
``export.py``         writes such a folder, which knows the runs that it has
====================  =============================================================================

A kind of row or a column that is new is in all of them. The trace stays the truth: files of rows
are made of it, and nothing is made of them but tables. Executors of Spark import this room, and
they have neither a compiler nor what the driver's commands need.
"""
