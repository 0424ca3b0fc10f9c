"""The commands that continue a run from a snapshot (``engine/run_snapshots``), or try another past.

``blaming.py`` is ``tidegauge blame``.
"""
