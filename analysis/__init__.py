"""Analysis of recorded runs: result tables in SQL, and questions.

=====================  ============================================================================
``tables``             the result tables (``TABLES.md``): one query for each, for two engines
``rows``               rows as Parquet: files of them, and folders of many runs (``export``)
``making``             how they are made, by DuckDB here or by Spark, and kept as Parquet
``questions``          questions about runs, answered from the result tables
``requests.py``        requests for rows: runs of paths and patterns, kinds, columns
``trace_parts.py``     the work, cut into tasks; the bytes that it reads
``frame_index.py``     the places of the frames of a trace file, found without reading them
``causes.py``          chains of causes, of all rows of a run at once
``attribution.py``     the faults that each consequence is charged to: a question for each kind;
                       all of it as a table, by the handles of rows
``cluster_course.py``  the reasons why brokers, replicas, leaders and controllers are gone
``fault_reach.py``     the processes that faults hit, and when; their lines in pictures
``over_seeds.py``      a figure over seeds: its mean, how certain that is, its percentiles
=====================  ============================================================================

This room imports from ``scenario``, ``traces`` and the rooms below them; ``duckdb`` is known here
alone, and ``pyspark`` nowhere here. ``spark_analysis`` has the other engine.
"""
