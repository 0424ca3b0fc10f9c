"""Making and keeping of result tables: by an engine, as Parquet, on demand.

======================  ===========================================================================
``engine.py``           what makes tables: the interface, the relations that a table needs, as Arrow
``duckdb_engine.py``    DuckDB, in this process, a group of runs after the other
``engine_choice.py``    the choice between the engines, and its reason
``written_tables.py``   tables made where they are missing
``grouped_files.py``    files of groups of runs, put in place as a whole, and their list
``run_tables.py``       the tables of some runs: made where they are missing, and asked in SQL
======================  ===========================================================================

``spark_analysis/engine.py`` is the other engine: for clusters, and for runs beyond memory. Either
engine uses tables that the other has written. Both execute the same SQL (``tables/dialect.py``).
"""
