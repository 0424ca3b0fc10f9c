"""Spark, for sweeps, many runs and clusters: result tables, and recorded runs as DataFrames.

===================  ==============================================================================
``engine.py``        the engine that makes result tables (``analysis/making``), from the same SQL
``relations.py``     the relations that tables are made of: here, or in files
``sources.py``       those that come from traces, as Parquet (``analysis/rows``)
``buckets.py``       runs in buckets, as Spark divides them
``session.py``       a Spark session of its own, or the existing one, and the Java that it runs on
``cluster.py``       files for executors of a cluster, and folders that they must see
``events.py``        the facade: ``events`` and ``runs`` as DataFrames
``trace_source.py``  the data source ``tidegauge`` behind it, for Spark's own ``read``
===================  ==============================================================================

Result tables are made of Parquet, with no Python between Spark and the data. Through the facade,
which needs no files, a frame of the trace becomes an Arrow batch, and Python handles no single row.

Pass conditions on rows to :func:`events.events` and not only to ``where``: the source does not see
filters, on purpose. With Spark's ``pushFilters``, a DataFrame that is used twice in a query gets
the filters of its last use for both, silently.

This room imports from ``analysis`` and the rooms below it, and is the only room that knows
``pyspark``.
"""
