"""Sweeps: many runs of a scenario, with other values and seeds, side by side in one folder.

``many_runs.py`` runs them on warm actors, ``sweep_folder.py`` has the axes (a path with its
values) and keeps finished runs, ``sweep_content.py`` writes ``sweep.json``. ``fault_runs.py`` runs
the scenario of a run without some of its faults; ``runs/fault_costs.py`` has the differences.
"""
