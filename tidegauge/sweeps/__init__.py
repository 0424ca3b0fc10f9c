"""Sweeps: many runs of a scenario, with other values and seeds, side by side in one folder.

``sweep_axis.py`` is one path with its values, ``many_runs.py`` runs each as a task of Ray,
``sweep_folder.py`` keeps finished runs, ``sweep_content.py`` writes ``sweep.json``.
"""
