"""Offline analysis of recorded runs with Spark: from one run to a sweep of thousands.

=======================  =========================================================================
``session.py``           a Spark session of its own, or the existing one
``java.py``              the Java that Spark runs on
``cluster.py``           files for executors of a cluster, and folders that they must see
``events.py``            the facade: ``events`` and ``runs`` as DataFrames
``trace_source.py``      the data source ``tidegauge`` behind it, for Spark's own ``read``
``cause_source.py``      the data source ``tidegauge-causes``: the origins of rows
``tables``               the result tables (``TABLES.md``); ``run_tables.py`` makes them on demand
``questions``            questions about runs, one small module each
``report``               all of it in one HTML file
``requests.py``          requests to the data source: rows, runs, columns
``run_paths.py``         the runs of paths and patterns, and their names
``trace_parts.py``       the work, cut into tasks; the bytes that it reads
``frame_index.py``       the places of the frames of a trace file, found without reading them
``causes.py``            chains of causes, of all rows of a run at once
``attribution.py``       the faults that each consequence is charged to: one or several
``fault_reach.py``       the processes that faults hit, and when
=======================  =========================================================================

The last seven files read traces without Spark, and are tested without it. All data stays in
columns: a frame of the trace becomes an Arrow batch, and Python handles no single row.

**To add a table or a question**, begin with :func:`events.events`, one call for each kind that is
needed. Order rows by all of ``run, time_us, process, sequence, minor``: with ties in time alone,
window functions give different results each time. Pass conditions on rows to ``events`` and not
only to ``where``: the source does not see filters, on purpose (with Spark's ``pushFilters``, a
DataFrame that is used twice in a query gets the filters of its last use for both, silently).

This room imports from ``scenario``, ``traces`` and the rooms below them, and is the only room that
knows ``pyspark``.
"""
