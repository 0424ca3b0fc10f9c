"""Offline analysis of recorded runs with Spark: from one run to a sweep of thousands.

=======================  =========================================================================
``session.py``           a Spark session that runs by itself, or the one that is there
``java.py``              which Java it runs on
``cluster.py``           what executors of a cluster are sent, and have to see
``events.py``            the facade: ``events`` and ``runs`` as DataFrames
``trace_source.py``      the data source ``tidegauge`` behind it, for Spark's own ``read``
``cause_source.py``      the data source ``tidegauge-causes``: what rows go back to
``tables``               the result tables that all of this is for; ``TABLES.md`` documents them
``tables/run_tables.py``        the tables of some runs, made when they are asked for
``questions``            what people ask of them, one small module each
``report``               all of it in one HTML file
``requests.py``          what is asked of the data source: which rows of which runs, which columns
``run_paths.py``         which runs are meant by paths and patterns, and what they are called
``trace_parts.py``       the work, cut into tasks; how many bytes it takes
``frame_index.py``       where the frames of a trace file lie, found without reading them
``causes.py``            chains of causes, of all rows of a run at once
=======================  =========================================================================

What reads traces (the last five files) does not know Spark, and is tested without it. Everything
stays in columns: a frame of the trace becomes an Arrow batch, and no row is touched in Python.

**To add a table or a question**, begin with :func:`events.events`, one call for each kind that is
needed. Order rows by all of ``run, time_us, process, sequence, minor``: with ties in time alone,
window functions answer differently each time. Give what rows are wanted to ``events`` and not only
to ``where``: the source does not see filters, on purpose (with Spark's ``pushFilters``, a DataFrame
that is used twice in a query gets the filters of its last use for both, silently).

May be imported from: ``tidegauge``. Imports from ``simulation`` and what is below it, and is the
only room that knows ``pyspark``.
"""
