"""The trace of a run: its files, its hash, the folder of a run, and the checks of its rows.

=============================  ============================================================
subject                        file
=============================  ============================================================
trace files                    ``trace_file.py``: frames of columns, written and read
hash of a run                  ``trace_hash.py``
files of a run's folder        ``run_files.py``
a run's folder, read           ``run_folder.py``: manifest, summary, rows
names for numbers in rows      ``directory.py``: the part of the manifest that has them
figures: name, unit, meaning   ``figures.yaml``, read by ``summary_figures.py``
differences of two runs        ``run_comparison.py``: the first, and that of each process
checks and counted figures     the room ``checks``
=============================  ============================================================

**To add a figure**: its name, unit and meaning in ``figures.yaml``, its count in
``checks/figures.py``, its value in ``engine/summary.py``; ``tests/support/plain_reader.py`` counts
it independently. A check: see ``checks/__init__.py``.

This room imports from ``simulation`` and the rooms below it, and knows no scenario.
"""
