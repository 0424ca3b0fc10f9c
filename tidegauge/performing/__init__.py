"""Runs as commands perform them: with progress, and one line for each early end.

``perform.py`` is one run, ``perform_runs.py`` many in one folder. ``perform_sweep.py`` and
``perform_comparison.py`` are such runs with their table, ``compare_imported.py`` compares a cluster
that was imported. ``compilation.py`` is before the first run.
"""
