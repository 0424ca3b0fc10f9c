"""The gallery: known bugs of KRaft, each run in a release that has it and in one that has not.

``incidents.yaml`` is the table of them: issue, releases, scenario, and the values of figures
(``traces/figures.yaml``) of a run with the bug; ``incidents.py`` reads it. ``comparison.py`` runs
an incident in both releases, and ``view.py`` prints the result. The page ``docs/gallery.md`` is
made by ``tidegauge/laboratory/manual/catalogue_pages.py``.

**To add an incident**: a scenario in ``scenarios/gallery``, unless a shipped one has the same
schedule, and an entry of the table.
"""
