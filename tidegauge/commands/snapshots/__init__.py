"""The commands that continue a run from a snapshot (``engine/run_snapshots``).

``snapshot_options.py`` are their options, as ``*_options.py`` of the other commands;
``resuming.py`` is ``tidegauge resume``, ``branching.py`` is ``tidegauge branch``.
"""
