"""The commands that continue a run from a snapshot (``engine/run_snapshots``), or look at its past.

``snapshot_options.py`` are options of them, as ``*_options.py`` of the other commands;
``continuing.py`` is ``tidegauge resume`` and ``branch``, ``blaming.py`` is ``tidegauge blame``, and
``inspecting.py`` is ``tidegauge inspect``.
"""
