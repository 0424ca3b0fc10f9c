"""The gallery: known bugs, each run in a release that has it and in one that has not.

``incidents.yaml`` is the table of those of KRaft, ``anomalies.yaml`` that of replication: issue,
releases, scenario, the values of figures (``traces/figures.yaml``) and the verdicts of checks
(``traces/checks``). ``incidents.py`` reads them. ``comparison.py`` runs an incident in both
releases, ``all_releases.py`` in every one of its mode, and ``view.py`` prints the results. The page
``docs/gallery.md`` is made by ``tidegauge/laboratory/manual/catalogue_pages.py``.

**To add an incident**: a scenario in ``scenarios/gallery``, unless a shipped one has the same
schedule, and an entry of a table. A check that one of the two releases breaks is ``any`` in the
``checks`` of the scenario.
"""
