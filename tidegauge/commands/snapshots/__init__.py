"""The commands that continue a run from a snapshot (``engine/run_snapshots``), or look at its past.

``inspecting.py`` is ``tidegauge inspect``.
"""
