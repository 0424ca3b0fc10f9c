"""Making and keeping of result tables: by an engine, as Parquet, on demand.

======================  ===========================================================================
``engine.py``           what makes tables: the interface, the relations that a table needs, as Arrow
``duckdb_engine.py``    DuckDB, in this process: for a run on this machine
``written_tables.py``   tables as Parquet, run by run, put in place as a whole
``run_tables.py``       the tables of some runs: made where they are missing, and asked in SQL
======================  ===========================================================================

``spark_analysis/engine.py`` is the other engine: for sweeps, many runs and clusters. Either engine
uses tables that the other has written, and both execute the same SQL (``tables/dialect.py``).
"""
